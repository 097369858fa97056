// Package check looks at many runs and gives verdicts.
//
// [Explore] decides a scenario: by a certificate or one run where the theory allows it,
// else by exhaustive search within bounds, else by sampling. The [Result] says which and
// why. A verdict is ok only when every property is known to hold; a bound that was hit is
// named and never reported as a proof.
//
// How the parts fit: fragment_*.go states as code when the theory applies and names the
// condition that fails; certificate_*.go, onerun.go and evaluator*.go decide inside it;
// explore_*.go searches the rest; ranks.go reduces R ranks to one where that is sound.
package check

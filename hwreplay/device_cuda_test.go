package hwreplay

import "testing"

// Every scenario that fits on the GPU, in a child process each.
func TestScenariosOnCUDA(t *testing.T) {
	require(t, "cuda")
	eachExpectation(t, "cuda", func(q *Request) (*Result, error) {
		r, err := Supervise(t.Context(), &Task{Backend: "cuda", Replay: q}, 0, nil)
		if err != nil {
			return nil, err
		}
		return r.Replay, nil
	})
}

// Random programs on the GPU. In this process: run it with the variables that
// cuda.Environ lists.
func TestRandomProgramsOnCUDA(t *testing.T) {
	randomPrograms(t, require(t, "cuda"), min(*randomCases, 60))
}

package naive

import "testing"

// mostSteps and mostCommands keep a run to milliseconds.
const (
	mostSteps    = 200
	mostCommands = 120
)

// A drawn case runs the same way in package sim as here, whatever is drawn and chosen.
func FuzzLockstep(f *testing.F) {
	f.Add([]byte{}, false, []byte("\x00\x01\x02\x03\x04\x05\x06\x07\x00\x00\x01\x01\x02\x02"))
	f.Add([]byte{}, true, []byte("\x00\x01\x02\x03\x04\x05\x06\x07\x00\x00\x01\x01\x02\x02"))
	f.Fuzz(func(t *testing.T, draw []byte, graph bool, choices []byte) {
		programs, m := Drawn(draw, graph)
		newLockstep(t, programs, m).run(choices, mostSteps)
	})
}

// A scenario file that is accepted runs the same way in package sim as here.
func FuzzRun(f *testing.F) {
	programs, m := Drawn([]byte{}, false)
	f.Add([]byte(Text(programs, m)), []byte("\x00\x01\x02\x03\x04\x05\x06\x07\x00\x00\x01\x01\x02\x02"))
	f.Fuzz(func(t *testing.T, src, choices []byte) {
		if sc, programs := Small(src, mostCommands); sc != nil {
			newLockstep(t, programs, sc.Machine).run(choices, mostSteps)
		}
	})
}

package fencetest

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/fencesim/fencesim/check"
	"github.com/fencesim/fencesim/model"
)

// fake is a test whose messages are looked at.
type fake struct {
	name   string
	log    []string
	errors []string
}

func (f *fake) Helper()                         {}
func (f *fake) Name() string                    { return f.name }
func (f *fake) Logf(format string, args ...any) { f.log = append(f.log, fmt.Sprintf(format, args...)) }
func (f *fake) Errorf(format string, args ...any) {
	f.errors = append(f.errors, fmt.Sprintf(format, args...))
}
func (f *fake) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

const sharedBuffer = `
fencesim: 1
name: shared-buffer
schedule:
  queues:
    - name: gpu
      buffers:
        - ["kernel x", "update G 1", "wait C 1", "kernel y reads r"]
  streams:
    - name: cpu
      tasks: ["wait G 1", "collective r reads x", "update C 1"]
`

// The same with the update in a buffer of its own.
var apart = strings.Replace(sharedBuffer, `"update G 1", "wait C 1"`, `"update G 1"]`+"\n        - [\"wait C 1\"", 1)

// A failing case becomes two files and a message that ends with the command of the replay;
// the next run fails by the file; the run after the fix passes and says so.
func TestCheckKeepsWhatFails(t *testing.T) {
	c := Config{Dir: t.TempDir()}
	first := &fake{name: "TestMine/lag 0"}
	c.Check(first, Parse(t, sharedBuffer), "ideal", "lag-0")
	if len(first.errors) != 1 || !strings.Contains(first.errors[0], "shared-buffer can hang on lag-0") {
		t.Fatalf("%q", first.errors)
	}
	dir := filepath.Join(c.Dir, "TestMine", "lag_0")
	file := filepath.Join(dir, "hang-lag-0.trace.json")
	if want := "\nfencesim replay " + file; !strings.HasSuffix(first.errors[0], want) {
		t.Errorf("the message ends with\n%s\nwant %s", first.errors[0], want)
	}
	src, err := os.ReadFile(filepath.Join(dir, "hang-lag-0.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	kept := parse(t, "kept", src)
	AssertHang(t, kept)
	if bytes := string(src); !strings.HasPrefix(bytes, "# TestMine/lag 0: hang") || strings.Contains(bytes, c.Dir) {
		t.Errorf("kept:\n%s", bytes)
	}

	second := &fake{name: first.name}
	c.Check(second, Parse(t, sharedBuffer), "ideal", "lag-0")
	if len(second.errors) != 1 || !strings.Contains(second.errors[0], "still happens") || !strings.HasSuffix(second.errors[0], "\nfencesim replay "+file) {
		t.Errorf("%q", second.errors)
	}

	third := &fake{name: first.name}
	c.Check(third, Parse(t, apart), "ideal", "lag-0")
	if len(third.errors) != 0 || len(third.log) != 1 || !strings.Contains(third.log[0], "does not happen any longer") {
		t.Errorf("%q %q", third.errors, third.log)
	}
}

// Cases of -fencesim.machine replace those of the test.
func TestMachineFlag(t *testing.T) {
	defer func(old settings) { given = old }(given)
	given = settings{machine: "lag-0,ideal"}
	f := &fake{name: "T"}
	Config{Dir: "-"}.Check(f, Parse(t, sharedBuffer), "ideal")
	if len(f.errors) != 1 || !strings.Contains(f.errors[0], "on lag-0") {
		t.Errorf("%q", f.errors)
	}
}

func TestAssertHang(t *testing.T) {
	f := &fake{name: "T"}
	AssertHang(f, Parse(t, sharedBuffer), "ideal")
	if len(f.errors) != 1 || !strings.Contains(f.errors[0], "ok (one-run), want a hang") {
		t.Errorf("%q", f.errors)
	}
}

// What a bound leaves open is no pass.
func TestInconclusiveFails(t *testing.T) {
	c := Config{Dir: "-", Search: check.Config{Strategy: "dfs", Reductions: []string{}, MaxStates: 2}}
	f := &fake{name: "T"}
	c.Check(f, Parse(t, apart), "lag-0")
	if len(f.errors) != 1 || !strings.Contains(f.errors[0], "inconclusive") {
		t.Errorf("%q", f.errors)
	}
}

// A file of a machine serves as well as a preset, and only a violated property of interest
// counts.
func TestMachineFileAndProperties(t *testing.T) {
	file := filepath.Join(t.TempDir(), "slow.yaml")
	if err := os.WriteFile(file, []byte("preset: lag-0\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	f := &fake{name: "T"}
	c := Config{Dir: "-", Properties: []string{"stale-read"}}
	c.Check(f, Parse(t, sharedBuffer), file)
	if len(f.errors) != 0 {
		t.Errorf("%q", f.errors)
	}
	c.Properties = nil
	c.Check(f, Parse(t, sharedBuffer), file)
	if len(f.errors) != 1 || !strings.Contains(f.errors[0], "on slow") {
		t.Errorf("%q", f.errors)
	}
}

// A drawn failure is shrunk by rapid to the smallest that fails alike, the same one for the
// same seed, and its seed draws it again.
func TestShrinksDraws(t *testing.T) {
	gen := rapid.Custom(func(t *rapid.T) *model.Scenario {
		fix := model.PerUpdate
		return &model.Scenario{Version: 1, Name: "groups", Discipline: &fix,
			Generate: &model.Generate{Kind: "independent-reductions", Reductions: rapid.IntRange(1, 19).Draw(t, "reductions"),
				Rounds: rapid.IntRange(1, 9).Draw(t, "rounds"), Elems: 1 << 24}}
	})
	c := Config{Dir: "-"}.filled(1000000)
	machines := []string{"lag-2"} // hangs with fewer than 2*2+3 reductions
	for seed := range uint64(50) {
		bad := c.decide(t, gen.Example(int(seed+1)), machines)
		if bad == nil {
			continue
		}
		for range 2 {
			small := c.shrink(t, gen, seed+1, machines, bad)
			if g := small.scenario.Generate; g.Reductions != 1 || g.Rounds != 1 {
				t.Errorf("seed %d shrinks to %d reductions, %d rounds", seed+1, g.Reductions, g.Rounds)
			}
		}
		return
	}
	t.Fatal("no failure in 50 draws")
}

// Inside of rapid.Check the package leaves shrinking and files to rapid.
func TestInsideRapid(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		sc := Schedules().Draw(r, "scenario")
		sc.Machine = model.Machine{}
		Config{Properties: []string{"overwritten"}}.Check(r, sc)
	})
	if _, err := os.Stat(filepath.Join("testdata", "fencesim", "TestInsideRapid")); err == nil {
		t.Error("files were written")
	}
}

// A program's own flags of the same names are left alone, and the environment fills in.
func TestFlags(t *testing.T) {
	set := flag.NewFlagSet("mine", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	mine := set.Int("fencesim.runs", 3, "mine")
	var s settings
	register(set, &s, func(name string) string {
		return map[string]string{"FENCESIM_SEED": "0x11", "FENCESIM_MACHINE": "ideal"}[name]
	})
	if err := set.Parse([]string{"-fencesim.runs=5", "-fencesim.machine=lag-1,lag-2"}); err != nil {
		t.Fatal(err)
	}
	if *mine != 5 || s.runs != 0 || s.seed != 17 || strings.Join(s.machines([]string{"x"}), " ") != "lag-1 lag-2" {
		t.Errorf("%d %+v", *mine, s)
	}
	if set.Parse([]string{"-fencesim.seed=x"}) == nil {
		t.Error("a seed that is no number")
	}
}

// Equal seeds draw equal scenarios, and every draw is a valid file.
func TestDrawsParse(t *testing.T) {
	for _, f := range Families {
		for seed := range 60 {
			draw := func() string {
				b, err := f.Scenarios().Example(seed + 1).Format()
				if err != nil {
					t.Fatalf("%s, seed %d: %v", f.Name, seed+1, err)
				}
				return string(b)
			}
			text := draw()
			if again := draw(); again != text {
				t.Fatalf("%s, seed %d draws two scenarios:\n%s\n%s", f.Name, seed+1, text, again)
			}
			sc, err := model.Parse("drawn", []byte(text))
			if err != nil {
				t.Fatalf("%s, seed %d: %v\n%s", f.Name, seed+1, err, text)
			}
			back, err := sc.Format()
			if err != nil || string(back) != text {
				t.Fatalf("%s, seed %d: reads back as\n%s\nwas\n%s", f.Name, seed+1, back, text)
			}
		}
	}
}

func FuzzScenarios(f *testing.F) {
	addDraws(f)
	Config{Properties: []string{}, Search: check.Config{MaxStates: 2000}}.Fuzz(f, Scenarios())
}

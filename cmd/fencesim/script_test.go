package main

import (
	"encoding/json"
	"flag"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "write what the program prints into scripts and README.md")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"fencesim": main})
}

// The stories of the command line. exit N CMD… wants that status; validjson FILE wants JSON;
// pause DURATION waits.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: *update,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exit": exit, "validjson": validJSON, "pause": pause,
		},
	})
}

// exit runs a command and compares its status. Its output is stdout and stderr as of exec.
func exit(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exit STATUS COMMAND…")
	}
	status := "0"
	err := ts.Exec(args[1], args[2:]...)
	if err != nil {
		status = err.Error() // "exit status N"
	}
	if want := "exit status " + args[0]; err != nil && status != want || err == nil && args[0] != "0" {
		ts.Fatalf("%s, want %s", status, args[0])
	}
}

func validJSON(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: validjson FILE")
	}
	var v any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &v))
}

func pause(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: pause DURATION")
	}
	d, err := time.ParseDuration(args[0])
	ts.Check(err)
	time.Sleep(d)
}

func TestNearest(t *testing.T) {
	names := []string{"explore", "replay", "list", "show", "version", "lag-3"}
	for word, want := range map[string]string{
		"exploer": "explore", "lag3": "lag-3", "replya": "replay", "sho": "show", "zzz": "", "": "", "plore": "explore",
	} {
		if got := nearest(word, names); got != want {
			t.Errorf("nearest(%q) = %q, want %q", word, got, want)
		}
	}
}

func TestByteSize(t *testing.T) {
	for text, want := range map[string]byteSize{"1": 1, "2GiB": 2 << 30, "512MiB": 512 << 20, "1.5KiB": 1536, "3MB": 3e6, "7B": 7} {
		var b byteSize
		if err := b.Set(text); err != nil || b != want {
			t.Errorf("Set(%q) = %d, %v, want %d", text, b, err, want)
		}
		var again byteSize
		if err := again.Set(b.String()); err != nil || again != b {
			t.Errorf("%d prints as %q, which reads as %d, %v", b, &b, again, err)
		}
	}
	for _, text := range []string{"", "0", "-1", "GiB", "2XB", "1e300", "NaN"} {
		var b byteSize
		if err := b.Set(text); err == nil {
			t.Errorf("Set(%q) = %d, want an error", text, b)
		}
	}
}

func TestSeed(t *testing.T) {
	for text, want := range map[string]seed{"0": 0, "010": 10, "0x10": 16, "0XfF": 255, "18446744073709551615": 1<<64 - 1} {
		var s seed
		if err := s.Set(text); err != nil || s != want {
			t.Errorf("Set(%q) = %d, %v, want %d", text, s, err, want)
		}
	}
	for _, text := range []string{"", "-1", "0x", "1e3", "ten", "18446744073709551616"} {
		var s seed
		if err := s.Set(text); err == nil {
			t.Errorf("Set(%q) = %d, want an error", text, s)
		}
	}
}

func TestQuote(t *testing.T) {
	for in, want := range map[string]string{"": "''", "a-b/c.yaml": "a-b/c.yaml", "a b": "'a b'", "it's": `'it'\''s'`, "0:3,1": "0:3,1", "a\x1b'b": `$'a\x1b\'b'`, "\u202e": `$'\xe2\x80\xae'`, "é": "'é'"} {
		if got := quote(in); got != want {
			t.Errorf("quote(%q) = %s, want %s", in, got, want)
		}
	}
}

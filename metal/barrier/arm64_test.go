package barrier

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// required reports whether FENCESIM_REQUIRE, a comma list or "all", makes the
// absence of the tool a failure.
func required(tool string) bool {
	list := strings.Split(os.Getenv("FENCESIM_REQUIRE"), ",")
	return slices.Contains(list, "all") || slices.Contains(list, tool)
}

// missing ends a test whose tool is absent.
func missing(t *testing.T, tool, need string) {
	t.Helper()
	if required(tool) {
		t.Fatalf("%s is required and missing: %s", tool, need)
	}
	t.Skipf("needs %s: %s", tool, need)
}

// testBinary cross-compiles this package's tests without cgo.
func testBinary(t *testing.T, goos string) string {
	t.Helper()
	gotool, err := exec.LookPath("go")
	if err != nil {
		missing(t, "go", "the go command, to cross-compile for arm64")
	}
	binary := filepath.Join(t.TempDir(), "barrier.test")
	cmd := exec.Command(gotool, "test", "-c", "-o", binary, ".")
	cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH=arm64", "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
	return binary
}

// encodings are the words of each function's body that matter, in order: the
// access and the barrier. From the Arm Architecture Reference Manual (DDI 0487),
// C6.2: STR and LDR (immediate, 32-bit, unsigned offset) are 0xb9000000 and
// 0xb9400000 with Rn in bits 5 to 9 and Rt in bits 0 to 4; DMB is 0xd50330bf and
// DSB 0xd503309f with the option in bits 8 to 11 (ISH 11, ST 14, SY 15).
var encodings = map[string][]string{
	"storePlain": {"b9000001"},
	"storeISH":   {"b9000001", "d5033bbf"},
	"storeST":    {"b9000001", "d5033e9f"},
	"storeSY":    {"b9000001", "d5033f9f"},
	"loadPlain":  {"b9400001"},
	"loadISH":    {"b9400001", "d5033bbf"},
	"loadST":     {"b9400001", "d5033e9f"},
	"loadSY":     {"b9400001", "d5033f9f"},
}

// disassembled matches one line of go tool objdump: file:line, address, the
// instruction word in hex.
var disassembled = regexp.MustCompile(`^\s+\S+:\d+\s+0x[0-9a-f]+\s+([0-9a-f]{8})\s`)

func TestEncodings(t *testing.T) {
	for _, goos := range []string{"linux", "darwin"} {
		binary := testBinary(t, goos)
		for name, want := range encodings {
			out, err := exec.Command("go", "tool", "objdump", "-s", `/barrier\.`+name+`(\.abi0)?$`, binary).Output()
			if err != nil {
				t.Fatalf("objdump of %s: %v", name, err)
			}
			var got []string
			for line := range bytes.Lines(out) {
				m := disassembled.FindSubmatch(line)
				if m == nil {
					continue
				}
				// What remains is the access through R0 and any DMB, DSB or ISB;
				// arguments travel through the stack pointer.
				word := string(m[1])
				if strings.HasPrefix(word, "d5033") || word[:2] == "b9" && word[5:] == "001" {
					got = append(got, word)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s/arm64 %s: access and barriers %v, want %v\n%s", goos, name, got, want, out)
			}
		}
	}
}

// The arm64 code gives the values that it should, under emulation.
func TestUnderEmulation(t *testing.T) {
	if runtime.GOARCH == "arm64" {
		t.Skip("this is arm64: the other tests run the code itself")
	}
	if runtime.GOOS != "linux" {
		t.Skip("user-mode emulation is for Linux programs on Linux")
	}
	emulator, err := exec.LookPath("qemu-aarch64-static")
	if err != nil {
		if emulator, err = exec.LookPath("qemu-aarch64"); err != nil {
			missing(t, "qemu", "qemu-aarch64-static, in Debian's package qemu-user-static")
		}
	}
	cmd := exec.Command(emulator, testBinary(t, "linux"), "-test.v", "-test.timeout=60s",
		"-test.run", "TestNamesParseBack|TestStoreThenLoad|TestMessagePassing|TestNative")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
	for _, test := range []string{"TestStoreThenLoad", "TestMessagePassing", "TestNative"} {
		if !bytes.Contains(out, []byte("--- PASS: "+test)) {
			t.Errorf("%s did not run:\n%s", test, out)
		}
	}
}

// Native is what the architecture says.
func TestNative(t *testing.T) {
	if want := runtime.GOARCH == "arm64"; Native != want {
		t.Errorf("Native = %v on %s", Native, runtime.GOARCH)
	}
}

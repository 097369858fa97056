//go:build linux && (amd64 || arm64)

package metal

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"
)

// Messages go through one variadic Go function per kind of result, as in
// purego/objc. On Linux the same purego passes the same values to C functions of
// the same signatures. The rules for these signatures on a Mac are those of the
// processor's own calling convention, which Linux shares; that purego follows them
// on darwin too is not shown here.
func TestCallingConvention(t *testing.T) {
	compiler, err := exec.LookPath("c++")
	if err != nil {
		if list := strings.Split(os.Getenv("FENCESIM_REQUIRE"), ","); slices.Contains(list, "all") || slices.Contains(list, "cxx") {
			t.Fatal("cxx is required and missing: c++")
		}
		t.Skip("needs cxx: c++")
	}
	path := filepath.Join(t.TempDir(), "convention.so")
	cmd := exec.Command(compiler, "-O2", "-fPIC", "-shared", "-Wall", "-Werror", "-o", path, "testdata/convention/convention.cc")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
	library, err := purego.Dlopen(path, purego.RTLD_NOW)
	if err != nil {
		t.Fatal(err)
	}
	var twoStructs, words func(id, name uintptr, args ...any) uintptr
	var result func(id, name uintptr, args ...any) Version
	var seconds func(id, name uintptr, args ...any) float64
	purego.RegisterLibFunc(&twoStructs, library, "two_structs")
	purego.RegisterLibFunc(&words, library, "words")
	purego.RegisterLibFunc(&result, library, "result")
	purego.RegisterLibFunc(&seconds, library, "seconds")
	if got := twoStructs(1, 2, Size{3, 4, 5}, Size{6, 7, 8}); got != 12345678 {
		t.Errorf("two structs: %d, want 12345678", got)
	}
	three := new(uint32)
	*three = 3
	if got := words(1, 2, unsafe.Pointer(three), uint64(4), uint64(5)); got != 12345 {
		t.Errorf("words: %d, want 12345", got)
	}
	if got := result(1, 2); got != (Version{1, 2, 3}) {
		t.Errorf("result: %v, want 1.2.3", got)
	}
	if got := seconds(4, 0); got != 4.5 {
		t.Errorf("seconds: %v, want 4.5", got)
	}
}

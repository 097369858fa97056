package kernels

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unsafe"
)

// metalEntry matches a kernel's definition up to the end of its parameters, and
// metalParam one parameter with its buffer index.
var (
	metalEntry = regexp.MustCompile(`kernel void (\w+)\(((?:[^()]|\(\d+\))*)\) \{`)
	metalParam = regexp.MustCompile(`^(.*?)\s*\b(\w+) \[\[buffer\((\d+)\)\]\]$`)
)

// metalTypes says how each type of the table is spelled in the source.
var metalTypes = map[string]Type{
	"FS_WORD": Addr, "device uint*": Addr, "device const uint*": Addr, "device atomic_uint*": Addr,
	"constant uint&": U32,
}

// The table and the source name the same kernels, and each parameter has the
// index, name and type of its argument.
func TestMetalTableMatchesSource(t *testing.T) {
	source := map[string][]string{}
	for _, m := range metalEntry.FindAllStringSubmatch(metalSource, -1) {
		var params []string
		for p := range strings.SplitSeq(m[2], ",") {
			p = strings.Join(strings.Fields(p), " ")
			if p == "uint index [[thread_position_in_grid]]" {
				continue
			}
			f := metalParam.FindStringSubmatch(p)
			if f == nil || metalTypes[f[1]] == "" {
				t.Errorf("%s: parameter %q is not understood", m[1], p)
				continue
			}
			params = append(params, fmt.Sprintf("%s %s %s", f[3], f[2], metalTypes[f[1]]))
		}
		source[m[1]] = params
	}
	table := map[string][]string{}
	for _, k := range metalKernels {
		var params []string
		for i, p := range k.Params {
			params = append(params, fmt.Sprintf("%d %s %s", i, p.Name, p.Type))
			if p.Doc == "" {
				t.Errorf("%s: %s has no doc", k.Name, p.Name)
			}
		}
		if k.Backend != Metal || k.Name == "" || k.Doc == "" || k.Source != metalSource {
			t.Errorf("%s: incomplete row", k.Entry)
		}
		table[k.Entry] = params
	}
	if got, want := slices.Sorted(maps.Keys(table)), slices.Sorted(maps.Keys(source)); !slices.Equal(got, want) {
		t.Fatalf("table has %v, source has %v", got, want)
	}
	for name, params := range table {
		if !slices.Equal(params, source[name]) {
			t.Errorf("%s: table has %v, source has %v", name, params, source[name])
		}
	}
}

// The constants of the Go side are those of the source.
func TestMetalConstantsMatchSource(t *testing.T) {
	for name, want := range map[string]uint32{
		"FS_RUNNING": uint32(Running), "FS_PASSED": uint32(Passed), "FS_KILLED": uint32(Killed),
		"FS_GAVE_UP": uint32(GaveUp), "FS_ORPHANED": uint32(Orphaned),
		"FS_OUTCOME": uint32(unsafe.Offsetof(Result{}.Outcome) / 4), "FS_VALUE": uint32(unsafe.Offsetof(Result{}.Value) / 4),
		"FS_POLLS": uint32(unsafe.Offsetof(Result{}.Polls) / 4), "FS_DETAIL": uint32(unsafe.Offsetof(Result{}.Detail) / 4),
		"FS_KILL": uint32(unsafe.Offsetof(Control{}.kill) / 4), "FS_BEAT": uint32(unsafe.Offsetof(Control{}.beat) / 4),
		"FS_POLLS_MAX": MetalPollsMax, "FS_GAP_MAX": MetalGapMax, "FS_ROUNDS_MAX": MetalRoundsMax,
	} {
		m := regexp.MustCompile(`#define ` + name + ` (\d+)u?\s`).FindStringSubmatch(metalSource)
		if m == nil || m[1] != fmt.Sprint(want) {
			t.Errorf("%s: source has %v, Go has %d", name, m, want)
		}
	}
}

// Every loop of the Metal source has a bound that no argument can lift: the loops
// are counted by hand, so that a new one is looked at.
func TestMetalLoopsAreBounded(t *testing.T) {
	loops := regexp.MustCompile(`(?m)^\s*(for|while|do)\b.*$`).FindAllString(metalSource, -1)
	for i := range loops {
		loops[i] = strings.TrimSpace(loops[i])
	}
	want := []string{
		"for (uint i = 0; i < spins; i++) {",
		"while (polls < bound) {",
		"for (uint i = 0; i < bound; i++) {",
	}
	if !slices.Equal(loops, want) {
		t.Errorf("loops %q, want %q", loops, want)
	}
	for _, bound := range []string{
		"spins = min(gap, FS_GAP_MAX)",
		"bound = limit == 0 ? FS_POLLS_MAX : min(limit, FS_POLLS_MAX)",
		"bound = min(rounds, FS_ROUNDS_MAX)",
	} {
		if !strings.Contains(metalSource, bound) {
			t.Errorf("the source does not have %q", bound)
		}
	}
}

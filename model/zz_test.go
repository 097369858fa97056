package model

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestZZ(t *testing.T) {
	var b strings.Builder
	b.WriteString("fencesim: 1\ngraph:\n  inputs: {x: 1}\n  nodes:\n    - {name: n0, op: matmul, in: [x], elems: 1}\n")
	for i := 1; i < 1000000; i++ {
		fmt.Fprintf(&b, "    - {name: n%d, op: matmul, in: [n%d], elems: 16777216}\n", i, i-1)
	}
	b.WriteString("  outputs: [n999999]\n")
	t0 := time.Now()
	s, err := Parse("f", []byte(b.String()))
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	fmt.Println(b.Len()>>20, err, time.Since(t0), m.Sys>>20)
	t0 = time.Now()
	_, err = s.Programs(Count)
	fmt.Println(err, time.Since(t0))
	b.Reset()
	b.WriteString("fencesim: 1\nschedule:\n  queues:\n  - name: gpu\n    buffers:\n")
	for i := 1; i < 1000000; i++ {
		fmt.Fprintf(&b, "    - [\"kernel x%d\", \"update G %d\"]\n", i, i)
	}
	t0 = time.Now()
	s, err = Parse("f", []byte(b.String()))
	runtime.ReadMemStats(&m)
	fmt.Println(b.Len()>>20, err, time.Since(t0), m.Sys>>20)
	t0 = time.Now()
	s, err = Parse("f", []byte("fencesim: 1\nabout: ["+strings.Repeat("abc,", 16600000)+"]"))
	runtime.ReadMemStats(&m)
	fmt.Println(err, time.Since(t0), m.Sys>>20)
	s = mustParse(t, "fencesim: 1\ngenerate: {kind: independent-reductions, reductions: 838860, rounds: 8, elems: 100}")
	t0 = time.Now()
	_, err = s.Programs(Count)
	runtime.ReadMemStats(&m)
	fmt.Println(err, time.Since(t0), m.Sys>>20)
}

package model

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"slices"
)

// Digest is the SHA-256, in hex, of the programs of all ranks under the discipline in
// force: equal for scenarios that differ in name, comments or form only. It is "" for a
// scenario that is not valid.
func (s *Scenario) Digest() string {
	ps, err := s.Programs(s.Effective())
	if err != nil {
		return ""
	}
	return Digest(ps)
}

// Digest is the SHA-256, in hex, of the programs of all ranks.
func Digest(ps []*Schedule) string {
	h := sha256.New()
	w := bufio.NewWriter(h)
	index := make(map[*Schedule]int)
	for r := 0; r < len(ps); {
		n := r + 1
		for n < len(ps) && ps[n] == ps[r] {
			n++
		}
		i, known := index[ps[r]]
		if !known {
			i = len(index)
			index[ps[r]] = i
		}
		fmt.Fprintf(w, "ranks %d to %d run program %d\n", r, n-1, i)
		if !known {
			ps[r].canonical(w)
		}
		r = n
	}
	w.Flush()
	return hex.EncodeToString(h.Sum(nil))
}

// canonical writes everything that a run depends on, one item a line. The form is stable:
// digests stand in traces and results.
func (s *Schedule) canonical(w io.Writer) {
	for _, f := range s.Fences {
		fmt.Fprintf(w, "fence %s %d %s\n", s.Names.Of(f.Name), f.Initial, f.Store)
	}
	for _, in := range s.Inputs {
		fmt.Fprintf(w, "input %s\n", s.Names.Of(in))
	}
	for i := range s.Queues {
		q := &s.Queues[i]
		fmt.Fprintf(w, "queue %s %d\n", q.Name, q.FirstUse)
		for k := range q.Commands {
			fmt.Fprintln(w, q.Commands[k].Text(&s.Names))
		}
		for _, b := range slices.Sorted(maps.Keys(q.OnFinish)) {
			fmt.Fprintf(w, "on finish of %d\n", b)
			for k := range q.OnFinish[b] {
				fmt.Fprintln(w, q.OnFinish[b][k].Text(&s.Names))
			}
		}
		fmt.Fprintln(w, "ends", q.Ends, "forced", q.Forced, "sections", q.Section)
	}
	for i := range s.Streams {
		st := &s.Streams[i]
		fmt.Fprintf(w, "stream %s\n", st.Name)
		for k := range st.Tasks {
			fmt.Fprintln(w, st.Tasks[k].Text(&s.Names))
		}
		fmt.Fprintln(w, "counted", st.Counted)
	}
	fmt.Fprintln(w, "main", s.FromGraph)
	for i := range s.Main {
		m := &s.Main[i]
		fmt.Fprintln(w, m.Kind, m.Queue, m.Target, m.N, s.Names.Of(m.Array))
		if m.Command != nil {
			fmt.Fprintln(w, m.Command.Text(&s.Names))
		}
	}
}

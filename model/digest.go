package model

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
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
	var scratch []byte
	command := func(c *Command) {
		scratch = append(c.append(scratch[:0], &s.Names), '\n')
		w.Write(scratch)
	}
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
			command(&q.Commands[k])
		}
		for _, b := range slices.Sorted(maps.Keys(q.OnFinish)) {
			fmt.Fprintf(w, "on finish of %d\n", b)
			for k := range q.OnFinish[b] {
				command(&q.OnFinish[b][k])
			}
		}
		io.WriteString(w, "ends ")
		scratch = writeList(w, scratch, q.Ends)
		io.WriteString(w, " forced ")
		scratch = writeList(w, scratch, q.Forced)
		io.WriteString(w, " sections ")
		scratch = writeList(w, scratch, q.Section)
		io.WriteString(w, "\n")
	}
	for i := range s.Streams {
		st := &s.Streams[i]
		fmt.Fprintf(w, "stream %s\n", st.Name)
		for k := range st.Tasks {
			command(&st.Tasks[k])
		}
		io.WriteString(w, "counted ")
		scratch = writeList(w, scratch, st.Counted)
		io.WriteString(w, "\n")
	}
	fmt.Fprintln(w, "main", s.FromGraph)
	for i := range s.Main {
		m := &s.Main[i]
		b := strconv.AppendUint(scratch[:0], uint64(m.Kind), 10)
		b = strconv.AppendBool(append(b, ' '), m.Queue)
		b = strconv.AppendInt(append(b, ' '), int64(m.Target), 10)
		b = strconv.AppendInt(append(b, ' '), int64(m.N), 10)
		b = append(append(b, ' '), s.Names.Of(m.Array)...)
		scratch = append(b, '\n')
		w.Write(scratch)
		if m.Command != nil {
			command(m.Command)
		}
	}
}

// writeList writes numbers as "[1 2 3]", each by itself: there can be millions.
func writeList[T int | int32 | uint8](w io.Writer, scratch []byte, list []T) []byte {
	scratch = append(scratch[:0], '[')
	for i, v := range list {
		if i > 0 {
			scratch = append(scratch, ' ')
		}
		scratch = strconv.AppendInt(scratch, int64(v), 10)
		w.Write(scratch)
		scratch = scratch[:0]
	}
	scratch = append(scratch, ']')
	w.Write(scratch)
	return scratch
}

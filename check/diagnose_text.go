package check

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// Text writes a diagnosis for a person: the explanations that remain with what they
// predict, those that are excluded, and what to look at next.
func (d *Diagnosis) Text(w io.Writer) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "%s, observed: %s\n\nleft:\n", d.Scenario, d.Observed.String())
	g := grid{}
	for i := range d.Explanations {
		e := &d.Explanations[i]
		if e.Reaches == No {
			continue
		}
		g = append(g, []string{"  " + e.Hypothesis, e.Machine, e.Reaches.String(), e.About})
	}
	if len(g) == 0 {
		g = grid{{"  none"}}
	}
	g.text(b)
	fmt.Fprintf(b, "\nexcluded:\n")
	g = grid{}
	for i := range d.Explanations {
		if e := &d.Explanations[i]; e.Reaches == No {
			g = append(g, []string{"  " + e.Hypothesis, e.Machine, e.Why})
		}
	}
	g.text(b)
	fmt.Fprintf(b, "\nwhat those that are left predict (forced: by what is guaranteed; luck: a merely possible step is needed):\n")
	g = grid{{"  "}}
	for _, k := range Observables {
		g[0] = append(g[0], k.Name)
	}
	for i := range d.Explanations {
		e := &d.Explanations[i]
		if e.Reaches == No {
			continue
		}
		row := []string{"  " + e.Name()}
		for _, k := range Observables {
			row = append(row, some(e.Predicts[k.Name]))
		}
		g = append(g, row)
	}
	g.text(b)
	for i, n := range d.Next {
		if i == 0 {
			fmt.Fprintf(b, "\nlook next at %s: %s\n", n.Observe, observable(n.Observe))
			for _, line := range n.outcomes() {
				fmt.Fprintf(b, "  %s\n", line)
			}
			continue
		}
		fmt.Fprintf(b, "then %s (leaves at most %d of %d)\n", n.Observe, n.Worst, len(d.Survivors()))
	}
	return b.Flush()
}

// Markdown writes the explanations as a table.
func (d *Diagnosis) Markdown(w io.Writer) error {
	b := bufio.NewWriter(w)
	g := grid{{"hypothesis", "machine", "reaches"}}
	for _, k := range Observables {
		g[0] = append(g[0], k.Name)
	}
	for i := range d.Explanations {
		e := &d.Explanations[i]
		row := []string{e.Hypothesis, e.Machine, e.Reaches.String()}
		for _, k := range Observables {
			row = append(row, some(e.Predicts[k.Name]))
		}
		g = append(g, row)
	}
	g.markdown(b)
	return b.Flush()
}

func observable(name string) string {
	for _, k := range Observables {
		if k.Name == name {
			return k.Doc
		}
	}
	return ""
}

// outcomes puts outcomes that leave the same explanations together.
func (n *NextLook) outcomes() []string {
	groups := map[string][]string{}
	for _, v := range slices.Sorted(maps.Keys(n.Splits)) {
		key := strings.Join(n.Splits[v], ", ")
		groups[key] = append(groups[key], v)
	}
	var out []string
	for key, vs := range groups {
		out = append(out, some(vs)+" leaves "+key)
	}
	slices.Sort(out)
	return out
}

// some is a list of at most four values.
func some(vs []string) string {
	if len(vs) > 4 {
		return fmt.Sprintf("%s, %s, …, %s (%d)", vs[0], vs[1], vs[len(vs)-1], len(vs))
	}
	return strings.Join(vs, ", ")
}

// String lists what was observed.
func (o Observation) String() string {
	var out []string
	number := func(name string, v *uint32) {
		if v != nil {
			out = append(out, fmt.Sprintf("%s %d", name, *v))
		}
	}
	number("scheduled", o.Scheduled)
	number("gpu", o.GPU)
	number("cpu", o.CPU)
	for _, k := range []struct{ name, v string }{{"main", o.Main}, {"stream", o.Stream}, {"device", o.Device}, {"error", o.Error}} {
		if k.v != "" {
			out = append(out, k.name+" "+k.v)
		}
	}
	number("later", o.Later)
	if o.Executed != "" {
		out = append(out, "executed "+o.Executed)
	}
	if len(o.Seen) > 0 {
		out = append(out, strings.Trim(fmt.Sprintf("seen %v", o.Seen), "[]"))
	}
	if len(out) == 0 {
		return "a hang"
	}
	return strings.Join(out, ", ")
}

package report

import (
	"strings"
	"unicode/utf8"
)

// A table is rows of short texts. Columns of which right is true are aligned to the right.
type table struct {
	head  []string // names of the columns; nil for none
	right []bool
	rows  [][]string
}

// dropFirst drops the first column.
func (t *table) dropFirst() {
	t.head, t.right = t.head[1:], t.right[1:]
	for i := range t.rows {
		t.rows[i] = t.rows[i][1:]
	}
}

// table writes rows with the columns aligned, two spaces between, after an indent. The last
// column is broken at the line's end if it is to the left. Where the columns do not fit, a
// row becomes a text: its cells by name or, in a table without names, the last cell below
// the others.
func (p *printer) table(indent int, t table) {
	rows := t.rows
	if t.head != nil {
		rows = append([][]string{t.head}, rows...)
	}
	var widths []int
	for _, r := range rows {
		for i, c := range r {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(c))
		}
	}
	used := indent
	for _, w := range widths[:max(0, len(widths)-1)] {
		used += w + 2
	}
	last := len(widths) - 1
	isRight := func(i int) bool { return i < len(t.right) && t.right[i] }
	if last < 0 {
		return
	}
	need := widths[last]
	if !isRight(last) {
		need = min(need, leastText)
	}
	if used+need > p.Width {
		p.records(indent, t)
		return
	}
	for _, r := range rows {
		var b strings.Builder
		b.WriteString(strings.Repeat(" ", indent))
		for i, c := range r {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c))
			switch {
			case i == last && !isRight(i):
				p.row(b.String(), used, c)
			case i == last:
				p.line("%s", strings.TrimRight(b.String()+pad+c, " "))
			case isRight(i):
				b.WriteString(pad + c + "  ")
			default:
				b.WriteString(c + pad + "  ")
			}
		}
	}
}

// unbroken stands for a space at which no line ends.
const unbroken = "\x00"

// records writes each row of a table that is too wide as a text of its own.
func (p *printer) records(indent int, t table) {
	space := strings.Repeat(" ", indent)
	for _, r := range t.rows {
		if t.head == nil {
			n := len(r) - 1
			p.row(space, indent, strings.Join(r[:n], " "))
			p.row("", indent+2, r[n])
			continue
		}
		var cells []string
		for i, c := range r {
			cell := t.head[i] + " " + c
			if len(cell) <= leastText {
				cell = strings.ReplaceAll(cell, " ", unbroken)
			}
			cells = append(cells, cell)
		}
		for i, l := range breakLines(strings.Join(cells, ", "), p.Width-indent-2) {
			if i == 1 {
				space += "  "
			}
			p.line("%s", space+strings.ReplaceAll(l, unbroken, " "))
		}
		space = space[:indent]
	}
}

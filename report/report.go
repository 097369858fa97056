// Package report writes results for people and for other tools.
//
// [Text] writes what [check.Explore] found, [Replayed] what a replay did, [Shown] what a
// scenario runs, [ShownMachine] what a machine assumes. Text and JSON are made of the same
// values. Nothing in here decides anything about a schedule.
package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Options is how text is written. The zero value is for a log: 100 columns, no colour,
// steps shortened to what matters.
type Options struct {
	Width int  // columns of the terminal; 0: 100
	Color bool // mark verdicts and what is left out with ANSI colours
	Rows  int  // most rows of steps; 0: 40; negative: all

	// Unmet are the expectations that the result does not meet, as the function [Unmet]
	// gives them; nil: it is only said that there are some.
	Unmet []string
}

const (
	defaultWidth = 100
	leastWidth   = 40
	defaultRows  = 40
)

func (o Options) normal() Options {
	if o.Width == 0 {
		o.Width = defaultWidth
	}
	o.Width = max(o.Width, leastWidth)
	if o.Rows == 0 {
		o.Rows = defaultRows
	}
	return o
}

// style is an ANSI rendition; the empty one is plain.
type style string

const (
	plain  style = ""
	bold   style = "1"
	dim    style = "2"
	red    style = "1;31"
	green  style = "1;32"
	yellow style = "1;33"
)

// printer writes lines and keeps the first error, which flush returns.
type printer struct {
	b *bufio.Writer
	Options
}

func newPrinter(w io.Writer, o Options) *printer {
	return &printer{bufio.NewWriter(w), o.normal()}
}

func (p *printer) flush() error { return p.b.Flush() }

func (p *printer) line(format string, args ...any) {
	fmt.Fprintf(p.b, format, args...)
	p.b.WriteByte('\n')
}

// paint is text in a style if the output has colours.
func (p *printer) paint(s style, text string) string {
	if !p.Color || s == plain {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

// text writes text in a style, broken at the line's end.
func (p *printer) text(s style, text string) {
	for _, l := range breakLines(text, p.Width) {
		p.line("%s", p.paint(s, l))
	}
}

// section writes a blank line and a heading.
func (p *printer) section(title string) {
	p.line("")
	p.text(bold, title)
}

// leastText is the narrowest text beside a label; where there is less room it stands below.
const leastText = 20

// row writes text after a label of the given width and breaks it at the line's end; later
// lines begin below the text.
func (p *printer) row(label string, width int, text string) { p.styledRow(plain, label, width, text) }

func (p *printer) styledRow(s style, label string, width int, text string) {
	head := fmt.Sprintf("%-*s", width, label)
	if p.Width-width < leastText {
		if label = strings.TrimRight(label, " "); label != "" {
			p.line("%s", p.paint(s, label))
		}
		width = 6
		head = strings.Repeat(" ", width)
	}
	for i, part := range breakLines(text, p.Width-width) {
		if i > 0 {
			head = strings.Repeat(" ", width)
		}
		p.line("%s", p.paint(s, strings.TrimRight(head+part, " ")))
	}
}

// breakLines breaks text at spaces into lines of at most width characters; a longer word
// has a line of its own.
func breakLines(text string, width int) []string {
	var lines []string
	line, n := "", 0
	for _, word := range strings.Fields(text) {
		w := utf8.RuneCountInString(word)
		if n > 0 && n+1+w > width {
			lines = append(lines, line)
			line, n = "", 0
		}
		if n > 0 {
			line, n = line+" ", n+1
		}
		line, n = line+word, n+w
	}
	return append(lines, line)
}

// count is "1 step", "2 steps".
func count(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

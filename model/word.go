package model

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// hidden is the first byte of s at which a character begins that no name may have, for it
// does not show or changes how what follows shows: control characters, those that turn the
// direction of writing, spaces other than the ASCII one, and code points that are not
// assigned. It is -1 if there is none.
func hidden(s string) int {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f {
			for k, r := range s[i:] {
				if !unicode.IsPrint(r) || r == utf8.RuneError {
					return i + k
				}
			}
			return -1
		}
	}
	return -1
}

// Printable is s with what does not show, or changes how the rest shows, written as an
// escape: for text of a file that goes to a terminal, a log or a page.
func Printable(s string) string {
	if hidden(s) < 0 {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == utf8.RuneError && s[i] >= utf8.RuneSelf && !strings.HasPrefix(s[i:], "\uFFFD"):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
	}
	return b.String()
}

// checkWord refuses a name that no command could contain.
func checkWord(c *checker, what, name string, path []any) {
	if name == "" || strings.ContainsAny(name, " \t\n\r,@=") {
		c.fail(path, "%q cannot name %s: want a word without spaces, commas, @ and =", shorten(name), what)
		return
	}
	checkShown(c, what, name, path)
}

// checkShown refuses a name that does not show as it is.
func checkShown(c *checker, what, name string, path []any) {
	if i := hidden(name); i >= 0 {
		r, _ := utf8.DecodeRuneInString(name[i:])
		c.fail(path, "%q cannot name %s: character %U is not printable", shorten(name), what, r)
	}
}

// decimal reads a whole number as commands and keys have it: digits alone, no sign but -,
// no zero in front.
func decimal(s string) (v int64, ok bool) {
	digits := strings.TrimPrefix(s, "-")
	if digits == "" || s != "0" && digits[0] == '0' || digits[0] == '+' {
		return 0, false
	}
	v, err := strconv.ParseInt(s, 10, 64)
	return v, err == nil
}

// tooLarge reports whether s is a whole number as decimal reads them, but one that does
// not fit 64 bits.
func tooLarge(s string) bool {
	digits := strings.TrimPrefix(s, "-")
	_, ok := decimal(s)
	return !ok && digits != "" && digits[0] != '0' && strings.Trim(digits, "0123456789") == ""
}

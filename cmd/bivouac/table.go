package main

import (
	"os"
	"strings"
	"unicode/utf8"

	"github.com/bivouac-ml/bivouac/errs"
)

// colour says how a text is painted on a terminal.
type colour string

// The colours, by what they tell.
const (
	good   colour = "\x1b[32m"
	bad    colour = "\x1b[1;31m"
	warned colour = "\x1b[33m"
	quiet  colour = "\x1b[2m"
	bold   colour = "\x1b[1m"

	unpainted = "\x1b[0m"
)

// painted is a text with a colour. Texts keep their width, since only add and printf paint them.
type painted struct {
	colour colour
	text   string
}

// paint returns a text for standard output, with its colour if there are colours. The text itself
// is printable afterwards.
func (g *global) paint(c colour, text string) string {
	text = printable(text)
	if text == "" || c == "" || !g.colours() {
		return text
	}
	return string(c) + text + unpainted
}

// colours reports whether standard output has colours: as --color says, or if it is a terminal and
// NO_COLOR is not set; see no-color.org.
func (g *global) colours() bool {
	switch g.color {
	case "always":
		return true
	case "never":
		return false
	}
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && isTerminal(g.stdout)
}

// colorWhen is the value of --color.
type colorWhen struct{ to *string }

// Set implements pflag.Value.
func (c colorWhen) Set(s string) error {
	switch s {
	case "auto", "always", "never":
		*c.to = s
		return nil
	}
	return &errs.Error{Kind: errs.Invalid, Want: "auto, always or never", Got: s}
}

// String implements pflag.Value.
func (c colorWhen) String() string {
	if c.to == nil {
		return ""
	}
	return *c.to
}

// Type implements pflag.Value.
func (colorWhen) Type() string { return "when" }

// table is text in columns under headers.
type table struct {
	g     *global
	right []bool // columns that are aligned at their right side
	rows  [][]painted
}

// newTable returns a table. A header that begins with > heads a column of numbers.
func newTable(g *global, headers ...string) *table {
	t := &table{g: g}
	var row []painted
	for _, h := range headers {
		name, right := strings.CutPrefix(h, ">")
		t.right = append(t.right, right)
		row = append(row, painted{bold, name})
	}
	t.rows = [][]painted{row}
	return t
}

// add adds a row of texts, each a string or painted.
func (t *table) add(cells ...any) {
	var row []painted
	for _, c := range cells {
		p, ok := c.(painted)
		if !ok {
			p.text = c.(string)
		}
		row = append(row, p)
	}
	t.rows = append(t.rows, row)
}

// print prints the table. A nil table prints nothing.
func (t *table) print() {
	if t == nil {
		return
	}
	widths := make([]int, len(t.right))
	for _, row := range t.rows {
		for i, c := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(printable(c.text)))
		}
	}
	var b strings.Builder
	for _, row := range t.rows {
		blank := 0 // spaces are written only before text
		for i, c := range row {
			pad := widths[i] - utf8.RuneCountInString(printable(c.text))
			if i > 0 {
				blank += 2
			}
			if t.right[i] {
				blank, pad = blank+pad, 0
			}
			if t.right[i] && c.text == "" {
				continue
			}
			if c.text != "" {
				b.WriteString(strings.Repeat(" ", blank))
				b.WriteString(t.g.paint(c.colour, c.text))
				blank = 0
			}
			blank += pad
		}
		b.WriteByte('\n')
	}
	t.g.stdout.Write([]byte(b.String())) //nolint:errcheck // output keeps the error
}

package main

import (
	"fmt"
	"path"
	"unicode/utf8"
)

// The kinds of findings, in the order of the columns of limits.txt.
const (
	riddle = iota
	longProse
	longCode
	kinds
)

// longCell is the kind of a long cell of a table. Such cells are counted, and have no limit.
const longCell = kinds

const (
	proseColumns = 100
	codeColumns  = 120
	cellColumns  = 160
)

// A finding is one place that is to be written again.
type finding struct {
	kind int
	file string
	line int
	text string // what was found, and the remedy
}

func (f finding) String() string { return fmt.Sprintf("%s:%d: %s", f.file, f.line, f.text) }

func (f finding) folder() string { return path.Dir(f.file) }

func columns(line string) int { return utf8.RuneCountInString(line) }

func long(kind int, file string, line int, text string) finding {
	what, limit, remedy := "code", codeColumns, "break the line"
	switch kind {
	case longProse:
		what, limit, remedy = "prose", proseColumns, "shorten it or run tools/english -fix"
	case longCell:
		what, limit, remedy = "cell", cellColumns, "make it a paragraph below the table"
	}
	return finding{kind, file, line,
		fmt.Sprintf("%s of %d columns, want at most %d (%s)", what, columns(text), limit, remedy)}
}

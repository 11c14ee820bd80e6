package main

import (
	"regexp"
	"strings"
)

// A block is consecutive lines of a page: a paragraph or an item of a list, which can be wrapped,
// or anything else, which stays as it is.
type block struct {
	first int // line, from 1
	lines []string
	prose bool
	head  string // what the first line begins with: "", "- ", "  1. "
	rest  string // what the other lines begin with, when they are wrapped
}

var (
	listItem = regexp.MustCompile(`^(\s*)([-*+]|\d+[.)])(\s+)`)
	fence    = regexp.MustCompile("^\\s*(```+|~~~+)")
	noProse  = regexp.MustCompile(`^\s*(\||#{1,6} |<|\[[^\]]+\]: |>|(-{3,}|={3,}|\*{3,})\s*$)`)
)

// blocks parses a page. Code, tables, headings, HTML, quotations and link targets are no prose.
func blocks(page string) (out []block) {
	var now *block
	flush := func() {
		if now != nil {
			out = append(out, *now)
			now = nil
		}
	}
	other := func(i int, l string) { out = append(out, block{first: i + 1, lines: []string{l}}) }
	fenced, comment, inList := "", false, false
	for i, l := range strings.Split(page, "\n") {
		indent := len(l) - len(strings.TrimLeft(l, " "))
		item := listItem.FindStringSubmatch(l)
		switch m := fence.FindStringSubmatch(l); {
		case comment:
			comment = !strings.Contains(l, "-->")
			other(i, l)
		case fenced != "":
			if m != nil && strings.HasPrefix(m[1], fenced) {
				fenced = ""
			}
			other(i, l)
		case m != nil:
			flush()
			fenced = m[1]
			other(i, l)
		case strings.HasPrefix(strings.TrimSpace(l), "<!--"):
			flush()
			comment = !strings.Contains(l, "-->")
			other(i, l)
		case strings.TrimSpace(l) == "":
			flush()
			other(i, l)
		case noProse.MatchString(l), strings.HasPrefix(l, "\t"), now == nil && (indent >= 4 && !inList || indent >= 8):
			flush()
			other(i, l)
		case item != nil:
			flush()
			inList = true
			head := item[0]
			now = &block{first: i + 1, lines: []string{l}, prose: true, head: head, rest: strings.Repeat(" ", len(head))}
		case now != nil:
			now.lines = append(now.lines, l)
		default:
			inList = inList && indent > 0
			now = &block{first: i + 1, lines: []string{l}, prose: true, head: l[:indent], rest: l[:indent]}
		}
	}
	flush()
	return out
}

// checkPage returns the findings of a Markdown page.
func checkPage(name, page string) (found []finding) {
	for _, b := range blocks(page) {
		if !b.prose && !strings.HasPrefix(b.lines[0], "|") && !strings.HasPrefix(b.lines[0], "#") {
			continue
		}
		if strings.HasPrefix(b.lines[0], "|") {
			for cell := range strings.SplitSeq(b.lines[0], "|") {
				if columns(cell) > cellColumns {
					found = append(found, long(longCell, name, b.first, cell))
				}
			}
		}
		t := text{}
		for i, l := range b.lines {
			t.add(strings.TrimSpace(l), b.first+i)
			if b.prose && columns(l) > proseColumns && len(words(l)) > 1 {
				found = append(found, long(longProse, name, b.first+i, l))
			}
		}
		found = append(found, t.riddles(name)...)
	}
	return found
}

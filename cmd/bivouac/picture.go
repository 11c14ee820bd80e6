package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/bivouac-ml/bivouac/tree"
)

// picture draws leaves by their keys; the leaves of one container come together.
type picture struct {
	name  string
	text  string // of a leaf
	below []*picture
	bytes int64
	leafs int
}

// add puts a leaf in its place. Containers appear where their first leaf comes.
func (p *picture) add(path tree.Path, text string, bytes int64) {
	p.bytes += bytes
	p.leafs++
	if len(path) == 0 {
		p.text = text
		return
	}
	for _, b := range p.below {
		if b.name == path[0].Name {
			b.add(path[1:], text, bytes)
			return
		}
	}
	b := &picture{name: path[0].Name}
	p.below = append(p.below, b)
	b.add(path[1:], text, bytes)
}

// width is how wide the names are, with the lines in front of them.
func (p *picture) width(depth int) int {
	w := 3*depth + utf8.RuneCountInString(printable(p.name))
	for _, b := range p.below {
		w = max(w, b.width(depth+1))
	}
	return w
}

// draw prints what is below p, names in a column of the given width.
func (p *picture) draw(w io.Writer, before string, column int) {
	for i, b := range p.below {
		branch, next := "├─ ", "│  "
		if i == len(p.below)-1 {
			branch, next = "└─ ", "   "
		}
		name := before + branch + printable(b.name)
		text := b.text
		if len(b.below) > 0 {
			text = fmt.Sprintf("%d leaves, %s", b.leafs, size(b.bytes))
		}
		pad := strings.Repeat(" ", max(0, column-utf8.RuneCountInString(name)))
		fmt.Fprintf(w, "%s%s  %s\n", name, pad, printable(text))
		b.draw(w, before+next, column)
	}
}

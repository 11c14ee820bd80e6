package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/scanner"
	"go/token"
	"regexp"
	"slices"
	"strings"
)

// words splits prose at spaces that are not within `code`.
func words(s string) (out []string) {
	code := false
	for _, w := range strings.Fields(s) {
		if code {
			out[len(out)-1] += " " + w
		} else {
			out = append(out, w)
		}
		if strings.Count(w, "`")%2 == 1 {
			code = !code
		}
	}
	return out
}

// markup matches a word that would mean something at the beginning of a line.
var markup = regexp.MustCompile("^([-+*>|=]|#+|\\d+[.)]|-{2,}.*|`{3,}.*|~{3,}.*|[|<>].*)$")

// wrap returns lines of at most limit columns. A word that is markup never begins a line but the
// first.
func wrap(words []string, head, rest string, limit int) (out []string) {
	var line []string
	prefix, width := head, columns(head)
	end := func(carry int) {
		keep := len(line) - carry
		out = append(out, prefix+strings.Join(line[:keep], " "))
		prefix, line = rest, slices.Clone(line[keep:])
		width = columns(prefix)
		for _, w := range line {
			width += columns(w) + 1
		}
	}
	for _, w := range words {
		if len(line) > 0 && width+columns(w) > limit {
			carry := 0
			for next := w; carry < len(line) && markup.MatchString(next); next = line[len(line)-carry] {
				carry++
			}
			if carry < len(line) {
				end(carry)
			}
		}
		line = append(line, w)
		width += columns(w) + 1
	}
	return append(out, prefix+strings.Join(line, " "))
}

// rewrapPage wraps the paragraphs and items of a page that have a long line. A paragraph with a
// line break of its own, two spaces or a backslash at the end of a line, stays.
func rewrapPage(b []byte) ([]byte, error) {
	var out []string
	for _, bl := range blocks(string(b)) {
		isLong := slices.ContainsFunc(bl.lines, func(l string) bool { return columns(l) > proseColumns })
		breaks := slices.ContainsFunc(bl.lines[:len(bl.lines)-1], func(l string) bool {
			return strings.HasSuffix(l, "  ") || strings.HasSuffix(l, `\`)
		})
		if !bl.prose || !isLong || breaks {
			out = append(out, bl.lines...)
			continue
		}
		body := strings.TrimPrefix(strings.Join(bl.lines, "\n"), bl.head)
		out = append(out, wrap(words(body), bl.head, bl.rest, proseColumns)...)
	}
	res := strings.Join(out, "\n")
	if !slices.Equal(strings.Fields(res), strings.Fields(string(b))) {
		return nil, errors.New("the words changed: wrap this page by hand")
	}
	return []byte(res), nil
}

// rewrapGo wraps the paragraphs of comments that have a long line. It leaves directives, lists,
// preformatted text, headings, the output of examples and the C code of cgo as they are.
func rewrapGo(name string, src []byte) ([]byte, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	if ast.IsGenerated(file) {
		return src, nil
	}
	fixed := map[int]bool{} // lines that stay
	stay := func(g *ast.CommentGroup) {
		for l := fset.PositionFor(g.Pos(), false).Line; l <= fset.PositionFor(g.End(), false).Line; l++ {
			fixed[l] = true
		}
	}
	for _, g := range file.Comments {
		if slices.ContainsFunc(g.List, staysAsIs) {
			stay(g)
		}
	}
	for _, d := range file.Decls {
		if d, ok := d.(*ast.GenDecl); ok && d.Tok == token.IMPORT && d.Doc != nil {
			stay(d.Doc)
		}
	}
	markRawStrings(file, fset, fixed)
	out := wrapComments(strings.Split(string(src), "\n"), fixed)
	formatted, err := format.Source([]byte(out))
	if err != nil {
		return nil, err
	}
	if !slices.Equal(tokens(src), tokens(formatted)) {
		return nil, fmt.Errorf("the code changed: wrap this file by hand")
	}
	return formatted, nil
}

// staysAsIs reports whether c is the output of an example or a comment of another kind than "//".
func staysAsIs(c *ast.Comment) bool {
	return outputLine.MatchString(c.Text) || strings.HasPrefix(c.Text, "/*")
}

// markRawStrings marks the lines of strings of several lines.
func markRawStrings(file *ast.File, fset *token.FileSet, fixed map[int]bool) {
	ast.Inspect(file, func(n ast.Node) bool {
		if n, ok := n.(*ast.BasicLit); ok {
			from, to := fset.PositionFor(n.Pos(), false).Line, fset.PositionFor(n.End(), false).Line
			for l := from; from < to && l <= to; l++ {
				fixed[l] = true
			}
		}
		return true
	})
}

// paragraphLine matches a line of a comment with one space after its slashes. itemLine matches
// those that begin a list item, a row of a table or a heading.
var (
	paragraphLine = regexp.MustCompile(`^(\s*// )\S`)
	itemLine      = regexp.MustCompile(`^\s*// ([-*+•|#]|\d+[.)] )`)
)

func wrapComments(lines []string, fixed map[int]bool) string {
	var out []string
	for i := 0; i < len(lines); {
		m := paragraphLine.FindStringSubmatch(lines[i])
		if m == nil || fixed[i+1] {
			out = append(out, lines[i])
			i++
			continue
		}
		end, isLong, list := i, false, false
		for end < len(lines) && !fixed[end+1] && paragraphLine.MatchString(lines[end]) {
			isLong = isLong || columns(lines[end]) > proseColumns
			list = list || itemLine.MatchString(lines[end])
			end++
		}
		if !isLong || list {
			out = append(out, lines[i:end]...)
		} else {
			var body []string
			for _, l := range lines[i:end] {
				body = append(body, words(strings.TrimPrefix(strings.TrimSpace(l), "//"))...)
			}
			out = append(out, wrap(body, m[1], m[1], proseColumns)...)
		}
		i = end
	}
	return strings.Join(out, "\n")
}

// tokens returns the code of a file, and all words of its comments.
func tokens(src []byte) (out []string) {
	var s scanner.Scanner
	fset := token.NewFileSet()
	s.Init(fset.AddFile("", fset.Base(), len(src)), src, nil, scanner.ScanComments)
	for {
		_, tok, lit := s.Scan()
		if tok == token.EOF {
			return out
		}
		if tok == token.COMMENT {
			out = append(out, strings.Fields(strings.TrimPrefix(lit, "//"))...)
		} else if tok != token.SEMICOLON || lit != "\n" {
			out = append(out, tok.String(), lit)
		}
	}
}

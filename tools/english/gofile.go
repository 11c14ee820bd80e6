package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"strings"
)

var (
	directive  = regexp.MustCompile(`^//(go:|line |export |extern |nolint|lint:|avo:|[a-z]+:[a-z])`)
	outputLine = regexp.MustCompile(`(?i)^//\s*(unordered )?output:`)
)

// checkGo returns the findings of a Go file.
func checkGo(name string, src []byte) ([]finding, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	if ast.IsGenerated(file) {
		return nil, nil
	}
	line := func(p token.Pos) int { return fset.PositionFor(p, false).Line }
	var found []finding
	for _, group := range file.Comments {
		found = append(found, checkComments(name, group, line)...)
	}
	if !strings.HasSuffix(name, "_test.go") {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ImportSpec:
				return false
			case *ast.BasicLit:
				if s, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING && strings.Contains(s, " ") {
					t := text{}
					t.add(s, line(n.Pos()))
					found = append(found, t.riddles(name)...)
				}
			}
			return true
		})
	}
	tables := tableLines(file, line)
	exempt := map[int]bool{} // lines that begin with // and are no prose
	markRawStrings(file, fset, exempt)
	for _, group := range file.Comments {
		output := false
		for _, c := range group.List {
			output = output || outputLine.MatchString(c.Text)
			exempt[line(c.Pos())] = exempt[line(c.Pos())] || output
		}
	}
	for i, l := range strings.Split(string(src), "\n") {
		switch trimmed := strings.TrimSpace(l); {
		case strings.HasPrefix(trimmed, "//"):
			if columns(l) > proseColumns && isProse(trimmed) && !exempt[i+1] {
				found = append(found, long(longProse, name, i+1, l))
			}
		case columns(l) > codeColumns && !tables[i+1]:
			found = append(found, long(longCode, name, i+1, l))
		}
	}
	return found, nil
}

// isProse reports whether a comment line that is too long can be shorter: it is neither
// preformatted, nor a directive, nor one word.
func isProse(comment string) bool {
	body := strings.TrimPrefix(comment, "//")
	if strings.HasPrefix(body, "\t") || directive.MatchString(comment) {
		return false
	}
	return len(strings.Fields(body)) > 1
}

// checkComments returns the riddles of a comment group. Preformatted lines and the output of
// examples are not read.
func checkComments(name string, group *ast.CommentGroup, line func(token.Pos) int) []finding {
	t := text{}
	for _, c := range group.List {
		if outputLine.MatchString(c.Text) {
			break
		}
		if directive.MatchString(c.Text) || strings.HasPrefix(c.Text, "//\t") {
			continue
		}
		for i, l := range strings.Split(c.Text, "\n") {
			l = strings.TrimPrefix(strings.TrimPrefix(strings.TrimSuffix(l, "*/"), "/*"), "//")
			t.add(strings.TrimSpace(l), line(c.Pos())+i)
		}
	}
	return t.riddles(name)
}

// tableLines returns the lines that lie in a composite literal or in a string of several lines.
func tableLines(file *ast.File, line func(token.Pos) int) map[int]bool {
	lines := map[int]bool{}
	mark := func(from, to int) {
		for l := from; l <= to; l++ {
			lines[l] = true
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			if from, to := line(n.Pos()), line(n.End()); to > from {
				mark(from+1, to-1)
			}
		case *ast.BasicLit:
			if from, to := line(n.Pos()), line(n.End()); to > from {
				mark(from, to)
			}
		}
		return true
	})
	return lines
}

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// A site is all pages with their order.
type site struct {
	root   string
	pages  map[string]*page // by source
	groups []group
	files  map[string][]byte // pictures, by their names in the repository
}

// A group is a part of the navigation.
type group struct {
	Name  string
	Links []navLink
}

// navLink is a page in the navigation.
type navLink struct{ Text, Source string }

// A page is one document.
type page struct {
	source  string // in the repository, with slashes
	url     string // in the site
	title   string
	text    []byte
	doc     ast.Node
	anchors map[string]bool
}

// index is the page whose list is the navigation.
const index = "docs/README.md"

// catalogueSource names the page of all errors, which is made of the tables of mistakes.
const catalogueSource = "docs/errors.md"

// markdown parses and renders. GitHub reads the same pages, so it has its extensions.
var markdown = goldmark.New(goldmark.WithExtensions(extension.GFM))

// read reads the pages of a repository: README.md, everything below docs, and other documents that
// these link.
func read(root string) (*site, error) {
	s := &site{root: root, pages: map[string]*page{}, files: map[string][]byte{}}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(name) != ".md" {
			return err
		}
		source, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		return s.add(filepath.ToSlash(source), nil)
	})
	if err != nil {
		return nil, err
	}
	catalogue, err := catalogue(root)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(s.add(catalogueSource, catalogue), s.add("README.md", nil)); err != nil {
		return nil, err
	}
	if err := s.addLinked(); err != nil {
		return nil, err
	}
	if s.groups, err = s.navigation(); err != nil {
		return nil, err
	}
	return s, s.check()
}

// add reads a page, or takes its text.
func (s *site) add(source string, b []byte) error {
	if s.pages[source] != nil {
		return nil
	}
	if b == nil {
		var err error
		if b, err = os.ReadFile(filepath.Join(s.root, filepath.FromSlash(source))); err != nil {
			return err
		}
	}
	b = comment.ReplaceAll(b, nil)
	p := &page{source: source, url: urlOf(source), text: b, anchors: map[string]bool{}}
	ctx := parser.NewContext()
	p.doc = markdown.Parser().Parse(text.NewReader(b), parser.WithContext(ctx))
	if err := p.headings(); err != nil {
		return err
	}
	s.pages[source] = p
	return nil
}

// comment is what tests of the pages read, and people do not.
var comment = regexp.MustCompile(`(?s)<!--.*?-->\n?`)

// urlOf returns where a page stands in the site.
func urlOf(source string) string {
	switch {
	case source == "README.md":
		return "index.html"
	case path.Base(source) == "README.md":
		return strings.TrimPrefix(path.Dir(source), "docs/") + "/index.html"
	}
	return strings.TrimPrefix(strings.TrimSuffix(source, ".md"), "docs/") + ".html"
}

// headings gives each heading its anchor as GitHub does, and finds the title.
func (p *page) headings() error {
	err := ast.Walk(p.doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		h, ok := n.(*ast.Heading)
		if !ok || !entering {
			return ast.WalkContinue, nil
		}
		words := plain(h, p.text)
		if p.title == "" {
			p.title = words
		}
		id := slug(words)
		for i := 1; p.anchors[id]; i++ {
			id = fmt.Sprintf("%s-%d", slug(words), i)
		}
		p.anchors[id] = true
		h.SetAttributeString("id", []byte(id))
		return ast.WalkSkipChildren, nil
	})
	if err == nil && p.title == "" {
		err = fmt.Errorf("%s: want a heading, got none", p.source)
	}
	return err
}

// slug returns the anchor that GitHub makes of a heading.
func slug(words string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(words) {
		switch {
		case r == ' ':
			b.WriteByte('-')
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r):
			b.WriteRune(r)
		}
	}
	return b.String()
}

// plain returns the text below a node.
func plain(n ast.Node, source []byte) string {
	var b bytes.Buffer
	ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) { //nolint:errcheck // it returns none
		if !entering {
			if n.Type() == ast.TypeBlock {
				b.WriteByte(' ') // between the cells of a table, for example
			}
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Text:
			b.Write(n.Segment.Value(source))
			if n.SoftLineBreak() || n.HardLineBreak() {
				b.WriteByte(' ')
			}
		case *ast.String:
			b.Write(n.Value)
		case *ast.CodeBlock, *ast.FencedCodeBlock:
			for i := range n.Lines().Len() {
				line := n.Lines().At(i)
				b.Write(line.Value(source))
			}
			b.WriteByte(' ')
		case *ast.AutoLink:
			b.Write(n.Label(source))
		}
		return ast.WalkContinue, nil
	})
	return strings.Join(strings.Fields(b.String()), " ")
}

// addLinked adds documents outside of docs that the pages link, and theirs.
func (s *site) addLinked() error {
	for before := 0; before != len(s.pages); {
		before = len(s.pages)
		for _, p := range s.sorted() {
			for _, l := range p.links() {
				to, _, _ := strings.Cut(l.to, "#")
				target := path.Join(path.Dir(p.source), to)
				if to == "" || external(to) || path.Ext(to) != ".md" || strings.HasPrefix(target, "../") {
					continue
				}
				if _, err := os.Stat(filepath.Join(s.root, filepath.FromSlash(target))); err == nil {
					if err := s.add(target, nil); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

// sorted returns the pages in the order of their sources.
func (s *site) sorted() (list []*page) {
	for _, p := range s.pages {
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b *page) int { return strings.Compare(a.source, b.source) })
	return list
}

// navigation reads the list of docs/README.md: groups with their links, tasks first. Every page of
// docs must be in it, or below the page of the operators.
func (s *site) navigation() ([]group, error) {
	home := s.pages[index]
	if home == nil {
		return nil, fmt.Errorf("want %s with the list of all pages, got no such page", index)
	}
	groups := []group{}
	listed := map[string]bool{index: true, "README.md": true, catalogueSource: true}
	err := ast.Walk(home.doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		item, ok := n.(*ast.ListItem)
		if !ok || !entering {
			return ast.WalkContinue, nil
		}
		name, _, _ := strings.Cut(plain(item, home.text), ":")
		g := group{Name: name}
		err := ast.Walk(item, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
			if l, ok := n.(*ast.Link); ok && entering {
				target := path.Join("docs", string(l.Destination))
				g.Links = append(g.Links, navLink{plain(l, home.text), target})
				listed[target] = true
			}
			return ast.WalkContinue, nil
		})
		groups = append(groups, g)
		return ast.WalkSkipChildren, err
	})
	if err != nil {
		return nil, err
	}
	var missing []string
	for source := range s.pages {
		if !listed[source] && strings.HasPrefix(source, "docs/") && !strings.HasPrefix(source, "docs/operators/") {
			missing = append(missing, source)
		}
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		return nil, fmt.Errorf("%s: want a link to each page, got none to %s", index, strings.Join(missing, ", "))
	}
	for i := range groups {
		if groups[i].Name == "Judge it" {
			groups[i].Links = append(groups[i].Links, navLink{"errors", catalogueSource})
		}
	}
	return groups, nil
}

package main

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
)

// A link is a link or a picture of a page.
type link struct {
	to      string
	picture bool
	set     func(string)
}

// links returns the links of a page.
func (p *page) links() (list []link) {
	ast.Walk(p.doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) { //nolint:errcheck // it returns none
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Link:
			list = append(list, link{string(n.Destination), false, func(s string) { n.Destination = []byte(s) }})
		case *ast.Image:
			list = append(list, link{string(n.Destination), true, func(s string) { n.Destination = []byte(s) }})
		}
		return ast.WalkContinue, nil
	})
	return list
}

// external reports whether a link leaves the repository.
func external(to string) bool {
	u, err := url.Parse(to)
	return err == nil && u.Scheme != ""
}

// repository is where files stand that are not pages.
const repository = "https://github.com/bivouac-ml/bivouac/blob/main/"

// check checks every link, and points it to its place in the site. All dead links are named.
func (s *site) check() error {
	var dead []error
	for _, p := range s.sorted() {
		for _, l := range p.links() {
			to, err := s.target(p, l)
			if err != nil {
				dead = append(dead, err)
				continue
			}
			l.set(to)
		}
	}
	return errors.Join(dead...)
}

// target returns where a link leads in the site.
func (s *site) target(p *page, l link) (string, error) {
	if external(l.to) {
		return l.to, nil
	}
	name, anchor, hasAnchor := strings.Cut(l.to, "#")
	target := p.source
	if name != "" {
		unescaped, err := url.PathUnescape(name)
		if err != nil {
			return "", fmt.Errorf("%s: %s: want a link, got one that cannot be read", p.source, l.to)
		}
		target = path.Join(path.Dir(p.source), unescaped)
	}
	wrong := func(what string) error { return fmt.Errorf("%s: %s: dead link: %s", p.source, l.to, what) }
	if strings.HasPrefix(target, "../") {
		return "", wrong("it leads out of the repository")
	}
	if to := s.pages[target]; to != nil {
		if hasAnchor && !to.anchors[anchor] {
			return "", wrong("no such heading; " + target + " has " + strings.Join(sortedKeys(to.anchors), ", "))
		}
		rel := relative(p.url, to.url)
		if hasAnchor {
			rel += "#" + anchor
		}
		return rel, nil
	}
	file := filepath.Join(s.root, filepath.FromSlash(target))
	if _, err := os.Stat(file); err != nil {
		return "", wrong("no such file")
	}
	if !l.picture {
		return repository + target, nil
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	s.files["files/"+target] = b
	return relative(p.url, "files/"+target), nil
}

// relative returns the way from one page of the site to another.
func relative(from, to string) string { return strings.Repeat("../", strings.Count(from, "/")) + to }

func sortedKeys(m map[string]bool) (list []string) {
	for k := range m {
		list = append(list, k)
	}
	slices.Sort(list)
	return list
}

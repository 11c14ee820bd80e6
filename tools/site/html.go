package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"path"
	"strings"
	"unicode"

	"github.com/yuin/goldmark/ast"
)

// render returns the files of the site.
func (s *site) render() (map[string][]byte, error) {
	files := map[string][]byte{}
	var sections []section
	for _, p := range s.sorted() {
		var body bytes.Buffer
		if err := markdown.Renderer().Render(&body, p.text, p.doc); err != nil {
			return nil, fmt.Errorf("%s: %w", p.source, err)
		}
		if files[p.url] != nil {
			return nil, fmt.Errorf("%s: two pages have the address %s", p.source, p.url)
		}
		files[p.url] = s.whole(p, body.Bytes())
		sections = append(sections, p.sections()...)
	}
	for name, b := range s.files {
		files[name] = b
	}
	b, err := json.Marshal(sections)
	if err != nil {
		return nil, err
	}
	// A script, and not only JSON: a browser that shows files of the disk reads it too.
	files["assets/index.js"] = append(append([]byte("window.searchIndex = "), b...), ";\n"...)
	return files, nil
}

// whole returns the document of a page.
func (s *site) whole(p *page, body []byte) []byte {
	top := strings.Repeat("../", strings.Count(p.url, "/"))
	var b bytes.Buffer
	title := p.title
	if title != "Bivouac" {
		title += " — Bivouac"
	}
	fmt.Fprintf(&b, `<!doctype html>
<html lang="en" data-top="%[1]s">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>%[2]s</title>
<link rel="stylesheet" href="%[1]sassets/style.css">
<script src="%[1]sassets/theme.js"></script>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header>
<a class="home" href="%[1]sindex.html">Bivouac</a>
<div class="search" role="search">
<input id="search" type="search" placeholder="Search ( / )" aria-label="Search" autocomplete="off">
<ol id="results" hidden></ol>
</div>
<button id="theme" type="button" aria-label="Light or dark">◐</button>
</header>
<div class="columns">
`, top, html.EscapeString(title))
	s.writeNavigation(&b, p, top)
	b.WriteString("<main id=\"content\">\n")
	b.Write(scrolled(body))
	fmt.Fprintf(&b, "<footer>%s</footer>\n</main>\n", sourceNote(p.source))
	p.writeContents(&b)
	fmt.Fprintf(&b, "</div>\n<script src=\"%sassets/search.js\" defer></script>\n</body>\n</html>\n", top)
	return b.Bytes()
}

// scrolled wraps tables, so that a wide one scrolls by itself.
func scrolled(body []byte) []byte {
	body = bytes.ReplaceAll(body, []byte("<table>"), []byte(`<div class="scroll"><table>`))
	return bytes.ReplaceAll(body, []byte("</table>"), []byte("</table></div>"))
}

// sourceNote says of what a page is made.
func sourceNote(source string) string {
	if source == catalogueSource {
		return "This page is made of the tables of mistakes in the tests."
	}
	return "Source: <code>" + html.EscapeString(source) + "</code>"
}

// writeNavigation writes the list of all pages. The group of the page is open.
func (s *site) writeNavigation(b *bytes.Buffer, p *page, top string) {
	b.WriteString("<nav aria-label=\"Pages\">\n<details class=\"menu\" open>\n<summary>Pages</summary>\n")
	for i, g := range s.groups {
		open := ""
		for _, l := range g.Links {
			if l.Source == p.source || path.Dir(l.Source) == path.Dir(p.source) && path.Base(l.Source) == "README.md" {
				open = " open"
			}
		}
		if p.source == "README.md" && i < 2 {
			open = " open"
		}
		fmt.Fprintf(b, "<details%s>\n<summary>%s</summary>\n<ul>\n", open, html.EscapeString(g.Name))
		for _, l := range g.Links {
			to := s.pages[l.Source]
			if to == nil {
				continue // check has named it if it is dead
			}
			current := ""
			if l.Source == p.source {
				current = ` aria-current="page"`
			}
			fmt.Fprintf(b, "<li><a href=\"%s\"%s>%s</a></li>\n", top+to.url, current, html.EscapeString(upper(l.Text)))
		}
		b.WriteString("</ul>\n</details>\n")
	}
	b.WriteString("</details>\n</nav>\n")
}

// upper returns a text with a capital letter at its beginning.
func upper(s string) string {
	for i, r := range s {
		return string(unicode.ToUpper(r)) + s[i+len(string(r)):]
	}
	return s
}

// writeContents writes the headings of a page of several sections.
func (p *page) writeContents(b *bytes.Buffer) {
	var out bytes.Buffer
	n := 0
	for child := p.doc.FirstChild(); child != nil; child = child.NextSibling() {
		if h, ok := child.(*ast.Heading); ok && h.Level == 2 {
			n++
			fmt.Fprintf(&out, "<li><a href=\"#%s\">%s</a></li>\n", idOf(h), html.EscapeString(plain(h, p.text)))
		}
	}
	if n > 1 {
		fmt.Fprintf(b, "<aside aria-label=\"On this page\">\n<p>On this page</p>\n<ul>\n%s</ul>\n</aside>\n", &out)
	}
}

func idOf(h *ast.Heading) string {
	v, _ := h.AttributeString("id")
	id, _ := v.([]byte)
	return html.EscapeString(string(id))
}

// A section is what the search finds: a heading with the text below it.
type section struct {
	Page    string `json:"p"`
	Heading string `json:"h,omitempty"`
	URL     string `json:"u"`
	Text    string `json:"t"`
}

// mostText bounds the text of a section in the index.
const mostText = 1500

// sections returns the sections of a page.
func (p *page) sections() []section {
	list := []section{{Page: p.title, URL: p.url}}
	var words []string
	end := func() {
		t := strings.Join(words, " ")
		if len(t) > mostText {
			t = strings.ToValidUTF8(t[:mostText], "")
		}
		list[len(list)-1].Text, words = t, nil
	}
	for child := p.doc.FirstChild(); child != nil; child = child.NextSibling() {
		h, ok := child.(*ast.Heading)
		switch {
		case ok && h.Level == 1:
		case ok:
			end()
			list = append(list, section{Page: p.title, Heading: plain(h, p.text), URL: p.url + "#" + idOf(h)})
		default:
			words = append(words, plain(child, p.text))
		}
	}
	end()
	return list
}

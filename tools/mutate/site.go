package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

type kind string

const (
	kindSync     kind = "sync"
	kindChecksum kind = "checksum"
	kindDamage   kind = "damage"
	kindError    kind = "error"
	kindOrder    kind = "order"
	kindDecision kind = "decision"
)

var kinds = []kind{kindSync, kindChecksum, kindDamage, kindError, kindOrder, kindDecision}

// site is one thing that can be taken out.
type site struct {
	n     int // its number in the copy
	kind  kind
	fn    string // store/local.(*txn).publish
	text  string // what stands there
	line  string // file:line
	edits []edit

	lock   sync.Mutex // guards killed, by and late, where several tests are tried at once
	killed bool
	by     string // package and test
	took   time.Duration
	tried  int // tests
	late   int // of those ran past their time limit, where none failed
	passed int // packages whose tests all passed with this and others off
}

// ID names the site; it does not change when lines move.
func (s *site) ID() string { return string(s.kind) + " " + s.fn + ": " + s.text }

// edit inserts text at a byte of a file. Number in it stands for the number of
// the site.
type edit struct {
	file string
	at   int
	text string
	rank rank
}

// number in the text of an edit.
const number = "#N#"

// rank orders edits at the same place.
type rank uint8

const (
	closing rank = iota // of a bracket around what ends here
	after               // a statement behind the one that ends here
	before              // a statement before the one that begins here
	opening             // of a bracket around what begins here
)

// source is one file.
type source struct {
	name string // relative to the module
	text []byte
	file *ast.File
	fset *token.FileSet
}

// find derives the sites from the module below root.
func find(root string) ([]*site, error) {
	files, err := load(root)
	if err != nil {
		return nil, err
	}
	checkers := checkersOf(files)
	var sites []*site
	each(files, regexp.MustCompile(""), func(f *source, fn *ast.FuncDecl) {
		v := &visitor{f: f, fn: fn, checkers: checkers}
		v.function()
		sites = append(sites, v.sites...)
	})
	seen := map[string]int{}
	for i, s := range sites {
		s.n = i
		id := s.ID()
		if seen[id]++; seen[id] > 1 {
			s.text += fmt.Sprintf(" #%d", seen[id])
		}
	}
	return sites, nil
}

// load parses the files that build here and are no tests.
func load(root string) ([]*source, error) {
	var files []*source
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		base := path.Base(rel)
		if d.IsDir() {
			if rel != "." && (strings.HasPrefix(base, ".") || base == "testdata" || rel == "tools") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(base, ".go") || strings.HasSuffix(base, "_test.go") || !builds(name) {
			return nil
		}
		f, err := parseFile(name, rel)
		if err == nil {
			files = append(files, f)
		}
		return err
	})
	slices.SortFunc(files, func(a, b *source) int { return strings.Compare(a.name, b.name) })
	return files, err
}

func parseFile(name, rel string) (*source, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, rel, text, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	return &source{name: rel, text: text, file: file, fset: fset}, nil
}

// brief returns a node on one line, without the bodies of functions and the
// contents of composite literals, which are of no account for its name.
func (f *source) brief(n ast.Node) string {
	from := f.offset(n.Pos())
	text := ""
	ast.Inspect(n, func(n ast.Node) bool {
		var left, right token.Pos
		switch n := n.(type) {
		case *ast.CompositeLit:
			left, right = n.Lbrace, n.Rbrace
		case *ast.FuncLit:
			left, right = n.Body.Lbrace, n.Body.Rbrace
		default:
			return true
		}
		if right-left < 2 {
			return true
		}
		text += string(f.text[from:f.offset(left)+1]) + "…"
		from = f.offset(right)
		return false
	})
	text += string(f.text[from:f.offset(n.End())])
	return strings.Join(strings.Fields(text), " ")
}

// print returns a node on one line.
func (f *source) print(n ast.Node) string {
	var b bytes.Buffer
	printer.Fprint(&b, f.fset, n) //nolint:errcheck // a buffer takes all
	return strings.Join(strings.Fields(b.String()), " ")
}

func (f *source) offset(p token.Pos) int { return f.fset.Position(p).Offset }

func (f *source) between(n ast.Node) string {
	return string(f.text[f.offset(n.Pos()):f.offset(n.End())])
}

// name of a function with its package and receiver.
func (f *source) function(fn *ast.FuncDecl) string {
	dir := path.Dir(f.name)
	if dir == "." {
		dir = "bivouac"
	}
	if fn.Recv != nil && len(fn.Recv.List) == 1 {
		return dir + ".(" + f.print(fn.Recv.List[0].Type) + ")." + fn.Name.Name
	}
	return dir + "." + fn.Name.Name
}

package pages

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const remedy = "copy it with go test ./proof/pages -run TestGoBlocksAreExamples -update"

var update = flag.Bool("update", false, "write examples and outputs of commands into the pages")

// A block is one Go block of a page. The comment before it names its source: a file of the
// module and top-level declarations in it, or the imports of the page.
//
//	<!-- example: loader/example_guide_test.go#Example -->
//	<!-- example: imports -->
var block = regexp.MustCompile("(?:<!-- example: (.+) -->\n)?```go\n((?s:.*?))```\n")

// pageBlocks returns the pages whose Go code people paste, with their Go blocks. The pages of the
// operators are generated and hold fragments.
func pageBlocks(t *testing.T) map[string]string {
	pages := documents(t)
	for file, text := range pages {
		if strings.Contains(filepath.ToSlash(file), "/docs/operators/") || !strings.Contains(text, "```go\n") {
			delete(pages, file)
		}
	}
	return pages
}

// Each Go block is a copy of whole declarations of an example that the tests run, and the blocks of
// a page are together one Go file that compiles. -update writes the copies into the pages.
func TestGoBlocksAreExamples(t *testing.T) {
	pages := pageBlocks(t)
	code := map[string]string{}
	imports := map[string]bool{}
	for file, text := range pages {
		p := page{sources: map[string]*goFile{}}
		want, err := p.filled(text)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if want != text {
			if *update {
				if err := os.WriteFile(file, []byte(want), 0o666); err != nil {
					t.Fatal(err)
				}
			} else {
				t.Errorf("%s: a Go block differs from its example; %s", file, remedy)
			}
		}
		var whole strings.Builder
		whole.WriteString("package page\n\n")
		for _, m := range block.FindAllStringSubmatch(want, -1) {
			whole.WriteString(m[2] + "\n")
		}
		code[file] = whole.String()
		for name := range p.imports {
			imports[name] = true
		}
	}
	exports := exportsOf(t, imports)
	for file, text := range code {
		if err := compiles(text, exports); err != nil {
			t.Errorf("%s: the Go blocks together do not compile: %v", file, err)
		}
	}
}

// A page is a document whose blocks are being filled.
type page struct {
	sources map[string]*goFile
	imports map[string]string // path of each import that the blocks need, with its name if it has one
}

// filled returns text with the Go blocks that their comments ask for.
func (p *page) filled(text string) (string, error) {
	p.imports = map[string]string{}
	var codes []string
	for _, m := range block.FindAllStringSubmatch(text, -1) {
		switch m[1] {
		case "":
			return "", fmt.Errorf("want a comment <!-- example: FILE#NAME --> before each Go block, got none before %.60q", m[2])
		case "imports":
			codes = append(codes, "")
			continue
		}
		code, err := p.declarations(m[1])
		if err != nil {
			return "", err
		}
		codes = append(codes, code)
	}
	i := -1
	return block.ReplaceAllStringFunc(text, func(old string) string {
		i++
		comment, _, _ := strings.Cut(old, "```go\n")
		if codes[i] == "" {
			return comment + "```go\n" + p.importBlock() + "```\n"
		}
		return comment + "```go\n" + codes[i] + "```\n"
	}), nil
}

// importBlock is the declaration of all imports that the blocks need.
func (p *page) importBlock() string {
	groups := [2][]string{}
	for name, local := range p.imports {
		line := "\t" + strconv.Quote(name) + "\n"
		if local != "" {
			line = "\t" + local + " " + strconv.Quote(name) + "\n"
		}
		g := 0
		if strings.Contains(name, ".") {
			g = 1
		}
		groups[g] = append(groups[g], line)
	}
	var parts []string
	for _, g := range groups {
		slices.SortFunc(g, func(a, b string) int {
			return strings.Compare(a[strings.Index(a, `"`):], b[strings.Index(b, `"`):])
		})
		if len(g) > 0 {
			parts = append(parts, strings.Join(g, ""))
		}
	}
	return "import (\n" + strings.Join(parts, "\n") + ")\n"
}

// declarations returns the text of the declarations that ref, FILE#NAME,NAME, names.
func (p *page) declarations(ref string) (string, error) {
	name, list, ok := strings.Cut(ref, "#")
	if !ok {
		return "", fmt.Errorf("want FILE#NAME,NAME, got %q", ref)
	}
	s := p.sources[name]
	if s == nil {
		var err error
		if s, err = readGoFile(name); err != nil {
			return "", err
		}
		p.sources[name] = s
	}
	var parts []string
	for _, n := range strings.Split(list, ",") {
		d := s.named[n]
		if d == nil {
			return "", fmt.Errorf("want a declaration %s in %s, got none", n, name)
		}
		from, to := s.fset.Position(d.Pos()).Offset, s.fset.Position(d.End()).Offset
		code := string(s.text[from:to]) + "\n"
		if f, ok := d.(*ast.FuncDecl); ok {
			if err := s.runs(f, code); err != nil {
				return "", fmt.Errorf("%s: %w", ref, err)
			}
		}
		s.importsOf(d, p.imports)
		parts = append(parts, code)
	}
	return strings.Join(parts, "\n"), nil
}

// A goFile is a Go file with examples.
type goFile struct {
	text       []byte
	fset       *token.FileSet
	file       *ast.File
	named      map[string]ast.Decl
	unresolved map[*ast.Ident]bool
}

func readGoFile(name string) (*goFile, error) {
	text, err := os.ReadFile(filepath.Join(module, filepath.FromSlash(name)))
	if err != nil {
		return nil, err
	}
	s := &goFile{text: text, fset: token.NewFileSet(), named: map[string]ast.Decl{}, unresolved: map[*ast.Ident]bool{}}
	if s.file, err = parser.ParseFile(s.fset, name, text, parser.ParseComments); err != nil {
		return nil, err
	}
	for _, id := range s.file.Unresolved {
		s.unresolved[id] = true
	}
	for _, d := range s.file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			n := d.Name.Name
			if d.Recv != nil {
				n = receiverName(d) + "." + n
			}
			s.named[n] = d
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					s.named[spec.Name.Name] = d
				case *ast.ValueSpec:
					s.named[spec.Names[0].Name] = d
				}
			}
		}
	}
	return s, nil
}

// receiverName returns the name of the type that a method belongs to.
func receiverName(d *ast.FuncDecl) string {
	t := d.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	if id, ok := t.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}

// runs returns an error unless the tests run f: an Example has an output, and other code in the
// file uses any other function.
func (s *goFile) runs(f *ast.FuncDecl, code string) error {
	name := f.Name.Name
	if strings.HasPrefix(name, "Example") {
		if !strings.Contains(code, "\t// Output:") && !strings.Contains(code, "\t// Unordered output:") {
			return fmt.Errorf("want an Example with an output, which the tests run, got none")
		}
		return nil
	}
	used := false
	ast.Inspect(s.file, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && id.Name == name && id != f.Name {
			used = true
		}
		return true
	})
	if !used && f.Recv == nil {
		return fmt.Errorf("want a function that the file calls, got one that nothing calls")
	}
	return nil
}

// importsOf adds the imports that d needs to all.
func (s *goFile) importsOf(d ast.Decl, all map[string]string) {
	needs := map[string]bool{}
	ast.Inspect(d, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if id, ok := sel.X.(*ast.Ident); ok && s.unresolved[id] {
				needs[id.Name] = true
			}
		}
		return true
	})
	for _, spec := range s.file.Imports {
		name, _ := strconv.Unquote(spec.Path.Value)
		local := ""
		if spec.Name != nil {
			local = spec.Name.Name
		}
		if known := local; needs[known] || known == "" && needs[path.Base(name)] {
			all[name] = local
		}
	}
}

// exportsOf returns the files of export data of packages and of all that they import.
func exportsOf(t *testing.T, names map[string]bool) map[string]string {
	t.Helper()
	args := []string{"list", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}"}
	for name := range names {
		args = append(args, name)
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = module
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, &stderr)
	}
	exports := map[string]string{}
	for line := range strings.Lines(string(out)) {
		name, file, _ := strings.Cut(strings.TrimSpace(line), "\t")
		exports[name] = file
	}
	return exports
}

// compiles returns the first error of a Go file, against the export data of its imports.
func compiles(text string, exports map[string]string) error {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "page.go", text, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	config := types.Config{Importer: importer.ForCompiler(fset, "gc", func(name string) (io.ReadCloser, error) {
		if exports[name] == "" {
			return nil, fmt.Errorf("no export data of %s", name)
		}
		return os.Open(exports[name])
	})}
	_, err = config.Check("page", fset, []*ast.File{file}, nil)
	return err
}

// The check finds blocks that are not copies, not run, or do not compile.
func TestGoBlocksSelfTest(t *testing.T) {
	const ref = "<!-- example: loader/example_guide_test.go#"
	for text, want := range map[string]string{
		"```go\nx := 1\n```\n":                               "want a comment",
		ref + "ExampleNowhere -->\n```go\n```\n":             "want a declaration ExampleNowhere",
		"<!-- example: loader/x -->\n```go\n```\n":           "want FILE#NAME",
		"<!-- example: loader/x_test.go#A -->\n```go\n```\n": "x_test.go",
	} {
		p := page{sources: map[string]*goFile{}}
		if _, err := p.filled(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: want an error with %q, got %v", text, want, err)
		}
	}
	p := page{sources: map[string]*goFile{}}
	got, err := p.filled(ref + "ExampleRandom -->\n```go\nold\n```\nend\n")
	copied := strings.Contains(got, "r.Stream(\"flip\")") && !strings.Contains(got, "old")
	if err != nil || !copied || !strings.HasSuffix(got, "```\nend\n") {
		t.Errorf("want the example in place of the old code, got %v\n%s", err, got)
	}
	if err := compiles("package page\n\nimport \"fmt\"\n", exportsOf(t, map[string]bool{"fmt": true})); err == nil {
		t.Error("a page with an import that it does not use compiles")
	}
}

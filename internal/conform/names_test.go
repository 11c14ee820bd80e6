package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The document that says what became of every public name of Orbax v1, and the
// list of these names, which tools/interop/names.py made.
const (
	namesDocument = "../../docs/compat/orbax.md"
	namesList     = "../../testdata/orbax-v1-names.txt"
)

// packagesOf are the directories of the packages that documents name; some have a name in common.
var packagesOf = map[string]string{
	"checkpoint": "checkpoint dynamic/checkpoint", "options": "checkpoint/options", "handler": "checkpoint/handler", "partial": "checkpoint/partial",
	"training": "checkpoint/training", "surgery": "checkpoint/surgery", "tree": "tree", "tensor": "tensor", "errs": "errs", "store": "store",
	"pipeline": "pipeline", "graph": "pipeline/graph", "dali": "compat/dali", "fn": "pipeline/fn dynamic/fn", "dynamic": "dynamic", "random": "dynamic/random", "readers": "dynamic/readers",
}

// beyondGo are counterparts that this module does not declare.
var beyondGo = []string{"any", "string", "json.RawMessage"}

var (
	quoted = regexp.MustCompile("`([^`]+)`")
	linked = regexp.MustCompile(`\[(\w+)\]\(([^)]+)\)`)
)

// nameRow is one row of the document.
type nameRow struct{ name, counterpart, verdict, held string }

func nameRows(t *testing.T) []nameRow {
	t.Helper()
	b, err := os.ReadFile(namesDocument)
	if err != nil {
		t.Fatal(err)
	}
	return rowsOf(string(b), "| `v1")
}

// rowsOf returns the rows of four cells that begin so.
func rowsOf(text, begin string) []nameRow {
	var rows []nameRow
	for line := range strings.Lines(text) {
		if cells := strings.Split(strings.TrimSpace(line), " | "); strings.HasPrefix(line, begin) && len(cells) == 4 {
			rows = append(rows, nameRow{strings.Trim(cells[0], "|` "), cells[1], cells[2], strings.TrimSuffix(cells[3], " |")})
		}
	}
	return rows
}

// Every public name of Orbax has one row, and there are no others.
func TestNamesAreComplete(t *testing.T) {
	b, err := os.ReadFile(namesList)
	if err != nil {
		t.Fatal(err)
	}
	compareRows(t, strings.Fields(string(b)), nameRows(t))
}

func compareRows(t *testing.T, want []string, rows []nameRow) {
	t.Helper()
	var got []string
	for _, r := range rows {
		got = append(got, r.name)
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		for _, n := range want {
			if !slices.Contains(got, n) {
				t.Errorf("%s has no row", n)
			}
		}
		t.Errorf("%d rows, %d names: rows of names that are not in the list, or two of one", len(got), len(want))
	}
}

// What a row claims is there: the counterparts are declared, the tests exist, and
// what is refused belongs to devices.
func TestNamesHoldWhatTheyClaim(t *testing.T) {
	declared := map[string]map[string]bool{}
	for _, r := range nameRows(t) {
		checkCounterparts(t, declared, r)
		verdict, why, _ := strings.Cut(r.verdict, ": ")
		switch {
		case verdict == "yes" && why == "" && r.counterpart != "—" && r.held != "—":
		case verdict == "differs" && why != "" && r.held != "—":
		case verdict == "no" && (strings.Contains(why, "JAX") || strings.Contains(why, "Pathways")):
		default:
			t.Errorf("%s: verdict %q with counterpart %s, held by %s", r.name, r.verdict, r.counterpart, r.held)
		}
	}
}

// checkCounterparts reports counterparts that are not declared, and tests that do not exist.
func checkCounterparts(t *testing.T, declared map[string]map[string]bool, r nameRow) {
	t.Helper()
	for _, m := range quoted.FindAllStringSubmatch(r.counterpart, -1) {
		if err := isDeclared(declared, m[1]); err != nil {
			t.Errorf("%s: %v", r.name, err)
		}
	}
	for _, m := range linked.FindAllStringSubmatch(r.held, -1) {
		if err := isTest(m[1], m[2]); err != nil {
			t.Errorf("%s: %v", r.name, err)
		}
	}
}

// What a run prints as a divergence is in the document.
func TestDivergencesAreListed(t *testing.T) {
	b, err := os.ReadFile(namesDocument)
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(b), "\n## Divergences\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for _, kind := range divergences {
		if !strings.Contains(section, "| `"+kind+"` |") {
			t.Errorf("%s does not list %s", namesDocument, kind)
		}
	}
	if rows := strings.Count(section, "\n| `"); rows != len(divergences) {
		t.Errorf("%d rows, %d divergences", rows, len(divergences))
	}
}

// isTest reports whether a file, linked from the document, has the test or example.
func isTest(name, link string) error {
	file := filepath.Join(filepath.Dir(namesDocument), filepath.FromSlash(link))
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == name {
			return nil
		}
	}
	return fmt.Errorf("%s has no %s", path.Base(link), name)
}

// isDeclared reports whether package.Name or package.Type.Member is.
func isDeclared(declared map[string]map[string]bool, name string) error {
	if slices.Contains(beyondGo, name) {
		return nil
	}
	pkg, rest, _ := strings.Cut(name, ".")
	dirs, ok := packagesOf[pkg]
	if !ok {
		return fmt.Errorf("%q: an unknown package", name)
	}
	if declared[pkg] == nil {
		declared[pkg] = map[string]bool{}
		for dir := range strings.FieldsSeq(dirs) {
			names, err := declarations(filepath.Join("..", "..", filepath.FromSlash(dir)))
			if err != nil {
				return err
			}
			maps.Copy(declared[pkg], names)
		}
	}
	if rest != "" && !declared[pkg][rest] {
		return fmt.Errorf("%q is not declared", name)
	}
	return nil
}

// declarations lists Name and Type.Member of what a package declares.
func declarations(dir string) (map[string]bool, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	out := map[string]bool{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, d := range f.Decls {
			declare(out, d)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s declares nothing", dir)
	}
	return out, nil
}

func declare(out map[string]bool, d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			out[d.Name.Name] = true
		} else {
			out[receiver(d.Recv.List[0].Type)+"."+d.Name.Name] = true
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.ValueSpec:
				for _, n := range s.Names {
					out[n.Name] = true
				}
			case *ast.TypeSpec:
				out[s.Name.Name] = true
				for _, m := range membersOf(s.Type) {
					out[s.Name.Name+"."+m] = true
				}
			}
		}
	}
}

// receiver is the name of a receiver's type, without * and type parameters.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// membersOf lists fields of a struct and methods of an interface.
func membersOf(e ast.Expr) []string {
	var list *ast.FieldList
	switch e := e.(type) {
	case *ast.StructType:
		list = e.Fields
	case *ast.InterfaceType:
		list = e.Methods
	default:
		return nil
	}
	var out []string
	for _, f := range list.List {
		for _, n := range f.Names {
			out = append(out, n.Name)
		}
	}
	return out
}

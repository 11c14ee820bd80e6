package pages

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// declaredFunctions returns the functions and methods of the module, as "package.Name" and
// "package.Type.Name" by the names of packages.
func declaredFunctions(t *testing.T) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	fset := token.NewFileSet()
	err := filepath.WalkDir(module, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			if err == nil && (e.Name() == "testdata" || e.Name() == "tools" || len(e.Name()) > 2 && e.Name()[0] == '.') {
				return fs.SkipDir
			}
			return err
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				out[f.Name.Name+"."+receiver(n)+n.Name.Name] = true
				return false
			case *ast.TypeSpec:
				if i, ok := n.Type.(*ast.InterfaceType); ok {
					for _, m := range i.Methods.List {
						for _, id := range m.Names {
							out[f.Name.Name+"."+n.Name.Name+"."+id.Name] = true
						}
					}
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// receiver returns the name of the type of a method and a dot, or "".
func receiver(fn *ast.FuncDecl) (name string) {
	if fn.Recv == nil {
		return ""
	}
	ast.Inspect(fn.Recv.List[0].Type, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && name == "" {
			name = id.Name + "."
		}
		return name == ""
	})
	return name
}

// step is a function on a road: `package.Function`, `package.(*Type).Method`, `Type.Method`, or a
// name.
var step = regexp.MustCompile("`([\\w.()*]+)`")

// undeclared returns the functions in the tables "function | what happens there" of a page that are
// not declared, and how many tables there are.
func undeclared(page string, declared map[string]bool) (missing []string, tables int) {
	on := false
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "| function | what happens there |") {
			on, tables = true, tables+1
			continue
		}
		cells := strings.Split(line, "|")
		if on = on && len(cells) > 2; !on {
			continue
		}
		for _, m := range step.FindAllStringSubmatch(cells[1], -1) {
			if !known(declared, strings.NewReplacer("(*", "", "(", "", ")", "").Replace(m[1])) {
				missing = append(missing, m[1])
			}
		}
	}
	return missing, tables
}

// known reports whether a function of that name, or of a name that ends with it, is declared.
func known(declared map[string]bool, name string) bool {
	if declared[name] {
		return true
	}
	for d := range declared {
		if strings.HasSuffix(d, "."+name) {
			return true
		}
	}
	return false
}

// The roads of docs/architecture.md lead over functions that exist.
func TestRoads(t *testing.T) {
	declared := declaredFunctions(t)
	b, err := os.ReadFile(filepath.Join(module, "docs", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	missing, tables := undeclared(string(b), declared)
	for _, m := range missing {
		t.Errorf("docs/architecture.md: %s is not declared", m)
	}
	if tables < 4 {
		t.Errorf("%d roads, want 4 or more", tables)
	}
	const broken = "| function | what happens there |\n|---|---|\n| `exec.(*Executor).Start` → `nowhere` | |\n\n`not.There`\n"
	if missing, _ = undeclared(broken, declared); len(missing) != 1 || missing[0] != "nowhere" {
		t.Errorf("the check finds %q", missing)
	}
}

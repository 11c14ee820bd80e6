// Package declared holds names and tests that documents and tables name against the source.
package declared

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// packages are the directories of the packages that documents name; some have a name in common.
var packages = map[string]string{
	"checkpoint": "checkpoint dynamic/checkpoint", "options": "checkpoint/options", "handler": "checkpoint/handler", "partial": "checkpoint/partial",
	"training": "checkpoint/training", "surgery": "checkpoint/surgery", "integrity": "checkpoint/integrity", "diff": "checkpoint/diff",
	"tree": "tree", "tensor": "tensor", "errs": "errs", "store": "store",
	"pipeline": "pipeline", "graph": "pipeline/graph", "dali": "compat/dali", "fn": "pipeline/fn dynamic/fn", "dynamic": "dynamic", "random": "dynamic/random", "readers": "dynamic/readers",
}

// beyond are names that this module does not declare.
var beyond = []string{"any", "string", "json.RawMessage"}

// Names says what the packages of the module declare. It reads a package when it is asked for.
type Names struct {
	root  string
	known map[string]map[string]bool
}

// In returns the Names of the module in the directory root.
func In(root string) *Names { return &Names{root: root, known: map[string]map[string]bool{}} }

// Check returns an error unless package.Name or package.Type.Member is declared.
func (n *Names) Check(name string) error {
	if slices.Contains(beyond, name) {
		return nil
	}
	pkg, rest, _ := strings.Cut(name, ".")
	dirs, ok := packages[pkg]
	if !ok {
		return fmt.Errorf("%q: an unknown package", name)
	}
	if n.known[pkg] == nil {
		n.known[pkg] = map[string]bool{}
		for dir := range strings.FieldsSeq(dirs) {
			names, err := declarations(filepath.Join(n.root, filepath.FromSlash(dir)))
			if err != nil {
				return err
			}
			maps.Copy(n.known[pkg], names)
		}
	}
	if rest != "" && !n.known[pkg][rest] {
		return fmt.Errorf("%q is not declared", name)
	}
	return nil
}

// Test returns an error unless the file, a path below the root, has the test or example.
func (n *Names) Test(name, file string) error {
	f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(n.root, filepath.FromSlash(file)), nil,
		parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == name {
			return nil
		}
	}
	return fmt.Errorf("%s has no %s", file, name)
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

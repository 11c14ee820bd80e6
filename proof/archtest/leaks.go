package archtest

import (
	"go/ast"
	"go/token"
	"maps"
	"slices"
	"strings"
)

// internals returns the names of the packages in folders "internal" that f imports.
func internals(f *ast.File, module string) map[string]string {
	out := importNames(f, module)
	maps.DeleteFunc(out, func(_, p string) bool { return !inside(p) })
	return out
}

// Leaks lists exported declarations of public packages that name a type of an internal package:
// callers in other modules could neither write nor read such a type. Fields and methods that are
// not exported may.
func Leaks(root, module string) ([]Violation, error) {
	pkgs, err := sources(token.NewFileSet(), root)
	if err != nil {
		return nil, err
	}
	var out []Violation
	for _, name := range slices.Sorted(maps.Keys(pkgs)) {
		if !public(pkgs[name]) {
			continue
		}
		for _, f := range pkgs[name].files {
			imports := internals(f, module)
			if len(imports) == 0 {
				continue
			}
			for _, d := range f.Decls {
				surface(d, func(what string, e ast.Node) {
					for _, leak := range naming(e, imports) {
						out = append(out, Violation{Package: name, Import: leak, Rule: what + " is exported and names an internal type"})
					}
				})
			}
		}
	}
	return out, nil
}

// surface calls see with each part of d that callers in other modules read.
func surface(d ast.Decl, see func(what string, e ast.Node)) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil || len(d.Recv.List) == 0 {
			if d.Name.IsExported() {
				see(d.Name.Name, d.Type)
			}
		} else if name, ok := methodName(d); ok {
			see(name, d.Type)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.ValueSpec:
				for _, id := range s.Names {
					if id.IsExported() && s.Type != nil {
						see(id.Name, s.Type)
					}
				}
			case *ast.TypeSpec:
				if s.Name.IsExported() {
					surfaceOfType(s, see)
				}
			}
		}
	}
}

func surfaceOfType(s *ast.TypeSpec, see func(what string, e ast.Node)) {
	var fields *ast.FieldList
	switch t := s.Type.(type) {
	case *ast.StructType:
		fields = t.Fields
	case *ast.InterfaceType:
		fields = t.Methods
	default:
		if !s.Assign.IsValid() { // an alias is the door to the internal type: its fields and methods can be used
			see(s.Name.Name, s.Type)
		}
		return
	}
	for _, f := range fields.List {
		if len(f.Names) == 0 {
			see(s.Name.Name, f.Type)
		}
		for _, id := range f.Names {
			if id.IsExported() {
				see(s.Name.Name+"."+id.Name, f.Type)
			}
		}
	}
}

// naming lists the types of the packages in imports that e names.
func naming(e ast.Node, imports map[string]string) []string {
	var out []string
	ast.Inspect(e, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := sel.X.(*ast.Ident); ok && imports[x.Name] != "" {
				out = append(out, imports[x.Name]+"."+sel.Sel.Name)
			}
		}
		return true
	})
	return out
}

// Leak is an exported declaration on the list of Leaking.
type Leak struct {
	Name   string // path of the package, a colon and the name, as in "pipeline: Compat.Arrange"
	Reason string
}

// Leaking lists the exported declarations that may name an internal type. The list gets shorter,
// not longer.
func Leaking() []Leak {
	return []Leak{
		{"checkpoint: Response", "its fields are closed and its methods its own; packages below checkpoint make some too"},
		{"store/local: New", "tests run the store on file systems in memory"},
	}
}

// CheckLeaks compares leaks with the list: a violation a leak that is not on it, and one a row that
// no leak needs.
func CheckLeaks(leaks []Violation, allowed []Leak) []Violation {
	var out []Violation
	listed, needed := map[string]bool{}, map[string]bool{}
	for _, l := range allowed {
		listed[l.Name] = true
	}
	for _, v := range leaks {
		name, _, _ := strings.Cut(v.Rule, " ")
		needed[v.Package+": "+name] = true
		if !listed[v.Package+": "+name] {
			out = append(out, v)
		}
	}
	for _, l := range allowed {
		if !needed[l.Name] {
			out = append(out, Violation{Package: l.Name, Rule: "names no internal type any more; remove its row from leaks.go"})
		}
	}
	return out
}

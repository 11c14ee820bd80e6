package archtest

import (
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"slices"
	"strings"
)

// Exported counts the exported names of each public package below root: top-level constants,
// variables, types and functions, and methods of exported types. Fields and methods of interfaces
// are not counted, because they are read with their type. Methods of an internal type count where
// an alias opens it. A name that several platforms declare counts once. A package is public unless
// it is a command, an example, a benchmark, or lies in a folder "internal".
func Exported(root, module string) (map[string]int, error) {
	pkgs, err := sources(token.NewFileSet(), root)
	if err != nil {
		return nil, err
	}
	out := map[string]int{}
	for name, p := range pkgs {
		if public(p) {
			out[name] = len(p.exported(pkgs, module))
		}
	}
	return out, nil
}

func public(p *source) bool {
	return p.files[0].Name.Name != "main" && !inside(p.path) &&
		!matchAny([]string{"bench/...", "examples/...", "proof/..."}, p.path)
}

func inside(path string) bool { return slices.Contains(strings.Split(path, "/"), "internal") }

// exported returns the names, methods with their type.
func (p *source) exported(pkgs map[string]*source, module string) map[string]bool {
	names := map[string]bool{}
	add := func(id *ast.Ident) {
		if id.IsExported() {
			names[id.Name] = true
		}
	}
	for _, f := range p.files {
		imports := internals(f, module)
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil || len(d.Recv.List) == 0 {
					add(d.Name)
				} else if name, ok := methodName(d); ok {
					names[name] = true
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.TypeSpec:
						add(s.Name)
						for m := range opened(s, imports, pkgs) {
							names[s.Name.Name+"."+m] = true
						}
					case *ast.ValueSpec:
						for _, id := range s.Names {
							add(id)
						}
					}
				}
			}
		}
	}
	return names
}

// methodName is "Type.Method" if both are exported.
func methodName(d *ast.FuncDecl) (name string, ok bool) {
	t := typeName(d.Recv.List[0].Type)
	return t + "." + d.Name.Name, ast.IsExported(t) && d.Name.IsExported()
}

// opened yields the exported methods of the internal type that s is an alias of.
func opened(s *ast.TypeSpec, imports map[string]string, pkgs map[string]*source) map[string]bool {
	out := map[string]bool{}
	pkg, name, ok := strings.Cut(typeName(s.Type), ".")
	p := pkgs[imports[pkg]]
	if !ok || !s.Assign.IsValid() || p == nil {
		return out
	}
	for _, f := range p.files {
		for _, d := range f.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && d.Recv != nil && len(d.Recv.List) > 0 {
				if m, ok := methodName(d); ok && strings.HasPrefix(m, name+".") {
					out[d.Name.Name] = true
				}
			}
		}
	}
	return out
}

// CheckExported compares the counts of packages with the limits. A limit is exact, so that a name
// that goes lowers it: a later one cannot take its place unseen.
func CheckExported(counts, limits map[string]int) []Violation {
	var out []Violation
	for _, p := range slices.Sorted(maps.Keys(counts)) {
		n, limit := counts[p], limits[p]
		_, listed := limits[p]
		rule := ""
		switch {
		case !listed:
			rule = fmt.Sprintf("%d exported names and no row in exported_limits.go; "+
				"add one, or move the package into internal", n)
		case n > limit:
			rule = fmt.Sprintf("want at most %d exported names, got %d; unexport what no other module needs, or raise the number by hand", limit, n)
		case n < limit:
			rule = fmt.Sprintf("has %d exported names now; lower its number in exported_limits.go from %d", n, limit)
		}
		if rule != "" {
			out = append(out, Violation{Package: p, Rule: rule})
		}
	}
	for _, p := range slices.Sorted(maps.Keys(limits)) {
		if _, ok := counts[p]; !ok {
			out = append(out, Violation{Package: p,
				Rule: "is no public package any more; remove its row from exported_limits.go"})
		}
	}
	return out
}

package archtest

import (
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Change is a place where code changes a package variable after its declaration.
type Change struct {
	Variable string // "checkpoint/options.process": package and name
	Place    string // "config.go:42"
	How      string // "assigned", AddressTaken, "Store called", …
}

// AddressTaken is how a variable changes whose address somebody has.
const AddressTaken = "address taken"

// String renders the change on one line.
func (c Change) String() string { return c.Variable + ": " + c.How + " at " + c.Place }

// source is one package as the check of variables reads it.
type source struct {
	path    string
	files   []*ast.File
	types   map[string]string          // package variable -> its type, if its declaration names it
	methods map[string]map[string]bool // type -> methods with a pointer receiver
	guarded map[string]string          // struct type -> the type of its field of package sync or sync/atomic
	results map[string]string          // function -> the type of its first result
}

// Changes lists the places in non-test files below root that change a package variable after the
// program has started, or let others change it:
//
//   - an assignment to it, to its field or to its element;
//   - its address, and calls of delete, clear and copy on it;
//   - a call of a method of its type with a pointer receiver;
//   - its declaration, if its type is of package sync or sync/atomic, or a struct with a field of
//     such a type.
//
// Functions named init belong to the start. Changes reads syntax, not types, so that it sees the
// files of every platform. It does not follow a variable whose type another package declares.
func Changes(root, module string) ([]Change, error) {
	fset := token.NewFileSet()
	pkgs, err := sources(fset, root)
	if err != nil {
		return nil, err
	}
	var out []Change
	for _, p := range pkgs {
		for _, f := range p.files {
			v := visitor{fset: fset, pkgs: pkgs, pkg: p, file: f, imports: importNames(f, module)}
			v.visit()
			out = append(out, v.out...)
		}
		out = append(out, p.synchronized()...)
	}
	slices.SortFunc(out, func(a, b Change) int { return strings.Compare(a.String(), b.String()) })
	return out, nil
}

func sources(fset *token.FileSet, root string) (map[string]*source, error) {
	pkgs := map[string]*source{}
	err := parse(fset, root, 0, func(rel string, f *ast.File) error {
		p := pkgs[rel]
		if p == nil {
			p = &source{path: rel, types: map[string]string{}, methods: map[string]map[string]bool{},
				guarded: map[string]string{}, results: map[string]string{}}
			pkgs[rel] = p
		}
		p.files = append(p.files, f)
		p.declare(f)
		return nil
	})
	return pkgs, err
}

// declare notes the package variables, struct types, functions and methods of f.
func (p *source) declare(f *ast.File) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.GenDecl:
			for _, s := range d.Specs {
				p.declareSpec(s, d.Tok)
			}
		case *ast.FuncDecl:
			p.declareFunc(d)
		}
	}
	delete(p.types, "_")
}

func (p *source) declareSpec(s ast.Spec, tok token.Token) {
	switch s := s.(type) {
	case *ast.ValueSpec:
		for i, name := range s.Names {
			if tok == token.VAR {
				p.types[name.Name] = declaredType(s, i)
			}
		}
	case *ast.TypeSpec:
		if t, ok := s.Type.(*ast.StructType); ok {
			p.guarded[s.Name.Name] = typeName(t)
		}
	}
}

func (p *source) declareFunc(d *ast.FuncDecl) {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		p.results[d.Name.Name] = resultType(d.Type)
		return
	}
	if star, ok := d.Recv.List[0].Type.(*ast.StarExpr); ok {
		t := typeName(star.X)
		if p.methods[t] == nil {
			p.methods[t] = map[string]bool{}
		}
		p.methods[t][d.Name.Name] = true
	}
}

func resultType(f *ast.FuncType) string {
	if f.Results == nil || len(f.Results.List) == 0 {
		return ""
	}
	return typeName(f.Results.List[0].Type)
}

// declaredType is the name of the type of the i-th variable of s, or "" where the declaration does
// not say it. It is "f()" for the result of a function f of the package.
func declaredType(s *ast.ValueSpec, i int) string {
	switch {
	case s.Type != nil:
		return typeName(s.Type)
	case i < len(s.Values):
		return valueType(s.Values[i])
	}
	return ""
}

func valueType(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.CompositeLit:
		return typeName(e.Type)
	case *ast.UnaryExpr:
		return valueType(e.X)
	case *ast.FuncLit:
		return resultType(e.Type)
	case *ast.CallExpr:
		return callType(e)
	}
	return ""
}

// callType is the type of a call: new(T), f() of the package, or what sync.OnceValue keeps.
func callType(e *ast.CallExpr) string {
	switch f := e.Fun.(type) {
	case *ast.Ident:
		if f.Name == "new" && len(e.Args) == 1 {
			return typeName(e.Args[0])
		}
		return f.Name + "()"
	case *ast.SelectorExpr:
		if name := typeName(f); (name == "sync.OnceValue" || name == "sync.OnceValues") && len(e.Args) == 1 {
			if f, ok := e.Args[0].(*ast.Ident); ok {
				return f.Name + "()"
			}
			return valueType(e.Args[0])
		}
	}
	return ""
}

// typeName is the name of a type without pointers, elements of arrays and arguments. A struct has
// the name of its first field of package sync or sync/atomic.
func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.StarExpr:
		return typeName(e.X)
	case *ast.ArrayType:
		return typeName(e.Elt)
	case *ast.IndexExpr:
		return typeName(e.X)
	case *ast.IndexListExpr:
		return typeName(e.X)
	case *ast.SelectorExpr:
		return typeName(e.X) + "." + e.Sel.Name
	case *ast.StructType:
		for _, f := range e.Fields.List {
			if t := typeName(f.Type); guards(t) {
				return t
			}
		}
	}
	return ""
}

// guards reports whether t is a type for variables that change: a lock, a pool or an atomic.
func guards(t string) bool { return strings.HasPrefix(t, "sync.") || strings.HasPrefix(t, "atomic.") }

// synchronized lists the variables whose type says that they change: locks, pools, atomics, and
// structs of the package that have one of these in a field.
func (p *source) synchronized() []Change {
	var out []Change
	for _, name := range slices.Sorted(maps.Keys(p.types)) {
		t := p.types[name]
		if f, ok := strings.CutSuffix(t, "()"); ok {
			t = p.results[f]
		}
		how := "is a " + t
		if g := p.guarded[t]; g != "" {
			how, t = how+" with a "+g, g
		}
		if guards(t) {
			out = append(out, Change{Variable: p.path + "." + name, Place: "its declaration", How: how})
		}
	}
	return out
}

// importNames maps the names by which f calls packages of the module to their paths.
func importNames(f *ast.File, module string) map[string]string {
	out := map[string]string{}
	for _, s := range f.Imports {
		path, err := strconv.Unquote(s.Path.Value)
		if err != nil {
			continue
		}
		rel := relative(path, module)
		if rel == path {
			continue
		}
		name := path[strings.LastIndex(path, "/")+1:]
		if s.Name != nil {
			name = s.Name.Name
		}
		out[name] = rel
	}
	return out
}

// visitor looks for changes in one file.
type visitor struct {
	fset    *token.FileSet
	pkgs    map[string]*source
	pkg     *source
	file    *ast.File
	imports map[string]string
	out     []Change
}

func (v *visitor) visit() {
	for _, d := range v.file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
			continue
		}
		ast.Inspect(d, func(n ast.Node) bool {
			v.node(n)
			return true
		})
	}
}

func (v *visitor) node(n ast.Node) {
	switch n := n.(type) {
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			for _, e := range n.Lhs {
				v.changed(e, "assigned")
			}
		}
	case *ast.IncDecStmt:
		v.changed(n.X, "assigned")
	case *ast.RangeStmt:
		if n.Tok == token.ASSIGN {
			v.changed(n.Key, "assigned")
			v.changed(n.Value, "assigned")
		}
	case *ast.UnaryExpr:
		if n.Op == token.AND {
			v.changed(n.X, AddressTaken)
		}
	case *ast.CallExpr:
		v.call(n)
	}
}

// call sees the built-in functions that change their argument, and methods with a pointer receiver.
func (v *visitor) call(n *ast.CallExpr) {
	switch f := n.Fun.(type) {
	case *ast.Ident:
		if (f.Name == "delete" || f.Name == "clear" || f.Name == "copy") && len(n.Args) > 0 {
			v.changed(n.Args[0], f.Name+" called")
		}
	case *ast.SelectorExpr:
		p, name := v.variable(f.X)
		if p != nil && p.methods[p.types[name]][f.Sel.Name] {
			v.note(p, name, f.Sel.Name+" called", f)
		}
	}
}

func (v *visitor) changed(e ast.Expr, how string) {
	if p, name := v.variable(e); p != nil {
		v.note(p, name, how, e)
	}
}

func (v *visitor) note(p *source, name, how string, at ast.Node) {
	pos := v.fset.Position(at.Pos())
	v.out = append(v.out, Change{
		Variable: p.path + "." + name,
		Place:    v.pkg.path + "/" + filepath.Base(pos.Filename) + ":" + fmt.Sprint(pos.Line),
		How:      how,
	})
}

// variable is the package variable that e is, or is a part of; nil where e is part of something
// else.
func (v *visitor) variable(e ast.Expr) (*source, string) {
	switch e := e.(type) {
	case *ast.Ident:
		if v.local(e) {
			return nil, ""
		}
		if _, ok := v.pkg.types[e.Name]; ok {
			return v.pkg, e.Name
		}
	case *ast.SelectorExpr:
		if x, ok := e.X.(*ast.Ident); ok && !v.local(x) {
			if p := v.pkgs[v.imports[x.Name]]; p != nil {
				if _, ok := p.types[e.Sel.Name]; ok {
					return p, e.Sel.Name
				}
				return nil, ""
			}
		}
		return v.variable(e.X)
	case *ast.IndexExpr:
		return v.variable(e.X)
	case *ast.SliceExpr:
		return v.variable(e.X)
	case *ast.StarExpr:
		return v.variable(e.X)
	case *ast.ParenExpr:
		return v.variable(e.X)
	}
	return nil, ""
}

// local reports whether the parser found the declaration of x inside a function.
func (v *visitor) local(x *ast.Ident) bool {
	return x.Obj != nil && v.file.Scope.Objects[x.Name] != x.Obj
}

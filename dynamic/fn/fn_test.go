package fn_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/op"
	_ "github.com/bivouac-ml/bivouac/pipeline" // the operators
)

// Every registered operator can be called in dynamic mode: there is a function, in this
// package or in dynamic/random, which calls it by name; readers have a package of their own.
func TestEveryOperator(t *testing.T) {
	called := map[string]bool{}
	for _, pattern := range []string{"*_gen.go", "../random/*_gen.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			collect(t, file, called)
		}
	}
	n := 0
	for _, s := range op.Schemas() {
		if s.Reader || strings.HasPrefix(s.FullName(), "_") {
			continue
		}
		n++
		if !called[s.FullName()] {
			t.Errorf("%s has no function", s.FullName())
		}
	}
	if n < 80 || n != len(called) {
		t.Errorf("%d operators, %d functions", n, len(called))
	}
}

// collect adds the operators that the functions of a file call, each in the function of its name.
func collect(t *testing.T, file string, called map[string]bool) {
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range f.Decls {
		function, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		ast.Inspect(function, func(n ast.Node) bool {
			kv, ok := n.(*ast.KeyValueExpr)
			if !ok || kv.Key.(*ast.Ident).Name != "Op" {
				return true
			}
			name := strings.Trim(kv.Value.(*ast.BasicLit).Value, `"`)
			called[name] = true
			plain := strings.NewReplacer("random.", "", ".", "", "_", "").Replace(name)
			if own := strings.TrimSuffix(function.Name.Name, "Batch"); !strings.EqualFold(own, plain) &&
				!strings.EqualFold(function.Name.Name, plain) {
				t.Errorf("%s calls %s", function.Name.Name, name)
			}
			return true
		})
	}
}

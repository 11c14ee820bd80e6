package archtest

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Load reads the non-test Go files below root, whatever their build tags.
// Nested modules, testdata and hidden directories are left out.
func Load(root, module string) ([]Package, error) {
	byPath := map[string]*Package{}
	fset := token.NewFileSet()
	err := parse(fset, root, parser.SkipObjectResolution, func(rel string, file *ast.File) error {
		p := byPath[rel]
		if p == nil {
			p = &Package{Path: rel}
			byPath[rel] = p
		}
		return p.add(fset, file, module)
	})
	if err != nil {
		return nil, err
	}
	var pkgs []Package
	for _, p := range byPath {
		slices.Sort(p.Imports)
		p.Imports = slices.Compact(p.Imports)
		pkgs = append(pkgs, *p)
	}
	slices.SortFunc(pkgs, func(a, b Package) int { return strings.Compare(a.Path, b.Path) })
	return pkgs, nil
}

// parse calls see with each non-test Go file below root, and with the folder that it is in,
// relative to root.
func parse(fset *token.FileSet, root string, mode parser.Mode, see func(rel string, f *ast.File) error) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return skipDir(root, path, d.Name())
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		f, err := parser.ParseFile(fset, path, nil, mode)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		return see(filepath.ToSlash(rel), f)
	})
}

func skipDir(root, path, name string) error {
	if path == root {
		return nil
	}
	if name == "testdata" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
		return fs.SkipDir
	}
	if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil {
		return fs.SkipDir
	}
	return nil
}

func (p *Package) add(fset *token.FileSet, file *ast.File, module string) error {
	for _, spec := range file.Imports {
		imp, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return fmt.Errorf("%s: %w", fset.Position(spec.Pos()), err)
		}
		p.Imports = append(p.Imports, relative(imp, module))
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if n != nil && startsGoroutine(n) {
			pos := fset.Position(n.Pos())
			p.Goroutines = append(p.Goroutines, fmt.Sprintf("%s:%d", filepath.Base(pos.Filename), pos.Line))
		}
		return true
	})
	return nil
}

// startsGoroutine recognises go statements and the Go methods of sync.WaitGroup and errgroup.Group.
func startsGoroutine(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GoStmt:
		return true
	case *ast.CallExpr:
		sel, ok := n.Fun.(*ast.SelectorExpr)
		return ok && sel.Sel.Name == "Go"
	}
	return false
}

// relative shortens the import paths of the module to what Package.Path holds.
func relative(imp, module string) string {
	if imp == module {
		return "."
	}
	return strings.TrimPrefix(imp, module+"/")
}

// Links asks the go command for everything that each package of the module
// links on this platform.
func Links(root, module string) (map[string][]string, error) {
	cmd := exec.Command("go", "list", "-e", "-deps", "-json=ImportPath,Deps", "./...")
	cmd.Dir = root
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	deps := map[string][]string{}
	for dec := json.NewDecoder(out); ; {
		var p struct {
			ImportPath string
			Deps       []string
		}
		if err := dec.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		if rel := relative(p.ImportPath, module); rel != p.ImportPath {
			deps[rel] = p.Deps
		}
	}
	return deps, cmd.Wait()
}

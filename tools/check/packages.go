package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// A pkg is what `go list` says about a package of the library.
type pkg struct {
	ImportPath, Dir           string
	Imports                   []string
	TestImports, XTestImports []string
	TestGoFiles, XTestGoFiles []string
	rel                       string // Dir relative to the repository, with slashes
}

// list returns the packages of the library.
func list(ctx context.Context, root string) ([]pkg, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-e",
		"-json=ImportPath,Dir,Imports,TestImports,XTestImports,TestGoFiles,XTestGoFiles", "./...")
	cmd.Dir, cmd.Stderr = root, os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	var pkgs []pkg
	for dec := json.NewDecoder(out); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		rel, err := filepath.Rel(root, p.Dir)
		if err != nil {
			return nil, err
		}
		p.rel = filepath.ToSlash(rel)
		pkgs = append(pkgs, p)
	}
	if err := cmd.Wait(); err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	return pkgs, nil
}

// rings returns the packages with tests by their distance from the changed ones: these
// first, then those that import one, and so on. An import by a test counts for the
// package of the test, and not for those that import it. Within a ring the packages with
// the fewest test files come first, so that more of them end before the time is over.
func rings(pkgs []pkg, changed []string) [][]string {
	linked := map[string]int{} // distance by what is not a test
	for _, p := range changed {
		linked[p] = 0
	}
	for d, grown := 1, true; grown; d++ {
		grown = false
		for _, p := range pkgs {
			if _, ok := linked[p.ImportPath]; !ok && nearest(linked, p.Imports) == d {
				linked[p.ImportPath], grown = d, true
			}
		}
	}
	files := func(p pkg) int { return len(p.TestGoFiles) + len(p.XTestGoFiles) }
	pkgs = slices.Clone(pkgs)
	slices.SortStableFunc(pkgs, func(a, b pkg) int { return files(a) - files(b) })
	var out [][]string
	for _, p := range pkgs {
		d, ok := linked[p.ImportPath]
		if t := nearest(linked, slices.Concat(p.TestImports, p.XTestImports)); t > 0 && (!ok || t < d) {
			d, ok = t, true
		}
		if !ok || files(p) == 0 || p.rel == "proof/archtest" { // make check has run this one
			continue
		}
		for len(out) <= d {
			out = append(out, nil)
		}
		out[d] = append(out[d], p.ImportPath)
	}
	return out
}

// nearest returns the distance of a package that imports these: 1 more than the least of
// theirs, or 0 if none has a distance.
func nearest(distance map[string]int, imports []string) (least int) {
	for _, i := range imports {
		if d, ok := distance[i]; ok && (least == 0 || d+1 < least) {
			least = d + 1
		}
	}
	return least
}

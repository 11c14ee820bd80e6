package main

import (
	"bytes"
	"context"
	"fmt"
	"go/build"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// hook is the package that the copy asks which mutant it is.
const hook = `// Package mutant says which site is switched off.
package mutant

import (
	"os"
	"strconv"
	"sync"
	"sync/atomic"
)

var (
	active  = number()
	seen    [%d]atomic.Bool
	mu      sync.Mutex
	reached = os.Getenv("MUTATE_REACHED")
)

func number() int {
	n, err := strconv.Atoi(os.Getenv("MUTATE_OFF"))
	if err != nil {
		return -1
	}
	return n
}

// Off reports whether site n is switched off, and notes that it was reached.
func Off(n int) bool {
	if reached != "" && !seen[n].Swap(true) {
		mu.Lock()
		defer mu.Unlock()
		f, err := os.OpenFile(reached, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
		if err == nil {
			_, err = f.WriteString(strconv.Itoa(n) + "\n")
		}
		if err == nil {
			err = f.Close()
		}
		if err != nil {
			panic(err)
		}
	}
	return n == active
}

// Skip calls f unless site n is switched off.
func Skip(n int, f func() error) error {
	if Off(n) {
		return nil
	}
	return f()
}
`

// workplace is the copy and what is built from it.
type workplace struct {
	dir   string // holds all
	root  string // of the copy
	sites []*site
	tests []*test
}

func (w *workplace) remove() { os.RemoveAll(w.dir) } //nolint:errcheck // a temporary directory

// prepare copies the tree, with every mutant in it, and builds the tests.
func prepare(ctx context.Context, root string, sites []*site) (*workplace, error) {
	dir, err := os.MkdirTemp("", "mutate-")
	if err != nil {
		return nil, err
	}
	w := &workplace{dir: dir, root: filepath.Join(dir, "main"), sites: sites}
	if err := w.copy(ctx, root); err != nil {
		w.remove()
		return nil, err
	}
	if err := w.build(ctx); err != nil {
		w.remove()
		return nil, err
	}
	return w, nil
}

func (w *workplace) copy(ctx context.Context, root string) error {
	list := exec.CommandContext(ctx, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		return fmt.Errorf("git ls-files in %s: %w", root, err)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if err := w.copyFile(root, name); err != nil {
			return err
		}
	}
	// Tests read the vectors beside the checkout.
	abs, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	shared := filepath.Join(filepath.Dir(abs), "shared")
	if _, err := os.Stat(shared); err == nil {
		if err := os.Symlink(shared, filepath.Join(w.dir, "shared")); err != nil {
			return err
		}
	}
	return w.mutate()
}

func (w *workplace) copyFile(root, name string) error {
	from, to := filepath.Join(root, name), filepath.Join(w.root, name)
	info, err := os.Lstat(from)
	if os.IsNotExist(err) {
		return nil // removed and not yet committed
	}
	if err != nil || info.IsDir() {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		return err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	}
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, b, info.Mode().Perm())
}

// mutate writes the hook and the edits of all sites.
func (w *workplace) mutate() error {
	module, err := modulePath(w.root)
	if err != nil {
		return err
	}
	byFile := map[string][]edit{}
	for _, s := range w.sites {
		for _, e := range s.edits {
			e.text = strings.ReplaceAll(e.text, number, strconv.Itoa(s.n))
			byFile[e.file] = append(byFile[e.file], e)
		}
	}
	for name, edits := range byFile {
		file := filepath.Join(w.root, name)
		b, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if b, err = apply(b, edits, `import mutant "`+module+`/internal/mutant"`); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := os.WriteFile(file, b, 0o666); err != nil {
			return err
		}
	}
	dir := filepath.Join(w.root, "internal", "mutant")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "mutant.go"), fmt.Appendf(nil, hook, len(w.sites)), 0o666)
}

// apply inserts the edits, and the import behind the package clause.
func apply(b []byte, edits []edit, imported string) ([]byte, error) {
	at := bytes.Index(b, []byte("\npackage "))
	if bytes.HasPrefix(b, []byte("package ")) {
		at = 0
	} else if at++; at == 0 {
		return nil, fmt.Errorf("no package clause")
	}
	line := bytes.IndexByte(b[at:], '\n')
	edits = append([]edit{{at: at + line, text: "; " + imported}}, edits...)
	order := make([]int, len(edits))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(x, y int) int {
		a, b := edits[x], edits[y]
		switch {
		case a.at != b.at:
			return a.at - b.at
		case a.rank != b.rank:
			return int(a.rank) - int(b.rank)
		case a.rank == closing: // what was opened last closes first
			return y - x
		}
		return x - y
	})
	var out []byte
	end := 0
	for _, i := range order {
		out = append(append(out, b[end:edits[i].at]...), edits[i].text...)
		end = edits[i].at
	}
	return append(out, b[end:]...), nil
}

// builds reports whether a file is part of the build on this system.
func builds(name string) bool {
	ok, err := build.Default.MatchFile(filepath.Split(name))
	return ok && err == nil
}

func modulePath(root string) (string, error) {
	b, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(b)) {
		if name, ok := strings.CutPrefix(line, "module "); ok {
			return strings.TrimSpace(name), nil
		}
	}
	return "", fmt.Errorf("%s/go.mod names no module", root)
}

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/build"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// hook is the package that the mutated sources ask which mutants they are.
const hook = `// Package mutant says which sites are switched off.
package mutant

import (
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

const sites = %d

var (
	off     = numbers()
	seen    [sites]atomic.Bool
	mu      sync.Mutex
	reached = os.Getenv("MUTATE_REACHED")
)

func numbers() (off [sites]bool) {
	for text := range strings.FieldsSeq(os.Getenv("MUTATE_OFF")) {
		if n, err := strconv.Atoi(text); err == nil {
			off[n] = true
		}
	}
	return off
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
	return off[n]
}

// Skip calls f unless site n is switched off.
func Skip(n int, f func() error) error {
	if Off(n) {
		return nil
	}
	return f()
}
`

// overlay writes the mutated sources and the hook below dir, and returns the file that tells the go
// command to use them in place of the module's sources.
func overlay(dir, root string, sites []*site) (string, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return "", err
	}
	module, err := modulePath(root)
	if err != nil {
		return "", err
	}
	byFile := map[string][]edit{}
	for _, s := range sites {
		for _, e := range s.edits {
			e.text = strings.ReplaceAll(e.text, number, strconv.Itoa(s.n))
			byFile[e.file] = append(byFile[e.file], e)
		}
	}
	texts := map[string][]byte{"internal/mutant/mutant.go": fmt.Appendf(nil, hook, len(sites))}
	for name, edits := range byFile {
		b, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return "", err
		}
		if texts[name], err = apply(b, edits, `import mutant "`+module+`/internal/mutant"`); err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
	}
	replace := map[string]string{}
	for name, text := range texts {
		to := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
			return "", err
		}
		if err := os.WriteFile(to, text, 0o666); err != nil {
			return "", err
		}
		replace[filepath.Join(root, name)] = to
	}
	b, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "overlay.json")
	return name, os.WriteFile(name, b, 0o666)
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

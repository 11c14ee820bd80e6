package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// A module is what `go list` says about the module of a package.
type module struct {
	Path, Version, Dir string
	Main               bool
	Replace            *module
}

// linked returns the modules that cmd/bivouac links on any of the platforms, with
// the texts of their licences, sorted by path. The standard library is the last.
func linked(root string, platforms []string) ([]entry, error) {
	modules := map[string]module{}
	dirs := map[string][]string{} // of linked packages, by module
	for _, p := range platforms {
		if err := list(root, p, modules, dirs); err != nil {
			return nil, err
		}
	}
	var out []entry
	for _, m := range modules {
		texts, err := textsOf(m.Dir, dirs[m.Path])
		if err != nil {
			return nil, err
		}
		id, err := identify(texts)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", m.Path, m.Version, err)
		}
		out = append(out, entry{m.Path, m.Version, id, texts})
	}
	slices.SortFunc(out, func(a, b entry) int { return strings.Compare(a.Module, b.Module) })
	std, err := standardLibrary(root)
	return append(out, std), err
}

// list adds the modules and the directories of the packages that one platform links.
func list(root, platform string, modules map[string]module, dirs map[string][]string) error {
	goos, goarch, _ := strings.Cut(platform, "/")
	cmd := exec.Command("go", "list", "-deps", "-json=Dir,Module", "./cmd/bivouac")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	for dec := json.NewDecoder(out); ; {
		var p struct {
			Dir    string
			Module *module
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return fmt.Errorf("go list: %w", err)
		}
		if p.Module == nil || p.Module.Main {
			continue
		}
		m := *p.Module
		if m.Replace != nil {
			m = *m.Replace
		}
		modules[m.Path] = m
		if !slices.Contains(dirs[m.Path], p.Dir) {
			dirs[m.Path] = append(dirs[m.Path], p.Dir)
		}
	}
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("go list for %s: %w", platform, err)
	}
	return nil
}

// textsOf reads the licence files in the directories and in those above them, up to top.
func textsOf(top string, dirs []string) ([]text, error) {
	var seen []string
	for _, dir := range append([]string{top}, dirs...) {
		for ; ; dir = filepath.Dir(dir) {
			if !slices.Contains(seen, dir) {
				seen = append(seen, dir)
			}
			if dir == top || len(dir) <= len(top) {
				break
			}
		}
	}
	slices.Sort(seen)
	var out []text
	for _, dir := range seen {
		files, err := os.ReadDir(dir)
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			if !f.Type().IsRegular() || !isText(f.Name()) {
				continue
			}
			name := filepath.Join(dir, f.Name())
			b, err := os.ReadFile(name)
			if err != nil {
				return nil, err
			}
			rel, err := filepath.Rel(top, name)
			if err != nil {
				return nil, err
			}
			out = append(out, text{filepath.ToSlash(rel), clean(b)})
		}
	}
	return out, nil
}

// isText reports whether a file of this name belongs to the terms of a module.
func isText(name string) bool {
	stem, ext, _ := strings.Cut(strings.ToUpper(name), ".")
	if ext != "" && ext != "TXT" && ext != "MD" {
		return false
	}
	return slices.Contains([]string{"LICENSE", "LICENCE", "UNLICENSE", "COPYING", "NOTICE", "PATENTS"}, stem)
}

// clean makes line ends the same and removes blanks at the ends of lines.
func clean(b []byte) string {
	lines := strings.Split(strings.ReplaceAll(string(b), "\r\n", "\n"), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " \t\f")
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n") + "\n"
}

// standardLibrary returns the entry of Go's own packages, which every Go program
// links. It has no texts where Go was installed without its licence.
func standardLibrary(root string) (entry, error) {
	cmd := exec.Command("go", "env", "GOROOT")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return entry{}, fmt.Errorf("go env GOROOT: %w", err)
	}
	top := strings.TrimSpace(string(out))
	texts, err := textsOf(top, nil)
	if err != nil {
		return entry{}, err
	}
	return entry{standard, "go", "BSD-3-Clause", texts}, nil
}

// ownEntries returns the entry of Bivouac itself.
func ownEntries(root string) ([]entry, error) {
	texts, err := textsOf(root, nil)
	return []entry{{ownModule, "-", "Apache-2.0", texts}}, err
}

// required returns the versions of the modules that go.mod requires.
func required(root string) (map[string]string, error) {
	cmd := exec.Command("go", "mod", "edit", "-json")
	cmd.Dir = root
	b, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go mod edit: %w", err)
	}
	var mod struct {
		Require []struct{ Path, Version string }
	}
	if err := json.Unmarshal(b, &mod); err != nil {
		return nil, fmt.Errorf("go mod edit: %w", err)
	}
	out := map[string]string{}
	for _, r := range mod.Require {
		out[r.Path] = r.Version
	}
	return out, nil
}

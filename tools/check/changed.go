package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// git runs git in the repository and returns what it prints.
func git(root string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	return string(out), nil
}

// mergeBase returns the commit from which the work on this branch began.
func mergeBase(root, base string) (string, error) {
	names := []string{"origin/main", "main", "HEAD"}
	if base != "" {
		names = []string{base}
	}
	var err error
	for _, name := range names {
		var out string
		if out, err = git(root, "merge-base", "HEAD", name); err == nil {
			return strings.TrimSpace(out), nil
		}
	}
	return "", fmt.Errorf("no commit to compare with: %w", err)
}

// changedFiles returns the files that differ from a commit, or that git does not know,
// relative to root. Files that were removed are among them.
func changedFiles(root, commit string) ([]string, error) {
	differing, err := git(root, "diff", "--name-only", "--no-renames", "-z", commit)
	if err != nil {
		return nil, err
	}
	unknown, err := git(root, "ls-files", "--others", "--exclude-standard", "-z")
	if err != nil {
		return nil, err
	}
	files := strings.FieldsFunc(differing+unknown, func(r rune) bool { return r == 0 })
	slices.Sort(files)
	return slices.Compact(files), nil
}

// changedPackages returns the packages that the files change, by the rules of the
// package comment.
func changedPackages(pkgs []pkg, files []string) []string {
	byDir := map[string]*pkg{}
	for i := range pkgs {
		byDir[pkgs[i].rel] = &pkgs[i]
	}
	changed := map[string]bool{}
	for _, f := range files {
		switch name := named(f); {
		case f == "go.mod" || f == "go.sum":
			for _, p := range pkgs {
				changed[p.ImportPath] = true
			}
		case strings.HasPrefix(f, "tools/") || path.Dir(f) == "." && path.Ext(f) != ".go" && name == "":
		case name != "":
			for _, p := range pkgs {
				if p.names(name) {
					changed[p.ImportPath] = true
				}
			}
		default:
			if p := byDir[home(f)]; p != nil {
				changed[p.ImportPath] = true
			}
		}
	}
	var out []string
	for p := range changed {
		out = append(out, p)
	}
	slices.Sort(out)
	return out
}

// home returns the directory of the package that a file belongs to.
func home(file string) string {
	dir, _, _ := strings.Cut("/"+path.Dir(file)+"/", "/testdata/")
	return path.Clean(strings.Trim(dir, "/"))
}

// named returns what the tests that read a file call it: the name of a document, or the
// first directory of the repository's testdata. It is empty for other files.
func named(file string) string {
	if rest, ok := strings.CutPrefix(file, "testdata/"); ok {
		first, _, _ := strings.Cut(rest, "/")
		return path.Join("testdata", first)
	}
	if path.Ext(file) == ".md" {
		return path.Base(file)
	}
	return ""
}

// names reports whether the tests of the package name a document or a folder.
func (p *pkg) names(name string) bool {
	quoted := `"` + strings.ReplaceAll(name, "/", `", "`) + `"` // as filepath.Join takes it
	for _, f := range slices.Concat(p.TestGoFiles, p.XTestGoFiles) {
		b, err := os.ReadFile(filepath.Join(p.Dir, f))
		if err == nil && (bytes.Contains(b, []byte("/"+name)) || bytes.Contains(b, []byte(`"`+name)) || bytes.Contains(b, []byte(quoted))) {
			return true
		}
	}
	return false
}

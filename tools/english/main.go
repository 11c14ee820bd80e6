// Command english checks the comments, texts and pages of the repository for plain English.
//
// It reports three things:
//
//   - riddles: sentences with a pattern that readers stumble over (patterns.go), in comments of Go
//     files, in string literals of Go files that are not tests, and in Markdown pages;
//   - long prose: a line of a comment or a page above 100 columns;
//   - long code: a line of Go code above 120 columns, outside of tables.
//
// A column is a character; a tab is one. A table is a composite literal or a raw string of several
// lines. Long cells of tables are only counted. Not checked are generated files, testdata,
// preformatted text, tables of pages and links.
//
// A folder that limits.txt does not name has no finding. For a folder of limits.txt each count may
// fall and must not rise. With -lower the command writes the lower counts.
//
// With -fix the command rewraps the paragraphs of the named files and folders that have a long
// line.
package main

import (
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	root := flag.String("root", "..", "root of the repository")
	fix := flag.Bool("fix", false, "rewrap the long comments and pages of the files and folders that follow")
	lower := flag.Bool("lower", false, "write the lower counts to limits.txt")
	list := flag.Bool("list", false, "list the findings of the files and folders that follow, and check no limit")
	flag.Parse()
	err := run(os.Stdout, *root, *fix, *lower, *list, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "english:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, root string, fix, lower, list bool, args []string) error {
	if (fix || list) && len(args) == 0 {
		return fmt.Errorf("-fix and -list need files or folders, relative to -root")
	}
	if !fix && !list && len(args) > 0 {
		return fmt.Errorf("want no arguments without -fix and -list, got %q", args)
	}
	if fix {
		return each(root, args, rewrap)
	}
	var found []finding
	err := each(root, args, func(name, full string) error {
		more, err := check(name, full)
		found = append(found, more...)
		return err
	})
	if err != nil {
		return err
	}
	if list {
		for _, f := range found {
			fmt.Fprintln(w, f)
		}
		return nil
	}
	if stale := staleAllowances(); len(stale) > 0 {
		return fmt.Errorf("allowed.go: not found any more: %s", strings.Join(stale, "; "))
	}
	return compare(w, root, found, lower)
}

// each visits the Go files and pages below args, or below root if there are no args.
func each(root string, args []string, visit func(name, full string) error) error {
	if len(args) == 0 {
		args = []string{"."}
	}
	for _, arg := range args {
		err := filepath.WalkDir(filepath.Join(root, arg), func(full string, e fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			name, err := filepath.Rel(root, full)
			if err != nil {
				return err
			}
			name = filepath.ToSlash(name)
			if e.IsDir() {
				if name != "." && (strings.HasPrefix(e.Name(), ".") || skippedFolders[e.Name()] || skippedFolders[name]) {
					return fs.SkipDir
				}
				return nil
			}
			if e.Type().IsRegular() && (strings.HasSuffix(name, ".go") || strings.HasSuffix(name, ".md")) {
				return visit(name, full)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// skippedFolders are names of folders, or their paths, that nobody writes by hand.
var skippedFolders = map[string]bool{"testdata": true, "shared": true, "docs/operators": true, "bin": true}

// check returns the findings in one file.
func check(name, full string) ([]finding, error) {
	b, err := os.ReadFile(full)
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(name, ".md") {
		return checkPage(name, string(b)), nil
	}
	return checkGo(name, b)
}

// rewrap rewraps one file and writes it if it changed.
func rewrap(name, full string) error {
	b, err := os.ReadFile(full)
	if err != nil {
		return err
	}
	var out []byte
	if strings.HasSuffix(name, ".md") {
		out, err = rewrapPage(b)
	} else {
		out, err = rewrapGo(name, b)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if string(out) == string(b) {
		return nil
	}
	return os.WriteFile(full, out, 0o644)
}

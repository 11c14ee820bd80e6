// Command check runs the short tests of what changed, for `make check`.
//
// Changed are the files that differ from the merge base with the main branch, and the files that
// git does not know yet. A file changes the package that it lies in, itself or in the package's
// testdata; in the root only Go files do. A file in the testdata of the repository, or a document,
// changes the packages whose tests name it. A file below tools/ changes the package of that module.
// go.mod and go.sum change all packages.
//
// The tests of changed packages run first, to their end. Then come the packages that
// import them, nearest first: those that import a changed package themselves, also in
// tests, then those that import these, and so on. They run while there is time
// (-seconds, counted from -since). Packages that were not reached are named.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	root := flag.String("root", "..", "root of the repository")
	base := flag.String("base", "", "branch to compare with; empty: origin/main, else main, else the last commit")
	seconds := flag.Int("seconds", 100, "no importing package begins after this number of seconds")
	since := flag.Int64("since", time.Now().Unix(), "when the seconds began, in seconds since 1970")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	until := time.Unix(*since, 0).Add(time.Duration(*seconds) * time.Second)
	if err := run(ctx, *root, *base, until); err != nil {
		fmt.Fprintln(os.Stderr, "make check:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, root, base string, until time.Time) error {
	root, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	from, err := mergeBase(root, base)
	if err != nil {
		return err
	}
	files, err := changedFiles(root, from)
	if err != nil {
		return err
	}
	if len(files) == 0 {
		fmt.Printf("nothing changed since %.12s: no tests to run\n", from)
		return nil
	}
	pkgs, err := list(ctx, root)
	if err != nil {
		return err
	}
	if err := testTools(ctx, root, files); err != nil {
		return err
	}
	changed := changedPackages(pkgs, files)
	if len(changed) == 0 {
		fmt.Printf("%d files changed since %.12s, and no package of the library: no more tests to run\n", len(files), from)
		return nil
	}
	fmt.Printf("%d packages changed since %.12s\n", len(changed), from)
	return test(ctx, rings(pkgs, changed), until, goTest(root))
}

// testTools runs the tests of the packages of tools/ that files lie in.
func testTools(ctx context.Context, root string, files []string) error {
	var dirs []string
	seen := map[string]bool{}
	for _, f := range files {
		if dir := filepath.ToSlash(filepath.Dir(f)); strings.HasPrefix(f, "tools/") && strings.HasSuffix(f, ".go") && !seen[dir] {
			seen[dir] = true
			if _, err := os.Stat(filepath.Join(root, dir)); err == nil {
				dirs = append(dirs, "./"+strings.TrimPrefix(dir, "tools/"))
			}
		}
	}
	if len(dirs) == 0 {
		return nil
	}
	_, err := goTest(filepath.Join(root, "tools"))(ctx, dirs)
	return err
}

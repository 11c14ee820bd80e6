package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// suites are the packages whose tests must notice.
var suites = []string{
	"internal/vfs", "internal/crash", "store", "store/local", "format/ocdbt", "format/zarr",
	"checkpoint/internal/manifest", "checkpoint/internal/orbax", "checkpoint/internal/image", "checkpoint/internal/layout",
	"checkpoint/internal/parts", "checkpoint", "checkpoint/partial", "checkpoint/training", ".",
}

// test is one test function.
type test struct {
	pkg, name string
	binary    string
	dir       string
	seeded    bool // draws from rapid
	took      time.Duration
	reaches   map[int]bool
	broken    error // it fails unchanged
}

func (t *test) String() string { return t.pkg + " " + t.name }

// build compiles the test binaries, all at once, and lists their tests.
func (w *workplace) build(ctx context.Context) error {
	start := time.Now()
	bin := filepath.Join(w.dir, "bin") + string(filepath.Separator)
	args := []string{"test", "-c", "-o", bin}
	for _, pkg := range suites {
		args = append(args, "./"+pkg)
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = w.root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("the tests with all mutants in them do not compile: %w\n%s", err, out)
	}
	module, err := modulePath(w.root)
	if err != nil {
		return err
	}
	for _, pkg := range suites {
		if err := w.listTests(ctx, pkg, filepath.Join(bin, path.Base(path.Join(module, pkg))+".test")); err != nil {
			return err
		}
	}
	fmt.Printf("%d tests built in %s\n", len(w.tests), time.Since(start).Round(time.Second))
	return nil
}

// listTests enters the tests of a package.
func (w *workplace) listTests(ctx context.Context, pkg, binary string) error {
	dir := filepath.Join(w.root, pkg)
	seeded, err := importsRapid(dir)
	if err != nil {
		return err
	}
	list := exec.CommandContext(ctx, binary, "-test.list", "^Test|^Fuzz|^Example")
	list.Dir = dir
	out, err := list.Output()
	if err != nil {
		return fmt.Errorf("listing the tests of %s: %w", pkg, err)
	}
	for name := range strings.FieldsSeq(string(out)) {
		w.tests = append(w.tests, &test{pkg: pkg, name: name, binary: binary, dir: dir, seeded: seeded})
	}
	return nil
}

// importsRapid reports whether a test of the directory draws from rapid, and so
// knows its flags.
func importsRapid(dir string) (bool, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		return false, err
	}
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			return false, err
		}
		for _, i := range file.Imports {
			if i.Path.Value == `"pgregory.net/rapid"` {
				return true, nil
			}
		}
	}
	return false, nil
}

// errKilled says that a test failed.
var errKilled = errors.New("failed")

// run runs one test, with the environment added. A test that fails or runs too
// long is errKilled.
func (t *test) run(ctx context.Context, limit time.Duration, env ...string) ([]byte, error) {
	args := []string{"-test.run=^" + t.name + "$", "-test.count=1", "-test.timeout=" + limit.String()}
	if t.seeded {
		args = append(args, "-rapid.seed=2", "-rapid.nofailfile")
	}
	cmd := exec.CommandContext(ctx, t.binary, args...)
	cmd.Dir = t.dir
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return out, ctx.Err()
	case errors.As(err, &exit):
		return out, errKilled
	}
	return out, err
}

// baseline runs each test unchanged, jobs at a time. What it reaches and how long
// it takes is noted; one that fails is told and kills nothing.
func (w *workplace) baseline(ctx context.Context, jobs int) error {
	start := time.Now()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	queue := make(chan int, len(w.tests))
	for i := range w.tests {
		queue <- i
	}
	close(queue)
	var wg sync.WaitGroup
	for range jobs {
		wg.Go(func() {
			for i := range queue {
				err := w.tests[i].unchanged(ctx, filepath.Join(w.dir, "reached."+strconv.Itoa(i)))
				if errors.Is(err, errKilled) {
					w.tests[i].broken = err
				} else if err != nil {
					cancel(err)
					return
				}
			}
		})
	}
	wg.Wait()
	slices.SortStableFunc(w.tests, func(a, b *test) int { return cmp.Compare(a.took, b.took) })
	if err := context.Cause(ctx); err != nil {
		return err
	}
	for _, t := range w.tests {
		if t.broken != nil {
			fmt.Println(t.broken)
		}
	}
	fmt.Printf("suite run unchanged in %s\n", time.Since(start).Round(time.Second))
	return nil
}

// broken names the tests that fail unchanged.
func (w *workplace) broken() (out []string) {
	for _, t := range w.tests {
		if t.broken != nil {
			out = append(out, "fails unchanged: "+t.String())
		}
	}
	return out
}

// unchanged runs a test without any mutation, and learns from the file what it reaches.
func (t *test) unchanged(ctx context.Context, file string) error {
	began := time.Now()
	out, err := t.run(ctx, 10*time.Minute, "MUTATE_REACHED="+file)
	if errors.Is(err, errKilled) { // once more: a test that watches memory or threads minds its neighbours
		began = time.Now()
		out, err = t.run(ctx, 10*time.Minute, "MUTATE_REACHED="+file)
	}
	if err != nil {
		return fmt.Errorf("%s %w without any mutation:\n%s", t, err, out)
	}
	t.took = time.Since(began)
	b, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	t.reaches = map[int]bool{}
	for n := range strings.FieldsSeq(string(b)) {
		k, err := strconv.Atoi(n)
		if err != nil {
			return err
		}
		t.reaches[k] = true
	}
	return nil
}

// try switches the sites off, one at a time in each job.
func (w *workplace) try(ctx context.Context, sites []*site, o *options) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	queue := make(chan *site, len(sites))
	for _, s := range sites {
		queue <- s
	}
	close(queue)
	var (
		mu   sync.Mutex
		done int
		wg   sync.WaitGroup
	)
	for range min(o.jobs, len(sites)) {
		wg.Go(func() {
			for s := range queue {
				if err := w.kill(ctx, s); err != nil {
					cancel(err)
					return
				}
				mu.Lock()
				done++
				if o.verbose || !s.killed || done%25 == 0 {
					fmt.Printf("%4d/%d %s\n", done, len(sites), s.outcome())
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// kill runs the tests that reach the site until one fails.
func (w *workplace) kill(ctx context.Context, s *site) error {
	start := time.Now()
	defer func() { s.took = time.Since(start) }()
	for _, t := range w.tests {
		if t.broken != nil || !t.reaches[s.n] {
			continue
		}
		s.tried++
		_, err := t.run(ctx, 30*time.Second+5*t.took, "MUTATE_OFF="+strconv.Itoa(s.n))
		if errors.Is(err, errKilled) {
			s.killed, s.by = true, t.String()
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *site) outcome() string {
	took := s.took.Round(10 * time.Millisecond)
	switch {
	case s.killed:
		return fmt.Sprintf("killed by %s in %s: %s (%s)", s.by, took, s.ID(), s.line)
	case s.tried == 0:
		return fmt.Sprintf("no test reaches it: %s (%s)", s.ID(), s.line)
	}
	return fmt.Sprintf("survived %d tests in %s: %s (%s)", s.tried, took, s.ID(), s.line)
}

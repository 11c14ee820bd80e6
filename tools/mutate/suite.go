package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// suite is the tests, compiled with all mutants in them.
type suite struct {
	dir   string // holds what is built and what the tests write
	root  string // of the module
	tests []*test

	mu   sync.Mutex
	subs map[string]*test // by name
}

// always lists packages whose tests run in addition to the tests of the examined packages.
var always = []string{".", "internal/crash", "internal/vfs"}

// compile compiles the tests of the packages that match.
func compile(ctx context.Context, root string, sites []*site, packages *regexp.Regexp) (*suite, error) {
	start := time.Now()
	dir, err := os.MkdirTemp("", "mutate-")
	if err != nil {
		return nil, err
	}
	s := &suite{dir: dir, root: root, subs: map[string]*test{}}
	if err := s.build(ctx, sites, packages); err != nil {
		s.remove()
		return nil, err
	}
	fmt.Printf("%d tests built in %s\n", len(s.tests), time.Since(start).Round(time.Second))
	return s, nil
}

func (s *suite) remove() { os.RemoveAll(s.dir) } //nolint:errcheck // a temporary directory

func (s *suite) build(ctx context.Context, sites []*site, match *regexp.Regexp) error {
	if err := os.Mkdir(filepath.Join(s.dir, "tmp"), 0o777); err != nil {
		return err
	}
	over, err := overlay(filepath.Join(s.dir, "overlay"), s.root, sites)
	if err != nil {
		return err
	}
	packages, err := packagesOf(s.root)
	if err != nil {
		return err
	}
	packages = slices.DeleteFunc(packages, func(pkg string) bool { return !match.MatchString(pkg) })
	module, err := modulePath(s.root)
	if err != nil {
		return err
	}
	for n, batch := range batches(packages, func(pkg string) string { return path.Base(path.Join(module, pkg)) }) {
		bin := filepath.Join(s.dir, "bin"+strconv.Itoa(n)) + string(filepath.Separator)
		args := []string{"test", "-c", "-vet=off", "-overlay", over, "-o", bin}
		for _, pkg := range batch {
			args = append(args, "./"+pkg)
		}
		cmd := exec.CommandContext(ctx, "go", args...)
		cmd.Dir = s.root
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("the tests with all mutants in them do not compile: %w\n%s", err, out)
		}
		for _, pkg := range batch {
			if err := s.list(ctx, pkg, filepath.Join(bin, path.Base(path.Join(module, pkg))+".test")); err != nil {
				return err
			}
		}
	}
	return nil
}

// packagesOf returns the packages whose tests are run.
func packagesOf(root string) ([]string, error) {
	files, err := load(root)
	if err != nil {
		return nil, err
	}
	packages := slices.Clone(always)
	for _, f := range files {
		if dir := f.dir(); verified.MatchString(dir) || committing.MatchString(dir) || f.protocol() {
			packages = append(packages, dir)
		}
	}
	slices.Sort(packages)
	packages = slices.Compact(packages)
	return slices.DeleteFunc(packages, func(pkg string) bool {
		tests, err := filepath.Glob(filepath.Join(root, pkg, "*_test.go"))
		return err == nil && len(tests) == 0
	}), nil
}

// batches parts names so that no two in a batch have the same base: the go
// command names test binaries by it.
func batches(names []string, base func(string) string) (out [][]string) {
	for len(names) > 0 {
		taken := map[string]bool{}
		var batch, rest []string
		for _, name := range names {
			if b := base(name); taken[b] {
				rest = append(rest, name)
			} else {
				taken[b] = true
				batch = append(batch, name)
			}
		}
		out, names = append(out, batch), rest
	}
	return out
}

// list enters the tests of a package.
func (s *suite) list(ctx context.Context, pkg, binary string) error {
	dir := filepath.Join(s.root, pkg)
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
		s.tests = append(s.tests, &test{pkg: pkg, name: name, binary: binary, dir: dir, seeded: seeded, tmp: filepath.Join(s.dir, "tmp")})
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

// lookup returns the test of a name, as String gives it, or nil. It may name a
// part of a test.
func (s *suite) lookup(name string) *test {
	pkg, full, _ := strings.Cut(name, " ")
	top, _, part := strings.Cut(full, "/")
	i := slices.IndexFunc(s.tests, func(t *test) bool { return t.pkg == pkg && t.name == top })
	if i < 0 {
		return nil
	}
	if !part {
		return s.tests[i]
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.subs[name]; t != nil {
		return t
	}
	of := s.tests[i]
	t := &test{pkg: pkg, name: full, binary: of.binary, dir: of.dir, seeded: of.seeded, tmp: of.tmp}
	s.subs[name] = t
	return t
}

// test is one test function, or a part of one.
type test struct {
	pkg, name string
	binary    string
	dir       string
	tmp       string // for what it writes
	seeded    bool   // draws from rapid

	lock    sync.Mutex // guards what follows, which a run without mutation tells
	known   bool       // it has run
	took    time.Duration
	broken  error // it fails unchanged
	reaches map[int]bool
}

func (t *test) String() string { return t.pkg + " " + t.name }

var (
	// errKilled says that a test failed.
	errKilled = errors.New("failed")
	// errLate is errKilled of a test that ran past its time limit.
	errLate = fmt.Errorf("%w: ran past its time limit", errKilled)
)

// run runs the test, with the environment added. A test that fails is errKilled,
// one that runs too long errLate.
func (t *test) run(ctx context.Context, limit time.Duration, env ...string) ([]byte, error) {
	var pattern []string
	for part := range strings.SplitSeq(t.name, "/") {
		pattern = append(pattern, "^"+regexp.QuoteMeta(part)+"$")
	}
	return t.exec(ctx, limit, env, "-test.run="+strings.Join(pattern, "/"), "-test.failfast")
}

// exec runs the binary of the test.
func (t *test) exec(ctx context.Context, limit time.Duration, env []string, args ...string) ([]byte, error) {
	args = append(args, "-test.count=1", "-test.timeout="+limit.String())
	if t.seeded {
		args = append(args, "-rapid.seed=2", "-rapid.nofailfile", "-rapid.shrinktime=0s")
	}
	cmd := exec.CommandContext(ctx, t.binary, args...)
	cmd.Dir = t.dir
	cmd.Env = append(append(os.Environ(), "TMPDIR="+t.tmp), env...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return out, ctx.Err()
	case errors.As(err, &exit) && bytes.Contains(out, []byte("panic: test timed out after ")):
		return out, errLate
	case errors.As(err, &exit):
		return out, errKilled
	}
	return out, err
}

// with runs the test with sites switched off.
func (t *test) with(ctx context.Context, sites ...*site) ([]byte, error) {
	return t.run(ctx, limitBase+5*t.took, off(sites))
}

// limitBase is how long a test may run with a mutant, besides five times what it takes
// without: as long as the slowest of tests needs on a busy machine. A law sets it lower.
var limitBase = 20 * time.Second

func off(sites []*site) string {
	text := "MUTATE_OFF="
	for _, s := range sites {
		text += strconv.Itoa(s.n) + " "
	}
	return text
}

// unchanged runs the test without any mutation, once, and reports whether it
// passes then.
func (t *test) unchanged(ctx context.Context) (bool, error) {
	t.lock.Lock()
	defer t.lock.Unlock()
	return t.passes(ctx)
}

// passes is unchanged for who holds the lock.
func (t *test) passes(ctx context.Context) (bool, error) {
	if !t.known {
		if err := t.measure(ctx); err != nil {
			return false, err
		}
		t.known = true
	}
	return t.broken == nil, nil
}

// measure runs the test with the sites off, and learns how long it takes and
// what it reaches.
func (t *test) measure(ctx context.Context, sites ...*site) (err error) {
	t.broken = nil
	t.reaches, err = reached(t.tmp, func(env string) error {
		began := time.Now()
		out, err := t.run(ctx, 10*time.Minute, env, off(sites))
		if errors.Is(err, errKilled) { // once more: a test that watches memory or threads minds its neighbours
			began = time.Now()
			out, err = t.run(ctx, 10*time.Minute, env, off(sites))
		}
		t.took = time.Since(began)
		if errors.Is(err, errKilled) {
			t.broken = fmt.Errorf("%s fails with %d sites off:\n%s", t, len(sites), out)
			return nil
		}
		return err
	})
	return err
}

// reached returns the sites that are reached while f runs tests with the variable env.
func reached(tmp string, f func(env string) error) (map[int]bool, error) {
	file, err := os.CreateTemp(tmp, "reached-")
	if err != nil {
		return nil, err
	}
	name := file.Name()
	defer os.Remove(name) //nolint:errcheck // a temporary file
	if err := errors.Join(file.Close(), f("MUTATE_REACHED="+name)); err != nil {
		return nil, err
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	sites := map[int]bool{}
	for n := range strings.FieldsSeq(string(b)) {
		k, err := strconv.Atoi(n)
		if err != nil {
			return nil, err
		}
		sites[k] = true
	}
	return sites, nil
}

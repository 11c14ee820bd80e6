package main

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// suiteOf builds a suite of a module of one package, store/local.
func suiteOf(t *testing.T, source, tests string) (*suite, []*site) {
	t.Helper()
	root := t.TempDir()
	write(t, filepath.Join(root, "go.mod"), "module example.org/m\n\ngo 1.26\n")
	write(t, filepath.Join(root, "store/local/write.go"), source)
	write(t, filepath.Join(root, "store/local/write_test.go"), tests)
	sites, err := find(root)
	if err != nil {
		t.Fatal(err)
	}
	s, err := compile(t.Context(), root, sites, regexp.MustCompile(""))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.remove)
	return s, sites
}

// A mutant is tried with the test that the list names, then with all; the
// part of a test that kills it is found.
func TestTry(t *testing.T) {
	s, sites := suiteOf(t, `package local

type file struct{ synced, closed bool }

func (f *file) Sync() error  { f.synced = true; return nil }
func (f *file) Close() error { f.closed = true; return nil }

func write(f *file, fail error) error {
	err := fail
	if err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}
`, `package local

import (
	"errors"
	"testing"
	"time"
)

func TestOther(t *testing.T) {}

func TestWrite(t *testing.T) {
	t.Run("slow", func(t *testing.T) { time.Sleep(300 * time.Millisecond) })
	t.Run("synced", func(t *testing.T) {
		if f := (&file{}); write(f, nil) != nil || !f.synced {
			t.Error("not synced")
		}
	})
	t.Run("failed", func(t *testing.T) {
		if f := (&file{}); write(f, errors.New("failed")) == nil || f.synced {
			t.Error("lost")
		}
	})
}
`)
	list := filepath.Join(t.TempDir(), "sites.txt")
	write(t, list, "sync store/local.write: f.Sync()\n\tkilled: store/local TestOther\n"+
		"error store/local.write: err := fail; err == nil\n\tkilled: store/local TestWrite/failed\n"+
		"error store/local.write: e := f.Close(); err == nil\n\tsame: Close never fails here\n")
	known, err := readList(list)
	if err != nil {
		t.Fatal(err)
	}
	known.match(sites)
	r := &trial{suite: s, known: known, runs: func(string) bool { return true }, jobs: 2, report: func(*site) {}}
	if err := r.try(t.Context(), sites); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"sync store/local.write: f.Sync()":                    "store/local TestWrite/synced",
		"error store/local.write: err := fail; err == nil":    "store/local TestWrite/failed",
		"error store/local.write: e := f.Close(); err == nil": "",
	}
	for _, s := range sites {
		if by, ok := want[s.ID()]; !ok || s.by != by || s.killed != (by != "") {
			t.Errorf("%s: killed %v by %q, want %q", s.ID(), s.killed, s.by, by)
		}
	}
	if len(sites) != len(want) || len(r.broken()) != 0 {
		t.Errorf("%d sites, broken %v", len(sites), r.broken())
	}
	if p := known.judge(sites, sites); len(p) != 0 {
		t.Errorf("problems: %q", p)
	}
	for _, u := range s.tests { // the site that TestOther did not kill asks for more, the excused one for none
		if !u.known || len(r.groups) != 1 || len(r.groups[0].reaches) == 0 {
			t.Errorf("%s is known: %v", u, u.known)
		}
	}
}

// Where the tests that the list names kill every site, nothing else is run: what
// other tests reach is learned when a site asks for it.
func TestTryLazily(t *testing.T) {
	s, sites := suiteOf(t, `package local

func write(f func() error) error {
	err := f()
	if err == nil {
		err = f()
	}
	return err
}
`, `package local

import (
	"errors"
	"testing"
)

func TestOther(t *testing.T) { t.Fatal("must not run") }

func TestWrite(t *testing.T) {
	calls := 0
	if err := write(func() error { calls++; return nil }); err != nil || calls != 2 {
		t.Fatal(err, calls)
	}
	calls = 0
	if err := write(func() error { calls++; return errors.ErrUnsupported }); err == nil || calls != 1 {
		t.Fatal(err, calls)
	}
}
`)
	known := listOf(t, "error store/local.write: err := f(); err == nil\n\tkilled: store/local TestWrite\n")
	known.match(sites)
	r := &trial{suite: s, known: known, runs: func(string) bool { return true }, jobs: 1, report: func(*site) {}}
	if err := r.try(t.Context(), sites); err != nil {
		t.Fatal(err)
	}
	if len(sites) != 1 || !sites[0].killed || len(r.broken()) != 0 {
		t.Errorf("%d sites, the first killed %v, broken %q", len(sites), sites[0].killed, r.broken())
	}
	for _, u := range s.tests {
		if u.known != (u.name == "TestWrite") {
			t.Errorf("%s is known: %v", u, u.known)
		}
	}
}

// A test that runs past its limit kills a mutant only where the list says that it is a
// loop without end; elsewhere it is told, and a test that fails is looked for.
func TestKilledByTime(t *testing.T) {
	before := limitBase
	limitBase = 5 * time.Second
	t.Cleanup(func() { limitBase = before })
	s, sites := suiteOf(t, `package local

import "runtime"

func listed(f func() error) error {
	for {
		err := f()
		if err != nil {
			return err
		}
		runtime.Gosched()
	}
}

func unlisted(f func() error) error {
	for {
		err := f()
		if err != nil {
			return err
		}
		runtime.Gosched()
	}
}

func both(f func() error, ends bool) error {
	for {
		err := f()
		if err != nil {
			return err
		}
		if ends {
			return nil
		}
		runtime.Gosched()
	}
}
`, `package local

import (
	"errors"
	"testing"
)

func fails() error { return errors.New("failed") }

func TestListed(t *testing.T)   { _ = listed(fails) }
func TestUnlisted(t *testing.T) { _ = unlisted(fails) }
func TestBoth(t *testing.T)     { _ = both(fails, false) }

func TestZero(t *testing.T) {
	if both(fails, true) == nil {
		t.Fatal("lost")
	}
}
`)
	known := listOf(t, "error store/local.listed: err := f(); err != nil\n\tendless: store/local TestListed\n"+
		"error store/local.unlisted: err := f(); err != nil\n\tkilled: store/local TestUnlisted\n"+
		"error store/local.both: err := f(); err != nil\n\tkilled: store/local TestBoth\n")
	known.match(sites)
	r := &trial{suite: s, known: known, runs: func(string) bool { return true }, jobs: 3, report: func(*site) {}}
	if err := r.try(t.Context(), sites); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, s := range sites {
		said, _, _ := strings.Cut(s.outcome(), " in ")
		got[s.fn] = said
	}
	want := map[string]string{
		"store/local.listed":   "killed by time, which store/local TestListed ran past",
		"store/local.unlisted": "killed by time, which store/local TestUnlisted ran past",
		"store/local.both":     "killed by store/local TestZero",
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if p := known.judge(sites, sites); len(p) != 1 || !strings.Contains(p[0], "unlisted") || !strings.Contains(p[0], "the list says endless") {
		t.Errorf("problems: %q", p)
	}
	if v := verdicts(sites, known); v != "3 mutants: 1 killed, 2 killed by time, 0 equivalent by the list, 0 survived" {
		t.Error(v)
	}
	if err := known.update(sites, sites); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(known.name)
	if want := "error store/local.listed: err := f(); err != nil\n\tendless: store/local TestListed\n" +
		"error store/local.unlisted: err := f(); err != nil\n\tkilled: store/local TestUnlisted\n" +
		"error store/local.both: err := f(); err != nil\n\tkilled: store/local TestZero\n"; err != nil || string(b) != want {
		t.Errorf("updated to %q, %v", b, err)
	}
}

// An excused site that a test minds is found among those that are off together.
func TestExcusedIsKilled(t *testing.T) {
	s, sites := suiteOf(t, `package local

func write(f, g func() error) error {
	err := f()
	if err == nil {
		err = g()
	}
	return err
}

func idle(f func() error) error {
	err := f()
	if err != nil {
		return err
	}
	return err
}
`, `package local

import (
	"errors"
	"testing"
)

func TestIdle(t *testing.T) {
	if idle(func() error { return errors.New("failed") }) == nil {
		t.Fatal("lost")
	}
}

func TestWrite(t *testing.T) {
	if write(func() error { return errors.New("failed") }, func() error { return nil }) == nil {
		t.Fatal("lost")
	}
}
`)
	known := listOf(t, "error store/local.write: err := f(); err == nil\n\tsame: wrong\nerror store/local.idle: err := f(); err != nil\n\tsame: right\n")
	known.match(sites)
	r := &trial{suite: s, known: known, runs: func(string) bool { return true }, jobs: 2, report: func(*site) {}}
	if err := r.try(t.Context(), sites); err != nil {
		t.Fatal(err)
	}
	if p := known.judge(sites, sites); len(p) != 1 || !strings.Contains(p[0], "excused by the list, and not needed: killed by store/local TestWrite") {
		t.Errorf("problems: %q", p)
	}
}

// listOf reads a list of sites.
func listOf(t *testing.T, text string) *list {
	t.Helper()
	file := filepath.Join(t.TempDir(), "sites.txt")
	write(t, file, text)
	l, err := readList(file)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

package main

import (
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const sample = `// Package local is a sample.
package local

func (s *S) publish() error {
	if err := s.fs.SyncDir(s.staging); err != nil {
		return err
	}
	if err := s.fs.Rename(s.staging, s.final); err != nil {
		return err
	}
	return s.fs.SyncDir(s.parent)
}

func (s *S) write(b []byte) (err error) {
	n, err := s.f.Write(b)
	if err == nil {
		err = s.f.Sync()
	}
	if e := s.f.Close(); err == nil {
		err = e
	}
	if got := crc.Sum(b); got != s.want {
		return s.corrupt()
	}
	switch {
	case err != nil:
		return err
	case n > 0:
	}
	if err == nil {
		if err := s.fs.SyncDir(s.parent); err != nil {
			return err
		}
		s.removeAll(s.staging)
	}
	return err
}
`

var want = []string{
	"error store/local.(*S).publish: err := s.fs.SyncDir(s.staging); err != nil",
	"error store/local.(*S).publish: err := s.fs.Rename(s.staging, s.final); err != nil",
	"order store/local.(*S).publish: sync before rename: s.fs.SyncDir(s.staging) … s.fs.Rename(s.staging, s.final)",
	"order store/local.(*S).publish: rename before sync of the parent: s.fs.Rename(s.staging, s.final) … s.fs.SyncDir(s.parent)",
	"sync store/local.(*S).publish: s.fs.SyncDir(s.staging)",
	"sync store/local.(*S).publish: s.fs.SyncDir(s.parent)",
	"error store/local.(*S).write: n, err := s.f.Write(b); err == nil",
	"error store/local.(*S).write: e := s.f.Close(); err == nil",
	"checksum store/local.(*S).write: got := crc.Sum(b); got != s.want",
	"error store/local.(*S).write: err == nil",
	"sync store/local.(*S).write: s.f.Sync()",
	"error store/local.(*S).write: err != nil",
	"error store/local.(*S).write: err := s.fs.SyncDir(s.parent); err != nil",
	"order store/local.(*S).write: sync before removal: s.fs.SyncDir(s.parent) … s.removeAll(s.staging)",
	"sync store/local.(*S).write: s.fs.SyncDir(s.parent)",
}

func write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
}

func sampleSites(t *testing.T) (root string, sites []*site) {
	t.Helper()
	root = t.TempDir()
	write(t, filepath.Join(root, "go.mod"), "module example.org/m\n")
	write(t, filepath.Join(root, "store/local/write.go"), sample)
	write(t, filepath.Join(root, "store/local/write_test.go"), "package local\n\nfunc x() { f.Sync() }\n")
	write(t, filepath.Join(root, "store/local/testdata/a.go"), "package a\n\nfunc x() { f.Sync() }\n")
	sites, err := find(root)
	if err != nil {
		t.Fatal(err)
	}
	return root, sites
}

func TestFind(t *testing.T) {
	_, sites := sampleSites(t)
	var got []string
	for _, s := range sites {
		got = append(got, s.ID())
	}
	for _, id := range want {
		if !slices.Contains(got, id) {
			t.Errorf("not found: %s", id)
		}
	}
	for _, id := range got {
		if !slices.Contains(want, id) {
			t.Errorf("found besides: %s", id)
		}
	}
}

// Code that moves to another file of its package keeps its names.
func TestFindAfterMove(t *testing.T) {
	root, before := sampleSites(t)
	if err := os.Rename(filepath.Join(root, "store/local/write.go"), filepath.Join(root, "store/local/another.go")); err != nil {
		t.Fatal(err)
	}
	after, err := find(root)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.EqualFunc(before, after, func(a, b *site) bool { return a.ID() == b.ID() }) {
		t.Errorf("found %d sites before, %d after", len(before), len(after))
	}
}

// Lines must not move, and the copy must be Go.
func TestMutate(t *testing.T) {
	root, sites := sampleSites(t)
	dir := t.TempDir()
	_, err := overlay(dir, root, sites)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"store/local/write.go", "internal/mutant/mutant.go"} {
		if _, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, name), nil, 0); err != nil {
			t.Error(err)
		}
	}
	b, err := os.ReadFile(filepath.Join(dir, "store/local/write.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		`package local; import mutant "example.org/m/internal/mutant"`,
		"return mutant.Skip(",
		"if (err == nil) || mutant.Off(",
		"if e := s.f.Close(); (err == nil) && !mutant.Off(",
		"if got := crc.Sum(b); (got != s.want) && !mutant.Off(",
		"case (err != nil) && !mutant.Off(",
		"s.removeAll(s.staging); if mutant.Off(",
	} {
		if !strings.Contains(string(b), part) {
			t.Errorf("%q is not in\n%s", part, b)
		}
	}
}

// What a name holds must not change with what is beside the point.
func TestBrief(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "checkpoint/save.go"), `package checkpoint

func save() error {
	if w, err := writer.Plan(items, writer.Options{
		Style: writer.V1, // or another one
	}, func() int { return 1 }, []int{}); err != nil {
		return err
	}
	return nil
}
`)
	sites, err := find(root)
	if err != nil {
		t.Fatal(err)
	}
	want := "error checkpoint.save: w, err := writer.Plan(items, writer.Options{…}, func() int {…}, []int{}); err != nil"
	if len(sites) != 1 || sites[0].ID() != want {
		t.Errorf("got %v, want %s", sites, want)
	}
}

// A name that is not exported means a function of the package.
func TestCheckers(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "format/zarr/a.go"), `package zarr

func check(b []byte) error {
	if crc.Sum(b) != 1 {
		return damaged
	}
	return nil
}

func read(b []byte) error { return check(b) }

func Load(b []byte) error { return read(b) }
`)
	write(t, filepath.Join(root, "format/ocdbt/a.go"), `package ocdbt

func save(b []byte) error { return check(b) }

func load(b []byte) error { return zarr.Load(b) }
`)
	sites, err := find(root)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range sites {
		got = append(got, s.ID())
	}
	want := []string{
		"checksum format/ocdbt.load: zarr.Load(b)",
		"checksum format/zarr.check: crc.Sum(b) != 1",
		"checksum format/zarr.read: check(b)",
		"checksum format/zarr.Load: read(b)",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Every condition of a deciding file is a site, both ways unless it is an error's, and
// every operand.
func TestFindDecisions(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "go.mod"), "module example.org/m\n")
	write(t, filepath.Join(root, "job.go"), `package m

func (j *Job[B]) run(n int) (bool, error) {
	if err := j.start(); err != nil {
		return false, err
	}
	for n > 0 && !j.ended {
		n--
	}
	switch {
	case j.told:
		return true, nil
	}
	return j.a == nil || j.b, nil
}
`)
	sites, err := find(root)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, s := range sites {
		got[strings.TrimPrefix(s.ID(), "decision bivouac.(*Job[B]).run: ")] = true
	}
	want := []string{
		"err := j.start(); err != nil … never",
		"n > 0 && !j.ended … never",
		"n > 0 && !j.ended … without n > 0",
		"n > 0 && !j.ended … without !j.ended",
		"j.told … never",
		"j.told … always",
		"j.a == nil || j.b … without j.a == nil",
		"j.a == nil || j.b … without j.b",
	}
	for _, id := range want {
		if !got[id] {
			t.Errorf("not found: %s", id)
		}
	}
	if len(sites) != len(want) {
		t.Errorf("found %d sites: %v", len(sites), got)
	}
	dir := t.TempDir()
	if _, err := overlay(dir, root, sites); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, "job.go"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.ParseFile(token.NewFileSet(), "job.go", b, 0); err != nil {
		t.Errorf("%v in\n%s", err, b)
	}
	if part := "for (((n > 0) || mutant.Off("; !strings.Contains(string(b), part) {
		t.Errorf("%q is not in\n%s", part, b)
	}
}

// In a protocol no condition has two mutants of which one shows what the other does, and requests
// are put into another order, also where a return sends the second.
func TestFindProtocol(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "go.mod"), "module example.org/m\n")
	write(t, filepath.Join(root, "store/object/lock.go"), "package object\n")
	write(t, filepath.Join(root, "store/object/ahead.go"), `package object

func (a *ahead) next(n int) bool { return n > 0 && a.more }
`)
	write(t, filepath.Join(root, "store/object/collect.go"), `package object

func (s *Store) end(l *lease, keys []string) (bool, error) {
	if l.dead && len(keys) == 0 {
		return true, nil
	}
	if l.gone || s.late {
		return false, nil
	}
	_, err := s.put("live", l)
	if err != nil {
		return false, err
	}
	return true, s.bury(l)
}
`)
	sites, err := find(root)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range sites {
		kind, rest, _ := strings.Cut(s.ID(), " ")
		got = append(got, kind+" "+strings.TrimPrefix(rest, "store/object.(*Store).end: "))
	}
	slices.Sort(got)
	want := []string{
		"decision err != nil … never",
		"decision l.dead && len(keys) == 0 … never",
		"decision l.dead && len(keys) == 0 … without l.dead",
		"decision l.dead && len(keys) == 0 … without len(keys) == 0",
		"decision l.gone || s.late … always",
		"decision l.gone || s.late … without l.gone",
		"decision l.gone || s.late … without s.late",
		`order dead before its data goes: s.put("live", l) … s.bury(l)`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	dir := t.TempDir()
	if _, err := overlay(dir, root, sites); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, "store/object/collect.go"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.ParseFile(token.NewFileSet(), "collect.go", b, 0); err != nil {
		t.Errorf("%v in\n%s", err, b)
	}
	for _, part := range []string{"= s.bury(l) }; _, err := s.put(", "{ return true, early"} {
		if !strings.Contains(string(b), part) {
			t.Errorf("%q is not in\n%s", part, b)
		}
	}
}

// mostOpen is how many sites may be open. It only falls.
const mostOpen = 0

func TestOpenSites(t *testing.T) {
	l, err := readList("sites.txt")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, e := range l.known {
		if e.open != "" {
			n++
		}
	}
	if n > mostOpen {
		t.Errorf("%d sites are open, want at most %d: write the test that kills the new ones, or show that none can", n,
			mostOpen)
	}
	if n < mostOpen {
		t.Errorf("%d sites are open: let mostOpen fall from %d", n, mostOpen)
	}
}

// A site that is open survives without a problem, and stays open until a test kills it.
func TestOpen(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sites.txt")
	write(t, file, "sync a.f: Sync()\n\topen: nobody has looked\n"+
		"sync a.g: Sync()\n\topen: nobody has looked\n")
	l, err := readList(file)
	if err != nil {
		t.Fatal(err)
	}
	all := []*site{newSite("a.f", false), newSite("a.g", true)}
	l.match(all)
	if got := l.judge(all, all); len(got) != 1 || !strings.HasPrefix(got[0], "open in the list, and killed now") {
		t.Errorf("%q", got)
	}
	if got := verdicts(all, l); !strings.HasSuffix(got, "1 survived, 1 of them open in the list") {
		t.Error(got)
	}
	if err := l.update(all, all); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(file)
	want := "sync a.f: Sync()\n\topen: nobody has looked\nsync a.g: Sync()\n\tkilled: a Test\n"
	if err != nil || string(b) != want {
		t.Errorf("updated to %q, %v", b, err)
	}
	if got := l.judge(all, all); len(got) != 0 {
		t.Errorf("%q", got)
	}
}

func TestBatches(t *testing.T) {
	got := batches([]string{"a", "b/x", "c/x", "c/y", "d/x"}, path.Base)
	want := [][]string{{"a", "b/x", "c/y"}, {"c/x"}, {"d/x"}}
	if !slices.EqualFunc(got, want, slices.Equal[[]string]) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func newSite(fn string, killed bool) *site {
	return &site{kind: kindSync, fn: fn, text: "Sync()", killed: killed, by: "a Test", tried: 1, line: "a.go:1"}
}

func TestJudge(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sites.txt")
	write(t, file, "# head\nsync a.f: Sync()\n\tkilled: a Old\nsync a.g: Sync()\n\tsame: of no effect\nsync a.h: Sync()\n\tsame: of no effect\nsync a.gone: Sync()\n")
	l, err := readList(file)
	if err != nil {
		t.Fatal(err)
	}
	f, g, h, fresh := newSite("a.f", false), newSite("a.g", false), newSite("a.h", true), newSite("a.new", true)
	all := []*site{f, g, h, fresh}
	l.match(all)
	var got []string
	for _, p := range l.judge(all, all) {
		got = append(got, p[:min(len(p), 20)])
	}
	if want := []string{"not in the list: syn", "in the list and gone", "survived 1 tests in ", "excused by the list,"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if n := len(l.judge(all, []*site{g})); n != 2 {
		t.Errorf("sites that were not chosen are judged: %d problems", n)
	}
	if err := l.update(all, all); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(file)
	if want := "# head\nsync a.f: Sync()\n\tkilled: a Old\nsync a.g: Sync()\n\tsame: of no effect\nsync a.h: Sync()\n\tsame: of no effect\nsync a.new: Sync()\n\tkilled: a Test\n"; err != nil || string(b) != want {
		t.Errorf("updated to %q, %v", b, err)
	}
}

// What moves to another package is known there, and enters the list with its
// reason, or once it is killed.
func TestMoved(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sites.txt")
	write(t, file, "sync a/b.(*T).f: Sync()\n\tkilled: a Test\nsync a/b.g: Sync()\n\tsame: of no effect\nsync a.h: Sync()\n\tsame: stays\n")
	l, err := readList(file)
	if err != nil {
		t.Fatal(err)
	}
	f, g, h := newSite("c.(*U).f", true), newSite("c.g", false), newSite("c.h", false)
	all := []*site{f, g, h, newSite("a.h", false)}
	l.match(all)
	if l.entry(f).killer != "a Test" || l.entry(g).reason != "of no effect" || l.entry(h) != (entry{}) {
		t.Errorf("known are %v, %v and %v", l.entry(f), l.entry(g), l.entry(h))
	}
	if err := l.update(all, all); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(file)
	if want := "sync c.(*U).f: Sync()\n\tkilled: a Test\nsync c.g: Sync()\n\tsame: of no effect\nsync a.h: Sync()\n\tsame: stays\n"; err != nil || string(b) != want {
		t.Errorf("updated to %q, %v", b, err)
	}
}

func TestBadLists(t *testing.T) {
	for name, text := range map[string]string{
		"reason first":      "\tsame: x\n",
		"empty reason":      "sync a.f: x\n\tsame:  \n",
		"empty killer":      "sync a.f: x\n\tkilled: \n",
		"killer twice":      "sync a.f: x\n\tkilled: a Test\n\tendless: a Test\n",
		"two reasons":       "sync a.f: x\n\tsame: a\n\tsame: b\n",
		"killer and reason": "sync a.f: x\n\tkilled: a Test\n\tsame: b\n",
		"site twice":        "sync a.f: x\nsync a.f: x\n",
	} {
		file := filepath.Join(t.TempDir(), "sites.txt")
		write(t, file, text)
		if _, err := readList(file); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

package main

import (
	"go/parser"
	"go/token"
	"os"
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

// Lines must not move, and the copy must be Go.
func TestMutate(t *testing.T) {
	root, sites := sampleSites(t)
	w := &workplace{root: root, sites: sites}
	if err := w.mutate(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"store/local/write.go", "internal/mutant/mutant.go"} {
		if _, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, name), nil, 0); err != nil {
			t.Error(err)
		}
	}
	b, err := os.ReadFile(filepath.Join(root, "store/local/write.go"))
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

func TestJudge(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sites.txt")
	write(t, file, "# head\nsync a.f: Sync()\nsync a.g: Sync()\n\tsame: of no effect\nsync a.h: Sync()\n\tsame: of no effect\nsync a.gone: Sync()\n")
	l, err := readList(file)
	if err != nil {
		t.Fatal(err)
	}
	newSite := func(fn string, killed bool) *site {
		return &site{kind: kindSync, fn: fn, text: "Sync()", killed: killed, by: "a Test", tried: 1, line: "a.go:1"}
	}
	f, g, h, fresh := newSite("a.f", false), newSite("a.g", false), newSite("a.h", true), newSite("a.new", true)
	all := []*site{f, g, h, fresh}
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
	if want := "# head\nsync a.f: Sync()\nsync a.g: Sync()\n\tsame: of no effect\nsync a.h: Sync()\n\tsame: of no effect\nsync a.new: Sync()\n"; err != nil || string(b) != want {
		t.Errorf("updated to %q, %v", b, err)
	}
}

func TestBadLists(t *testing.T) {
	for name, text := range map[string]string{
		"reason first": "\tsame: x\n",
		"empty reason": "sync a.f: x\n\tsame:  \n",
		"two reasons":  "sync a.f: x\n\tsame: a\n\tsame: b\n",
		"site twice":   "sync a.f: x\nsync a.f: x\n",
	} {
		file := filepath.Join(t.TempDir(), "sites.txt")
		write(t, file, text)
		if _, err := readList(file); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

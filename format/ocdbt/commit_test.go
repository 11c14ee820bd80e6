package ocdbt

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
)

// write puts the files of a commit into the directory.
func (m mem) write(t rapid.TB, c *Commit) {
	for _, f := range c.Files {
		if _, ok := m[f.Name]; ok {
			t.Fatalf("the commit overwrites %s", f.Name)
		}
		m[f.Name] = f.Data
	}
	m[c.Manifest.Name] = c.Manifest.Data
}

// contents reads a whole database.
func contents(t rapid.TB, db *DB) map[string]string {
	got := map[string]string{}
	last := ""
	for e, err := range db.List(context.Background(), Range{}) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Key <= last && len(got) > 0 {
			t.Fatalf("%q after %q", e.Key, last)
		}
		last = e.Key
		v, err := db.ReadValue(context.Background(), e.Value, nil)
		if err != nil {
			t.Fatal(err)
		}
		got[e.Key] = string(v)
	}
	return got
}

// sound checks the database with Check.
func sound(t rapid.TB, files mem) *Report {
	r, err := Check(context.Background(), files, &CheckOptions{Names: slices.Sorted(maps.Keys(files))})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range r.Problems {
		t.Errorf("check: %v", p)
	}
	return r
}

// A sequence of commits does what the same changes of a map do, and every
// version stays readable.
func TestCommits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		c := drawConfig(t)
		c.VersionTreeArityLog2 = uint8(rapid.IntRange(1, 2).Draw(t, "arity"))
		c.MaxInlineValueBytes = 8
		files := mem{}
		db, err := New(files, c, Options{})
		if err != nil {
			t.Fatal(err)
		}
		piece := rapid.SampledFrom([]string{"", "a", "b", "layers/", "\x00", "\xff", "mlp.", "c/0/1"})
		drawKey := func() string {
			return strings.Join(rapid.SliceOfN(piece, 0, 4).Draw(t, "key"), "")
		}
		model := map[string]string{}
		history := map[uint64]map[string]string{}
		commits := rapid.IntRange(1, 24).Draw(t, "commits")
		for g := uint64(1); g <= uint64(commits); g++ {
			var b Batch
			for range rapid.IntRange(0, 6).Draw(t, "changes") {
				key := drawKey()
				switch rapid.IntRange(0, 9).Draw(t, "change") {
				case 0, 1:
					b.Delete(key)
					delete(model, key)
				case 2:
					r := Range{Start: key, End: drawKey()}
					if rapid.Bool().Draw(t, "prefix") {
						r = Prefix(key)
					}
					b.DeleteRange(r)
					maps.DeleteFunc(model, func(k, _ string) bool { return r.contains(k) })
				default:
					value := strings.Repeat("v", rapid.IntRange(0, 20).Draw(t, "length")) + fmt.Sprint(g)
					b.Put(key, []byte(value))
					model[key] = value
				}
			}
			commit, err := db.Commit(ctx, &b, &CommitOptions{Time: testTime, Name: fmt.Sprintf("d/%d", g)})
			if err != nil {
				t.Fatal(err)
			}
			if commit.Version.Generation != g {
				t.Fatalf("generation %d, want %d", commit.Version.Generation, g)
			}
			files.write(t, commit)
			if db, err = Open(ctx, files, Options{}); err != nil {
				t.Fatal(err)
			}
			history[g] = maps.Clone(model)
		}
		for g, want := range history {
			old, err := Open(ctx, files, Options{Generation: g})
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, contents(t, old)); d != "" {
				t.Fatalf("generation %d (-want +got):\n%s", g, d)
			}
			for k := range want {
				if _, ok, err := old.Get(ctx, k); !ok || err != nil {
					t.Fatalf("generation %d: Get(%q): %v, %v", g, k, ok, err)
				}
			}
			at, err := Open(ctx, files, Options{Time: old.Version().Time()})
			if err != nil || at.Version().Generation != g {
				t.Fatalf("generation %d by its time: %v, %v", g, at, err)
			}
		}
		if r := sound(t, files); r.Versions != uint64(commits) || len(r.Orphans) > 0 {
			t.Fatalf("%d versions, %d commits; orphans %q", r.Versions, commits, r.Orphans)
		}
		compact(t, files, db, model)
	})
}

// compact compacts the database and throws away what it no longer needs.
func compact(t rapid.TB, files mem, db *DB, want map[string]string) {
	ctx := context.Background()
	c, err := Compact(ctx, db, &CompactOptions{TargetFileSize: 64})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range c.Copies {
		var b strings.Builder
		if err := f.WriteTo(ctx, db, &b); err != nil {
			t.Fatal(err)
		}
		if int64(b.Len()) != f.Size {
			t.Fatalf("%s has %d bytes, announced %d", f.Name, b.Len(), f.Size)
		}
		files[f.Name] = []byte(b.String())
	}
	files.write(t, &c.Commit)
	r := sound(t, files)
	for _, name := range r.Orphans {
		delete(files, name)
	}
	if r = sound(t, files); len(r.Orphans) > 0 || r.Versions != 1 {
		t.Fatalf("after compaction: %+v", r)
	}
	for _, f := range r.Files {
		if len(f.Unused) > 0 {
			t.Fatalf("%s has gaps after compaction: %v", f.Name, f.Unused)
		}
	}
	if db, err = Open(ctx, files, Options{}); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, contents(t, db)); d != "" {
		t.Fatalf("after compaction (-want +got):\n%s", d)
	}
}

// Many generations make a version tree as TensorStore has it.
func TestVersionTree(t *testing.T) {
	for _, c := range []struct {
		arity  uint8
		inline uint64 // first generation in the manifest
		nodes  []VersionNode
	}{
		{4, 193, []VersionNode{{Height: 1, Generation: 192, NumGenerations: 192}}},
		{1, 199, []VersionNode{
			{Height: 6, Generation: 128, NumGenerations: 128}, {Height: 5, Generation: 160, NumGenerations: 32}, {Height: 4, Generation: 176, NumGenerations: 16},
			{Height: 3, Generation: 192, NumGenerations: 16}, {Height: 2, Generation: 196, NumGenerations: 4}, {Height: 1, Generation: 198, NumGenerations: 2}}},
	} {
		config := OrbaxConfig([16]byte{1})
		config.VersionTreeArityLog2 = c.arity
		files := mem{}
		db, err := New(files, config, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for g := range 200 {
			var b Batch
			b.Put(fmt.Sprintf("k%03d", g), []byte{byte(g)})
			commit, err := db.Commit(t.Context(), &b, nil)
			if err != nil {
				t.Fatal(err)
			}
			files.write(t, commit)
			if db, err = Open(t.Context(), files, Options{}); err != nil {
				t.Fatal(err)
			}
		}
		m := db.Manifest()
		if m.Versions[0].Generation != c.inline {
			t.Errorf("arity 2^%d: the manifest begins with generation %d, want %d", c.arity, m.Versions[0].Generation, c.inline)
		}
		var got []VersionNode
		for _, n := range m.Older {
			got = append(got, VersionNode{Height: n.Height, Generation: n.Generation, NumGenerations: n.NumGenerations})
		}
		if d := cmp.Diff(c.nodes, got); d != "" {
			t.Errorf("arity 2^%d (-want +got):\n%s", c.arity, d)
		}
		if r := sound(t, files); r.Versions != 200 {
			t.Errorf("%d versions", r.Versions)
		}
		for g := uint64(1); g <= 200; g += 13 {
			old, err := Open(t.Context(), files, Options{Generation: g})
			if err != nil {
				t.Fatal(err)
			}
			if n := old.Stats().Keys; n != g {
				t.Errorf("generation %d has %d keys", g, n)
			}
		}
	}
}

// Commits go on where TensorStore stopped.
func TestCommitOnVectors(t *testing.T) {
	for _, dir := range databases(t, vectorRoots(t)...) {
		files := loadDir(t, dir)
		db, err := Open(t.Context(), files, Options{})
		if err != nil {
			t.Fatal(err)
		}
		want := contents(t, db)
		commits := 3
		if strings.Contains(dir, "ocdbt-") {
			commits = 40
		}
		for i := range commits {
			var b Batch
			key := fmt.Sprintf("new/%d", i%7)
			b.Put(key, []byte(strings.Repeat("x", 50*i)))
			want[key] = strings.Repeat("x", 50*i)
			for k := range want {
				if i%5 == 4 {
					b.Delete(k)
					delete(want, k)
				}
				break
			}
			commit, err := db.Commit(t.Context(), &b, nil)
			if err != nil {
				t.Fatalf("%s: %v", dir, err)
			}
			if commit.Version.CommitTime <= db.Version().CommitTime {
				t.Errorf("%s: time did not increase", dir)
			}
			files.write(t, commit)
			if db, err = Open(t.Context(), files, Options{}); err != nil {
				t.Fatalf("%s: %v", dir, err)
			}
			if db.Version().Generation != commit.Version.Generation {
				t.Fatalf("%s: generation %d, committed %d", dir, db.Version().Generation, commit.Version.Generation)
			}
		}
		if d := cmp.Diff(want, contents(t, db)); d != "" {
			t.Errorf("%s (-want +got):\n%s", dir, d)
		}
		sound(t, files)
	}
}

// A commit writes the nodes on the way to the change, and no others.
func TestCommitWritesLittle(t *testing.T) {
	c := OrbaxConfig([16]byte{})
	c.MaxDecodedNodeBytes = 2000
	files := mem{}
	db, err := New(files, c, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var b Batch
	for i := range 5000 {
		b.Put(fmt.Sprintf("key/%05d", i), []byte(fmt.Sprint(i)))
	}
	first, err := db.Commit(t.Context(), &b, nil)
	if err != nil {
		t.Fatal(err)
	}
	files.write(t, first)
	if db, err = Open(t.Context(), files, Options{}); err != nil {
		t.Fatal(err)
	}
	var change Batch
	change.Put("key/02500", []byte("changed"))
	second, err := db.Commit(t.Context(), &change, nil)
	if err != nil {
		t.Fatal(err)
	}
	if n, all := len(second.Files[0].Data), len(first.Files[0].Data); n > all/20 {
		t.Errorf("%d bytes written, the database has %d", n, all)
	}
	var nothing Batch
	nothing.Delete("absent")
	third, err := db.Commit(t.Context(), &nothing, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(third.Files) != 0 || third.Version.Root != db.Version().Root {
		t.Errorf("nothing changes, but %d files are written", len(third.Files))
	}
}

func TestCommitRefuses(t *testing.T) {
	files := mem{}
	db, err := New(files, OrbaxConfig([16]byte{}), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		commit, err := db.Commit(t.Context(), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		files.write(t, commit)
		if db, err = Open(t.Context(), files, Options{}); err != nil {
			t.Fatal(err)
		}
	}
	old, err := Open(t.Context(), files, Options{Generation: 1})
	if err != nil {
		t.Fatal(err)
	}
	long, outside := &Batch{}, &Batch{}
	long.Put(strings.Repeat("k", MaxKeyLength+1), nil)
	outside.PutRef("k", Ref{File: File{Name: "../x"}, Length: 1})
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	commit := func(db *DB, b *Batch, o *CommitOptions) error {
		_, err := db.Commit(t.Context(), b, o)
		return err
	}
	for name, err := range map[string]error{
		"an old version":    commit(old, nil, nil),
		"a long key":        commit(db, long, nil),
		"a file outside":    commit(db, outside, nil),
		"a name outside":    commit(db, nil, &CommitOptions{Name: "../x"}),
		"a merge outside":   new(Batch).Embed(t.Context(), db, "../"),
		"a merge of a file": new(Batch).Embed(t.Context(), db, "x"),
	} {
		if !errors.Is(err, errs.Invalid) {
			t.Errorf("%s: %v, want invalid", name, err)
		}
	}
	if _, err := New(files, Config{}, Options{}); !errors.Is(err, errs.Invalid) {
		t.Errorf("no configuration: %v", err)
	}
	var b Batch
	b.Put("k", nil)
	first, err := db.Commit(t.Context(), &b, &CommitOptions{Time: time.Unix(1<<40, 0)})
	if err != nil {
		t.Fatal(err)
	}
	files.write(t, first)
	if db, err = Open(t.Context(), files, Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Commit(canceled, &b, nil); !errors.Is(err, errs.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}

package ocdbt

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
)

// A union of databases reads as what merging them makes; both as their maps
// laid over each other.
func TestUnionAndMerge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		files := mem{}
		want := map[string]string{}
		var dirs []string
		for p := range rapid.IntRange(0, 4).Draw(t, "processes") {
			dir := fmt.Sprintf("ocdbt.process_%d/", p)
			dirs = append(dirs, dir)
			c := drawConfig(t)
			c.MaxInlineValueBytes = 4
			child := mem{}
			db, err := New(child, c, Options{})
			if err != nil {
				t.Fatal(err)
			}
			var b Batch
			for i := range rapid.IntRange(0, 8).Draw(t, "keys") {
				key := rapid.SampledFrom([]string{"a", "b", "c/0", "c/1", "zz"}).Draw(t, "key")
				value := fmt.Sprint("of process ", p, i)[rapid.IntRange(0, 12).Draw(t, "from"):]
				b.Put(key, []byte(value))
				want[key] = value
			}
			commit, err := db.Commit(ctx, &b, nil)
			if err != nil {
				t.Fatal(err)
			}
			child.write(t, commit)
			for name, data := range child {
				files[dir+name] = data
			}
		}
		u, err := OpenUnion(ctx, files, dirs, Options{})
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		var keys []string
		for e, err := range u.List(ctx, Range{}) {
			if err != nil {
				t.Fatal(err)
			}
			v, err := u.ReadValue(ctx, e.Value, nil)
			byKey, err2 := u.Values().Get(ctx, e.Key)
			if err != nil || err2 != nil || string(v) != string(byKey) {
				t.Fatalf("%q: %q, %q; %v, %v", e.Key, v, byKey, err, err2)
			}
			got[e.Key] = string(v)
			keys = append(keys, e.Key)
		}
		if d := cmp.Diff(want, got); d != "" || !slices.IsSorted(keys) {
			t.Fatalf("union %q (-want +got):\n%s", keys, d)
		}
		for range u.List(ctx, Range{}) {
			break // lists end early
		}
		b, err := u.Merge(ctx)
		if err != nil {
			t.Fatal(err)
		}
		db, err := New(files, OrbaxConfig([16]byte{7}), Options{})
		if err != nil {
			t.Fatal(err)
		}
		commit, err := db.Commit(ctx, b, nil)
		if err != nil {
			t.Fatal(err)
		}
		files.write(t, commit)
		if db, err = Open(ctx, files, Options{}); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, contents(t, db)); d != "" || db.Version().Generation != 1 {
			t.Fatalf("merged, generation %d (-want +got):\n%s", db.Version().Generation, d)
		}
		for _, f := range sound(t, files).Files {
			if f.Name != commit.Files[0].Name && !IsProcessDir(f.Name[:len("ocdbt.process_0")]) {
				t.Fatalf("the merge refers to %s", f.Name)
			}
		}
	})
}

// Orbax's own merge of two processes and ours are equal except for names and times: entries,
// statistics, and the length of everything.
func TestMergeAsOrbaxDoes(t *testing.T) {
	seen := 0
	for _, dir := range databases(t, vectorRoots(t)...) {
		files := loadDir(t, dir)
		dirs := map[string]bool{}
		for name := range files {
			if d, rest, ok := cutDir(name); ok && IsProcessDir(d) && rest == ManifestName {
				dirs[d+"/"] = true
			}
		}
		if len(dirs) == 0 {
			continue
		}
		seen++
		theirs, err := Open(t.Context(), files, Options{})
		if err != nil {
			t.Fatal(err)
		}
		u, err := OpenUnion(t.Context(), files, slices.Sorted(maps.Keys(dirs)), Options{})
		if err != nil {
			t.Fatal(err)
		}
		var union []Entry
		for e, err := range u.List(t.Context(), Range{}) {
			if err != nil {
				t.Fatal(err)
			}
			union = append(union, e)
		}
		if d := cmp.Diff(entriesOf(t, theirs, Range{}), union); d != "" {
			t.Errorf("%s: union (-want +got):\n%s", dir, d)
		}
		b, err := u.Merge(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ours, err := New(files, theirs.Manifest().Config, Options{})
		if err != nil {
			t.Fatal(err)
		}
		commit, err := ours.Commit(t.Context(), b, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, want := commit.Version.Root.Stats, theirs.Stats()
		if got.Keys != want.Keys || got.IndirectBytes != want.IndirectBytes {
			t.Errorf("%s: statistics %+v, want %+v", dir, got, want)
		}
		body := func(b []byte, magic uint32) []byte {
			body, err := openEnvelope(b, magic, DefaultMaxNodeBytes, location{})
			if err != nil {
				t.Fatal(err)
			}
			return body
		}
		if root := theirs.Version().Root; root.Height == 0 && root.Length > 0 {
			stored := files[root.File.Path()][root.Offset : root.Offset+root.Length]
			if d := cmp.Diff(body(stored, magicNode), body(commit.Files[0].Data, magicNode)); d != "" {
				t.Errorf("%s: the merged leaf differs (-want +got):\n%s", dir, d)
			}
		}
	}
	if seen == 0 {
		t.Fatal("no cases")
	}
}

func cutDir(name string) (dir, rest string, ok bool) {
	rest = filepath.Base(name)
	dir = filepath.Dir(name)
	return dir, rest, dir != "."
}

func TestIsProcessDir(t *testing.T) {
	for name, want := range map[string]bool{
		"ocdbt.process_0": true, "ocdbt.process_12": true, "ocdbt.process_0386a": true, "ocdbt.process_replica_3": true,
		"ocdbt.process_": false, "ocdbt.process_replica_": false, "ocdbt.process_0/x": false, "ocdbt.process_a_b": false, "d": false,
	} {
		if got := IsProcessDir(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestUnionRefuses(t *testing.T) {
	if _, err := OpenUnion(t.Context(), mem{}, []string{"../x/"}, Options{}); !errors.Is(err, errs.Invalid) {
		t.Errorf("outside: %v, want invalid", err)
	}
	if _, err := OpenUnion(t.Context(), mem{}, []string{"p/"}, Options{}); !errors.Is(err, errs.NotFound) {
		t.Errorf("nothing there: %v, want not found", err)
	}
}

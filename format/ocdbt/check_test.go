package ocdbt

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/errs"
)

// Databases that TensorStore and Orbax wrote are sound. The only files that nothing refers to are
// manifests of old generations and of unmerged databases.
func TestCheckVectors(t *testing.T) {
	for _, dir := range databases(t, vectorRoots(t)...) {
		files := loadDir(t, dir)
		r := sound(t, files)
		if r.Versions == 0 {
			t.Errorf("%s: no versions", dir)
		}
		if strings.HasPrefix(filepath.Base(filepath.Dir(dir)), "ocdbt-") {
			for _, name := range r.Orphans {
				if strings.HasPrefix(name, "d/") {
					t.Errorf("%s: orphan %s", dir, name)
				}
			}
		}
		for _, f := range r.Files {
			unused := int64(0)
			for _, e := range f.Unused {
				unused += e.Length
			}
			if f.Used+unused != f.Size {
				t.Errorf("%s: %s has %d bytes, %d used and %d not", dir, f.Name, f.Size, f.Used, unused)
			}
		}
	}
}

func TestCheckFinds(t *testing.T) {
	build := func() (mem, *DB) {
		c := OrbaxConfig([16]byte{})
		c.MaxInlineValueBytes, c.MaxDecodedNodeBytes, c.VersionTreeArityLog2 = 8, 300, 1
		files := mem{}
		db, err := New(files, c, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for g := range 5 {
			var b Batch
			for i := range 20 {
				b.Put(fmt.Sprintf("key%d/%02d", g, i), bytes.Repeat([]byte{byte(i)}, i))
			}
			commit, err := db.Commit(t.Context(), &b, &CommitOptions{Name: fmt.Sprintf("d/%d", g)})
			if err != nil {
				t.Fatal(err)
			}
			files.write(t, commit)
			if db, err = Open(t.Context(), files, Options{}); err != nil {
				t.Fatal(err)
			}
		}
		return files, db
	}
	for name, damage := range map[string]func(files mem, db *DB){
		"a bit of a node":         func(f mem, db *DB) { f["d/4"][db.Version().Root.Offset+20] ^= 1 },
		"a missing file":          func(f mem, _ *DB) { delete(f, "d/2") },
		"a file cut short":        func(f mem, _ *DB) { f["d/1"] = f["d/1"][:8] },
		"a bit of a version node": func(f mem, db *DB) { n := db.Manifest().Older[0]; f[n.File.Path()][n.Offset+15] ^= 1 },
	} {
		files, db := build()
		damage(files, db)
		r, err := Check(t.Context(), files, nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(r.Problems) == 0 || !errors.Is(r.Problems[0], errs.Corrupt) {
			t.Errorf("%s: problems %v", name, r.Problems)
		}
		if one, err := Check(t.Context(), files, &CheckOptions{MaxFound: 1}); err != nil || len(one.Problems) != 1 {
			t.Errorf("%s: at most one problem: %v, %v", name, one, err)
		}
	}

	files, db := build()
	files["d/0"] = append(files["d/0"], make([]byte, 100)...)
	files["d/orphan"] = nil
	r, err := Check(t.Context(), files, &CheckOptions{Names: []string{"d/0", "d/orphan", ManifestName}})
	if err != nil || len(r.Problems) > 0 {
		t.Fatal(err, r.Problems)
	}
	if d := cmp.Diff([]string{"d/orphan"}, r.Orphans); d != "" {
		t.Errorf("orphans %s", d)
	}
	i := slices.IndexFunc(r.Files, func(f FileUse) bool { return f.Name == "d/0" })
	if u := r.Files[i].Unused; len(u) == 0 || u[len(u)-1] != (Extent{int64(len(files["d/0"])) - 100, 100}) {
		t.Errorf("unused %v", u)
	}
	if r.Height != db.Version().Root.Height || r.Height == 0 || r.VersionNodes == 0 {
		t.Errorf("report %+v", r)
	}
	if _, err := Check(t.Context(), mem{}, nil); !errors.Is(err, errs.NotFound) {
		t.Errorf("no database: %v, want not found", err)
	}
}

// FuzzCheck walks databases whose one node is made up.
func FuzzCheck(f *testing.F) {
	seeds(f, magicNode)
	f.Fuzz(func(t *testing.T, body []byte) {
		if len(body) == 0 {
			return
		}
		b := reseal(magicNode, body)
		ref := Node{File: File{Name: "d/n"}, Length: int64(len(b)), Height: int(body[0])}
		n, err := parseNode(b, ref, location{}, 1<<20)
		if err != nil {
			return
		}
		ref.Stats = n.stats(int64(len(b)))
		m, err := NewManifest(OrbaxConfig([16]byte{}), ref, testTime).Append(nil)
		if err != nil {
			return
		}
		files := mem{ManifestName: m, "d/n": b}
		if _, err := Check(t.Context(), files, nil); err != nil {
			t.Fatal(err)
		}
		db, err := Open(t.Context(), files, Options{})
		if err != nil {
			t.Fatal(err)
		}
		var batch Batch
		batch.Put("k", []byte("v"))
		batch.DeleteRange(Range{Start: "m", End: "x"})
		commit, err := db.Commit(t.Context(), &batch, &CommitOptions{Name: "d/new"})
		if err != nil {
			return
		}
		files.write(t, commit)
		if db, err = Open(t.Context(), files, Options{}); err != nil {
			t.Fatal(err)
		}
		if v, err := db.Values().Get(t.Context(), "k"); err != nil || string(v) != "v" {
			t.Fatalf("%q, %v", v, err)
		}
	})
}

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

// salvageable are the entries of a database of many nodes: config has at most eight keys in
// each.
func salvageable(n int) (entries []Entry, config Config) {
	for i := range n {
		entries = append(entries, Entry{fmt.Sprintf("layer%03d/c/0", i), InlineRef(fmt.Append(nil, "value ", i))})
	}
	config = OrbaxConfig([16]byte{1})
	config.MaxDecodedNodeBytes = 240
	return entries, config
}

// Whatever byte of the nodes is damaged, each key is found as it was or is lost, those
// below whole nodes are found, and a key that was not there is not found or lost.
func TestSalvageFindsAllOrSaysLost(t *testing.T) {
	ctx := context.Background()
	entries, config := salvageable(120)
	if _, _, root := build(t, config, entries, File{Name: "d/nodes"}); root.Height < 2 {
		t.Fatalf("the root has height %d, want inner nodes below it", root.Height)
	}
	rapid.Check(t, func(t *rapid.T) {
		files, nodes, _ := build(t, config, entries, File{Name: "d/nodes"})
		damaged := map[int]bool{}
		for range rapid.IntRange(1, 3).Draw(t, "flips") {
			i := rapid.IntRange(0, len(nodes)-1).Draw(t, "node")
			if damaged[i] {
				continue
			}
			damaged[i] = true
			at := nodes[i].Offset + int64(rapid.IntRange(0, len(nodes[i].Bytes)-1).Draw(t, "byte"))
			files["d/nodes"][at] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		}
		db, err := Open(ctx, files, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Index(ctx); !errors.Is(err, errs.Corrupt) {
			t.Fatalf("Index: %v", err)
		}
		x, err := db.Salvage(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		lost := x.Lost()
		if len(lost) == 0 || len(lost) > len(damaged) || x.Len() == len(entries) {
			t.Fatalf("%d of %d keys, lost %v", x.Len(), len(entries), lost)
		}
		inGap := func(key string) bool {
			return slices.ContainsFunc(lost, func(l Lost) bool { return l.Range.contains(key) })
		}
		found := 0
		for _, e := range entries {
			ref, ok, err := x.Get(ctx, e.Key)
			if ok == inGap(e.Key) || ok != (err == nil) || !ok && !errors.Is(err, errs.Corrupt) {
				t.Fatalf("%q: %v, %v; lost %v", e.Key, ok, err, lost)
			}
			if d := cmp.Diff(e.Value, ref); ok && d != "" {
				t.Fatalf("%q: %s", e.Key, d)
			}
			if ok {
				found++
			}
			none := e.Key + "0"
			if _, ok, err := x.Get(ctx, none); ok || (err != nil) != inGap(none) {
				t.Fatalf("%q: %v, %v", none, ok, err)
			}
		}
		if found != x.Len() {
			t.Fatalf("%d found of %d", found, x.Len())
		}
		inner := slices.ContainsFunc(slices.Collect(maps.Keys(damaged)), func(i int) bool {
			body, err := openEnvelope(nodes[i].Bytes, magicNode, 1<<20, location{})
			return err != nil || body[0] > 0
		})
		if !inner && len(entries)-found > 8*len(damaged) {
			t.Fatalf("%d keys lost with %d leaves of the tree", len(entries)-found, len(damaged))
		}
	})
}

// With its root nothing of a database can be found, and that is what is said.
func TestSalvageWithoutARoot(t *testing.T) {
	ctx := context.Background()
	entries, config := salvageable(40)
	files, _, root := build(t, config, entries, File{Name: "d/nodes"})
	files["d/nodes"][root.Offset+root.Length-1] ^= 1
	db, err := Open(ctx, files, Options{})
	if err != nil {
		t.Fatal(err)
	}
	x, err := db.Salvage(ctx, nil)
	if err != nil || x.Len() != 0 {
		t.Fatalf("%d keys: %v", x.Len(), err)
	}
	if _, _, err := x.Get(ctx, entries[7].Key); !errors.Is(err, errs.Corrupt) || !strings.Contains(err.Error(), "nothing can be found: the root") {
		t.Errorf("%v", err)
	}
}

// A node that is refused is lost as one that is damaged. An error that is not about damage
// ends the pass.
func TestSalvageAdmits(t *testing.T) {
	ctx := context.Background()
	entries, config := salvageable(40)
	files, nodes, _ := build(t, config, entries, File{Name: "d/nodes"})
	db, err := Open(ctx, files, Options{})
	if err != nil {
		t.Fatal(err)
	}
	refuse := func(kind errs.Kind) func(Node) error {
		return func(n Node) error {
			if n.Offset == nodes[2].Offset {
				return &errs.Error{Kind: kind, Got: "not here"}
			}
			return nil
		}
	}
	x, err := db.Salvage(ctx, refuse(errs.Corrupt))
	if err != nil || len(x.Lost()) != 1 || !strings.Contains(x.Lost()[0].Err.Error(), "not here") || x.Len() < 30 {
		t.Errorf("%d keys, lost %v: %v", x.Len(), x.Lost(), err)
	}
	if _, err := db.Salvage(ctx, refuse(errs.IO)); errs.KindOf(err) != errs.IO {
		t.Errorf("%v", err)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := db.Salvage(ended, nil); errs.KindOf(err) != errs.Canceled {
		t.Errorf("%v", err)
	}
}

// Of databases of several processes each may be damaged, or lose its manifest: the keys of
// the others are found.
func TestSalvageUnion(t *testing.T) {
	ctx := context.Background()
	_, config := salvageable(0)
	make := func() (mem, []string) {
		files, dirs := mem{}, []string(nil)
		for p := range 3 {
			dir := fmt.Sprintf("ocdbt.process_%d/", p)
			dirs = append(dirs, dir)
			child := mem{}
			db, err := New(child, config, Options{})
			if err != nil {
				t.Fatal(err)
			}
			var b Batch
			b.Put("shared", []byte("the same"))
			for i := range 30 {
				b.Put(fmt.Sprintf("c/%02d/%d", i, p), fmt.Append(nil, i, p))
			}
			commit, err := db.Commit(ctx, &b, &CommitOptions{Time: time.Unix(int64(p), 0), Name: "d/nodes"})
			if err != nil {
				t.Fatal(err)
			}
			child.write(t, commit)
			for name, data := range child {
				files[dir+name] = data
			}
		}
		return files, dirs
	}
	for what, damage := range map[string]func(mem){
		"manifest":         func(f mem) { f["ocdbt.process_1/"+ManifestName][20] ^= 1 },
		"missing manifest": func(f mem) { delete(f, "ocdbt.process_1/"+ManifestName) },
		"node":             func(f mem) { f["ocdbt.process_1/d/nodes"][20] ^= 1 },
	} {
		files, dirs := make()
		damage(files)
		x, err := SalvageUnion(ctx, files, dirs, nil)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		missing := 0
		for i := range 30 {
			for p := range 3 {
				v, err := x.Values().Get(ctx, fmt.Sprintf("c/%02d/%d", i, p))
				switch {
				case err == nil && string(v) != string(fmt.Append(nil, i, p)):
					t.Errorf("%s: %d of process %d is %q", what, i, p, v)
				case err != nil && (p != 1 || !errors.Is(err, errs.Corrupt)):
					t.Errorf("%s: %d of process %d: %v", what, i, p, err)
				case err != nil:
					missing++
				}
			}
		}
		if all := strings.Contains(what, "manifest"); missing == 0 || all != (missing == 30) {
			t.Errorf("%s: %d keys are lost", what, missing)
		}
		if v, err := x.Values().Get(ctx, "shared"); err != nil || string(v) != "the same" {
			t.Errorf("%s: what all have is %q, %v", what, v, err)
		}
	}
}

// A database whose manifest is lost opens by its nodes, and by no other bytes.
func TestOpenNodes(t *testing.T) {
	ctx := context.Background()
	file := File{Name: "d/nodes"}
	for _, n := range []int{1, 40} {
		entries, config := salvageable(n)
		files, nodes, root := build(t, config, entries, file)
		end := root.Offset + root.Length
		delete(files, ManifestName)
		db, err := OpenNodes(ctx, files, file, 0, end, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(root, db.Version().Root); d != "" {
			t.Error(d)
		}
		if x, err := db.Index(ctx); err != nil || x.Len() != n {
			t.Errorf("%d keys, want %d: %v", x.Len(), n, err)
		}
		for what, of := range map[string][2]int64{
			"without the root": {0, root.Offset}, "beyond the file": {0, end + 1}, "from inside of a node": {1, end}, "nothing": {end, end},
			"without the first": {int64(len(nodes[0].Bytes)), end}, "without the last byte": {0, end - 1}, "a few bytes": {0, 5},
		} {
			if n == 1 && of[1] == root.Offset {
				continue // nothing
			}
			if _, err := OpenNodes(ctx, files, file, of[0], of[1], Options{}); !errors.Is(err, errs.Corrupt) {
				t.Errorf("%d keys, %s: %v", n, what, err)
			}
		}
		files["d/nodes"][end-1] ^= 1
		if _, err := OpenNodes(ctx, files, file, 0, end, Options{}); !errors.Is(err, errs.Corrupt) {
			t.Errorf("%d keys, a damaged root: %v", n, err)
		}
	}
}

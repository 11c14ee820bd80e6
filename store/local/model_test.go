package local_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
)

// The workload of the crash and fault tests: a run with step 1 committed; step 2
// is committed, step 1 removed, a note put twice, step 2 overwritten. Each name
// has versions; an event "try NAME VERSION" gives leave for a change, "done
// NAME VERSION" promises it. Version 0 is absence.

// tree is the content of a version of a step.
func tree(version int) map[string]string {
	t := map[string]string{
		"manifest":  fmt.Sprintf("manifest of %d", version),
		"commit.ok": "ok",
		"d/x":       strings.Repeat(fmt.Sprint(version), 700),
		"small":     fmt.Sprint("small ", version),
	}
	if version == 3 {
		delete(t, "d/x")
		t["d/e/z"] = "zzz"
	}
	return t
}

func save(ctx context.Context, s store.Store, name string, version int) error {
	txn, err := s.Begin(ctx, name, store.TxnOptions{Overwrite: version == 3})
	if err != nil {
		return err
	}
	defer txn.Abort() //nolint:errcheck // the error of the commit comes first
	files := tree(version)
	for _, object := range slices.Sorted(maps.Keys(files)) {
		b := []byte(files[object])
		switch object {
		case "manifest", "commit.ok":
		case "d/x":
			w, err := txn.Create(ctx, object, int64(len(b)))
			if err != nil {
				return err
			}
			for off := 0; off < len(b); off += 512 {
				if err := w.WriteAt(ctx, b[off:min(off+512, len(b))], int64(off)); err != nil {
					return err
				}
			}
			if err := w.Seal(ctx); err != nil {
				return err
			}
		default:
			if err := txn.Put(ctx, object, b); err != nil {
				return err
			}
		}
	}
	return txn.Commit(ctx, store.Blob{Name: "manifest", Data: []byte(files["manifest"])},
		store.Blob{Name: "commit.ok", Data: []byte(files["commit.ok"])})
}

const root = "/data/run"

func setup(fsys vfs.FS) error {
	return save(context.Background(), local.New(fsys, root, nil), "1", 1)
}

func work(fsys vfs.FS, ack func(string)) error {
	ctx := context.Background()
	s := local.New(fsys, root, nil)
	var first error
	for _, step := range []struct {
		name    string
		version int
		do      func() error
	}{
		{"2", 2, func() error { return save(ctx, s, "2", 2) }},
		{"1", 0, func() error { return s.RemoveTree(ctx, "1") }},
		{"notes/n", 4, func() error { return s.Put(ctx, "notes/n", []byte("note 4"), store.PutOptions{IfAbsent: true}) }},
		{"notes/n", 5, func() error { return s.Put(ctx, "notes/n", []byte("note 5"), store.PutOptions{}) }},
		{"2", 3, func() error { return save(ctx, s, "2", 3) }},
	} {
		event := fmt.Sprint(step.name, " ", step.version)
		ack("try " + event)
		err := step.do()
		if err == nil {
			ack("done " + event)
		} else if first == nil {
			first = err
		}
	}
	return first
}

// allowed returns the versions that each name may have after the events.
func allowed(events []string) map[string][]int {
	may := map[string][]int{"1": {1}, "2": {0}, "notes/n": {0}}
	for _, e := range events {
		var verb, name string
		var version int
		if n, err := fmt.Sscan(e, &verb, &name, &version); n != 3 {
			panic(err)
		}
		if verb == "done" {
			may[name] = []int{version}
		} else {
			may[name] = append(may[name], version)
		}
	}
	return may
}

// check tests what a process finds that starts after the failure: each name has one of its allowed
// versions, whole, also after cleaning, and cleaning leaves no unnamed object.
func check(fsys vfs.FS, events []string) error {
	ctx := context.Background()
	s := local.New(fsys, root, nil)
	if err := checkNames(s, events); err != nil {
		return err
	}
	for _, dir := range []string{"", "notes"} {
		if _, err := s.CleanStaging(ctx, dir, nil); err != nil && !(dir == "notes" && errors.Is(err, errs.NotFound)) {
			return fmt.Errorf("cleaning: %w", err)
		}
	}
	if err := checkNames(s, events); err != nil {
		return fmt.Errorf("after cleaning: %w", err)
	}
	got, err := walk(s, "")
	if err != nil && !errors.Is(err, errs.NotFound) {
		return err
	}
	for name := range got {
		if top, _, _ := strings.Cut(name, "/"); top != "1" && top != "2" && name != "notes/n" && name != "notes/" {
			return fmt.Errorf("%s was left", name)
		}
	}
	return nil
}

func checkNames(s store.Store, events []string) error {
	may := allowed(events)
	for name, versions := range may {
		got, err := walk(s, name)
		if err != nil && !errors.Is(err, errs.NotFound) {
			return err
		}
		if !slices.ContainsFunc(versions, func(v int) bool { return matches(name, v, got) }) {
			return fmt.Errorf("%s is in none of the versions %v: %q", name, versions, got)
		}
	}
	return nil
}

func matches(name string, version int, got map[string]string) bool {
	switch {
	case version == 0:
		return len(got) == 0
	case name == "notes/n":
		return maps.Equal(got, map[string]string{"": fmt.Sprint("note ", version)})
	}
	want := tree(version)
	want["d/"] = ""
	if version == 3 {
		want["d/e/"] = ""
	}
	return maps.Equal(got, want)
}

// walk reads an object or all objects below a directory.
func walk(s store.Store, name string) (map[string]string, error) {
	ctx := context.Background()
	out := map[string]string{}
	info, err := s.Stat(ctx, name)
	if err != nil {
		return out, err
	}
	if !info.Dir {
		r, err := s.Open(ctx, name)
		if err != nil {
			return out, err
		}
		p := make([]byte, r.Size())
		err = r.ReadAt(ctx, p, 0)
		out[""] = string(p)
		return out, errors.Join(err, r.Close())
	}
	for info, err := range s.List(ctx, name) {
		if err != nil {
			return out, err
		}
		if info.Dir {
			out[info.Name+"/"] = ""
		}
		below, err := walk(s, path.Join(name, info.Name))
		if err != nil {
			return out, err
		}
		for k, v := range below {
			out[path.Join(info.Name, k)+strings.Repeat("/", strings.Count(k, "/")-strings.Count(path.Clean(k), "/"))] = v
		}
	}
	return out, nil
}

// TestModel: the workload itself, without any failure.
func TestModel(t *testing.T) {
	mem := vfstest.NewMem()
	if err := setup(mem); err != nil {
		t.Fatal(err)
	}
	var events []string
	if err := work(mem, func(e string) { events = append(events, e) }); err != nil {
		t.Fatal(err)
	}
	if err := check(mem, events); err != nil {
		t.Fatal(err)
	}
	if n := mem.OpenFiles(); n != 0 {
		t.Fatalf("%d files left open", n)
	}
	if err := check(vfstest.NewMem(), nil); err == nil {
		t.Fatal("the check does not miss step 1")
	}
}

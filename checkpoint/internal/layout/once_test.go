package layout

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

// askedStore is a store of large files that counts what is asked of it.
type askedStore struct {
	store.Store
	opened, closed, listed map[string]int
	entries                []store.Info // of every directory
}

func newAskedStore(entries ...store.Info) *askedStore {
	return &askedStore{opened: map[string]int{}, closed: map[string]int{}, listed: map[string]int{}, entries: entries}
}

func (s *askedStore) Open(_ context.Context, name string) (store.Reader, error) {
	s.opened[name]++
	return askedReader{&countingFile{b: make([]byte, smallBytes+1), times: make([]int, smallBytes+1)}, s, name}, nil
}

func (s *askedStore) List(_ context.Context, dir string) iter.Seq2[store.Info, error] {
	s.listed[dir]++
	return func(yield func(store.Info, error) bool) {
		for _, e := range s.entries {
			if !yield(e, nil) {
				return
			}
		}
	}
}

type askedReader struct {
	store.Reader
	s    *askedStore
	name string
}

func (r askedReader) Close() error {
	r.s.closed[r.name]++
	return r.Reader.Close()
}

// A file that is opened again after it was used is still open, up to a number of files. Whatever
// was used at once, all files are closed in the end.
func TestOnceOpensFilesOnce(t *testing.T) {
	const many = mostOpen + 5
	st := newAskedStore()
	o := newOnce(st, "c")
	o.manifest = &manifest.Manifest{}
	use := func(users int) {
		for i := range many {
			var all []store.Reader
			for range users {
				r, err := o.Open(t.Context(), fmt.Sprintf("c/%02d", i))
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, r)
			}
			for _, r := range all {
				if err := r.Close(); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	use(1)
	use(1)
	for i := range many {
		if n, want := st.opened[fmt.Sprintf("c/%02d", i)], 1+min(1, i/mostOpen); n != want {
			t.Errorf("file %d was opened %d times, want %d", i, n, want)
		}
	}
	use(2)
	if open := sum(st.opened) - sum(st.closed); open != mostOpen {
		t.Errorf("%d files are open, want %d", open, mostOpen)
	}
	o.close()
	if !maps.Equal(st.opened, st.closed) {
		t.Errorf("opened %v, closed %v", st.opened, st.closed)
	}
}

// Without a manifest nothing is compared afterwards, and no file stays open.
func TestOnceWithoutManifestKeepsNothingOpen(t *testing.T) {
	st := newAskedStore()
	o := newOnce(st, "c")
	r, err := o.Open(t.Context(), "c/a")
	if err == nil {
		err = r.Close()
	}
	if err != nil || sum(st.closed) != 1 {
		t.Errorf("%v, closed %v", err, st.closed)
	}
}

func sum(counts map[string]int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}

// A directory that the list above it lacks does not exist, and the store is not asked. The store is
// asked if no list is known, or if the manifest says that the directory has a file.
func TestOnceAsksForNoDirectoryThatIsNotListed(t *testing.T) {
	st := newAskedStore(store.Info{Name: "a", Dir: true})
	o := newOnce(st, "c")
	o.manifest = &manifest.Manifest{Files: []manifest.File{{Name: "lost/f"}}}
	list := func(dir string) (err error) {
		for _, err = range o.List(t.Context(), dir) {
			if err != nil {
				return err
			}
		}
		return nil
	}
	for _, c := range []struct {
		dir          string
		found, asked bool
	}{{"c/b", true, true}, {"c", true, true}, {"c/no", false, false}, {"c/lost", true, true}, {"c/a", true, true}} {
		clear(st.listed)
		err := list(c.dir)
		if (err == nil) != c.found || !c.found && errs.KindOf(err) != errs.NotFound || (st.listed[c.dir] == 1) != c.asked {
			t.Errorf("%s: %v, asked %d times", c.dir, err, st.listed[c.dir])
		}
	}
}

// An item is described once, but after a failure again.
func TestOnceDescribesAnItemOnce(t *testing.T) {
	o := newOnce(newAskedStore(), "c")
	failure, calls := errors.New("not now"), 0
	describe := func() (Item, error) {
		if calls++; calls == 1 {
			return Item{}, failure
		}
		return Item{Name: "a", Kind: Tree}, nil
	}
	if _, err := o.item("a", describe); !errors.Is(err, failure) {
		t.Errorf("%v, want %v", err, failure)
	}
	for range 3 {
		if it, err := o.item("a", describe); err != nil || it.Kind != Tree {
			t.Errorf("%v, %v", it, err)
		}
	}
	if calls != 2 {
		t.Errorf("%d calls, want 2", calls)
	}
}

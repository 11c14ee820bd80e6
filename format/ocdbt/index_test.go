package ocdbt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
)

// An index gives what the database gives, for keys that are there and for others.
func TestIndexEqualsDatabase(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		entries, _ := drawEntries(t)
		for i := range rapid.IntRange(0, 60).Draw(t, "more") {
			value := strings.Repeat("v", rapid.SampledFrom([]int{0, 1, shortBytes, shortBytes + 1, 300}).Draw(t, "length"))
			entries = append(entries, Entry{fmt.Sprintf("more/%03d/zarr.json", i), InlineRef([]byte(value))})
		}
		slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.Key, b.Key) })
		files, _, _ := build(t, drawConfig(t), entries, File{Name: "d/nodes"})
		db, err := Open(ctx, files, Options{})
		if err != nil {
			t.Fatal(err)
		}
		x, err := db.Index(ctx)
		if err != nil || x.Len() != len(entries) {
			t.Fatalf("%d keys, want %d: %v", x.Len(), len(entries), err)
		}
		for _, e := range entries {
			for _, key := range []string{e.Key, e.Key + "\x00", e.Key + "z", e.Key[:len(e.Key)/2], strings.TrimSuffix(e.Key, "n"), "\xff\xff"} {
				want, there, err := db.Get(ctx, key)
				got, ok, err2 := x.Get(ctx, key)
				if d := cmp.Diff(want, got); err != nil || err2 != nil || there != ok || d != "" {
					t.Fatalf("%q: there %v, want %v: %v, %v: %s", key, ok, there, err, err2, d)
				}
			}
		}
	})
}

// counted counts the reads of nodes; each takes a second.
type counted struct {
	mem
	reads *atomic.Int64
	fail  error
}

func (c counted) ReadAt(ctx context.Context, name string, p []byte, off int64) error {
	c.reads.Add(1)
	time.Sleep(time.Second)
	if c.fail != nil {
		return c.fail
	}
	return c.mem.ReadAt(ctx, name, p, off)
}

// manyNodes is a database of a few hundred nodes.
func manyNodes(t testing.TB) (mem, []Entry, int) {
	c := OrbaxConfig([16]byte{})
	c.MaxDecodedNodeBytes = 200
	var entries []Entry
	for i := range 1000 {
		entries = append(entries, Entry{fmt.Sprintf("k%04d", i), InlineRef([]byte{byte(i)})})
	}
	files, nodes, _ := build(t, c, entries, File{Name: "d/n"})
	return files, entries, len(nodes)
}

// An index reads each node once, and afterwards none, whatever order keys are wanted in.
func TestIndexReadsEachNodeOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files, entries, nodes := manyNodes(t)
		f := counted{files, new(atomic.Int64), nil}
		db, err := Open(t.Context(), f, Options{CacheBytes: -1})
		if err != nil {
			t.Fatal(err)
		}
		x, err := db.Index(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i := range entries {
			e := entries[i*7919%len(entries)]
			if v, err := x.Values().Get(t.Context(), e.Key); err != nil || v[0] != e.Value.Inline[0] {
				t.Fatalf("%s is %v, %v", e.Key, v, err)
			}
		}
		if got := f.reads.Load(); got != int64(nodes) {
			t.Errorf("%d reads of %d nodes", got, nodes)
		}
		bad := counted{files, new(atomic.Int64), errors.New("the disk is gone")}
		db, err = Open(t.Context(), bad, Options{})
		if err == nil {
			_, err = db.Index(t.Context())
		}
		if !errors.Is(err, bad.fail) {
			t.Errorf("an index over a disk that fails: %v", err)
		}
	})
}

// Callers that want one node at the same time wait for one of them to read it.
func TestNodeIsReadByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files, entries, _ := manyNodes(t)
		f := counted{files, new(atomic.Int64), nil}
		db, err := Open(t.Context(), f, Options{CacheBytes: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		// The first caller gives up while it reads: the others do not get its error.
		first, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for i := range 10 {
			ctx := t.Context()
			if i == 0 {
				ctx = first
			}
			all.Go(func() {
				if _, _, err := db.Get(ctx, entries[0].Key); err != nil && ctx != first {
					t.Errorf("caller %d: %v", i, err)
				}
			})
		}
		waiting, stop := context.WithTimeout(t.Context(), time.Millisecond)
		defer stop()
		all.Go(func() {
			time.Sleep(time.Microsecond)
			if _, _, err := db.Get(waiting, entries[0].Key); errs.KindOf(err) != errs.Canceled {
				t.Errorf("a caller whose time is over: %v, want errs.Canceled", err)
			}
		})
		time.Sleep(time.Millisecond)
		cancel()
		all.Wait()
		height := db.Version().Root.Height + 1
		if got := f.reads.Load(); got != int64(height) {
			t.Errorf("%d reads for a tree of %d levels", got, height)
		}
	})
}

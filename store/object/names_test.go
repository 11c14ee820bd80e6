package object_test

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/metrics"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/object"
	"github.com/bivouac-ml/bivouac/store/object/simulated"
)

// live is the heap after a collection.
func live() int64 {
	runtime.GC()
	runtime.GC() // what finalizers gave back
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64())
}

// TestManyNames lists a directory of many objects, and saves, opens and lists one directory whose
// tree has many. With BIVOUAC_LONG there are 10^6 of each. What a Store keeps of a tree is at most
// 400 bytes a name, and it keeps nothing of a list.
func TestManyNames(t *testing.T) {
	n := 20_000
	if os.Getenv("BIVOUAC_LONG") != "" {
		n = 1_000_000
	}
	ctx, server := t.Context(), simulated.NewServer(0, simulated.Lies{})
	b := server.Bucket(nil)
	st := object.New(b, "", object.Options{SkipProbe: true})
	began := time.Now()
	lap := func(what string) {
		t.Logf("%d names: %-28s %7.3f s", n, what, time.Since(began).Seconds())
		began = time.Now()
	}
	for i := range n {
		if _, err := b.Put(ctx, fmt.Sprintf("loose/%07d", i), []byte{1}, sum([]byte{1}), object.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	lap("(the server is filled)")
	before := live()
	seen := 0
	for info, err := range st.List(ctx, "loose") {
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("%07d", seen); info.Name != want || info.Dir {
			t.Fatalf("%+v, want %s", info, want)
		}
		seen++
	}
	lap("list of objects")
	if kept := live() - before; seen != n || kept > int64(n) {
		t.Errorf("%d names, and %d bytes are kept", seen, kept)
	}
	began = time.Now()
	if _, err := st.Stat(ctx, "loose/nothing"); errs.KindOf(err) != errs.NotFound {
		t.Error(err)
	}
	if info, err := st.Stat(ctx, "loose"); err != nil || !info.Dir {
		t.Errorf("%+v, %v", info, err)
	}
	lap("two looks beside them")
	txn, err := st.Begin(ctx, "run/1", store.TxnOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if err := txn.Put(ctx, fmt.Sprintf("d/%07d", i), []byte{1}); err != nil {
			t.Fatal(err)
		}
	}
	lap("puts of a transaction")
	if err := txn.Commit(ctx, store.Blob{Name: "manifest"}); err != nil {
		t.Fatal(err)
	}
	lap("commit")
	txn = nil
	other := object.New(b, "", object.Options{SkipProbe: true})
	before = live()
	began = time.Now()
	r, err := other.Open(ctx, "run/1/d/0000003")
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	lap("first open in a new process")
	kept := live() - before
	t.Logf("the tree takes %d bytes a name", kept/int64(n))
	if kept > 400*int64(n) {
		t.Errorf("a tree of %d names takes %d bytes", n, kept)
	}
	began = time.Now()
	for i := range 1000 {
		if _, err := other.Stat(ctx, fmt.Sprintf("run/1/d/%07d", i*7%n)); err != nil {
			t.Fatal(err)
		}
	}
	lap("1,000 looks")
	seen = 0
	for _, err := range other.List(ctx, "run/1/d") {
		if err != nil {
			t.Fatal(err)
		}
		seen++
	}
	lap("list of the tree")
	if seen != n {
		t.Errorf("%d names", seen)
	}
	_, err = other.CleanStaging(ctx, "run", nil)
	lap("cleaning beside it")
	if err := errors.Join(err, other.RemoveTree(ctx, "run/1")); err != nil {
		t.Fatal(err)
	}
	lap("removal")
	runtime.KeepAlive(other)
}

package object_test

import (
	"bytes"
	"fmt"
	"sync"
	"testing"

	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/object"
	"github.com/bivouac-ml/bivouac/store/object/simulated"
	"github.com/bivouac-ml/bivouac/store/storetest"
)

// TestStore runs the conformance suite of stores, also with parts of a few bytes, and on a server
// that cannot remove on a condition.
func TestStore(t *testing.T) {
	for name, c := range map[string]struct {
		prefix string
		lies   simulated.Lies
		opt    object.Options
	}{
		"plain":       {"", simulated.Lies{}, object.Options{}},
		"prefix":      {"team/runs/", simulated.Lies{}, object.Options{Part: 1 << 20}},
		"small parts": {"", simulated.Lies{}, object.Options{Part: 999}},
		"no delete":   {"p/", simulated.Lies{NoDelete: true}, object.Options{Part: 999}},
	} {
		t.Run(name, func(t *testing.T) {
			storetest.Run(t, func(*testing.T) store.Store {
				return object.New(simulated.NewServer(0, c.lies).Bucket(nil), c.prefix, c.opt)
			})
		})
	}
}

// TestPartsOfManyCalls: a part that several calls fill at once is sent when all have put their
// bytes there, and not before.
func TestPartsOfManyCalls(t *testing.T) {
	const size, piece = 20_000, 7
	st := object.New(simulated.NewServer(0, simulated.Lies{}).Bucket(nil), "", object.Options{Part: 4096, SkipProbe: true})
	for round := range 20 {
		name := fmt.Sprint("run/", round)
		txn, err := st.Begin(t.Context(), name, store.TxnOptions{})
		if err != nil {
			t.Fatal(err)
		}
		w, err := txn.Create(t.Context(), "x", size)
		if err != nil {
			t.Fatal(err)
		}
		want := make([]byte, size)
		for i := range want {
			want[i] = byte(i * (round + 3))
		}
		var wait sync.WaitGroup
		for first := range 8 {
			wait.Go(func() {
				for off := first * piece; off < size; off += 8 * piece {
					if err := w.WriteAt(t.Context(), want[off:min(off+piece, size)], int64(off)); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wait.Wait()
		if err := w.Seal(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := txn.Commit(t.Context(), store.Blob{Name: "manifest"}); err != nil {
			t.Fatal(err)
		}
		if got, err := store.ReadAll(t.Context(), st, name+"/x"); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("round %d: other bytes, %v", round, err)
		}
	}
}

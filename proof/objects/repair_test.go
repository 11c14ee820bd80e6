package objects

import (
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/integrity"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/object"
	"github.com/bivouac-ml/bivouac/store/object/simulated"
)

// Repair leaves a save alone that another process may be at work on, and says so. The save then
// commits.
func TestRepairKeepsLiveSaves(t *testing.T) {
	ctx, server := t.Context(), simulated.NewServer(0, simulated.Lies{})
	one := object.New(server.Bucket(nil), "", object.Options{})
	other := object.New(server.Bucket(nil), "", object.Options{})
	if err := checkpoint.Save(ctx, "run/1", made(1), &checkpoint.SaveOptions{Store: one}); err != nil {
		t.Fatal(err)
	}
	txn, err := one.Begin(ctx, "run/2", store.TxnOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := txn.Put(ctx, "note", []byte("x")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		r, err := integrity.Repair(ctx, "run", &integrity.RepairOptions{Apply: true, Store: other})
		if err != nil || len(r.Problems) > 0 {
			t.Fatal(err, r)
		}
		if len(r.Actions) != 1 || r.Actions[0].Kind != integrity.RepairClean || r.Actions[0].Done {
			t.Fatalf("%+v", r.Actions)
		}
	}
	if err := txn.Commit(ctx, store.Blob{Name: "last", Data: []byte("y")}); err != nil {
		t.Fatal(err)
	}
	if b, err := store.ReadAll(ctx, other, "run/2/note"); err != nil || string(b) != "x" {
		t.Fatal(b, err)
	}
}

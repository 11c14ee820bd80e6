package saving_test

import (
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/saving"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// A save in the background whose arrays cannot be copied fails in Snapshot, while the
// caller waits, and not in Write.
func TestSnapshotFailureIsTold(t *testing.T) {
	s, err := saving.Resolve(saving.Call{Background: true})
	if err != nil {
		t.Fatal(err)
	}
	w := tensor.New(tensor.Float32, 5000)
	for i := range w.Data {
		w.Data[i] = 0x4b // floats of more than 13 million, which int8 does not have
	}
	if err := s.Collect(t.Context(), map[string]any{"state": tree.NewDict().Set("w", tree.NewLeaf(w))}); err != nil {
		t.Fatal(err)
	}
	s.Options.DType = tensor.Int8 // elements are cast while they are copied
	if err := s.Snapshot(t.Context(), saving.Target{}, nil); errs.KindOf(err) != errs.Mismatch {
		t.Errorf("%v, want errs.Mismatch", err)
	}
}

package torchdata

import (
	"errors"
	"slices"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
)

// The sources of MultiNodeWeightedSampler(weights 0.1, 0.7, 0.2, seed=42, rank=1,
// world_size=4) in torchdata, in two epochs.
func TestDrawsOfNodes(t *testing.T) {
	d := NewDraws(42, 1, 4)
	for epoch, want := range [][]int64{{1, 2, 2, 1, 2, 1, 1, 1, 1, 1}, {0, 1, 2, 2, 1, 1, 2, 1, 1, 1}} {
		d.Begin(int64(epoch))
		before, err := d.AppendState(nil)
		if err != nil {
			t.Fatal(err)
		}
		block := make([]int64, 1000)
		if err := d.Draw([]float64{0.1, 0.7, 0.2}, block); err != nil || !slices.Equal(block[:len(want)], want) {
			t.Errorf("epoch %d: %v (%v), want %v", epoch, block[:len(want)], err, want)
		}
		if err := d.SetState(before); err != nil {
			t.Fatal(err)
		}
		again := make([]int64, 1000)
		if err := d.Draw([]float64{0.1, 0.7, 0.2}, again); err != nil || !slices.Equal(block, again) {
			t.Errorf("epoch %d: other draws from the state (%v)", epoch, err)
		}
	}
	if err := d.SetState([]byte(`{"tensor":"uint8","shape":[3],"hex":"000000"}`)); !errors.Is(err, errs.Corrupt) {
		t.Error(err)
	}
	if err := d.Draw([]float64{-1}, make([]int64, 2)); !errors.Is(err, errs.Invalid) {
		t.Error(err)
	}
}

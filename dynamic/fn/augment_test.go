package fn_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/bivouac-ml/bivouac/dynamic"
	"github.com/bivouac-ml/bivouac/dynamic/fn"
	"github.com/bivouac-ml/bivouac/dynamic/random"
	"github.com/bivouac-ml/bivouac/op"
)

// TestAugment: the operators of automatic augmentation run in every mode, with numbers of their RNG
// alone.
func TestAugment(t *testing.T) {
	var images [6][9][8][3]uint8
	for i := range images {
		for y := range images[i] {
			for x := range images[i][y] {
				images[i][y][x] = [3]uint8{uint8(y*20 + i), uint8(x*30 + i), uint8(x*y + 3*i)}
			}
		}
	}
	run := func(ctx context.Context, seed int64) (out []byte) {
		g := random.New(uint64(seed))
		batch := dynamic.BatchOf(images[:], dynamic.Form{Layout: "HWC"})
		batch = fn.RandAugment(ctx, g, batch, fn.RandAugmentArgs{N: op.Const(2), M: op.Const(9.0)})
		batch = fn.TrivialAugmentWide(ctx, g, batch, fn.TrivialAugmentWideArgs{})
		batch = fn.AutoAugment(ctx, g, batch, fn.AutoAugmentArgs{})
		batch = fn.RandomErase(ctx, g, batch, fn.RandomEraseArgs{})
		for _, image := range batch.Tensors() {
			pixels, err := dynamic.Slice[uint8](ctx, image)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, pixels...)
		}
		return out
	}
	want := run(context.Background(), 5)
	if !bytes.Equal(run(context.Background(), 5), want) {
		t.Error("a second run differs")
	}
	if bytes.Equal(run(context.Background(), 6), want) {
		t.Error("another seed gives the same images")
	}
	for _, mode := range []dynamic.Mode{dynamic.Sync, dynamic.Eager, dynamic.Deferred} {
		if !bytes.Equal(run(dynamic.WithMode(context.Background(), mode), 5), want) {
			t.Errorf("mode %v differs", mode)
		}
	}
}

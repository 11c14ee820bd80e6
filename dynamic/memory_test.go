package dynamic_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"unsafe"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/dynamic"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// TestOutputsStay makes calls of all sizes, releases some of their values, and finds the others as
// they were.
func TestOutputsStay(t *testing.T) {
	type kept struct {
		value dynamic.Value
		data  []byte // its elements, a copy
	}
	elements := func(v dynamic.Value) []byte {
		if x, ok := v.(*dynamic.Tensor); ok {
			one, err := x.Tensor(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			return one.Data
		}
		samples, err := v.(*dynamic.Batch).Samples(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		var all []byte
		for _, s := range samples {
			all = append(all, s.Data...)
		}
		return all
	}
	every(t, func(t *testing.T, ctx context.Context) {
		rapid.Check(t, func(r *rapid.T) {
			var live []kept
			for range rapid.IntRange(1, 30).Draw(r, "steps") {
				n := rapid.SampledFrom([]int{1, 3, 100, 1024, 5000}).Draw(r, "elements")
				number := rapid.IntRange(0, 100).Draw(r, "number")
				switch rapid.IntRange(0, 3).Draw(r, "step") {
				case 0:
					x := dynamic.Add(ctx, dynamic.TensorOf(make([]int32, n)), number)
					live = append(live, kept{x, bytes.Clone(elements(x))})
				case 1:
					b := dynamic.Add(ctx, dynamic.BatchOf([][]int32{make([]int32, n), make([]int32, 7)}), number)
					live = append(live, kept{b, bytes.Clone(elements(b))})
					if number%2 == 0 { // its memory stays for the view
						view := b.At(0)
						live = append(live[:len(live)-1], kept{view, bytes.Clone(elements(view))})
						b.Release()
					}
				case 2:
					if len(live) > 0 {
						i := number % len(live)
						x := live[i].value
						if y, ok := x.(*dynamic.Batch); ok { // used by a call when it is released
							z := dynamic.Mul(ctx, y, 1)
							x.Release()
							live = append(live, kept{z, live[i].data})
						} else {
							x.Release()
						}
						live = append(live[:i], live[i+1:]...)
					}
				}
				for _, k := range live {
					if !bytes.Equal(elements(k.value), k.data) {
						r.Fatalf("%v has changed", k.value)
					}
				}
			}
		})
	})
}

func TestReleased(t *testing.T) {
	every(t, func(t *testing.T, ctx context.Context) {
		b := dynamic.Add(ctx, dynamic.BatchOf([]int{1, 2}), 1)
		pending := dynamic.Add(ctx, b, 1)
		b.Release()
		b.Release()
		for name, v := range map[string]dynamic.Value{"itself": b, "a call": dynamic.Add(ctx, b, 1), "a view": b.At(0)} {
			if err := v.Evaluate(ctx); !errors.Is(err, errs.Closed) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if got := slice[int32](t, pending.At(1)); got[0] != 4 {
			t.Errorf("a call made before: %v", got)
		}
		x := dynamic.TensorOf(3)
		x.Release() // what was given is nobody's to reuse
		y := dynamic.Index(ctx, dynamic.TensorOf([]int{1}), 5)
		y.Release() // what failed has none
	})
}

// TestReleaseSaves holds that large memory which was released is used again.
func TestReleaseSaves(t *testing.T) {
	ctx := scoped(t, dynamic.Sync)
	x := dynamic.TensorOf(make([]float32, 1<<16))
	addresses := map[*byte]bool{}
	for range 100 {
		y := dynamic.Add(ctx, x, 1)
		v, err := y.Tensor(ctx)
		if err != nil {
			t.Fatal(err)
		}
		addresses[unsafe.SliceData(v.Data)] = true
		y.Release()
	}
	if len(addresses) > 60 { // what is put back may be lost, at random under the race detector
		t.Errorf("%d pieces of memory for 100 calls", len(addresses))
	}
}

// TestBatchMemory holds that the memory of a batch is aligned and its samples do not overlap.
func TestBatchMemory(t *testing.T) {
	every(t, func(t *testing.T, ctx context.Context) {
		for range 20 {
			samples := make([][]uint8, 1+rand.IntN(9))
			for i := range samples {
				samples[i] = make([]uint8, rand.IntN(9000))
			}
			b := dynamic.Cast(ctx, dynamic.BatchOf(samples), tensor.Float64)
			list, err := b.Samples(ctx)
			if err != nil {
				t.Fatal(err)
			}
			for i, s := range list {
				values, err := tensor.Of[float64](s)
				if err != nil || len(values) != len(samples[i]) {
					t.Fatalf("sample %d: %v, %v", i, s, err)
				}
				for j := range values {
					values[j] = float64(i)
				}
			}
			for i, s := range list {
				values, _ := tensor.Of[float64](s)
				for _, v := range values {
					if v != float64(i) {
						t.Fatalf("samples %d and %v share memory", i, v)
					}
				}
			}
			b.Release()
		}
	})
}

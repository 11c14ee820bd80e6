package dynamic_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/dynamic"
	"github.com/bivouac-ml/bivouac/dynamic/fn"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/loan"
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
					x := fn.Add(ctx, dynamic.TensorOf(make([]int32, n)), number)
					live = append(live, kept{x, bytes.Clone(elements(x))})
				case 1:
					b := fn.Add(ctx, dynamic.BatchOf([][]int32{make([]int32, n), make([]int32, 7)}), number)
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
							z := fn.Mul(ctx, y, 1)
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
		b := fn.Add(ctx, dynamic.BatchOf([]int{1, 2}), 1)
		pending := fn.Add(ctx, b, 1)
		b.Release()
		b.Release()
		for name, v := range map[string]dynamic.Value{"itself": b, "a call": fn.Add(ctx, b, 1), "a view": b.At(0)} {
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
	if loan.Debug {
		t.Skip("memory that was handed out is not used again, with bivouac_debug")
	}
	ctx := scoped(t, dynamic.Sync)
	x := dynamic.TensorOf(make([]float32, 1<<16))
	addresses := map[*byte]bool{}
	for range 100 {
		y := fn.Add(ctx, x, 1)
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

// TestReleaseOfViews holds that the memory of a batch is used again when the batch and its views
// are released, in any order, and not before.
func TestReleaseOfViews(t *testing.T) {
	if loan.Debug {
		t.Skip("memory that was handed out is not used again, with bivouac_debug")
	}
	ctx := scoped(t, dynamic.Sync)
	image := tensor.Tensor{DType: tensor.Uint8, Shape: tensor.Shape{64, 64, 3}, Layout: "HWC", Data: make([]byte, 64*64*3)}
	images := dynamic.BatchOf([]tensor.Tensor{image, image})
	// The operator makes floats. Its outputs have the capacity of their memory in any case.
	make := func() *dynamic.Batch {
		return fn.CropMirrorNormalize(ctx, images, fn.CropMirrorNormalizeArgs{})
	}
	first := func(b *dynamic.Batch) *byte {
		samples, err := b.Samples(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return unsafe.SliceData(samples[0].Data)
	}
	again := 0
	for i := range 200 {
		b := make()
		place := first(b)
		view, part := b.At(0), b.Select(1, 0)
		views := []dynamic.Value{view, part, part.At(1)}
		order := append(views, b)
		rand.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		for _, v := range order[:len(order)-1] {
			v.Release()
			v.Release()
		}
		other := make()
		if samples, err := other.Samples(ctx); err != nil || slices.ContainsFunc(samples, func(s tensor.Tensor) bool {
			return unsafe.SliceData(s.Data) == place
		}) {
			t.Fatalf("round %d: memory that a view uses was used again, or %v", i, err)
		}
		order[len(order)-1].Release()
		third := make()
		samples, err := third.Samples(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range samples {
			if unsafe.SliceData(s.Data) == place {
				again++
			}
		}
		other.Release()
		third.Release()
	}
	if again == 0 { // what is put back may be lost, at random under the race detector
		t.Error("the memory of released batches with views was never used again")
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

// TestMemoryIsGivenBackOnce makes thousands of calls, views and releases in random order beside
// the background, on released values too. Every value that is not released keeps its elements and
// shares its memory with no other.
func TestMemoryIsGivenBackOnce(t *testing.T) {
	every(t, func(t *testing.T, ctx context.Context) {
		const steps, values, elements = 3000, 12, 1024 // memory from 4 KiB on is used again
		type entry struct {
			value    *dynamic.Batch
			number   int32
			released bool
		}
		random := rand.New(rand.NewPCG(1, uint64(dynamic.ModeOf(ctx))))
		source := dynamic.BatchOf([][]int32{make([]int32, elements), make([]int32, elements)})
		made := func(number int32) entry {
			return entry{value: fn.Add(ctx, source, number), number: number}
		}
		check := func(x *dynamic.Tensor, number int32) {
			for _, v := range slice[int32](t, x) {
				if v != number {
					t.Fatalf("an element is %d, want %d", v, number)
				}
			}
		}
		entries := make([]entry, values)
		for i := range entries {
			entries[i] = made(int32(i))
		}
		for step := range steps {
			i := random.IntN(values)
			e := &entries[i]
			switch random.IntN(6) {
			case 0, 1:
				e.value.Release()
				e.released = true
			case 2: // a call that may come too late
				next := fn.Add(ctx, e.value, 1)
				if e.released {
					if err := next.Evaluate(ctx); !errors.Is(err, errs.Closed) {
						t.Fatalf("a call on a released value: %v", err)
					}
					break
				}
				e.value.Release() // the call still needs the memory
				*e = entry{value: next, number: e.number + 1}
			case 3: // a view that may come too late
				view := e.value.At(random.IntN(2))
				if e.released {
					if err := view.Err(); !errors.Is(err, errs.Closed) {
						t.Fatalf("a view of a released value: %v", err)
					}
					break
				}
				if random.IntN(4) == 0 {
					e.value.Release()
					e.released = true
					check(view, e.number)
				}
			case 4:
				if chosen := e.value.Select(1, 0); !e.released {
					check(chosen.At(0), e.number)
				}
			case 5:
				*e = made(int32(step))
			}
		}
		addresses := map[*byte]int{}
		for i, e := range entries {
			if e.released {
				continue
			}
			samples, err := e.value.Samples(ctx)
			if err != nil {
				t.Fatal(err)
			}
			for s, x := range samples {
				check(e.value.At(s), e.number)
				if other, ok := addresses[unsafe.SliceData(x.Data)]; ok {
					t.Fatalf("values %d and %d share memory", other, i)
				}
				addresses[unsafe.SliceData(x.Data)] = i
			}
		}
	})
}

// Data that a Batch was made of stays when its values are released, and a released value is
// refused.
func TestReleasedIsNotTaken(t *testing.T) {
	every(t, func(t *testing.T, ctx context.Context) {
		const elements = 2048
		zeros := dynamic.TensorOf(make([]int32, elements))
		x := fn.Add(ctx, zeros, 7)
		whole := fn.Add(ctx, dynamic.BatchOf([][]int32{make([]int32, elements)}), 7)
		taken := []*dynamic.Tensor{
			dynamic.BatchOf([]*dynamic.Tensor{x}).At(0), dynamic.TensorOf(x, dynamic.Form{Layout: "X", NoCopy: true}),
			dynamic.BatchOf(whole, dynamic.Form{Layout: "X"}).At(0),
		}
		x.Release()
		whole.Release()
		for range 4 {
			if err := fn.Add(ctx, zeros, 9).Evaluate(ctx); err != nil {
				t.Fatal(err)
			}
		}
		for i, y := range taken {
			if got := slice[int32](t, y); got[0] != 7 || got[elements-1] != 7 {
				t.Errorf("%d: elements have changed: %d", i, got[0])
			}
		}
		for name, v := range map[string]dynamic.Value{
			"TensorOf": dynamic.TensorOf(x, dynamic.Form{Layout: "X"}), "a list": dynamic.BatchOf([]*dynamic.Tensor{x}),
			"BatchOf": dynamic.BatchOf(whole, dynamic.Form{Layout: "X"}),
		} {
			if err := v.Err(); !errors.Is(err, errs.Closed) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

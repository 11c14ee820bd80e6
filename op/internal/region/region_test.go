package region_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/op/internal/region"
	"github.com/bivouac-ml/bivouac/op/internal/window"
	"github.com/bivouac-ml/bivouac/tensor"
)

// window draws the shape of an array, a window of it that may leave it, and which axes are
// mirrored.
func draw(t *rapid.T) (shape []int, spans []window.Span, mirror uint64) {
	for range rapid.IntRange(1, 4).Draw(t, "rank") {
		shape = append(shape, rapid.IntRange(1, 5).Draw(t, "extent"))
		spans = append(spans, window.Span{Start: rapid.IntRange(-3, 5).Draw(t, "start"), Size: rapid.IntRange(0, 6).Draw(t, "size")})
	}
	return shape, spans, rapid.Uint64Range(0, 1<<len(shape)-1).Draw(t, "mirror")
}

// each calls f for every index of an array.
func each(shape []int, f func(index []int, at int)) {
	index := make([]int, len(shape))
	n := 1
	for _, d := range shape {
		n *= d
	}
	for at := range n {
		rest := at
		for i := len(shape) - 1; i >= 0; i-- {
			index[i] = rest % shape[i]
			rest /= shape[i]
		}
		f(index, at)
	}
}

func TestCopy(t *testing.T) {
	var copier region.Copier
	rapid.Check(t, func(t *rapid.T) {
		shape, spans, mirror := draw(t)
		var size []int
		n := 1
		for i, s := range spans {
			size = append(size, s.Size)
			n *= shape[i]
		}
		src := tensor.New(tensor.Int32, shape...)
		values, err := tensor.Of[int32](src)
		if err != nil {
			t.Fatal(err)
		}
		for i := range values {
			values[i] = int32(i) + 1
		}
		for _, dtype := range []tensor.DType{tensor.Int32, tensor.Uint8} {
			dst := tensor.New(dtype, size...)
			job := region.Job{Dst: dst.Data, Src: src.Data, DstType: dtype, SrcType: tensor.Int32, Shape: shape, Spans: spans, Mirror: mirror}
			if err := copier.Run(job); err != nil {
				t.Fatal(err)
			}
			inside := true
			each(size, func(index []int, at int) {
				from, in := 0, true
				for i, k := range index {
					if mirror>>i&1 != 0 {
						k = size[i] - 1 - k
					}
					k += spans[i].Start
					in = in && k >= 0 && k < shape[i]
					from = from*shape[i] + k
				}
				want := int32(0)
				if in {
					want = values[from]
				}
				inside = inside && in
				got := int32(dst.Data[at*dtype.Size()])
				if dtype == tensor.Int32 {
					v, _ := tensor.Of[int32](dst)
					got = v[at]
				} else {
					want = min(want, 255)
				}
				if got != want {
					t.Fatalf("%s, shape %v, window %v, mirror %b: got %d at %v, want %d", dtype, shape, spans, mirror, got, index, want)
				}
			})
			if dst.Len() > 0 && job.Inside() != inside {
				t.Fatalf("window %v of %v: Inside is %t", spans, shape, job.Inside())
			}
		}
	})
}

func TestErase(t *testing.T) {
	var eraser region.Eraser
	rapid.Check(t, func(t *rapid.T) {
		shape, spans, _ := draw(t)
		for i := range spans {
			spans[i] = spans[i].Clip(shape[i])
		}
		channels := rapid.IntRange(0, len(shape)-1).Draw(t, "channels")
		values := []byte{7}
		inner := 1
		if rapid.Bool().Draw(t, "each") {
			values = values[:0]
			for c := range shape[channels] {
				values = append(values, byte(10+c))
			}
			for _, d := range shape[channels+1:] {
				inner *= d
			}
		}
		dst := tensor.New(tensor.Uint8, shape...)
		eraser.Run(dst.Data, values, 1, inner, shape, spans)
		each(shape, func(index []int, at int) {
			want := values[index[channels]%len(values)]
			for i, k := range index {
				if k < spans[i].Start || k >= spans[i].Start+spans[i].Size {
					want = 0
				}
			}
			if dst.Data[at] != want {
				t.Fatalf("shape %v, window %v: got %d at %v, want %d", shape, spans, dst.Data[at], index, want)
			}
		})
	})
}

func TestValues(t *testing.T) {
	for _, c := range []struct {
		dtype tensor.DType
		want  []byte
	}{
		{tensor.Uint8, []byte{94, 44, 253, 2}},
		{tensor.Int8, []byte{94, 44, 253, 2}},
		{tensor.Float16, []byte{0xea, 0x55, 0xb0, 0x5c, 0x00, 0xc2, 0x00, 0x41}},
	} {
		if got, err := region.Values(c.dtype, []float64{94.6, 300, -3, 2.5}); err != nil || string(got) != string(c.want) {
			t.Errorf("%s: got %x, %v; want %x", c.dtype, got, err, c.want)
		}
	}
}

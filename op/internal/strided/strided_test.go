package strided_test

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/op/internal/strided"
	"github.com/bivouac-ml/bivouac/tensor"
)

// define copies element by element.
func define(dst []byte, ds []int, src []byte, ss []int, shape []int, size int) {
	if len(shape) == 0 {
		copy(dst[:size], src)
		return
	}
	for i := range shape[0] {
		define(dst[i*ds[0]*size:], ds[1:], src[i*ss[0]*size:], ss[1:], shape[1:], size)
	}
}

func numbered(n int) []byte {
	b := tensor.New(tensor.Uint64, n/8+1).Data[:n]
	for i := range b {
		b[i] = byte(i*7 + i>>8)
	}
	return b
}

// TestCopyLaw copies between arrays whose axes lie in any order, with gaps, and
// with axes that repeat.
func TestCopyLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := rapid.SliceOfN(rapid.SampledFrom([]int{0, 1, 1, 2, 3, 3, 5, 70}), 0, 5).Draw(t, "shape")
		for tensor.Shape(shape).Len() > 1<<20 {
			shape = shape[1:]
		}
		size := rapid.SampledFrom([]int{1, 2, 4, 8, 16, 3}).Draw(t, "size")
		layout := func(name string, repeat bool) (strides []int, n int) {
			strides, n = make([]int, len(shape)), 1
			axes := make([]int, len(shape))
			for i := range axes {
				axes[i] = i
			}
			for _, i := range rapid.Permutation(axes).Draw(t, name) {
				if repeat && rapid.IntRange(0, 5).Draw(t, "repeat") == 0 {
					continue
				}
				strides[i] = n
				n = n*max(shape[i], 1) + rapid.IntRange(0, 1).Draw(t, "gap")
			}
			return strides, n
		}
		ds, dn := layout("dst", false)
		ss, sn := layout("src", true)
		src := numbered(sn * size)
		got, want := numbered(dn*size), numbered(dn*size)
		strided.Copy(got, ds, src, ss, shape, size)
		define(want, ds, src, ss, shape, size)
		if !bytes.Equal(got, want) {
			t.Fatalf("shape %v of %d bytes, %v from %v", shape, size, ds, ss)
		}
	})
}

func TestCopyAllocates(t *testing.T) {
	shape := []int{3, 40, 50}
	dst, src := numbered(6000), numbered(6000)
	var buf [8]int
	if n := testing.AllocsPerRun(10, func() {
		strided.Copy(dst, strided.Contiguous(buf[:0], shape), src, []int{1, 150, 3}, shape, 1)
	}); n > 0 {
		t.Errorf("%g allocations", n)
	}
}

func BenchmarkCopy(b *testing.B) {
	const h, w = 375, 500
	for _, c := range []struct {
		name     string
		shape    []int
		dst, src []int
		size     int
	}{
		{"HWC to CHW", []int{3, h, w}, []int{h * w, w, 1}, []int{1, 3 * w, 3}, 1},
		{"CHW to HWC", []int{h, w, 3}, []int{3 * w, 3, 1}, []int{w, 1, h * w}, 1},
		{"WHC", []int{w, h, 3}, []int{3 * h, 3, 1}, []int{3, 3 * w, 1}, 1},
		{"HW to WH float32", []int{w, h}, []int{h, 1}, []int{1, w}, 4},
		{"window", []int{h - 50, w - 50, 3}, []int{3 * (w - 50), 3, 1}, []int{3 * w, 3, 1}, 1},
	} {
		b.Run(c.name, func(b *testing.B) {
			n := h * w * 3 * c.size
			dst, src := numbered(n), numbered(n)
			b.SetBytes(int64(tensor.Shape(c.shape).Len() * c.size))
			for b.Loop() {
				strided.Copy(dst, c.dst, src, c.src, c.shape, c.size)
			}
		})
	}
}

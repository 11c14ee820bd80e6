//go:build !bivouac_wheel

package main

import (
	"context"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// TestHistogramLaw draws arrays: all finite values are counted, each in the bin that has it.
func TestHistogramLaw(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		value := rapid.OneOf(rapid.Float64(), rapid.Float64Range(-1, 1), rapid.SampledFrom([]float64{0, 1, math.NaN(),
			math.Inf(1), math.Inf(-1), math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64, math.Nextafter(1, 2)}))
		list := rapid.SliceOfN(value, 0, 40).Draw(rt, "values")
		h := &histogram{}
		if err := h.fill(rapid.IntRange(1, mostBins).Draw(rt, "bins"), func(do func(float64)) error {
			for _, v := range list {
				do(v)
			}
			return nil
		}); err != nil {
			rt.Fatal(err)
		}
		var finite []float64
		for _, v := range list {
			if !math.IsNaN(v) && !math.IsInf(v, 0) {
				finite = append(finite, v)
			}
		}
		if h.Elements != int64(len(list)) || h.Finite != int64(len(finite)) || h.Elements != h.Finite+h.NaN+h.Infinite {
			rt.Fatalf("%+v", h)
		}
		if len(finite) == 0 {
			if len(h.Bins) != 0 || h.Min != nil {
				rt.Fatalf("%+v", h)
			}
			return
		}
		if *h.Min != slices.Min(finite) || *h.Max != slices.Max(finite) {
			rt.Fatalf("from %v to %v", *h.Min, *h.Max)
		}
		last := len(h.Bins) - 1
		if h.Bins[0].From != *h.Min || h.Bins[last].To != *h.Max {
			rt.Fatalf("ends of %+v", h.Bins)
		}
		for i, b := range h.Bins {
			want := int64(0)
			for _, v := range finite {
				if v >= b.From && (v < b.To || i == last && v <= b.To) {
					want++
				}
			}
			if b.Count != want {
				rt.Fatalf("bin %d, %v to %v, has %d, want %d", i, b.From, b.To, b.Count, want)
			}
			if i > 0 && b.From != h.Bins[i-1].To || i < last && b.From >= b.To {
				rt.Fatalf("bin %d does not continue: %+v", i, h.Bins)
			}
		}
	})
}

// histogramOf returns the histogram of the leaf w.
func histogramOf(t rapid.TB, path string, bins int) *histogram {
	r, err := checkpoint.OpenReader(context.Background(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close() //nolint:errcheck // only read
	l, err := r.Leaf("w")
	if err != nil {
		t.Fatal(err)
	}
	h, err := newHistogram(context.Background(), r, l, bins)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// TestHistogramOfLargeArrays reads arrays of several pieces and types, and checks the numbers.
func TestHistogramOfLargeArrays(t *testing.T) {
	const n = 3 << 20
	big := tensor.New(tensor.Float32, n/4, 4)
	for i := range n {
		v := math.Float32bits(float32(i))
		copy(big.Data[4*i:], []byte{byte(v), byte(v >> 8), byte(v >> 16), byte(v >> 24)})
	}
	path := filepath.Join(t.TempDir(), "c")
	if err := checkpoint.Save(t.Context(), path, map[string]any{"w": big}, nil); err != nil {
		t.Fatal(err)
	}
	h := histogramOf(t, path, 32)
	mean, std := float64(n-1)/2, math.Sqrt((float64(n)*float64(n)-1)/12)
	if h.Elements != n || *h.Min != 0 || *h.Max != n-1 || math.Abs(*h.Mean-mean) > 1e-6 || math.Abs(*h.Std-std) > 1e-6 {
		t.Errorf("%+v, mean %v, std %v; want %v, %v", h, *h.Mean, *h.Std, mean, std)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	r, err := checkpoint.OpenReader(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close() //nolint:errcheck // only read
	l, _ := r.Leaf("w")
	if _, err := newHistogram(ctx, r, l, 32); err == nil {
		t.Error("a browser that has gone does not end the histogram")
	}
	l.DType = tensor.Complex64
	if _, err := newHistogram(t.Context(), r, l, 32); errs.KindOf(err) != errs.Unsupported {
		t.Errorf("complex numbers: %v", err)
	}
}

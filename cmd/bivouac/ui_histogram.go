//go:build !bivouac_wheel

package main

import (
	"context"
	"math"
	"slices"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// histogram describes the values of an array.
type histogram struct {
	Leaf     string   `json:"leaf"`
	DType    string   `json:"dtype"`
	Shape    []int    `json:"shape"`
	Elements int64    `json:"elements"`
	Finite   int64    `json:"finite"`
	NaN      int64    `json:"nan"`
	Infinite int64    `json:"infinite"`
	Zeros    int64    `json:"zeros"`
	Min      *float64 `json:"min,omitempty"` // of the finite values; absent without any
	Max      *float64 `json:"max,omitempty"`
	Mean     *float64 `json:"mean,omitempty"` // absent if it is beyond the range of float64
	Std      *float64 `json:"std,omitempty"`  // of all elements, not of a sample of more
	Bins     []bin    `json:"bins"`
}

// bin counts the values from From to below To; the last one has its To too.
type bin struct {
	From  float64 `json:"from"`
	To    float64 `json:"to"`
	Count int64   `json:"count"`
}

const (
	usualBins = 32
	mostBins  = 512
	pieceRead = 4 << 20 // bytes that are read at a time
)

// newHistogram describes an array.
func newHistogram(ctx context.Context, r *checkpoint.Reader, l checkpoint.LeafInfo, bins int) (*histogram, error) {
	if l.Err != nil {
		return nil, l.Err
	}
	if l.DType == tensor.Invalid || l.DType.IsComplex() {
		return nil, &errs.Error{Kind: errs.Unsupported, Op: "ui", Subject: "leaf " + l.Param,
			Want: "an array of real numbers", Got: l.Kind.String() + " " + l.DType.String()}
	}
	h := &histogram{Leaf: l.Path.String(), DType: l.DType.String(), Shape: append([]int{}, l.Shape...), Bins: []bin{}}
	return h, h.fill(bins, func(do func(float64)) error { return values(ctx, r, l, do) })
}

// fill reads the values twice: for their ends, and for the bins between them.
func (h *histogram) fill(bins int, values func(do func(float64)) error) error {
	low, high := math.Inf(1), math.Inf(-1)
	// The mean by Welford's method: a sum of squares would lose the digits of a small spread.
	mean, squares := 0.0, 0.0
	err := values(func(v float64) {
		h.Elements++
		switch {
		case math.IsNaN(v):
			h.NaN++
			return
		case math.IsInf(v, 0):
			h.Infinite++
			return
		case v == 0:
			h.Zeros++
		}
		h.Finite++
		low, high = min(low, v), max(high, v)
		d := v - mean
		mean += d / float64(h.Finite)
		squares += d * (v - mean)
	})
	if err != nil || h.Finite == 0 {
		return err
	}
	h.Min, h.Max = &low, &high
	if std := math.Sqrt(squares / float64(h.Finite)); !math.IsNaN(mean) && !math.IsInf(mean, 0) {
		h.Mean = &mean
		if !math.IsNaN(std) && !math.IsInf(std, 0) {
			h.Std = &std
		}
	}
	if low == high {
		h.Bins = []bin{{low, high, h.Finite}}
		return nil
	}
	for i := range bins {
		h.Bins = append(h.Bins, bin{From: between(low, high, i, bins), To: between(low, high, i+1, bins)})
	}
	// A bin that is narrower than the numbers are apart is empty or has one value. It goes.
	h.Bins = slices.CompactFunc(h.Bins, func(a, b bin) bool { return a.From == b.From })
	h.Bins[0].From, h.Bins[len(h.Bins)-1].To = low, high
	for i := range len(h.Bins) - 1 {
		h.Bins[i].To = h.Bins[i+1].From
	}
	counts := make([]int64, len(h.Bins))
	err = values(func(v float64) {
		if v >= low && v <= high { // not NaN
			counts[h.bin(v)]++
		}
	})
	for i, n := range counts {
		h.Bins[i].Count = n
	}
	return err
}

// between returns the beginning of bin i of n. Halves do not overflow.
func between(low, high float64, i, n int) float64 {
	at := float64(i) / float64(n)
	return 2 * (low/2*(1-at) + high/2*at)
}

// bin returns the index of the bin of a value. The arithmetic may be off by one bin.
func (h *histogram) bin(v float64) int {
	n := len(h.Bins)
	low, high := h.Bins[0].From, h.Bins[n-1].To
	i := min(max(int((v/2-low/2)/(high/2-low/2)*float64(n)), 0), n-1)
	for i > 0 && v < h.Bins[i].From {
		i--
	}
	for i < n-1 && v >= h.Bins[i].To {
		i++
	}
	return i
}

// values calls do for each element of an array. It ends soon after ctx has ended.
func values(ctx context.Context, r *checkpoint.Reader, l checkpoint.LeafInfo, do func(float64)) error {
	var data []byte
	for box := range r.Boxes(l, pieceRead) {
		n := tensor.Shape(box.Shape).Len() * l.DType.Size()
		data = slices.Grow(data[:0], n)[:n]
		if err := r.ReadBox(ctx, l, box.Origin, box.Shape, data); err != nil {
			return err
		}
		t := tensor.Tensor{DType: l.DType, Shape: box.Shape, Data: data}
		for i := range t.Len() {
			v, _ := t.Float64(i)
			do(v)
		}
		if err := context.Cause(ctx); err != nil {
			return err
		}
	}
	return nil
}

package image

import (
	"math"
)

// axis is a resampling of one axis: output i is the sum of taps weights[i*taps+k]
// times the input at first[i]+k. Inputs outside the image were folded onto its
// edge, so that every index is valid.
type axis struct {
	taps    int
	first   []int32
	weights []float32
}

// resampler holds the tables and rows of one resize; its memory is reused.
type resampler struct {
	x, y axis
	ring []float32 // the last rows that were resized horizontally
	have []int     // the input row that each slot of the ring holds
	sum  []float32 // the output row in the making
}

// plan fills a with a triangular filter that maps n outputs onto the inputs
// from origin to origin+extent of an axis of size inputs. The filter has a
// radius of one input pixel, or of one output pixel when that is larger and
// antialias is set. (DALI: LINEAR, and TRIANGULAR when minifying.)
func (a *axis) plan(n int, origin, extent float64, size int, antialias bool) {
	scale := extent / float64(n)
	radius := 1.0
	if antialias {
		radius = max(1, scale)
	}
	a.taps = min(int(math.Ceil(2*radius)), size)
	a.first = resize(a.first, n)
	a.weights = resize(a.weights, n*a.taps)
	clear(a.weights)
	reach := int(math.Ceil(2 * radius))
	for i := range n {
		src := (float64(i)+0.5)*scale + origin - 0.5
		start := int(math.Ceil(src - radius))
		first := min(max(start, 0), size-a.taps)
		a.first[i] = int32(first)
		w := a.weights[i*a.taps : (i+1)*a.taps]
		sum := 0.0
		for k := start; k < start+reach; k++ {
			sum += max(0, 1-math.Abs(float64(k)-src)/radius)
		}
		for k := start; k < start+reach; k++ {
			tap := min(max(k, 0), size-1) - first
			w[tap] += float32(max(0, 1-math.Abs(float64(k)-src)/radius) / sum)
		}
	}
}

// region is a part of an image in pixels; its edges may lie between pixels.
type region struct{ y, x, h, w float64 }

// source is an image to resample, of width*channels elements a row, of which
// the region is taken.
type source[T uint8 | float32] struct {
	pixels                  []T
	height, width, channels int
	region                  region
}

// run resamples src to h x w: horizontally first, row by row as the vertical
// pass asks for them, so that what it works on stays in the nearest cache.
func run[T, D uint8 | float32](r *resampler, dst []D, h, w int, src source[T], antialias bool) {
	r.x.plan(w, src.region.x, src.region.w, src.width, antialias)
	r.y.plan(h, src.region.y, src.region.h, src.height, antialias)
	row, slots := w*src.channels, r.y.taps
	r.ring = resize(r.ring, slots*row)
	r.sum = resize(r.sum, row)
	r.have = resize(r.have, slots)
	for i := range r.have {
		r.have[i] = -1
	}
	for y := range h {
		clear(r.sum)
		for k, weight := range r.y.weights[y*slots : (y+1)*slots] {
			if weight == 0 {
				continue
			}
			in := int(r.y.first[y]) + k
			slot := in % slots
			resized := r.ring[slot*row : (slot+1)*row]
			if r.have[slot] != in {
				r.have[slot] = in
				pixels := src.pixels[in*src.width*src.channels : (in+1)*src.width*src.channels]
				if src.channels == 3 {
					horizontalRGB(resized, pixels, &r.x)
				} else {
					horizontal(resized, pixels, &r.x, src.channels)
				}
			}
			addRow(r.sum, resized, weight)
		}
		store(dst[y*row:(y+1)*row], r.sum)
	}
}

// The products below are converted to float32 explicitly: the language then
// forbids to fuse them with the addition, and all machines agree on every bit.

func horizontal[T uint8 | float32](dst []float32, src []T, a *axis, channels int) {
	for i, first := range a.first {
		weights := a.weights[i*a.taps : (i+1)*a.taps]
		for c := range channels {
			var sum float32
			at := int(first)*channels + c
			for _, w := range weights {
				sum += float32(w * float32(src[at]))
				at += channels
			}
			dst[i*channels+c] = sum
		}
	}
}

func horizontalRGB[T uint8 | float32](dst []float32, src []T, a *axis) {
	for i, first := range a.first {
		weights := a.weights[i*a.taps : (i+1)*a.taps]
		pixels := src[3*int(first):]
		pixels = pixels[:3*len(weights)]
		var r, g, b float32
		for _, w := range weights {
			r += float32(w * float32(pixels[0]))
			g += float32(w * float32(pixels[1]))
			b += float32(w * float32(pixels[2]))
			pixels = pixels[3:]
		}
		out := dst[3*i : 3*i+3 : 3*i+3]
		out[0], out[1], out[2] = r, g, b
	}
}

func addRow(sum, row []float32, weight float32) {
	row = row[:len(sum)]
	for i := range sum {
		sum[i] += float32(weight * row[i])
	}
}

// store writes results as they are, or as bytes: rounded half away from zero and saturated.
func store[D uint8 | float32](dst []D, sum []float32) {
	switch dst := any(dst).(type) {
	case []float32:
		copy(dst, sum)
	case []uint8:
		dst = dst[:len(sum)]
		for i, v := range sum {
			dst[i] = uint8(min(max(v, 0), 255) + 0.5)
		}
	}
}

// resize returns s with length n and undefined contents, reallocated when its capacity is less.
func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

package kernel

import "math"

// FindNearest finds the pixels next to points, half a pixel to the even one. After it, Run says
// which of them are in the image and not its last pixel, and Copy copies them.
func (c *Cells) FindNearest(xs, ys []float32) {
	c.index, c.a, c.b = c.index[:len(xs)], c.a[:len(xs)], c.b[:len(xs)]
	ys = ys[:len(xs)]
	n := 0
	small := c.w < exactFloats && c.h < exactFloats && c.w*c.h <= math.MaxInt32
	if small {
		n = nearest(c, xs, ys)
	}
	// The last pixel is left out, so that more bytes than a pixel has can be read.
	last := c.w*c.h - 2
	right, bottom := float32(c.w-1), float32(c.h-1)
	for i := n; i < len(xs); i++ {
		c.index[i] = -1
		fx, fy := float32(math.RoundToEven(float64(xs[i]))), float32(math.RoundToEven(float64(ys[i])))
		if small && fx >= 0 && fx <= right && fy >= 0 && fy <= bottom {
			if at := int(fy)*c.w + int(fx); at <= last {
				c.index[i] = int32(at)
			}
		}
	}
}

// Copy copies n pixels of size bytes that FindNearest found.
func (c *Cells) Copy(dst, src []byte, from, n, size int) {
	src, dst = src[:c.w*c.h*size], dst[:n*size]
	index := c.index[from : from+n]
	checkInside(index)
	for i := copyPixels(dst, src, index, size); i < n; i++ {
		at := int(index[i]) * size
		copy(dst[i*size:(i+1)*size], src[at:at+size])
	}
}

// RoundWords converts float32 to uint16: rounded half to even and saturated; NaN is 0. dst has the
// length of src.
func RoundWords(dst []uint16, src []float32) {
	dst = dst[:len(src)]
	for i := roundWords(dst, src); i < len(src); i++ {
		dst[i] = uint16(roundTo(src[i], 0, math.MaxUint16))
	}
}

// RoundShorts converts float32 to int16: rounded half to even and saturated; NaN is the least. dst
// has the length of src.
func RoundShorts(dst []int16, src []float32) {
	dst = dst[:len(src)]
	for i := roundShorts(dst, src); i < len(src); i++ {
		dst[i] = int16(roundTo(src[i], math.MinInt16, math.MaxInt16))
	}
}

func roundTo(v, least, most float32) int32 {
	if !(v > least) {
		v = least
	}
	return int32(math.RoundToEven(float64(min(v, most))))
}

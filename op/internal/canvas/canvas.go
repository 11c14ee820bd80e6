// Package canvas has the size of an image that was turned.
package canvas

import "math"

// Rotated returns the size of a canvas that holds an image of the given size after a turn by an
// angle of the given sine and cosine. Each extent is even or odd like the input extent that
// contributes most to it, so that the centre stays in the middle or at the corner of a pixel.
func Rotated(height, width int, sin, cos float64) (h, w int) {
	var e [2]Extent
	Turn(&e, height, width, sin, cos)
	return e[0].Size(), e[1].Size()
}

// Turn adds a turn to the height and the width of a canvas that holds several turned images.
func Turn(e *[2]Extent, height, width int, sin, cos float64) {
	along, across := math.Abs(cos), math.Abs(sin)
	in := [2]int{height, width}
	for i := range in {
		a, b := in[i], in[1-i]
		dominant := a
		if across > along {
			dominant = b
		}
		e[i].Add(int(math.Ceil(float64(along*float64(a))+float64(across*float64(b))-0.01)), dominant)
	}
}

// Extent is an extent of a canvas for several images. It is odd if most of the images want it odd.
type Extent struct{ largest, odd, images int }

// Add adds an image of the given extent. The extent of the canvas should be even or odd like
// dominant.
func (e *Extent) Add(extent, dominant int) {
	e.largest, e.images, e.odd = max(e.largest, extent), e.images+1, e.odd+dominant%2
}

// Size returns the extent.
func (e *Extent) Size() int {
	want := 0
	if 2*e.odd > e.images {
		want = 1
	}
	if e.largest%2 != want {
		return e.largest + 1
	}
	return e.largest
}

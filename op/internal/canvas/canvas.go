// Package canvas has the size of an image that was turned.
package canvas

import "math"

// Rotated returns the size of a canvas that holds an image of the given size after a turn by an
// angle of the given sine and cosine. Each extent is even or odd like the input extent that
// contributes most to it, so that the centre stays in the middle or at the corner of a pixel.
func Rotated(height, width int, sin, cos float64) (h, w int) {
	along, across := math.Abs(cos), math.Abs(sin)
	extent := func(a, b int) int {
		e := max(int(math.Ceil(float64(along*float64(a))+float64(across*float64(b))-0.01)), 0)
		dominant := a
		if across > along {
			dominant = b
		}
		if e%2 != dominant%2 {
			e++
		}
		return e
	}
	return extent(height, width), extent(width, height)
}

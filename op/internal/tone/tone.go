// Package tone has the arithmetic of colours that several packages of operators share.
package tone

import (
	"math"

	"github.com/bivouac-ml/bivouac/internal/libm"
)

// Equalize returns the new value of each value of a channel of n pixels, at least one, whose values
// are counted. Every value becomes the share of pixels up to it, without the pixels of the smallest
// value.
func Equalize(counts *[256]int32, n int) (table [256]byte) {
	first := 0
	for counts[first] == 0 {
		first++
	}
	if int(counts[first]) == n {
		table[first] = byte(first)
		return table
	}
	scale := 255 / float32(n-int(counts[first]))
	sum := int32(0)
	for i := first + 1; i < 256; i++ {
		sum += counts[i]
		table[i] = byte(min(math.RoundToEven(float64(float32(sum)*scale)), 255))
	}
	return table
}

// Matrix is a linear map of three channels in float32.
type Matrix [3][3]float32

// The conversions to and from the colour space YIQ, in which hue is an angle and saturation is a
// length. The second is the inverse of the first as DALI computes it in float32: its last bits are
// fitted to what DALI returns.
var (
	toYIQ   = Matrix{{.299, .587, .114}, {.596, -.274, -.321}, {.211, -.523, .311}}
	fromYIQ = Matrix{{0x1.ffd402p-1, 0x1.e9bfc4p-1, 0x1.3de196p-1}, {0x1.ffced4p-1, -0x1.16cf1ep-2, -0x1.4b7ebcp-1},
		{0x1.00b84ep0, -0x1.1b5a64p0, 0x1.b49576p0}}
)

// times returns the product of a and b. Each product and each sum is rounded.
func (a Matrix) times(b Matrix) (out Matrix) {
	for i := range 3 {
		for j := range 3 {
			out[i][j] = float32(a[i][0]*b[0][j]) + float32(a[i][1]*b[1][j]) + float32(a[i][2]*b[2][j])
		}
	}
	return out
}

// Twist returns the map of RGB that turns the hue by an angle in degrees, and multiplies the
// saturation, the value and the brightness.
func Twist(degrees float64, saturation, value, light float32) Matrix {
	sin, cos := libm.Sincos(float32(degrees * math.Pi / 180))
	return Matrix{{light, 0, 0}, {0, light, 0}, {0, 0, light}}.times(fromYIQ).
		times(Matrix{{1, 0, 0}, {0, cos, sin}, {0, -sin, cos}}).
		times(Matrix{{1, 0, 0}, {0, saturation, 0}, {0, 0, saturation}}).
		times(Matrix{{value, 0, 0}, {0, value, 0}, {0, 0, value}}).times(toYIQ)
}

// Reflect returns the pixel of n that stands for pixel i: the pixels outside are those inside in
// reverse order, without the pixel at the edge.
func Reflect(i, n int) int {
	if n == 1 {
		return 0
	}
	i %= 2 * (n - 1)
	if i < 0 {
		i += 2 * (n - 1)
	}
	if i >= n {
		i = 2*(n-1) - i
	}
	return i
}

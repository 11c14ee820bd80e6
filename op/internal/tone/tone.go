// Package tone has the arithmetic of colours that several packages of operators share.
package tone

import "math"

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

// The conversions to and from the colour space YIQ, in which hue is an angle and saturation is a
// length.
var (
	toYIQ   = [3][3]float64{{.299, .587, .114}, {.596, -.274, -.321}, {.211, -.523, .311}}
	fromYIQ = inverse(toYIQ)
)

// Twist returns the linear map of RGB that turns the hue by an angle in degrees and multiplies the
// saturation.
func Twist(degrees, saturation float64) [3][3]float64 {
	sin, cos := math.Sincos(degrees * math.Pi / 180)
	return product(product(fromYIQ, [3][3]float64{{1, 0, 0}, {0, cos, sin}, {0, -sin, cos}}),
		product([3][3]float64{{1, 0, 0}, {0, saturation, 0}, {0, 0, saturation}}, toYIQ))
}

func inverse(m [3][3]float64) (out [3][3]float64) {
	minor := func(i, j int) float64 {
		a, b, c, d := (i+1)%3, (i+2)%3, (j+1)%3, (j+2)%3
		return m[a][c]*m[b][d] - m[a][d]*m[b][c]
	}
	determinant := m[0][0]*minor(0, 0) + m[0][1]*minor(0, 1) + m[0][2]*minor(0, 2)
	for i := range 3 {
		for j := range 3 {
			out[j][i] = minor(i, j) / determinant
		}
	}
	return out
}

func product(a, b [3][3]float64) (out [3][3]float64) {
	for i := range 3 {
		for j := range 3 {
			for k := range 3 {
				out[i][j] += float64(a[i][k] * b[k][j])
			}
		}
	}
	return out
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

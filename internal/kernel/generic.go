package kernel

import "math"

// The definitions. Products are converted to float32 before they are added. The language then
// forbids fusing them, and all machines agree on every bit.

func widenGeneric(dst []float32, src []byte) {
	dst = dst[:len(src)]
	for i, v := range src {
		dst[i] = float32(v)
	}
}

// magic has no room for fractions: adding and subtracting it rounds half to even.
const magic = 3 << 22

func roundBytesGeneric(dst []byte, src []float32) {
	dst = dst[:len(src)]
	for i, v := range src {
		if !(v > 0) {
			v = 0
		}
		if v > 255 {
			v = 255
		}
		dst[i] = byte(float32(v+magic) - magic)
	}
}

func roundBytesAwayGeneric(dst []byte, src []float32) {
	dst = dst[:len(src)]
	for i, v := range src {
		d := float64(v) + 0.5 // exact, so that nothing below a half becomes 1
		if !(d > 0) {
			d = 0
		}
		if d > 255 {
			d = 255
		}
		dst[i] = byte(int32(d))
	}
}

func weighFloatsGeneric(dst, base []float32, offsets []int, weights []float32) {
	w := weights[0]
	for j, v := range base[offsets[0] : offsets[0]+len(dst)] {
		dst[j] = w * v
	}
	for k := 1; k < len(weights); k++ {
		w := weights[k]
		row := base[offsets[k] : offsets[k]+len(dst)]
		for j := range dst {
			dst[j] += float32(w * row[j])
		}
	}
}

func weighBytesGeneric(dst []float32, base []byte, offsets []int, weights []float32) {
	w := weights[0]
	for j, v := range base[offsets[0] : offsets[0]+len(dst)] {
		dst[j] = w * float32(v)
	}
	for k := 1; k < len(weights); k++ {
		w := weights[k]
		row := base[offsets[k] : offsets[k]+len(dst)]
		for j := range dst {
			dst[j] += float32(w * float32(row[j]))
		}
	}
}

func fuseFloatsGeneric(dst, base []float32, offsets []int, weights []float32) {
	w := weights[0]
	for j, v := range base[offsets[0] : offsets[0]+len(dst)] {
		dst[j] = w * v
	}
	for k := 1; k < len(weights); k++ {
		row := base[offsets[k] : offsets[k]+len(dst)]
		for j := range dst {
			dst[j] = Fuse(weights[k], row[j], dst[j])
		}
	}
}

func fuseBytesGeneric(dst []float32, base []byte, offsets []int, weights []float32) {
	w := weights[0]
	for j, v := range base[offsets[0] : offsets[0]+len(dst)] {
		dst[j] = w * float32(v)
	}
	for k := 1; k < len(weights); k++ {
		row := base[offsets[k] : offsets[k]+len(dst)]
		for j := range dst {
			dst[j] = Fuse(weights[k], float32(row[j]), dst[j])
		}
	}
}

// Fuse returns a*b + c, rounded once. The product of two float32 is exact in float64. If the sum
// is not, its last bit is set (it is rounded to odd), so that the second rounding is right.
func Fuse(a, b, c float32) float32 {
	product, addend := float64(a)*float64(b), float64(c)
	sum := product + addend
	other := sum - product
	rest := (product - (sum - other)) + (addend - other)
	if bits := math.Float64bits(sum); rest != 0 && rest == rest && bits&1 == 0 {
		if (rest > 0) == (sum > 0) {
			bits++
		} else {
			bits--
		}
		sum = math.Float64frombits(bits)
	}
	return float32(sum)
}

func gatherPixelsGeneric(dst, src []float32, first []int32, weights []float32, taps, channels int) {
	if channels == 4 {
		gatherAny(dst, src, first, weights, taps, channels)
		return
	}
	for i, f := range first {
		w := weights[i*taps : (i+1)*taps]
		pixels := src[3*int(f):]
		pixels = pixels[:3*len(w)]
		r, g, b := w[0]*pixels[0], w[0]*pixels[1], w[0]*pixels[2]
		for _, w := range w[1:] {
			pixels = pixels[3:]
			r += float32(w * pixels[0])
			g += float32(w * pixels[1])
			b += float32(w * pixels[2])
		}
		out := dst[3*i : 3*i+3 : 3*i+3]
		out[0], out[1], out[2] = r, g, b
	}
}

func gatherAny(dst, src []float32, first []int32, weights []float32, taps, channels int) {
	for i, f := range first {
		w := weights[i*taps : (i+1)*taps]
		for c := range channels {
			at := int(f)*channels + c
			sum := w[0] * src[at]
			for _, w := range w[1:] {
				at += channels
				sum += float32(w * src[at])
			}
			dst[i*channels+c] = sum
		}
	}
}

func normalizeGeneric(dst []float32, stride int, src []byte, n int, mean, factor *[3]float32, reversed bool) {
	for c := range 3 {
		m, f := mean[c], factor[c]
		plane := dst[c*stride : c*stride+n]
		if reversed {
			for i, j := c, n-1; j >= 0; i, j = i+3, j-1 {
				plane[j] = (float32(src[i]) - m) * f
			}
			continue
		}
		for i, j := c, 0; j < n; i, j = i+3, j+1 {
			plane[j] = (float32(src[i]) - m) * f
		}
	}
}

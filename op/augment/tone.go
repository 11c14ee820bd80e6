package augment

import (
	"math"

	"github.com/bivouac-ml/bivouac/internal/kernel"
	"github.com/bivouac-ml/bivouac/op/internal/tone"
)

const channels = 3

// table is the new value of each byte.
type table [256]byte

// look writes the new values of src.
func (t *table) look(dst, src []byte) { kernel.Look(dst, src, (*[256]byte)(t)) }

// lookEach writes the new values of src, with a table for each channel.
func lookEach(dst, src []byte, t *[channels]table) {
	tables := [channels][256]byte{t[0], t[1], t[2]}
	kernel.Look3(dst, src, &tables)
}

// fromFloats sets t to floats, rounded half away from zero.
func (t *table) fromFloats(values *[256]float32) { kernel.RoundBytesAway(t[:], values[:]) }

// linear sets t to in * factor + offset.
func (t *table) linear(factor, offset float32, values *[256]float32) {
	for i := range values {
		values[i] = float32(float32(i)*factor) + offset
	}
	t.fromFloats(values)
}

// around sets t to center + (in - center) * factor.
func (t *table) around(center, factor float32, values *[256]float32) {
	for i := range values {
		values[i] = center + float32((float32(i)-center)*factor)
	}
	t.fromFloats(values)
}

// mask sets t to the highest bits of each value.
func (t *table) mask(bits int) {
	keep := byte(0xff << (8 - bits))
	for i := range t {
		t[i] = byte(i) & keep
	}
}

// above sets t so that values from the threshold on are inverted.
func (t *table) above(threshold float64) {
	for i := range t {
		t[i] = byte(i)
		if float64(i) >= threshold {
			t[i] = 255 - byte(i)
		}
	}
}

// below sets t so that values below 128 grow by shift.
func (t *table) below(shift int) {
	for i := range t {
		t[i] = byte(i)
		if i < 128 {
			t[i] = byte(i + shift)
		}
	}
}

func (t *table) invert() {
	for i := range t {
		t[i] = 255 - byte(i)
	}
}

// bits is the number of bits that posterize keeps: at least one.
func bits(magnitude float32) int {
	return int(min(max(math.RoundToEven(float64(magnitude)), 1), 8))
}

// counts counts the values of each channel of a picture.
func counts(src []byte, n *[channels][256]int32) {
	*n = [channels][256]int32{}
	for len(src) >= channels {
		n[0][src[0]]++
		n[1][src[1]]++
		n[2][src[2]]++
		src = src[channels:]
	}
}

// equalize sets tables to those that spread the values evenly.
func (p *painter) equalize(src []byte) {
	counts(src, &p.counts)
	for c := range p.tables {
		p.tables[c] = tone.Equalize(&p.counts[c], len(src)/channels)
	}
}

// stretch sets tables to those that spread the values from the least to the largest over the range.
func (p *painter) stretch(src []byte) {
	counts(src, &p.counts)
	for c := range p.tables {
		lo, hi := extremes(&p.counts[c])
		p.tables[c] = table{}
		scale, from := float32(1), 0
		if hi > lo {
			scale, from = 255/float32(hi-lo), lo
		}
		for i := range p.values {
			p.values[i] = float32(float32(max(i-from, 0)) * scale)
		}
		p.tables[c].fromFloats(&p.values)
	}
}

func extremes(n *[256]int32) (lo, hi int) {
	lo, hi = 0, 255
	for lo < 255 && n[lo] == 0 {
		lo++
	}
	for hi > lo && n[hi] == 0 {
		hi--
	}
	return lo, hi
}

// weights are the weights of red, green and blue in the brightness of a pixel.
var weights = [channels]float32{0.299, 0.587, 0.114}

// center returns the weighted mean of all pixels, of a gray image their mean.
func (p *painter) center(src []byte) float32 {
	var sums [channels]int64
	n := len(src) / channels
	for len(src) >= channels {
		sums[0] += int64(src[0])
		sums[1] += int64(src[1])
		sums[2] += int64(src[2])
		src = src[channels:]
	}
	if p.gray {
		return float32(float64(sums[0]) / float64(n))
	}
	total := 0.0
	for c, w := range weights {
		mean := float32(float64(sums[c]) / float64(n))
		total += float64(float32(mean * w))
	}
	return float32(total)
}

// saturate multiplies the saturation of the pixels by factor.
func (p *painter) saturate(dst, src []byte, factor float32) {
	f := tone.Twist(0, factor, 1, 1)
	for len(src) > 0 {
		part := p.row[:min(len(p.row), len(src))]
		kernel.Widen(part, src[:len(part)])
		for q := part; len(q) >= channels; q = q[channels:] {
			r, g, b := q[0], q[1], q[2]
			q[0] = float32(f[0][0]*r) + float32(f[0][1]*g) + float32(f[0][2]*b)
			q[1] = float32(f[1][0]*r) + float32(f[1][1]*g) + float32(f[1][2]*b)
			q[2] = float32(f[2][0]*r) + float32(f[2][1]*g) + float32(f[2][2]*b)
		}
		kernel.RoundBytesAway(dst[:len(part)], part)
		src, dst = src[len(part):], dst[len(part):]
	}
}

// sharpen adds to each pixel its difference from the mean around it, times amount.
func (p *painter) sharpen(dst, src []byte, h, w int, amount float32) {
	pitch := (w + 2) * channels
	p.padded = grow(p.padded, (h+2)*pitch)
	for y := range h + 2 {
		row := p.padded[y*pitch : (y+1)*pitch]
		from := src[tone.Reflect(y-1, h)*w*channels:][:w*channels]
		copy(row[channels:], from)
		copy(row[:channels], from[tone.Reflect(-1, w)*channels:])
		copy(row[pitch-channels:], from[tone.Reflect(w, w)*channels:][:channels])
	}
	p.offsets, p.factors = p.offsets[:0], p.factors[:0]
	for i := range 9 {
		blur, ident := float32(1)/13, float32(0)
		if i == 4 {
			blur, ident = float32(5)/13, 1
		}
		if f := float32(-amount*blur) + float32((1+amount)*ident); f != 0 {
			p.offsets, p.factors = append(p.offsets, i/3*pitch+i%3*channels), append(p.factors, f)
		}
	}
	if len(p.factors) == 0 {
		p.offsets, p.factors = append(p.offsets, 0), append(p.factors, 0)
	}
	p.sums = grow(p.sums, w*channels)
	fused := len(p.sums) &^ 3 // these the filter operator computes several at a time
	if p.gray {
		fused = w &^ 3 * channels
	}
	for y := range h {
		base := p.padded[y*pitch:]
		kernel.FuseBytes(p.sums[:fused], base, p.offsets, p.factors)
		kernel.WeighBytes(p.sums[fused:], base[fused:], p.offsets, p.factors)
		kernel.RoundBytes(dst[y*w*channels:(y+1)*w*channels], p.sums)
	}
}

func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

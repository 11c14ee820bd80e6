package video

import "strings"

// format describes planes of luma and chroma as ffmpeg writes them.
type format struct {
	down, right int // how many times fewer rows and columns the chroma has, as a power of two
	bits        int
	gray        bool
}

// packed is the format of pixels that need no conversion.
const packed = "rgb24"

// formats are the formats that are converted here, under ffmpeg's names.
var formats = map[string]format{
	"yuv420p": {1, 1, 8, false}, "yuvj420p": {1, 1, 8, false},
	"yuv422p": {0, 1, 8, false}, "yuvj422p": {0, 1, 8, false},
	"yuv444p": {0, 0, 8, false}, "yuvj444p": {0, 0, 8, false},
	"yuv440p": {1, 0, 8, false}, "yuvj440p": {1, 0, 8, false},
	"yuv420p10le": {1, 1, 10, false}, "yuv422p10le": {0, 1, 10, false}, "yuv444p10le": {0, 0, 10, false},
	"yuv420p12le": {1, 1, 12, false}, "yuv422p12le": {0, 1, 12, false}, "yuv444p12le": {0, 0, 12, false},
	"gray": {0, 0, 8, true},
}

// choosePixels returns the format of pixels to ask ffmpeg for. What is not converted here, such as
// palettes, ffmpeg converts to RGB.
func choosePixels(pixels, colorRange string) (ask string, full bool) {
	full = colorRange == "pc" || strings.HasPrefix(pixels, "yuvj") || pixels == "gray" && colorRange != "tv"
	switch pixels {
	case "nv12", "nv21":
		return "yuv420p", full
	}
	if _, ok := formats[pixels]; ok {
		return pixels, full
	}
	return packed, true
}

// chroma returns the size of the planes of chroma.
func (f format) chroma(width, height int) (w, h int) {
	return (width + 1<<f.right - 1) >> f.right, (height + 1<<f.down - 1) >> f.down
}

// frameSize returns the bytes of a frame as ffmpeg writes it.
func (x *Index) frameSize() int {
	if x.pixels == packed {
		return x.Width * x.Height * 3
	}
	f := formats[x.pixels]
	n := x.Width * x.Height
	if !f.gray {
		w, h := f.chroma(x.Width, x.Height)
		n += 2 * w * h
	}
	return n * ((f.bits + 7) / 8)
}

// planes converts frames to RGB. It keeps memory.
type planes struct {
	rows [2][]int16 // chroma of a row of pixels, times 16, minus middle
	sums [2][]int16 // chroma of a row of samples, times 4, with a copy of the first and of the last

	across []tap   // of the columns of chroma, for sizes that are no multiple of the chroma's
	wide   []int64 // chroma of a row of samples
}

// toRGB writes a frame as RGB.
func (p *planes) toRGB(dst, src []byte, x *Index) {
	if x.pixels == packed {
		copy(dst, src)
		return
	}
	f, w, h := formats[x.pixels], x.Width, x.Height
	c := studio
	if x.full {
		c = whole
	}
	if f.bits > 8 || f.right > 0 && w%2 > 0 || f.down > 0 && h%2 > 0 {
		p.general(dst, src, f, w, h, &c)
		return
	}
	luma := src[:w*h]
	if f.gray {
		for i, y := range luma {
			v := c.gray(y)
			dst[3*i], dst[3*i+1], dst[3*i+2] = v, v, v
		}
		return
	}
	cw, ch := f.chroma(w, h)
	chroma := [2][]byte{src[w*h : w*h+cw*ch], src[w*h+cw*ch:][:cw*ch]}
	for i := range 2 {
		p.rows[i], p.sums[i] = grow(p.rows[i], w), grow(p.sums[i], cw+2)
	}
	for y := range h {
		for i := range 2 {
			f.column(p.sums[i], chroma[i], y, cw, ch)
			f.row(p.rows[i], p.sums[i])
		}
		c.convert(dst[3*w*y:3*w*(y+1)], luma[w*y:w*(y+1)], p.rows[0], p.rows[1])
	}
}

func grow(b []int16, n int) []int16 {
	if cap(b) < n {
		return make([]int16, n)
	}
	return b[:n]
}

// column interpolates the rows of chroma at row y of the pixels.
func (f format) column(sums []int16, plane []byte, y, cw, ch int) {
	to := sums[1 : cw+1]
	if f.down == 0 {
		for i, v := range plane[cw*y : cw*(y+1)] {
			to[i] = int16(v) << 2
		}
	} else {
		near := y / 2
		far := min(max(near-1+2*(y&1), 0), ch-1) // the row of samples on the other side
		columnSums(to, plane[cw*near:cw*(near+1)], plane[cw*far:cw*(far+1)])
	}
	sums[0], sums[cw+1] = to[0], to[cw-1]
}

// columnSumsGeneric adds three times a row of samples and the row on the other side.
func columnSumsGeneric(sums []int16, near, far []byte) {
	sums, far = sums[:len(near)], far[:len(near)]
	for i, v := range near {
		sums[i] = 3*int16(v) + int16(far[i])
	}
}

// row interpolates the columns of chroma.
func (f format) row(out, sums []int16) {
	if f.right == 0 {
		for i, v := range sums[1 : len(sums)-1] {
			out[i] = v<<2 - middle
		}
		return
	}
	widenRow(out, sums)
}

// widenRowGeneric makes two numbers of each sum but the first and the last.
func widenRowGeneric(out, sums []int16) {
	for i := 1; i < len(sums)-1; i++ {
		v := 3*sums[i] - middle
		out[2*i-2], out[2*i-1] = v+sums[i-1], v+sums[i+1]
	}
}

// matrix converts luma and chroma to RGB by BT.601. Its fields are words that vector code reads.
type matrix struct {
	luma, offset              int16
	red, greenU, greenV, blue int16
}

const (
	fraction = 13 // bits of the factors
	one      = 1 << fraction
	middle   = 128 * 16 // of chroma, times 16
)

var (
	// whole is for luma and chroma of all values from 0 to 255.
	whole = matrix{luma: one, red: 11485, greenU: 2819, greenV: 5850, blue: 14516}
	// studio is for luma from 16 to 235, and chroma from 16 to 240.
	studio = matrix{luma: 9539, offset: 16, red: 13075, greenU: 3209, greenV: 6660, blue: 16525}
)

// clip bounds a value to 0 to 255.
func clip(v int32) uint8 {
	if uint32(v) > 255 {
		return uint8(^(v >> 31))
	}
	return uint8(v)
}

func (c *matrix) gray(y uint8) uint8 {
	return clip((times(int32(y)-int32(c.offset), 7, c.luma) + 16) >> 5)
}

// times multiplies a number by a factor, and rounds to 1/32 of a level.
func times(v int32, shift uint, factor int16) int32 {
	return (v<<shift*int32(factor) + 1<<14) >> 15
}

// convertGeneric converts a row. u and v are times 16, minus middle.
func (c *matrix) convertGeneric(dst, luma []byte, us, vs []int16) {
	m := *c
	us, vs = us[:len(luma)], vs[:len(luma)]
	dst = dst[:3*len(luma)]
	for i, l := range luma {
		y := times(int32(l)-int32(m.offset), 7, m.luma) + 16
		u, v := int32(us[i]), int32(vs[i])
		p := dst[3*i : 3*i+3 : 3*i+3]
		p[0] = clip((y + times(v, 3, m.red)) >> 5)
		p[1] = clip((y - times(u, 3, m.greenU) - times(v, 3, m.greenV)) >> 5)
		p[2] = clip((y + times(u, 3, m.blue)) >> 5)
	}
}

package webp

import (
	"image"

	"github.com/bivouac-ml/bivouac/codec/raster"
)

// convert writes an image with 4:2:0 chroma to img, with its alpha if img has a fourth channel. A
// chroma sample lies in the middle of four pixels. The chroma of a pixel is 9/16, 3/16, 3/16 and
// 1/16 of the four samples around it, rounded like libwebp's upsampler.
func convert(img *raster.Image, p *image.YCbCr, alpha []uint8, stride int) error {
	w, h := img.Width, img.Height
	uv := [2][]uint8{make([]uint8, 2*w), make([]uint8, 2*w)} // the chroma of two rows of pixels
	chroma := func(i, row int) []uint8 {
		plane := p.Cb
		if i == 1 {
			plane = p.Cr
		}
		return plane[row*p.CStride : row*p.CStride+(w+1)/2]
	}
	write := func(y int, half int) error {
		out := img.Row(w)
		luma := p.Y[y*p.YStride : y*p.YStride+w]
		for x, l := range luma {
			c := out[x*img.Channels : x*img.Channels+3]
			c[0], c[1], c[2] = pixel(int32(l), int32(uv[0][half*w+x]), int32(uv[1][half*w+x]))
		}
		for x := 0; img.Channels == 4 && x < w; x++ {
			out[4*x+3] = 255
			if alpha != nil {
				out[4*x+3] = alpha[y*stride+x]
			}
		}
		return img.Put(y, 0, 1, out)
	}
	last := (h+1)/2 - 1
	for pair := 0; 2*pair-1 < h; pair++ { // rows 2*pair-1 and 2*pair lie between two rows of chroma
		above, below := max(pair-1, 0), min(pair, last)
		for i := range uv {
			upsample(uv[i][:w], uv[i][w:], chroma(i, above), chroma(i, below))
		}
		if y := 2*pair - 1; y >= 0 {
			if err := write(y, 0); err != nil {
				return err
			}
		}
		if y := 2 * pair; y < h {
			if err := write(y, 1); err != nil {
				return err
			}
		}
	}
	return nil
}

// upsample computes the chroma of the two rows of pixels between two rows of chroma samples.
func upsample(first, second, above, below []uint8) {
	w := len(first)
	tl, l := int(above[0]), int(below[0])
	first[0], second[0] = uint8((3*tl+l+2)>>2), uint8((3*l+tl+2)>>2)
	for x := 1; x <= (w-1)/2; x++ {
		t, c := int(above[x]), int(below[x])
		sum := tl + t + l + c + 8
		falling, rising := (sum+2*(t+l))>>3, (sum+2*(tl+c))>>3
		first[2*x-1], first[2*x] = uint8((falling+tl)>>1), uint8((rising+t)>>1)
		second[2*x-1], second[2*x] = uint8((rising+l)>>1), uint8((falling+c)>>1)
		tl, l = t, c
	}
	if w%2 == 0 {
		first[w-1], second[w-1] = uint8((3*tl+l+2)>>2), uint8((3*l+tl+2)>>2)
	}
}

// pixel converts by BT.601 in studio range, in fixed point of 14 bits, 8 of which are dropped after
// each multiplication.
func pixel(y, u, v int32) (r, g, b uint8) {
	high := func(v, factor int32) int32 { return v * factor >> 8 }
	clip := func(v int32) uint8 { return uint8(min(max(v>>6, 0), 255)) }
	l := high(y, 19077)
	return clip(l + high(v, 26149) - 14234), clip(l - high(u, 6419) - high(v, 13320) + 8708), clip(l + high(u, 33050) - 17685)
}

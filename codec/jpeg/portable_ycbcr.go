package jpeg

import (
	"image"
)

// Fixed-point factors of the full-range BT.601 conversion (ITU-T T.871), 16 bits
// after the point.
const (
	fixCrR = 91881  // 1.40200
	fixCbB = 116130 // 1.77200
	fixCrG = 46802  // 0.71414
	fixCbG = 22554  // 0.34414
	half   = 1 << 15
)

// rowsYCbCr returns what writes rows of an image with subsampled chroma as RGB.
// Chroma samples lie in the centres of the luma samples that they cover; where a
// factor is two the upsampled value is 3/4 of the nearer sample and 1/4 of the
// further one, rounded down and up in turn, as libjpeg's fancy upsampling has it.
// Other factors repeat samples.
func (d *portable) rowsYCbCr(img *image.YCbCr, h Header, bgr bool) func(out []uint8, y int) {
	fx, fy := subsampling(img.SubsampleRatio)
	cw, ch := (h.Width+fx-1)/fx, (h.Height+fy-1)/fy
	planes := [2][]uint8{img.Cb, img.Cr}
	for i := range planes {
		d.chroma[i] = grow(d.chroma[i], cw*fx)
		d.sums[i] = grow(d.sums[i], cw)
	}
	return func(out []uint8, y int) {
		near := y / fy
		far := near
		if fy == 2 { // the other neighbour: above for even rows, below for odd ones
			far = min(max(near-1+2*(y&1), 0), ch-1)
		}
		var rows [2][]uint8
		for i, plane := range planes {
			a := plane[near*img.CStride : near*img.CStride+cw]
			b := plane[far*img.CStride : far*img.CStride+cw]
			if rows[i] = d.chroma[i]; fx == 1 && fy == 1 {
				rows[i] = a
				continue
			}
			upsample(rows[i], d.sums[i], a, b, fx, fy, y)
		}
		convertRow(out, img.Y[y*img.YStride:y*img.YStride+h.Width], rows[0], rows[1])
		if bgr {
			for x := 0; x < len(out); x += 3 {
				out[x], out[x+2] = out[x+2], out[x]
			}
		}
	}
}

// upsample makes a chroma row as wide as row y of the luma from the nearer and the
// further row of its plane.
func upsample(dst []uint8, sums []uint16, near, far []uint8, fx, fy, y int) {
	switch {
	case fx == 1 && fy == 2:
		upsampleV(dst, near, far, uint16(1+y&1))
	case fx == 2 && fy == 1 && len(near) > 2:
		upsampleH(dst, near)
	case fx == 2 && fy == 2 && len(near) > 2:
		for x := range sums {
			sums[x] = 3*uint16(near[x]) + uint16(far[x])
		}
		upsampleHV(dst, sums)
	default:
		for x, v := range near {
			for k := range fx {
				dst[x*fx+k] = v
			}
		}
	}
}

// upsampleV interpolates between two rows; bias 1 rounds down, 2 up.
func upsampleV(dst, near, far []uint8, bias uint16) {
	far, dst = far[:len(near)], dst[:len(near)]
	for x, v := range near {
		dst[x] = uint8((3*uint16(v) + uint16(far[x]) + bias) >> 2)
	}
}

// upsampleH doubles a row.
func upsampleH(dst, row []uint8) {
	last := len(row) - 1
	dst = dst[:2*len(row)]
	dst[0] = row[0]
	dst[1] = uint8((3*uint16(row[0]) + uint16(row[1]) + 2) >> 2)
	for x := 1; x < last; x++ {
		v := 3 * uint16(row[x])
		dst[2*x] = uint8((v + uint16(row[x-1]) + 1) >> 2)
		dst[2*x+1] = uint8((v + uint16(row[x+1]) + 2) >> 2)
	}
	dst[2*last] = uint8((3*uint16(row[last]) + uint16(row[last-1]) + 1) >> 2)
	dst[2*last+1] = row[last]
}

// upsampleHV doubles a row of vertical sums, which are four times a sample.
func upsampleHV(dst []uint8, sums []uint16) {
	last := len(sums) - 1
	dst = dst[:2*len(sums)]
	dst[0] = uint8((4*sums[0] + 8) >> 4)
	dst[1] = uint8((3*sums[0] + sums[1] + 7) >> 4)
	for x := 1; x < last; x++ {
		v := 3 * sums[x]
		dst[2*x] = uint8((v + sums[x-1] + 8) >> 4)
		dst[2*x+1] = uint8((v + sums[x+1] + 7) >> 4)
	}
	dst[2*last] = uint8((3*sums[last] + sums[last-1] + 8) >> 4)
	dst[2*last+1] = uint8((4*sums[last] + 7) >> 4)
}

func convertRow(dst, luma, cb, cr []uint8) {
	cb, cr, dst = cb[:len(luma)], cr[:len(luma)], dst[:3*len(luma)]
	for x, l := range luma {
		y, b, r := int32(l), int32(cb[x])-128, int32(cr[x])-128
		pixel := dst[3*x : 3*x+3 : 3*x+3]
		pixel[0] = clamp(y + (fixCrR*r+half)>>16)
		pixel[1] = clamp(y + (half-fixCbG*b-fixCrG*r)>>16)
		pixel[2] = clamp(y + (fixCbB*b+half)>>16)
	}
}

func clamp(v int32) uint8 {
	if uint32(v) <= 255 {
		return uint8(v)
	}
	return uint8(^v >> 31) // 0 below, 255 above
}

func subsampling(r image.YCbCrSubsampleRatio) (fx, fy int) {
	switch r {
	case image.YCbCrSubsampleRatio422:
		return 2, 1
	case image.YCbCrSubsampleRatio420:
		return 2, 2
	case image.YCbCrSubsampleRatio440:
		return 1, 2
	case image.YCbCrSubsampleRatio411:
		return 4, 1
	case image.YCbCrSubsampleRatio410:
		return 4, 2
	}
	return 1, 1
}

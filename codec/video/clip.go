package video

import (
	"context"
	"slices"
)

// Color returns the colour that one number, or a number for each channel, stands for.
func Color(numbers []int) (color [3]byte, ok bool) {
	if len(numbers) != 1 && len(numbers) != len(color) {
		return color, false
	}
	for i := range color {
		v := numbers[i%len(numbers)]
		if v < 0 || v > 255 {
			return color, false
		}
		color[i] = byte(v)
	}
	return color, true
}

// Clip writes the frames with the given numbers to dst, one after the other. Each frame is decoded
// once, in the order of the video. The number -1 stands for a frame of one colour.
func (d *Decoder) Clip(ctx context.Context, numbers []int, fill [3]byte, dst []byte) error {
	order := make([]int, len(numbers))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return numbers[a] - numbers[b] })
	size := d.video.Height * d.video.Width * len(fill)
	for i, at := range order {
		frame, to := numbers[at], dst[at*size:(at+1)*size]
		switch {
		case i > 0 && frame == numbers[order[i-1]]:
			copy(to, dst[order[i-1]*size:][:size])
		case frame < 0:
			for p := 0; p < size; p += len(fill) {
				copy(to[p:p+len(fill)], fill[:])
			}
		default:
			if err := d.Decode(ctx, frame, to); err != nil {
				return err
			}
		}
	}
	return nil
}

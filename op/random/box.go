package random

import "strings"

// box is a part of an image of two or three axes, in the order x, y, z; coordinates of missing axes
// are 0.
type box struct{ lo, hi [3]float32 }

func (b *box) volume(axes int) float32 {
	v := float32(1)
	for d := range axes {
		v *= b.hi[d] - b.lo[d]
	}
	return v
}

// common returns the volume that two boxes share.
func (b *box) common(o *box, axes int) float32 {
	both := box{}
	for d := range axes {
		both.lo[d], both.hi[d] = max(b.lo[d], o.lo[d]), min(b.hi[d], o.hi[d])
		if both.hi[d] <= both.lo[d] {
			return 0
		}
	}
	return both.volume(axes)
}

// overUnion returns the shared volume of two boxes divided by the volume of their union.
func (b *box) overUnion(o *box, axes int) float32 {
	shared := b.common(o, axes)
	if shared == 0 {
		return 0
	}
	return shared / (b.volume(axes) + o.volume(axes) - shared)
}

// hasCenter reports whether the middle of a box is in b.
func (b *box) hasCenter(o *box, axes int) bool {
	for d := range axes {
		if c := (o.lo[d] + o.hi[d]) / 2; c < b.lo[d] || c >= b.hi[d] {
			return false
		}
	}
	return true
}

// within returns o in the coordinates of b, cut at its bounds.
func (b *box) within(o *box, axes int) box {
	var r box
	for d := range axes {
		length := b.hi[d] - b.lo[d]
		r.lo[d] = min(max((o.lo[d]-b.lo[d])/length, 0), 1)
		r.hi[d] = min(max((o.hi[d]-b.lo[d])/length, 0), 1)
	}
	return r
}

// boxForm gives the meaning of each place in a row of coordinates: x, y and z are beginnings, X, Y
// and Z ends, W, H and D lengths.
type boxForm struct {
	begin, end [3]int
	lengths    bool
}

// parseForm reads a layout such as "xyXY" or "yxHW"; ok is false if it is not a layout of the given
// number of axes.
func parseForm(layout string, axes int) (f boxForm, ok bool) {
	if len(layout) != 2*axes {
		return f, false
	}
	const begins, ends, lengths = "xyz", "XYZ", "WHD"
	f.lengths = strings.ContainsAny(layout, lengths)
	second := ends
	if f.lengths {
		second = lengths
	}
	for d := range axes {
		f.begin[d], f.end[d] = strings.IndexByte(layout, begins[d]), strings.IndexByte(layout, second[d])
		if f.begin[d] < 0 || f.end[d] < 0 {
			return f, false
		}
	}
	return f, true
}

func (f *boxForm) read(row []float32, axes int) box {
	var b box
	for d := range axes {
		b.lo[d], b.hi[d] = row[f.begin[d]], row[f.end[d]]
		if f.lengths {
			b.hi[d] += b.lo[d]
		}
	}
	return b
}

func (f *boxForm) write(row []float32, b *box, axes int) {
	for d := range axes {
		row[f.begin[d]], row[f.end[d]] = b.lo[d], b.hi[d]
		if f.lengths {
			row[f.end[d]] -= b.lo[d]
		}
	}
}

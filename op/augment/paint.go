package augment

import (
	"math"

	"github.com/bivouac-ml/bivouac/op"
)

// painter is a worker's state.
type painter struct {
	room    room
	steps   []step
	frames  [2][]byte // between two steps
	table   table
	tables  [channels]table
	counts  [channels][256]int32
	values  [256]float32
	row     [channels * 128]float32
	padded  []byte
	offsets []int
	factors []float32
	sums    []float32
	wide    [2][]byte // three channels of an image that has another number
	gray    bool      // the three channels are one
	xs, ys  []float32
}

func (k *augment) Sample(b *op.Block, s int) error {
	in, p := b.In(0, s), op.PerWorker[painter](b)
	if err := k.checkImages(in.Shape, in.Layout); err != nil {
		return err
	}
	if err := k.plan(b, s, p); err != nil {
		return err
	}
	spec := b.Binding().Specs[0]
	if len(p.steps) == 0 || len(in.Data) == 0 {
		in.Layout = spec.Layout
		b.Alias(0, s, in)
		return nil
	}
	n := len(in.Shape)
	h, w, c := in.Shape[n-3], in.Shape[n-2], in.Shape[n-1]
	extents := [2]int{h, w}
	if k.shaped {
		shape, err := k.shape.At(b, s, p.room.shape)
		if err != nil {
			return err
		}
		if _, constant := k.shape.Const(); !constant {
			p.room.shape = shape
		}
		if len(shape) < 2 {
			return badDraw("shape", "height and width", shape)
		}
		extents = [2]int{shape[0], shape[1]}
	}
	out := b.Out(0, s, in.Shape...)
	frame := h * w * c
	for at := 0; at < len(in.Data); at += frame {
		if err := b.Overdue(); err != nil {
			return err
		}
		src := in.Data[at : at+frame]
		for i := range p.steps {
			dst := out.Data[at : at+frame]
			if i < len(p.steps)-1 {
				p.frames[i%2] = grow(p.frames[i%2], frame)
				dst = p.frames[i%2]
			}
			if err := p.step(dst, src, h, w, c, &p.steps[i], extents, k); err != nil {
				return err
			}
			src = dst
		}
	}
	return nil
}

// factor returns what an augmentation of colours multiplies by.
func (s *step) factor() float64 {
	if s.signed {
		return 1 + s.magnitude
	}
	return s.magnitude
}

// pixels returns the length of a translation along an axis of the given extent.
func (s *step) pixels(extent int) float64 {
	if s.kind == translateXPixels || s.kind == translateYPixels {
		return s.magnitude
	}
	v := s.magnitude * float64(extent)
	if s.whole {
		v = math.Trunc(v)
	}
	return v
}

// rounded applies a step as the operators of the same names do.
func (p *painter) rounded(dst, src []byte, h, w int, s *step, extents [2]int, o *style) {
	m := float32(s.magnitude)
	switch s.kind {
	case shearX, shearY, translateX, translateY, translateXPixels, translateYPixels:
		a := affine{matrix: [2][2]float32{{1, 0}, {0, 1}}}
		switch s.kind {
		case shearX:
			a.matrix[0][1] = m
		case shearY:
			a.matrix[1][0] = m
		case translateX, translateXPixels:
			a.offset[0] = float32(s.pixels(extents[1]))
		case translateY, translateYPixels:
			a.offset[1] = float32(s.pixels(extents[0]))
		}
		p.warp(dst, src, h, w, inverseOf(a), o)
	case rotate:
		p.warp(dst, src, h, w, turned(m, h, w), o)
	case brightness:
		p.table.linear(float32(s.factor()), 0, &p.values)
		p.table.look(dst, src)
	case contrast:
		p.table.around(p.center(src), float32(s.factor()), &p.values)
		p.table.look(dst, src)
	case color:
		p.saturate(dst, src, float32(s.factor()))
	case sharpness:
		if !s.signed {
			m--
		}
		p.sharpen(dst, src, h, w, m)
	case posterize:
		p.table.mask(bits(m))
		p.table.look(dst, src)
	case equalize:
		p.equalize(src)
		lookEach(dst, src, &p.tables)
	case autoContrast:
		p.stretch(src)
		lookEach(dst, src, &p.tables)
	default:
		p.simple(s)
		p.table.look(dst, src)
	}
}

// simple sets p.table for the augmentations that are the same in both styles.
func (p *painter) simple(s *step) {
	switch s.kind {
	case solarize:
		p.table.above(s.magnitude)
	case solarizeAdd:
		p.table.below(int(s.magnitude))
	case invert:
		p.table.invert()
	}
}

package geometry

import (
	"bytes"
	"fmt"
	"math"
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/element"
	"github.com/bivouac-ml/bivouac/tensor"
)

// pixels transforms an image or a mask.
func (k *spatial) pixels(b *op.Block, s, i int, p *plan) error {
	in := b.In(i, s)
	axis, ok := heightAxis(k.targets[i], in.Layout, len(in.Shape))
	if !ok || in.Shape[axis] != p.height || in.Shape[axis+1] != p.width {
		return &errs.Error{Kind: errs.Mismatch, Got: in.String(),
			Want:   fmt.Sprintf("the height and width of the image, %d and %d", p.height, p.width),
			Remedy: "resize it to the image before"}
	}
	var buf [4]int
	shape := append(buf[:0], in.Shape...)
	shape[axis], shape[axis+1] = p.outHeight, p.outWidth
	out := b.Out(i, s, shape...)
	f := frames{n: in.Shape[:axis].Len(), volume: volume{1, p.height, p.width}, channels: in.Shape[axis+2:].Len()}
	if out.Len() == 0 {
		return nil
	}
	if k.targets[i] == targetMask || !k.linear {
		fill, err := k.fillOf(in.DType)
		if k.targets[i] == targetMask {
			err = element.Convert(fill, tensor.ScalarOf(int32(k.maskFill)))
		}
		if err == nil {
			k.nearest(b, out, in, f, p, fill.Data)
		}
		return err
	}
	if k.antialias {
		if columns, rows := p.parts(); columns*rows > 1 {
			switch in.DType {
			case tensor.Uint8:
				return shrinkAll[uint8](k, b, out, in, f, p, columns, rows)
			case tensor.Int16:
				return shrinkAll[int16](k, b, out, in, f, p, columns, rows)
			case tensor.Int32:
				return shrinkAll[int32](k, b, out, in, f, p, columns, rows)
			}
			return shrinkAll[float32](k, b, out, in, f, p, columns, rows)
		}
	}
	size := volume{1, p.outHeight, p.outWidth}
	switch in.DType {
	case tensor.Uint8:
		return warpAll[uint8](&k.warping, b, out, in, f, size, &p.back)
	case tensor.Int16:
		return warpAll[int16](&k.warping, b, out, in, f, size, &p.back)
	case tensor.Int32:
		return warpAll[int32](&k.warping, b, out, in, f, size, &p.back)
	}
	return warpAll[float32](&k.warping, b, out, in, f, size, &p.back)
}

// nearest copies pixels. fill is an element.
func (k *spatial) nearest(b *op.Block, out, in tensor.Tensor, f frames, p *plan, fill []byte) {
	pixel := bytes.Repeat(fill, f.channels)
	xs, ys := op.Scratch[float32](b, p.outWidth), op.Scratch[float32](b, p.outWidth)
	n, to := len(pixel), 0
	for frame := range f.n {
		data := in.Data[frame*p.height*p.width*n:]
		for y := range p.outHeight {
			p.back.row(0, y, xs, ys, nil)
			for x := range p.outWidth {
				from := pixel
				if c, r := index(xs[x]), index(ys[x]); c >= 0 && c < p.width && r >= 0 && r < p.height {
					from = data[(r*p.width+c)*n:][:n]
				}
				to += copy(out.Data[to:], from)
			}
		}
	}
}

// units returns what the coordinates of points count, in pixels of the input and of the output.
func (k *spatial) units(p *plan) (in, out [2]float64) {
	if !k.normalized {
		return [2]float64{1, 1}, [2]float64{1, 1}
	}
	return [2]float64{float64(p.width), float64(p.height)}, [2]float64{float64(p.outWidth), float64(p.outHeight)}
}

// slack is how far in pixels a point may lie outside its image: coordinates in data sets are
// rounded.
const slack = 1

// inside reports whether a point lies in the image or next to it.
func (p *plan) inside(x, y float64) bool {
	return x >= -slack && y >= -slack && x <= float64(p.width)+slack && y <= float64(p.height)+slack
}

func behind(row int) error {
	return &errs.Error{Kind: errs.Invalid, Subject: fmt.Sprintf("row %d", row), Want: "a perspective that shows the point",
		Got: "a point behind the picture", Remedy: "move corners by less"}
}

// boxes transforms boxes: the result is the smallest box around the four corners.
func (k *spatial) boxes(b *op.Block, s, i int, p *plan) error {
	in := b.In(i, s)
	if len(in.Shape) != 2 || in.Shape[1] != 4 {
		return &errs.Error{Kind: errs.Mismatch, Want: "a row of 4 numbers for each box", Got: in.String()}
	}
	from, err := floatsOf(in)
	if err != nil {
		return err
	}
	to, err := floatsOf(b.Out(i, s, in.Shape...))
	if err != nil {
		return err
	}
	unit, scale := k.units(p)
	for r := range in.Shape[0] {
		var v [4]float64
		for j := range v {
			v[j] = float64(from[4*r+j])
			if j > 1 && !k.corners {
				v[j] += v[j-2]
			}
		}
		for j := range v {
			v[j] = float64(v[j] * unit[j%2])
		}
		if !(v[0] < v[2] && v[1] < v[3]) || !p.inside(v[0], v[1]) || !p.inside(v[2], v[3]) {
			return &errs.Error{Kind: errs.Invalid, Subject: fmt.Sprintf("row %d", r), Got: fmt.Sprint(from[4*r : 4*r+4]),
				Want:   fmt.Sprintf("a box with area inside the image of %d x %d, %s", p.height, p.width, k.unitName()),
				Remedy: "use bbox_prune before; check bbox_layout and normalized"}
		}
		low, high := [2]float64{math.Inf(1), math.Inf(1)}, [2]float64{math.Inf(-1), math.Inf(-1)}
		for c := range 4 {
			x, y, ok := p.forward.at(v[c%2*2], v[c/2*2+1])
			if !ok {
				return behind(r)
			}
			low, high = [2]float64{min(low[0], x), min(low[1], y)}, [2]float64{max(high[0], x), max(high[1], y)}
		}
		for j := range 2 {
			a, e := low[j]/scale[j], high[j]/scale[j]
			if !k.corners {
				e -= a
			}
			to[4*r+j], to[4*r+2+j] = float32(a), float32(e)
		}
	}
	return nil
}

func (k *spatial) unitName() string {
	if k.normalized {
		return "from 0 to 1"
	}
	return "in pixels"
}

// keypoints transforms points. A visible point that leaves the image becomes invisible.
func (k *spatial) keypoints(b *op.Block, s, i int, p *plan) error {
	in := b.In(i, s)
	if len(in.Shape) != 2 || !slices.Contains([]int{2, 3}, in.Shape[1]) {
		return &errs.Error{Kind: errs.Mismatch, Want: "x, y and perhaps a visibility for each keypoint", Got: in.String()}
	}
	from, err := floatsOf(in)
	if err != nil {
		return err
	}
	to, err := floatsOf(b.Out(i, s, in.Shape...))
	if err != nil {
		return err
	}
	unit, scale := k.units(p)
	n := in.Shape[1]
	for r := range in.Shape[0] {
		point := from[r*n : (r+1)*n]
		if n == 3 && point[2] == 0 { // not labelled: the numbers mean nothing
			copy(to[r*n:], point)
			continue
		}
		x, y := float64(point[0])*unit[0], float64(point[1])*unit[1]
		if !p.inside(x, y) || n == 3 && !(point[2] > 0) {
			return &errs.Error{Kind: errs.Invalid, Subject: fmt.Sprintf("row %d", r), Got: fmt.Sprint(point),
				Want:   fmt.Sprintf("a point inside the image of %d x %d, %s", p.height, p.width, k.unitName()),
				Remedy: "give points outside the visibility 0; check normalized"}
		}
		u, v, ok := p.forward.at(x, y)
		if !ok {
			return behind(r)
		}
		out := to[r*n : (r+1)*n]
		out[0], out[1] = float32(u/scale[0]), float32(v/scale[1])
		if n == 3 {
			// The numbers that a caller sees decide, not those before they were rounded.
			right, bottom := float32(float64(p.outWidth)/scale[0]), float32(float64(p.outHeight)/scale[1])
			if out[2] = point[2]; out[0] < 0 || out[1] < 0 || out[0] > right || out[1] > bottom {
				out[2] = 0
			}
		}
	}
	return nil
}

func floatsOf(t tensor.Tensor) ([]float32, error) { return tensor.Of[float32](t) }

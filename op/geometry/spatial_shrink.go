package geometry

import (
	"math"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/element"
	"github.com/bivouac-ml/bivouac/tensor"
)

// # Shrinking
//
// If a pixel of the result covers several pixels of the image, one point does not stand for them.
// So spatial divides it into columns and rows of which none is wider than a pixel of the image, and
// takes the mean of their points. An image that does not shrink has one of each.

// mostParts is the most columns, and rows, of a pixel. They suffice for images that shrink to 1/64.
const mostParts = 64

// parts returns into how many columns and rows the pixels of the result are divided.
func (p *plan) parts() (columns, rows int) {
	longest := [2]float64{}
	w, h := float64(p.outWidth), float64(p.outHeight)
	for _, at := range [][2]float64{{w / 2, h / 2}, {0, 0}, {w, 0}, {0, h}, {w, h}} {
		if _, _, ok := p.back.at(at[0], at[1]); !ok {
			continue // behind the picture
		}
		for i, d := range p.back.slopes(at[0], at[1]) {
			longest[i] = max(longest[i], math.Hypot(d[0], d[1]))
		}
	}
	count := func(length float64) int {
		const slack = 1e-3 // of transforms that should not change a length
		if !(length > 1+slack) {
			return 1
		}
		return int(min(math.Ceil(length-slack), mostParts))
	}
	return count(longest[0]), count(longest[1])
}

// slopes returns how the image of a point moves if the point moves by 1 along x, and along y.
func (m *homography) slopes(x, y float64) (d [2][2]float64) {
	z := float64(m[2][0]*x) + float64(m[2][1]*y) + m[2][2]
	u := (float64(m[0][0]*x) + float64(m[0][1]*y) + m[0][2]) / z
	v := (float64(m[1][0]*x) + float64(m[1][1]*y) + m[1][2]) / z
	for i := range d {
		d[i] = [2]float64{(m[0][i] - float64(u*m[2][i])) / z, (m[1][i] - float64(v*m[2][i])) / z}
	}
	return d
}

// shrinkAll writes an image whose pixels are divided into columns and rows.
func shrinkAll[T pixel](k *spatial, b *op.Block, out, in tensor.Tensor, f frames, p *plan, columns, rows int) error {
	n, c := p.outWidth, f.channels
	xs, ys := op.Scratch[float32](b, n*columns), op.Scratch[float32](b, n*columns)
	points, sums := op.Scratch[float32](b, n*columns*c), op.Scratch[float32](b, n*c)
	back := homography{{1 / float64(columns), 0, 0}, {0, 1 / float64(rows), 0}, {0, 0, 1}}.then(p.back)
	src := source[T]{volume: f.volume, channels: c}
	fill, err := k.fillOf(in.DType)
	if err != nil {
		return err
	}
	if err := element.Convert(tensor.Tensor{DType: in.DType, Data: element.Bytes(src.fillPixel[:])}, fill); err != nil {
		return err
	}
	src.fill = float32(src.fillPixel[0])
	mean := tensor.Tensor{DType: tensor.Float32, Shape: tensor.Shape{n * c}, Data: element.Bytes(sums)}
	to := tensor.Tensor{DType: out.DType, Shape: mean.Shape}
	all, next := element.View[T](in.Data), out.Data
	share := 1 / float32(columns*rows)
	for i := range f.n {
		src.data = all[i*len(all)/f.n:][:len(all)/f.n]
		for y := range p.outHeight {
			if err := b.Overdue(); err != nil {
				return err
			}
			clear(sums)
			for r := range rows {
				back.row(0, y*rows+r, xs, ys, nil)
				src.bilinear(points, xs, ys)
				addParts(sums, points, columns, c)
			}
			for j := range sums {
				sums[j] *= share
			}
			to.Data, next = next[:n*c*out.DType.Size()], next[n*c*out.DType.Size():]
			if err := element.Convert(to, mean); err != nil {
				return err
			}
		}
	}
	return nil
}

// addParts adds the points of each pixel to its sums. A pixel has columns points of c channels.
func addParts(sums, points []float32, columns, c int) {
	for x := 0; x < len(sums); x += c {
		for range columns {
			for j := range c {
				sums[x+j] += points[j]
			}
			points = points[c:]
		}
	}
}

package main

import (
	"context"
	"image"

	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/tensor"
)

// model has the mean colour of each class.
type model struct {
	sums   [classes][3]int64
	pixels [classes]int64
}

// learn adds the pixels of a crop. Pixels outside of the picture do not count.
func (m *model) learn(picture, mask tensor.Tensor) {
	for i, c := range mask.Data {
		if c == outside {
			continue
		}
		m.pixels[c]++
		for k := range 3 {
			m.sums[c][k] += int64(picture.Data[3*i+k])
		}
	}
}

// say returns the class whose mean colour is the nearest.
func (m *model) say(color []byte) (class int) {
	least := int64(1) << 62
	for c, n := range m.pixels {
		if n == 0 {
			continue
		}
		d := int64(0)
		for k := range 3 {
			e := m.sums[c][k]/n - int64(color[k])
			d += e * e
		}
		if d < least {
			class, least = c, d
		}
	}
	return class
}

// each calls f with n crops of a pipeline.
func each(ctx context.Context, p *pipeline.Pipeline, n int, f func(picture, mask tensor.Tensor)) error {
	for n > 0 {
		batch, err := p.Next(ctx)
		if err != nil {
			return err
		}
		for s := range min(n, batch.Outputs[0].NumSamples()) {
			f(batch.Outputs[0].Sample(s), batch.Outputs[1].Sample(s))
		}
		n -= batch.Outputs[0].NumSamples()
	}
	return nil
}

// result is what a run found.
type result struct {
	model model
	right float64 // share of the pixels that the model names rightly
	sheet *image.NRGBA
}

// train learns from n crops, and says the classes of the next crops.
func train(ctx context.Context, o pipeline.Options, n int) (r result, err error) {
	def, err := define(o, 1000)
	if err != nil {
		return r, err
	}
	p, err := def.New(ctx, nil)
	if err != nil {
		return r, err
	}
	defer p.Close()
	if err := each(ctx, p, n, r.model.learn); err != nil {
		return r, err
	}
	const pitch, shown = crop + 2, 12
	r.sheet = image.NewNRGBA(image.Rect(0, 0, shown*pitch-2, 3*pitch-2))
	right, all, column := 0, 0, 0
	err = each(ctx, p, shown, func(picture, mask tensor.Tensor) {
		for i, c := range mask.Data {
			color := picture.Data[3*i : 3*i+3]
			said := r.model.say(color)
			if c != outside {
				all++
				if said == int(c) {
					right++
				}
			}
			for row, of := range [][3]int{{int(color[0]), int(color[1]), int(color[2])}, shade(int(c)), shade(said)} {
				at := r.sheet.PixOffset(column*pitch+i%crop, row*pitch+i/crop)
				copy(r.sheet.Pix[at:], []byte{byte(of[0]), byte(of[1]), byte(of[2]), 255})
			}
		}
		column++
	})
	r.right = float64(right) / float64(max(all, 1))
	return r, err
}

// shade returns the colour in which the sheet shows a class.
func shade(class int) [3]int {
	if class >= classes {
		return [3]int{255, 255, 255}
	}
	return palette[class]
}

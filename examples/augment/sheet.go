package main

import (
	"context"
	"image"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/pipeline/fn"
	"github.com/bivouac-ml/bivouac/tensor"
)

const (
	side    = 56 // of a picture
	columns = 9
	gap     = 2 // between pictures
)

// magnitudes are the magnitudes of the rows, of 31 bins.
var magnitudes = []float64{0, 6, 12, 18, 24, 30}

// picture makes picture k: a house with a sun that moves, between a sky and a meadow.
func picture(k int) tensor.Tensor {
	t := tensor.New(tensor.Uint8, side, side, 3)
	t.Layout = "HWC"
	sun := 8 + k*5%(side-16)
	for y := range side {
		for x := range side {
			c := [3]int{110 + y, 160 + y, 235 - y/2} // the sky
			dx, dy := x-sun, y-10
			switch {
			case dx*dx+dy*dy <= 36:
				c = [3]int{250, 220, 90}
			case y >= 44:
				c = [3]int{60 + (x*7+y*13+k)%25, 140 + (x*5+y*3)%30, 50}
			case y >= 28 && x >= 16 && x < 40 && (x-22)*(x-27) <= 0 && y >= 34:
				c = [3]int{90, 55, 30} // the door
			case y >= 28 && x >= 16 && x < 40 && (x-31)*(x-36) <= 0 && (y-32)*(y-38) <= 0:
				c = [3]int{200, 230, 250} // the window
			case y >= 28 && x >= 16 && x < 40:
				c = [3]int{215, 200, 180 - (y%4)/3*30}
			case y >= 16 && y < 28 && x >= 28-(y-14) && x < 28+(y-14):
				c = [3]int{170, 60 + (x+y)%2*12, 50} // the roof
			}
			for i := range c {
				t.Data[(y*side+x)*3+i] = byte(c[i])
			}
		}
	}
	return t
}

// define returns a pipeline whose outputs are the rows of the sheet. All rows draw alike.
func define(o pipeline.Options, pixels string) (*pipeline.Definition, error) {
	return pipeline.Define(o, func(b *pipeline.Builder) []pipeline.Node {
		source := pipeline.SampleFunc(func(_ context.Context, at pipeline.SampleInfo) ([]tensor.Tensor, error) {
			return []tensor.Tensor{picture(int(at.IdxInEpoch))}, nil
		})
		pictures := pipeline.ExternalSource(b, source, pipeline.SourceOptions{Specs: []tensor.Spec{picture(0).Spec()}})[0]
		rows := make([]pipeline.Node, len(magnitudes))
		for i, m := range magnitudes {
			rows[i] = fn.RandAugment(b, pictures, fn.RandAugmentArgs{N: op.Const(2), M: op.Const(m), Pixels: op.Const(pixels),
				MaxTranslateRel: []float64{0.45}})
			b.DrawAlike(rows[0], rows[i])
		}
		return rows
	})
}

// draw runs the pipeline and returns the sheet.
func draw(ctx context.Context, o pipeline.Options, pixels string) (*image.NRGBA, error) {
	def, err := define(o, pixels)
	if err != nil {
		return nil, err
	}
	p, err := def.New(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	const pitch = side + gap
	sheet := image.NewNRGBA(image.Rect(0, 0, columns*pitch-gap, len(magnitudes)*pitch-gap))
	for column := 0; column < columns; {
		batch, err := p.Next(ctx)
		if err != nil {
			return nil, err
		}
		n := batch.Outputs[0].NumSamples()
		for row, output := range batch.Outputs {
			for s := range min(n, columns-column) {
				paste(sheet, output.Sample(s), (column+s)*pitch, row*pitch)
			}
		}
		column += n
	}
	return sheet, nil
}

// paste puts a picture on the sheet.
func paste(sheet *image.NRGBA, t tensor.Tensor, left, top int) {
	for i := range side * side {
		at := sheet.PixOffset(left+i%side, top+i/side)
		copy(sheet.Pix[at:at+3], t.Data[3*i:3*i+3])
		sheet.Pix[at+3] = 255
	}
}

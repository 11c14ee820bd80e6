package main

import (
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"os"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// sheetRow is a row of a contact sheet: the picture as it was, and what each time made of it.
type sheetRow struct {
	before tensor.Tensor     // empty if the data has no picture
	after  [][]tensor.Tensor // [time][output]
}

// sheet says how pictures are drawn.
type sheet struct {
	names     []string    // of the outputs
	mean, std [][]float64 // by which an output was normalized, or nil
	cell      int
}

const (
	sheetGap  = 2
	mostSheet = 1 << 28 // pixels
)

// write draws the rows and writes them to a new file. Each output that is a picture has a
// cell. Boxes are drawn on the pictures before them.
func (s *sheet) write(path string, rows []sheetRow) error {
	drawn, err := s.draw(rows)
	if err != nil {
		return err
	}
	return writeNew(path, func(w io.Writer) error { return png.Encode(w, drawn) })
}

// writeNew writes a new file.
func writeNew(path string, write func(w io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if os.IsExist(err) {
		return &errs.Error{Kind: errs.Exists, Op: "data", Subject: path, Want: "a name that is free",
			Remedy: "choose another name, or remove the file"}
	}
	if err != nil {
		return unopened("data", path, err)
	}
	err = write(f)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		os.Remove(path) //nolint:errcheck // the other error says more
		return &errs.Error{Kind: errs.IO, Op: "data", Subject: path, Err: err}
	}
	return nil
}

// draw draws the rows.
func (s *sheet) draw(rows []sheetRow) (*image.RGBA, error) {
	columns, cell := 0, s.cell
	for i := range rows {
		columns = max(columns, len(s.cells(&rows[i])))
	}
	width, height := columns*(cell+sheetGap)-sheetGap, len(rows)*(cell+sheetGap)-sheetGap
	if columns == 0 {
		return nil, &errs.Error{Kind: errs.Invalid, Op: "data", Subject: "--output",
			Want: "an output or input that is a picture", Got: strings.Join(s.names, ", ")}
	}
	if width > mostSheet/height {
		return nil, &errs.Error{Kind: errs.Exhausted, Op: "data", Subject: "--output",
			Want: "a sheet of at most 268435456 pixels", Got: "more", Remedy: "lower --samples, --times or --cell"}
	}
	drawn := image.NewRGBA(image.Rect(0, 0, width, height))
	for i := range drawn.Pix {
		drawn.Pix[i] = 255
	}
	for y := range rows {
		for x, c := range s.cells(&rows[y]) {
			c.draw(drawn, x*(cell+sheetGap), y*(cell+sheetGap), cell)
		}
	}
	return drawn, nil
}

// sheetCell is a picture of the sheet.
type sheetCell struct {
	picture tensor.Tensor
	mask    bool
	boxes   []float32 // left, top, right and bottom as shares

	mean, std []float64 // by which it was normalized, or nil
}

// cells returns the pictures of a row.
func (s *sheet) cells(r *sheetRow) (list []sheetCell) {
	if r.before.DType.Valid() {
		list = append(list, sheetCell{picture: r.before})
	}
	for _, outputs := range r.after {
		last := -1
		for i, t := range outputs {
			switch {
			case isRaster(t):
				c := sheetCell{picture: t, mask: strings.Contains(s.names[i], "mask")}
				if i < len(s.mean) {
					c.mean, c.std = s.mean[i], s.std[i]
				}
				list = append(list, c)
				if !list[len(list)-1].mask {
					last = len(list) - 1
				}
			case strings.Contains(s.names[i], "boxes") && last >= 0 && t.DType == tensor.Float32 &&
				len(t.Shape) == 2 && t.Shape[1] == 4:
				list[last].boxes, _ = tensor.Of[float32](t)
			}
		}
	}
	return list
}

// isRaster reports whether a tensor can be drawn: 1 or 3 channels, first or last.
func isRaster(t tensor.Tensor) bool {
	if len(t.Shape) != 3 || t.Len() == 0 || t.Layout != "HWC" && t.Layout != "CHW" {
		return false
	}
	c := t.Shape[strings.IndexByte(t.Layout, 'C')]
	return c == 1 || c == 3
}

// draw puts the picture into a square, as large as it fits.
func (c *sheetCell) draw(sheet *image.RGBA, left, top, side int) {
	values, err := tensor.Cast(tensor.Float64, c.picture)
	if err != nil {
		return
	}
	list, err := tensor.Of[float64](values)
	if err != nil {
		return
	}
	planar := c.picture.Layout == "CHW"
	h, w, channels := c.picture.Shape[0], c.picture.Shape[1], c.picture.Shape[2]
	if planar {
		channels, h, w = h, w, channels
	}
	least, scale := 0.0, 1.0
	restored := c.picture.DType != tensor.Uint8 && len(c.mean) > 0 && len(c.std) > 0
	if c.picture.DType != tensor.Uint8 && !restored {
		least, scale = stretch(list)
	}
	rows, columns := c.extent(side)
	at := func(y, x, channel int) float64 {
		channel = min(channel, channels-1)
		if planar {
			return list[(channel*h+y)*w+x]
		}
		return list[(y*w+x)*channels+channel]
	}
	for y := range rows {
		for x := range columns {
			y0, y1 := y*h/rows, max((y+1)*h/rows, y*h/rows+1)
			x0, x1 := x*w/columns, max((x+1)*w/columns, x*w/columns+1)
			var p [3]uint8
			if c.mask {
				p = maskColor(at(y0, x0, 0))
			} else {
				for k := range p {
					sum := 0.0
					for v := y0; v < y1; v++ {
						for u := x0; u < x1; u++ {
							sum += at(v, u, k)
						}
					}
					v := sum / float64((y1-y0)*(x1-x0))
					if restored {
						v = v*c.std[min(k, len(c.std)-1)] + c.mean[min(k, len(c.mean)-1)]
					}
					p[k] = level((v - least) * scale)
				}
			}
			sheet.SetRGBA(left+x, top+y, color.RGBA{p[0], p[1], p[2], 255})
		}
	}
	for i := 0; i+4 <= len(c.boxes); i += 4 {
		frame(sheet, left, top, rows, columns, c.boxes[i:i+4])
	}
}

// extent returns the height and the width with which the picture fits into a square.
func (c *sheetCell) extent(side int) (rows, columns int) {
	h, w := c.picture.Shape[0], c.picture.Shape[1]
	if c.picture.Layout == "CHW" {
		h, w = w, c.picture.Shape[2]
	}
	if h > w {
		return side, max(1, side*w/h)
	}
	return max(1, side*h/w), side
}

// stretch returns how numbers become levels: the least becomes 0 and the largest 255.
func stretch(list []float64) (least, scale float64) {
	least, most := math.Inf(1), math.Inf(-1)
	for _, v := range list {
		if !math.IsInf(v, 0) && v == v {
			least, most = min(least, v), max(most, v)
		}
	}
	if !(most > least) {
		return 0, 1
	}
	return least, 255 / (most - least)
}

func level(v float64) uint8 {
	if !(v > 0) {
		return 0
	}
	return uint8(min(v+0.5, 255))
}

// maskColor returns a colour for the class of a pixel: black for 0, white for 255.
func maskColor(v float64) [3]uint8 {
	n := level(v)
	if n == 0 || n == 255 {
		return [3]uint8{n, n, n}
	}
	return [3]uint8{n*97 + 60, n*151 + 110, n*211 + 20}
}

// frame draws the edges of a box.
func frame(sheet *image.RGBA, left, top, rows, columns int, box []float32) {
	place := func(share float32, n int) int {
		if !(share > 0) {
			return 0
		}
		return int(min(float64(share)*float64(n), float64(n-1)))
	}
	x0, y0, x1, y1 := place(box[0], columns), place(box[1], rows), place(box[2], columns), place(box[3], rows)
	red := color.RGBA{255, 0, 0, 255}
	for x := x0; x <= x1; x++ {
		sheet.SetRGBA(left+x, top+y0, red)
		sheet.SetRGBA(left+x, top+y1, red)
	}
	for y := y0; y <= y1; y++ {
		sheet.SetRGBA(left+x0, top+y, red)
		sheet.SetRGBA(left+x1, top+y, red)
	}
}

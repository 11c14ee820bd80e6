package png

import (
	"fmt"
	"io"

	"github.com/bivouac-ml/bivouac/codec/raster"
)

// pass is a part of an interlaced image: the pixels from (x, y) on that are dx and dy apart.
type pass struct{ x, y, dx, dy int }

// adam7 lists the passes of interlaced images.
var adam7 = [7]pass{{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4}, {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}}

// passes decodes all pixels.
func (d *decoder) passes(r io.Reader, img *raster.Image) error {
	list := []pass{{0, 0, 1, 1}}
	if d.adam7 {
		list = adam7[:]
	}
	var rows [2][]byte
	for _, p := range list {
		width, height := (d.width-p.x+p.dx-1)/p.dx, (d.height-p.y+p.dy-1)/p.dy
		if width <= 0 || height <= 0 {
			continue
		}
		if err := d.pass(r, img, p, width, height, &rows); err != nil {
			return err
		}
	}
	return nil
}

// pass decodes one pass. rows is memory for the current row and the previous row, each after the
// number of its filter.
func (d *decoder) pass(r io.Reader, img *raster.Image, p pass, width, height int, rows *[2][]byte) error {
	stored := map[byte]int{typeGray: 1, typeRGB: 3, typePalette: 1, typeGrayAlpha: 2, typeRGBA: 4}[d.color]
	bits := stored * d.depth
	size := 1 + (width*bits+7)/8
	for i := range rows {
		rows[i] = raster.Grow(rows[i], size)
	}
	row, above := rows[0], rows[1]
	clear(above)
	for i := range height {
		if _, err := io.ReadFull(r, row); err != nil {
			return err
		}
		if err := unfilter(row[0], row[1:], above[1:], max(1, bits/8)); err != nil {
			return err
		}
		if err := d.put(img, p.y+i*p.dy, p.x, p.dx, width, row[1:]); err != nil {
			return err
		}
		row, above = above, row
	}
	return nil
}

// put passes the samples of a row to img.
func (d *decoder) put(img *raster.Image, y, x, step, width int, row []byte) error {
	switch {
	case d.depth == 16:
		out := img.Row16(width)
		for i := range out {
			out[i] = uint16(row[2*i])<<8 | uint16(row[2*i+1])
		}
		return img.Put16(y, x, step, out)
	case d.color == typePalette:
		out := img.Row(width)
		for i := range width {
			copy(out[3*i:3*i+3], d.palette[d.sample(row, i)][:])
		}
		return img.Put(y, x, step, out)
	case d.depth < 8:
		out := img.Row(width)
		full := uint8(255 / (1<<d.depth - 1))
		for i := range out {
			out[i] = d.sample(row, i) * full
		}
		return img.Put(y, x, step, out)
	}
	return img.Put(y, x, step, row)
}

// sample returns sample i of a row of up to 8 bits each.
func (d *decoder) sample(row []byte, i int) uint8 {
	if d.depth == 8 {
		return row[i]
	}
	at := i * d.depth
	return row[at/8] >> (8 - d.depth - at%8) & (1<<d.depth - 1)
}

// unfilter undoes the filter of a row whose pixels have n bytes. above is the previous row.
func unfilter(filter byte, row, above []byte, n int) error {
	above = above[:len(row)]
	switch filter {
	case 0:
	case 1:
		addLeft(row, n)
	case 2:
		addAbove(row, above)
	case 3:
		addMean(row, above, n)
	case 4:
		addPaeth(row, above, n)
	default:
		return raster.Corrupt("png", "filter 0 to 4", fmt.Sprint(filter))
	}
	return nil
}

// Package pnm decodes portable anymaps: bitmaps, graymaps and pixmaps (P1 to P6), as
// text or binary, with samples of up to 16 bits. Samples are scaled from their
// largest value to 255 or, above that, to 65535.
package pnm

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/codec/raster"
)

// anymap holds the contents of the header.
type anymap struct {
	raster.Header
	kind    byte // '1' to '6'
	largest int
	data    []byte // after the header
}

// Is reports whether data begins like a PNM file.
func Is(data []byte) bool {
	return len(data) > 2 && data[0] == 'P' && data[1] >= '1' && data[1] <= '6' && space(data[2])
}

func space(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

// ReadHeader returns the header of the image in data.
func ReadHeader(data []byte) (raster.Header, error) {
	a, err := parse(data)
	return a.Header, err
}

func parse(data []byte) (anymap, error) {
	a := anymap{Header: raster.Header{Channels: 1, Depth: 8, Orientation: 1, Luma: raster.LumaCV}, largest: 1}
	if !Is(data) {
		return a, raster.Corrupt("pnm", "a PNM file", "other bytes")
	}
	a.kind, a.data = data[1], data[2:]
	if a.kind == '3' || a.kind == '6' {
		a.Channels = 3
	}
	for _, v := range []*int{&a.Width, &a.Height, &a.largest} {
		if v == &a.largest && (a.kind == '1' || a.kind == '4') {
			break
		}
		var ok bool
		if *v, ok = a.number(); !ok {
			return a, raster.Corrupt("pnm", "sizes and the largest value", "other text")
		}
	}
	if a.largest < 1 || a.largest > 65535 {
		return a, raster.Corrupt("pnm", "a largest value of up to 65535", fmt.Sprint(a.largest))
	}
	if a.largest > 255 {
		a.Depth = 16
	}
	if err := a.Check("pnm", len(data)); err != nil {
		return a, err
	}
	if a.kind >= '4' {
		if len(a.data) == 0 || !space(a.data[0]) {
			return a, raster.Corrupt("pnm", "a space after the header", "no space")
		}
		a.data = a.data[1:]
	}
	need := a.Width * a.Height * a.Channels * a.Depth / 8
	switch a.kind {
	case '4':
		need = (a.Width + 7) / 8 * a.Height
	case '1':
		need = a.Width * a.Height
	case '2', '3':
		need = 2*a.Width*a.Height*a.Channels - 1
	}
	if len(a.data) < need {
		return a, raster.Corrupt("pnm", fmt.Sprintf("%d bytes of pixels", need), fmt.Sprint(len(a.data)))
	}
	return a, nil
}

// blank skips white space and comments.
func (a *anymap) blank() {
	for len(a.data) > 0 && (space(a.data[0]) || a.data[0] == '#') {
		if a.data[0] == '#' {
			for len(a.data) > 0 && a.data[0] != '\n' {
				a.data = a.data[1:]
			}
			continue
		}
		a.data = a.data[1:]
	}
}

// number reads a decimal number of at most nine digits.
func (a *anymap) number() (v int, ok bool) {
	a.blank()
	digits := 0
	for len(a.data) > 0 && a.data[0] >= '0' && a.data[0] <= '9' && digits < 9 {
		v = 10*v + int(a.data[0]-'0')
		a.data = a.data[1:]
		digits++
	}
	return v, digits > 0
}

// Decode decodes the image in data to img.
func Decode(data []byte, img *raster.Image) error {
	a, err := parse(data)
	if err != nil {
		return err
	}
	if err := img.Reset(a.Header); err != nil {
		return err
	}
	for y := range a.Height {
		switch {
		case a.kind == '4':
			err = a.bitmap(img, y)
		case a.Depth == 16:
			row := img.Row16(a.Width)
			if err = samples(&a, y, 65535, row); err == nil {
				err = img.Put16(y, 0, 1, row)
			}
		default:
			row := img.Row(a.Width)
			if err = samples(&a, y, 255, row); err == nil {
				err = img.Put(y, 0, 1, row)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// bitmap decodes row y of a binary bitmap.
func (a *anymap) bitmap(img *raster.Image, y int) error {
	row := img.Row(a.Width)
	packed := a.data[y*((a.Width+7)/8):]
	for x := range row {
		row[x] = 255 * (^(packed[x/8] >> (7 - x%8)) & 1)
	}
	return img.Put(y, 0, 1, row)
}

// samples decodes row y, whose largest value becomes full.
func samples[T uint8 | uint16](a *anymap, y, full int, row []T) error {
	for i := range row {
		v, err := a.sample(y*len(row) + i)
		if err != nil {
			return err
		}
		row[i] = T((v*full + a.largest/2) / a.largest)
	}
	return nil
}

// sample returns the i-th sample. The samples of text files must be read in order.
func (a *anymap) sample(i int) (v int, err error) {
	ok := true
	switch {
	case a.kind == '1': // digits need no space between them
		a.blank()
		if ok = len(a.data) > 0 && (a.data[0] == '0' || a.data[0] == '1'); ok {
			v = int('1' - a.data[0])
			a.data = a.data[1:]
		}
	case a.kind < '4':
		v, ok = a.number()
	case a.Depth == 16:
		v = int(a.data[2*i])<<8 | int(a.data[2*i+1])
	default:
		v = int(a.data[i])
	}
	if !ok || v > a.largest {
		return 0, raster.Corrupt("pnm", fmt.Sprintf("numbers up to %d", a.largest), "other text")
	}
	return v, nil
}

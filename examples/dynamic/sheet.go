package main

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/color"
	"image/png"
	"os"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// The sheet has columns of pictures of this size.
const (
	thumbHeight, thumbWidth = 48, 64
	columns                 = 6
)

// sheet is what the program makes: pictures in rows. It has a state of its own, so
// that a checkpoint holds it beside readers and generators.
type sheet struct{ thumbs [][]byte }

// add puts a picture of thumbHeight x thumbWidth x 3 bytes on the sheet.
func (s *sheet) add(picture tensor.Tensor) { s.thumbs = append(s.thumbs, bytes.Clone(picture.Data)) }

// image returns the sheet as it is.
func (s *sheet) image() image.Image {
	rows := (len(s.thumbs) + columns - 1) / columns
	whole := image.NewRGBA(image.Rect(0, 0, columns*thumbWidth, rows*thumbHeight))
	for i, data := range s.thumbs {
		left, top := i%columns*thumbWidth, i/columns*thumbHeight
		for k := 0; k+3 <= len(data); k += 3 {
			whole.Set(left+k/3%thumbWidth, top+k/3/thumbWidth, color.RGBA{data[k], data[k+1], data[k+2], 255})
		}
	}
	return whole
}

// write writes the sheet as a PNG file.
func (s *sheet) write(path string) error {
	var b bytes.Buffer
	if err := png.Encode(&b, s.image()); err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o666)
}

// GetState implements checkpoint.Object: all pixels in base64.
func (s *sheet) GetState() (any, error) {
	return base64.StdEncoding.EncodeToString(bytes.Join(s.thumbs, nil)), nil
}

// SetState implements checkpoint.Object.
func (s *sheet) SetState(state any) error {
	text, _ := state.(string)
	pixels, err := base64.StdEncoding.DecodeString(text)
	const size = thumbHeight * thumbWidth * 3
	if err != nil || len(pixels)%size != 0 {
		return &errs.Error{Kind: errs.Invalid, Op: "sheet.SetState", Want: "whole pictures in base64", Err: err}
	}
	s.thumbs = nil
	for ; len(pixels) > 0; pixels = pixels[size:] {
		s.thumbs = append(s.thumbs, pixels[:size:size])
	}
	return nil
}

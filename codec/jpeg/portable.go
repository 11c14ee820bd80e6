package jpeg

import (
	"errors"

	"github.com/bivouac-ml/bivouac/codec/jpeg/internal/pure"
	"github.com/bivouac-ml/bivouac/errs"
)

// portable decodes in Go.
type portable struct {
	decoder pure.Decoder
	inks    []uint8 // a window of four inks
}

func (d *portable) decode(j *job) error {
	dst, data, h, r, format := j.dst, j.data, j.header, j.region, j.format
	d.decoder.Fast = j.fast
	d.decoder.Limits = pure.Limits{Scans: MaxScans, Check: j.limits.Check}
	defer d.decoder.Release()
	is, err := d.decoder.ReadHeader(data)
	if err != nil {
		return decodeError(err)
	}
	if is.Width != h.Width || is.Height != h.Height {
		return corrupt("an image of "+h.size(), Header{Width: is.Width, Height: is.Height}.size())
	}
	switch {
	case is.Components == 4:
		if err := j.limits.CheckBytes("jpeg", "inks", 4*int64(r.W)*int64(r.H)); err != nil {
			return err
		}
		d.inks = grow(d.inks, 4*r.W*r.H)
		if err := d.decoder.Decode(d.inks, 4*r.W, r.X, r.Y, r.W, r.H, pure.Ink); err != nil {
			return decodeError(err)
		}
		onPaper(dst, d.inks, format, is.Adobe)
		return nil
	case format == Gray:
		err = d.decoder.Decode(dst, r.W, r.X, r.Y, r.W, r.H, pure.Luma)
	default:
		err = d.decoder.Decode(dst, 3*r.W, r.X, r.Y, r.W, r.H, pure.Colour)
	}
	if err != nil {
		return decodeError(err)
	}
	if format == BGR {
		for i := 0; i+2 < len(dst); i += 3 {
			dst[i], dst[i+2] = dst[i+2], dst[i]
		}
	}
	return nil
}

// onPaper converts inks to their colour on white paper. Adobe's files hold 255 - ink.
func onPaper(dst, inks []uint8, format Format, inverted bool) {
	for i := 0; i+3 < len(inks); i += 4 {
		var v [3]uint32
		k := uint32(inks[i+3])
		for j := range v {
			if ink := uint32(inks[i+j]); inverted {
				v[j] = k * ink / 255
			} else {
				v[j] = (255 - k) * (255 - ink) / 255
			}
		}
		switch format {
		case Gray:
			dst[i/4] = uint8(float32(0.299*float32(v[0])) + float32(0.587*float32(v[1])) + float32(0.114*float32(v[2])))
		case BGR:
			dst[i/4*3], dst[i/4*3+1], dst[i/4*3+2] = uint8(v[2]), uint8(v[1]), uint8(v[0])
		default:
			dst[i/4*3], dst[i/4*3+1], dst[i/4*3+2] = uint8(v[0]), uint8(v[1]), uint8(v[2])
		}
	}
}

func decodeError(err error) error {
	kind := errs.Corrupt
	var e *errs.Error
	if errors.As(err, &e) {
		kind = e.Kind
	}
	return &errs.Error{Kind: kind, Op: "jpeg", Got: "Failed to decode", Err: err}
}

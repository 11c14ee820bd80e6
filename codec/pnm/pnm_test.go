package pnm

import (
	"errors"
	"slices"
	"testing"

	"github.com/bivouac-ml/bivouac/codec/internal/decodetest"
	"github.com/bivouac-ml/bivouac/codec/raster"
	"github.com/bivouac-ml/bivouac/errs"
)

func TestDecode(t *testing.T) {
	for data, want := range map[string][]uint16{
		"P1 # a comment\n3 2\n101\n0 1 0":      {0, 255, 0, 255, 0, 255},
		"P2\n2 1 15\n0 15":                     {0, 255},
		"P3\n1 1 #\n 255\n1 2 3":               {1, 2, 3},
		"P4 9 1\n\x80\x80":                     {0, 255, 255, 255, 255, 255, 255, 255, 0},
		"P5 2 1 200\n\x00\xc8":                 {0, 255},
		"P6 1 1 255\n\x01\x02\x03":             {1, 2, 3},
		"P5 2 1 1000\n\x03\xe8\x00\x01":        {65535, 66},
		"P6\t1\r1\n65535 \x00\x01\x01\x00ab":   {1, 256, 'a'<<8 | 'b'},
		"P2 2 1 65535 65535 256":               {65535, 256},
		"P5 1 1 255\n\x07 and what comes then": {7},
	} {
		var img raster.Image
		if err := Decode([]byte(data), &img); err != nil {
			t.Errorf("%q: %v", data, err)
			continue
		}
		got := img.Wide
		if img.Depth == 8 {
			got = nil
			for _, v := range img.Pix {
				got = append(got, uint16(v))
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: got %v, want %v", data, got, want)
		}
	}
}

func TestRefused(t *testing.T) {
	for data, kind := range map[string]errs.Kind{
		"":                             errs.Corrupt,
		"P7\n1 1 1\n0":                 errs.Corrupt,
		"P5 2":                         errs.Corrupt,
		"P5 2 2 255\n123":              errs.Corrupt,
		"P5 2 2 0\n1234":               errs.Corrupt,
		"P5 2 2 65536\n12345678":       errs.Corrupt,
		"P5 99999999 99999999 255\n":   errs.Exhausted,
		"P2 2 1 15 0 16":               errs.Corrupt,
		"P1 2 1 2 1":                   errs.Corrupt,
		"P6 16000 16000 255\n1":        errs.Corrupt,
		"P5 1 1 255x":                  errs.Corrupt,
		"P5 123456789012345 1 255\n12": errs.Exhausted,
	} {
		var img raster.Image
		if err := Decode([]byte(data), &img); !errors.Is(err, kind) {
			t.Errorf("%q: got %v", data, err)
		}
	}
}

func FuzzDecode(f *testing.F) { decodetest.Fuzz(f, ReadHeader, Decode, nil) }

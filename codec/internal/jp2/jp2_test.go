package jp2

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
)

func read(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "video", "testdata", "stills", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestHeader(t *testing.T) {
	for name, want := range map[string][4]int{
		"rgb.jp2": {53, 37, 3, 8}, "raw.j2k": {23, 19, 3, 8}, "gray.jp2": {45, 31, 1, 8}, "rgba.jp2": {29, 33, 4, 8},
		"la.jp2": {9, 13, 2, 8}, "gray16.jp2": {35, 21, 1, 16}, "one.jp2": {1, 1, 3, 8}, "tiles.jp2": {48, 40, 3, 8},
	} {
		x, err := Parse(read(t, name))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := [4]int{x.Width, x.Height, x.Channels, x.Depth}; got != want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
		if err := x.CheckStream(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if x.Mixed != (want[2] == 2) || x.YCC {
			t.Errorf("%s: mixed %v, YCC %v", name, x.Mixed, x.YCC)
		}
	}
}

// change returns a copy in which b stands at an offset behind a mark.
func change(data []byte, mark string, offset int, b ...byte) []byte {
	data = bytes.Clone(data)
	copy(data[bytes.Index(data, []byte(mark))+offset:], b)
	return data
}

func TestRefused(t *testing.T) {
	rgb, raw := read(t, "rgb.jp2"), read(t, "raw.j2k")
	const siz = "\xff\x4f\xff\x51"
	large := change(raw, siz, 8, 0x7f, 0xff, 0xff, 0xff)
	copy(large[12:], []byte{0x7f, 0xff, 0xff, 0xff})
	for name, c := range map[string]struct {
		data []byte
		kind errs.Kind
		text string
	}{
		"nothing":       {nil, errs.Corrupt, "a codestream"},
		"no codestream": {rgb[:32], errs.Corrupt, "codestream"},
		"signed":        {change(raw, siz, 42, 0x87), errs.Unsupported, "signed"},
		"17 bits":       {change(raw, siz, 42, 16, 1, 1, 16, 1, 1, 16), errs.Unsupported, "17 bits"},
		"other depths":  {change(raw, siz, 42, 9), errs.Unsupported, "channels of 10 and 8 bits"},
		"no channels":   {change(raw, siz, 40, 0, 0), errs.Corrupt, "0 channels"},
		"5 channels":    {append(change(raw[:42], siz, 4, 0, 53, 0), make([]byte, 30)...), errs.Corrupt, "3 channels"},
		"subsampled":    {change(raw, siz, 43, 2), errs.Unsupported, "channel 0"},
		"other size":    {change(rgb, "ihdr", 4, 0, 0, 0, 1), errs.Corrupt, "codestream of 53x1"},
		"inks":          {change(rgb, "colr", 7, 0, 0, 0, 12), errs.Unsupported, "CMYK"},
		"no pixels":     {change(raw, siz, 8, 0, 0, 0, 0), errs.Corrupt, "pixels"},
		"huge":          {large, errs.Exhausted, "2147483647"},
	} {
		if _, err := Parse(c.data); !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// TestColours changes what the file says about colours.
func TestColours(t *testing.T) {
	x, err := Parse(change(read(t, "rgb.jp2"), "colr", 7, 0, 0, 0, 18))
	if err != nil || !x.YCC {
		t.Errorf("sYCC: %+v, %v", x, err)
	}
	x, err = Parse(change(read(t, "raw.j2k"), "\xff\x4f\xff\x51", 45, 7, 2, 2, 7, 2, 2))
	if err != nil || !x.YCC {
		t.Errorf("chroma of half the size: %+v, %v", x, err)
	}
}

// TestCut cuts images at every byte: the check finds it, and nothing panics.
func TestCut(t *testing.T) {
	for _, name := range []string{"rgb.jp2", "raw.j2k", "tiles.jp2"} {
		data := read(t, name)
		for n := range len(data) {
			x, err := Parse(data[:n])
			if err == nil {
				err = x.CheckStream()
			}
			if !errors.Is(err, errs.Corrupt) {
				t.Fatalf("%s, %d of %d bytes: got %v", name, n, len(data), err)
			}
		}
	}
	// A part of a tile that goes to the end must have the end mark.
	data := change(read(t, "raw.j2k"), "\xff\x90\x00\x0a", 6, 0, 0, 0, 0)
	for _, n := range []int{0, 1} {
		x, err := Parse(data[:len(data)-n])
		if err != nil {
			t.Fatal(err)
		}
		if err := x.CheckStream(); (err == nil) != (n == 0) {
			t.Errorf("to the end, without %d bytes: got %v", n, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, name := range []string{"one.jp2", "raw.j2k", "la.jp2"} {
		f.Add(read(f, name))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		x, err := Parse(data)
		if err != nil {
			return
		}
		if x.Width < 1 || x.Height < 1 || x.Channels < 1 || x.Channels > 4 || x.Depth != 8 && x.Depth != 16 {
			t.Fatalf("%+v", x.Header)
		}
		_ = x.CheckStream()
	})
}

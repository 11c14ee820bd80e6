package heif

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
	for name, want := range map[string]struct {
		header [5]int // width, height, channels, depth, orientation
		codec  Codec
		alpha  bool
	}{
		"rgb444.avif":  {[5]int{53, 37, 3, 8, 1}, AV1, false},
		"gray.avif":    {[5]int{45, 31, 1, 8, 1}, AV1, false},
		"rgba444.avif": {[5]int{29, 33, 4, 8, 1}, AV1, true},
		"turned.avif":  {[5]int{24, 16, 3, 8, 6}, AV1, false},
		"rgb444.heic":  {[5]int{48, 64, 3, 8, 1}, HEVC, false},
		"odd444.heic":  {[5]int{53, 37, 3, 8, 1}, HEVC, false},
		"rgba.heic":    {[5]int{48, 64, 4, 8, 1}, HEVC, true},
	} {
		data := read(t, name)
		x, err := Parse(data)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := [5]int{x.Width, x.Height, x.Channels, x.Header.Depth, x.Orientation}; got != want.header {
			t.Errorf("%s: got %v, want %v", name, got, want.header)
		}
		if x.Codec != want.codec || (x.Alpha != nil) != want.alpha || len(x.Tiles) != 1 {
			t.Errorf("%s: codec %s, alpha %v, %d tiles", name, x.Codec, x.Alpha != nil, len(x.Tiles))
		}
		if IsAVIF(data) != (want.codec == AV1) || IsHEIC(data) != (want.codec == HEVC) {
			t.Errorf("%s: AVIF %v, HEIC %v", name, IsAVIF(data), IsHEIC(data))
		}
	}
}

func TestOrientation(t *testing.T) {
	for want, turns := range [][]byte{1: {}, 2: {mirrorColumns}, 3: {2}, 4: {mirrorRows}, 5: {1, mirrorRows},
		6: {3}, 7: {3, mirrorRows}, 8: {1}} {
		if want == 0 {
			continue
		}
		if got := (&item{turns: turns}).orientation(); got != want {
			t.Errorf("turns %v: orientation %d, want %d", turns, got, want)
		}
	}
}

// change returns a copy in which b stands at an offset behind the name of a box.
func change(data []byte, name string, offset int, b ...byte) []byte {
	data = bytes.Clone(data)
	copy(data[bytes.Index(data, []byte(name))+len(name)+offset:], b)
	return data
}

func TestRefused(t *testing.T) {
	avif, heic := read(t, "rgb444.avif"), read(t, "odd444.heic")
	for name, c := range map[string]struct {
		data []byte
		kind errs.Kind
		text string
	}{
		"nothing":          {nil, errs.Corrupt, "metadata"},
		"no metadata":      {avif[:32], errs.Corrupt, "metadata"},
		"no such item":     {change(avif, "pitm", 4, 0, 9), errs.Corrupt, "item 9"},
		"another type":     {change(avif, "infe", 8, []byte("jpeg")...), errs.Unsupported, `"jpeg"`},
		"data elsewhere":   {change(avif, "iloc", 14, 0x7f), errs.Corrupt, "the data of item 1"},
		"no pixels":        {change(avif, "ispe", 4, 0, 0, 0, 0), errs.Corrupt, "pixels"},
		"a huge image":     {change(avif, "ispe", 4, 0x7f, 0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff), errs.Exhausted, "2147483647"},
		"property":         {change(avif, "ipma", 11, 0x7f), errs.Corrupt, "property 127"},
		"essential":        {change(avif, "ipma", 11, 0x80|2, 0x80|3), errs.Corrupt, ""},
		"aperture outside": {change(heic, "clap", 0, 0x10), errs.Corrupt, "aperture"},
		"half a pixel":     {change(heic, "clap", 16, 0, 0, 0, 0, 0, 0, 0, 1), errs.Unsupported, "between pixels"},
	} {
		_, err := Parse(c.data)
		if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// TestCut cuts images at every byte, and changes every byte of their headers: those that are cut
// are errors, and nothing panics.
func TestCut(t *testing.T) {
	for _, name := range []string{"rgb444.avif", "rgba444.avif", "odd444.heic"} {
		data := read(t, name)
		for n := range len(data) {
			if _, err := Parse(data[:n]); !errors.Is(err, errs.Corrupt) {
				t.Fatalf("%s, %d of %d bytes: got %v", name, n, len(data), err)
			}
		}
		for i := range bytes.Index(data, []byte("mdat")) {
			for _, v := range []byte{0, 0x7f, 0x80, 0xff} {
				bad := bytes.Clone(data)
				bad[i] = v
				if x, err := Parse(bad); err == nil && (x.Width < 1 || len(x.Tiles) == 0) {
					t.Fatalf("%s, byte %d: %+v", name, i, x.Header)
				}
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, name := range []string{"rgb444.avif", "rgba444.avif", "odd444.heic"} {
		f.Add(read(f, name))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		x, err := Parse(data)
		if err == nil && (x.Width < 1 || x.Height < 1 || x.Channels < 1 || x.Channels > 4 ||
			len(x.Tiles) != x.Rows*x.Columns) {
			t.Fatalf("%+v", x)
		}
	})
}

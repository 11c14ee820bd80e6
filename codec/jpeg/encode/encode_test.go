package encode_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"testing"

	"github.com/bivouac-ml/bivouac/codec/jpeg"
	"github.com/bivouac-ml/bivouac/codec/jpeg/distort"
	"github.com/bivouac-ml/bivouac/codec/jpeg/encode"
	"github.com/bivouac-ml/bivouac/errs"
)

// picture repeats the formula of testdata/record.py.
func picture(kind, h, w, c int) []byte {
	var out []byte
	for y := range h {
		for x := range w {
			for k := range c {
				switch kind {
				case 0:
					out = append(out, byte(x*(k+1)/2+y+(x*31+y*17+k*7)%23))
				case 1:
					out = append(out, byte((x/3+y/5+k)%2*255))
				default:
					out = append(out, byte((x*7919+y*104729+k*1299709+x*y*31)%251))
				}
			}
		}
	}
	return out
}

// Files equal those that Pillow writes with libjpeg-turbo.
func TestFilesOfPillow(t *testing.T) {
	b, err := os.ReadFile("testdata/files.json")
	if err != nil {
		t.Fatal(err)
	}
	var recorded struct{ Cases [][8]any }
	if err := json.Unmarshal(b, &recorded); err != nil || len(recorded.Cases) < 600 {
		t.Fatalf("%d cases: %v", len(recorded.Cases), err)
	}
	var e encode.Encoder
	var file []byte
	for _, c := range recorded.Cases {
		n := func(i int) int { return int(c[i].(float64)) }
		kind, h, w, channels, full := n(0), n(1), n(2), n(3), n(5) == 1
		o := encode.Options{Quality: n(4), FullColour: full}
		file, err = e.Append(file[:0], picture(kind, h, w, channels), w, h, channels, o)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(file)
		if got := hex.EncodeToString(sum[:])[:24]; got != c[7] || len(file) != n(6) {
			t.Errorf("%v: %d bytes, %s", c, len(file), got)
		}
	}
}

// What a decoder makes of a file is what package distort says that JPEG leaves.
func TestFilesDecodeToWhatIsLeft(t *testing.T) {
	var e encode.Encoder
	var d distort.Distorter
	for _, size := range [][2]int{{1, 1}, {7, 3}, {31, 18}, {64, 48}} {
		w, h := size[0], size[1]
		pixels := picture(0, h, w, 3)
		file, err := e.Append([]byte("before"), pixels, w, h, 3, encode.Options{Quality: 80})
		if err != nil || !bytes.HasPrefix(file, []byte("before\xff\xd8")) {
			t.Fatal(err)
		}
		img, err := jpeg.ReadHeader(file[6:])
		if err != nil || img.Width != w || img.Height != h {
			t.Errorf("%d x %d: %v, %v", w, h, img, err)
		}
		want := make([]byte, len(pixels))
		d.Distort(want, pixels, w, h, 80)
		if got := decoded(t, file[6:]); !bytes.Equal(got, want) {
			t.Errorf("%d x %d: other pixels", w, h)
		}
	}
}

func decoded(t *testing.T, file []byte) []byte {
	t.Helper()
	var d jpeg.Decoder
	h, err := d.ReadHeader(file)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]byte, 3*h.Width*h.Height)
	if err := d.Decode(out, file, h, jpeg.Options{}); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestRefusedImages(t *testing.T) {
	var e encode.Encoder
	for name, c := range map[string]struct{ bytes, w, h, channels int }{
		"nothing":        {0, 0, 1, 3},
		"too wide":       {3 << 16, 1 << 16, 1, 3},
		"two channels":   {2, 1, 1, 2},
		"too few pixels": {11, 2, 2, 3},
		"a negative row": {3, -1, -1, 3},
	} {
		out, err := e.Append(nil, make([]byte, c.bytes), c.w, c.h, c.channels, encode.Options{})
		if !errors.Is(err, errs.Invalid) || out != nil {
			t.Errorf("%s: %d bytes, %v", name, len(out), err)
		}
	}
}

func TestNoAllocations(t *testing.T) {
	var e encode.Encoder
	pixels := picture(0, 64, 64, 3)
	file, err := e.Append(nil, pixels, 64, 64, 3, encode.Options{Quality: 90})
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(20, func() {
		file, _ = e.Append(file[:0], pixels, 64, 64, 3, encode.Options{Quality: 90})
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

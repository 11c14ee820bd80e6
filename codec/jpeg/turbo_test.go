//go:build cgo && libjpeg

package jpeg

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
)

// TestPortableIsTurbo shows that both decoders give the same bytes: whole images and
// windows, in every format, whole files and damaged ones. Only the decoder in Go has the gray of
// four inks.
func TestPortableIsTurbo(t *testing.T) {
	images, _ := filepath.Glob(filepath.Join("testdata", "*.jpg"))
	r := rand.New(rand.NewPCG(1, 2))
	for _, path := range images {
		data := read(t, filepath.Base(path))
		for format := RGB; format <= BGR; format++ {
			same(t, path, data, format, Region{}, true)
			for range 20 {
				same(t, path, data, format, window(r, data), true)
			}
		}
		damaged, both := 0, 0
		for range 300 {
			b := bytes.Clone(data)
			for range 1 + r.IntN(3) {
				b[2+r.IntN(len(b)-2)] = byte(r.Uint32())
			}
			damaged++
			if same(t, path, b, Format(r.IntN(3)), Region{}, false) {
				both++
			}
		}
		if both*100 < damaged*80 {
			t.Errorf("%s: of %d damaged files %d are taken alike", path, damaged, both)
		}
	}
}

func window(r *rand.Rand, data []byte) Region {
	h, err := ReadHeader(data)
	if err != nil {
		return Region{}
	}
	w := Region{W: 1 + r.IntN(h.Width), H: 1 + r.IntN(h.Height)}
	w.X, w.Y = r.IntN(h.Width-w.W+1), r.IntN(h.Height-w.H+1)
	return w
}

// same reports whether both decoders agree about a file; must has them do.
func same(t *testing.T, path string, data []byte, format Format, w Region, must bool) bool {
	t.Helper()
	h, err := ReadHeader(data)
	if err != nil || h.Width*h.Height > 1<<20 {
		return true
	}
	if format == Gray && h.Components == 4 {
		return true
	}
	if w == (Region{}) {
		w = Region{W: h.Width, H: h.Height}
	}
	var d turbo
	var p portable
	want, got := make([]byte, w.W*w.H*format.Channels()), make([]byte, w.W*w.H*format.Channels())
	errWant := d.decode(&job{dst: want, data: data, header: h, region: w, format: format})
	errGot := p.decode(&job{dst: got, data: data, header: h, region: w, format: format})
	switch {
	case errWant != nil && errGot != nil:
		return true
	case errWant == nil && errGot == nil && bytes.Equal(want, got):
		return true
	case must:
		t.Errorf("%s, format %d, %v: libjpeg-turbo says %v, this %v", path, format, w, errWant, errGot)
	}
	return false
}

// TestPortableInstead shows that images that libjpeg-turbo does not decode as DALI does have the
// pixels of the decoder in Go: the gray of four inks, and what stands behind the data of the only
// scan and looks like a marker that does not exist, which libjpeg-turbo refuses.
func TestPortableInstead(t *testing.T) {
	behind := read(t, "j420_q30.jpg")
	end := bytes.LastIndex(behind, []byte{0xff, endOfImage})
	behind = slices.Concat(behind[:end], []byte{0xff, 0xff, 0xff, 0x64, 1, 2, 3, 4}, behind[end:])
	for _, c := range []struct {
		name   string
		data   []byte
		format Format
	}{{"gray of four inks", read(t, "j_cmyk.jpg"), Gray}, {"no marker", behind, RGB}, {"no marker", behind, Gray}} {
		h, err := ReadHeader(c.data)
		if err != nil {
			t.Fatal(err)
		}
		for _, fast := range []bool{false, true} {
			whole := Region{W: h.Width, H: h.Height}
			n := h.Width * h.Height * c.format.Channels()
			want, got := make([]byte, n), make([]byte, n)
			var raw turbo
			if err := raw.decode(&job{dst: got, data: c.data, header: h, region: whole, format: c.format, fast: fast}); err == nil {
				t.Errorf("%s, format %d: libjpeg-turbo decodes it, so the case shows nothing", c.name, c.format)
			}
			var p portable
			if err := p.decode(&job{dst: want, data: c.data, header: h, region: whole, format: c.format, fast: fast}); err != nil {
				t.Fatal(err)
			}
			var d Decoder
			if err := d.Decode(got, c.data, h, Options{Format: c.format, FastIDCT: fast}); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s, format %d, fast %v: got other pixels than in Go, %v", c.name, c.format, fast, err)
			}
		}
	}
}

// TestSteadyState shows that decoding allocates nothing in Go.
func TestSteadyState(t *testing.T) {
	data := read(t, "j420_odd.jpg")
	var d Decoder
	dst := make([]byte, 33*47*3)
	if n := testing.AllocsPerRun(20, func() {
		h, err := d.ReadHeader(data)
		if err == nil {
			err = d.Decode(dst[:h.Width*h.Height*3], data, h, Options{})
		}
		if err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%g allocations an image", n)
	}
}

// TestScans gives a progressive image more scans than are allowed by repeating its last.
func TestScans(t *testing.T) {
	data := read(t, "j_prog420.jpg")
	last := bytes.LastIndex(data, []byte{0xff, startOfScan})
	end := bytes.LastIndex(data, []byte{0xff, endOfImage})
	var d Decoder
	for _, c := range []struct {
		repeat int
		kind   errs.Kind
	}{{MaxScans / 2, 0}, {MaxScans + 10, errs.Exhausted}} {
		many := bytes.Clone(data[:last])
		for range c.repeat {
			many = append(many, data[last:end]...)
		}
		many = append(many, data[end:]...)
		h, err := d.ReadHeader(many)
		if err != nil {
			t.Fatal(err)
		}
		err = d.Decode(make([]byte, h.Width*h.Height*3), many, h, Options{})
		if (c.kind != 0) != (err != nil) || err != nil && !errors.Is(err, c.kind) {
			t.Errorf("%d scans: got %v", c.repeat, err)
		}
	}
}

// TestCutFilesAreDecodedOnce cuts files in many places. Where libjpeg-turbo has found that the data
// ends too early, the decoder in Go refuses the file too, and is not asked.
func TestCutFilesAreDecodedOnce(t *testing.T) {
	images, _ := filepath.Glob(filepath.Join("testdata", "*.jpg"))
	once := 0
	for _, path := range images {
		data := read(t, filepath.Base(path))
		h, err := ReadHeader(data)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 40 {
			cut := data[:len(data)*(i+1)/41]
			if _, err := ReadHeader(cut); err != nil || h.Components == 4 {
				continue
			}
			j := job{dst: make([]byte, 3*h.Width*h.Height), data: cut, header: h, region: Region{W: h.Width, H: h.Height}}
			var b backend
			if err := b.decode(&j); err == nil {
				t.Errorf("%s: %d of %d bytes are an image", path, len(cut), len(data))
			}
			if !b.turbo.cut {
				continue
			}
			once++
			if b.portable.decoder.Limits.Scans != 0 || b.portable.inks != nil {
				t.Errorf("%s: %d of %d bytes were decoded twice", path, len(cut), len(data))
			}
			var p portable
			if err := p.decode(&j); !errors.Is(err, errs.Corrupt) {
				t.Errorf("%s: %d of %d bytes in Go: %v", path, len(cut), len(data), err)
			}
		}
	}
	if once < 100 {
		t.Errorf("only %d files were decoded once", once)
	}
}

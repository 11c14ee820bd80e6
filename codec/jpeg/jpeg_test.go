package jpeg

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
)

func read(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func decode(d *Decoder, data []byte, format Format, orient bool) ([]byte, Header, error) {
	h, err := d.ReadHeader(data)
	if err != nil {
		return nil, h, err
	}
	dst := make([]byte, h.Width*h.Height*format.Channels())
	return dst, h, d.Decode(dst, data, h, Options{Format: format, Orient: orient})
}

// TestReference compares with what DALI gives. libjpeg-turbo gives the same; of the
// standard library the inverse transform rounds differently: by one level of a
// plane, which is up to three after upsampling and conversion.
func TestReference(t *testing.T) {
	expected, err := filepath.Glob(filepath.Join("testdata", "*.npy"))
	if err != nil || len(expected) == 0 {
		t.Fatalf("no expectations: %v", err)
	}
	var d Decoder
	for _, path := range expected {
		name := strings.TrimSuffix(filepath.Base(path), ".npy")
		format, worst, average := RGB, 3, 0.1
		if strings.HasSuffix(name, ".gray") {
			format, worst = Gray, 1
			if strings.HasPrefix(name, "j_cmyk") {
				worst, average = 2, 0.6 // by way of RGB
			}
		}
		if Advice() == "" {
			if worst, average = 0, 0; name == "j_cmyk.gray" {
				worst, average = 1, 0.5
			}
		}
		got, _, err := decode(&d, read(t, strings.SplitN(name, ".", 2)[0]+".jpg"), format, true)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		npy := read(t, filepath.Base(path))
		if len(npy) <= len(got) {
			t.Errorf("%s: %d bytes, expectation has %d", name, len(got), len(npy))
			continue
		}
		want := npy[len(npy)-len(got):]
		most, sum := 0, 0
		for i := range got {
			diff := max(int(got[i]), int(want[i])) - min(int(got[i]), int(want[i]))
			most, sum = max(most, diff), sum+diff
		}
		if most > worst || float64(sum) > average*float64(len(got)) {
			t.Errorf("%s: differs by up to %d, %.3f on average", name, most, float64(sum)/float64(len(got)))
		}
	}
}

func TestOrientedSize(t *testing.T) {
	var d Decoder
	for o := 1; o <= 8; o++ {
		h, err := d.ReadHeader(read(t, "j_exif"+string(rune('0'+o))+".jpg"))
		if err != nil || h.Orientation != o {
			t.Errorf("orientation %d: got %+v, %v", o, h, err)
		}
		if w, _ := h.Oriented(); (w == h.Width) != (o <= 4) {
			t.Errorf("orientation %d: stored %dx%d gives width %d", o, h.Width, h.Height, w)
		}
	}
}

func TestDamaged(t *testing.T) {
	whole := read(t, "j420_odd.jpg")
	huge := bytes.Clone(read(t, "j_gray.jpg"))
	sof := bytes.Index(huge, []byte{0xff, 0xc0})
	copy(huge[sof+5:], []byte{0xff, 0xff, 0xff, 0xff}) // 65535 x 65535
	wide := bytes.Clone(huge)
	copy(wide[sof+5:], []byte{0x20, 0, 0x20, 0}) // 8192 x 8192 in a few hundred bytes
	cases := []struct {
		name string
		data []byte
		kind errs.Kind
	}{
		{"empty", nil, errs.Corrupt},
		{"text", []byte("not an image at all"), errs.Corrupt},
		{"png", []byte("\x89PNG\r\n\x1a\n"), errs.Corrupt},
		{"only the marker", whole[:2], errs.Corrupt},
		{"cut in the header", whole[:100], errs.Corrupt},
		{"cut in the data", whole[:len(whole)-40], errs.Corrupt},
		{"cut by DALI's tests", read(t, "bad_cut60.jpg"), errs.Corrupt},
		{"cut progressive", read(t, "bad_cut_prog.jpg"), errs.Corrupt},
		{"beyond the largest", huge, errs.Exhausted},
		{"more pixels than bytes can fill", wide, errs.Corrupt},
	}
	var d Decoder
	for _, c := range cases {
		if _, _, err := decode(&d, c.data, RGB, true); !errors.Is(err, c.kind) {
			t.Errorf("%s: got %v, want kind %v", c.name, err, c.kind)
		}
	}
	if _, _, err := decode(&d, whole, RGB, true); err != nil {
		t.Errorf("the decoder does not survive damaged images: %v", err)
	}
	h, _ := d.ReadHeader(whole)
	if err := d.Decode(make([]byte, 5), whole, h, Options{}); !errors.Is(err, errs.Invalid) {
		t.Errorf("memory of the wrong size: got %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	images, _ := filepath.Glob(filepath.Join("testdata", "*.jpg"))
	for _, path := range images {
		if b, err := os.ReadFile(path); err == nil && len(b) < 8<<10 {
			f.Add(b, true)
			f.Add(b[:len(b)/2], false)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, gray bool) {
		format := RGB
		if gray {
			format = Gray
		}
		var d Decoder
		h, err := d.ReadHeader(data)
		if err != nil || h.Width*h.Height > 1<<22 {
			return
		}
		r := Region{X: h.Width / 4, Y: h.Height / 3, W: (h.Width + 1) / 2, H: (h.Height + 1) / 2}
		window := make([]byte, r.W*r.H*format.Channels())
		_ = d.Decode(window, data, h, Options{Format: format, Region: r}) // damage may lie below it, or be taken otherwise
		first := make([]byte, h.Width*h.Height*format.Channels())
		if err := d.Decode(first, data, h, Options{Format: format, Orient: true}); err != nil {
			return
		}
		second := make([]byte, len(first))
		if err := d.Decode(second, data, h, Options{Format: format, Orient: true}); err != nil || !bytes.Equal(first, second) {
			t.Fatalf("decoding twice gives different results (%v)", err)
		}
	})
}

// TestRegion holds windows against the same part of the whole image.
func TestRegion(t *testing.T) {
	images, err := filepath.Glob(filepath.Join("testdata", "*.jpg"))
	if err != nil || len(images) == 0 {
		t.Fatalf("no images: %v", err)
	}
	var d Decoder
	rapid.Check(t, func(t *rapid.T) {
		data, err := os.ReadFile(rapid.SampledFrom(images).Draw(t, "image"))
		if err != nil {
			t.Fatal(err)
		}
		o := Options{
			Format: rapid.SampledFrom([]Format{RGB, Gray, BGR}).Draw(t, "format"),
			Orient: rapid.Bool().Draw(t, "orient"), FastIDCT: rapid.Bool().Draw(t, "fast"),
		}
		h, err := d.ReadHeader(data)
		if err != nil {
			t.Skip("damaged")
		}
		width, height := h.Width, h.Height
		if o.Orient {
			width, height = h.Oriented()
		}
		c := o.Format.Channels()
		whole := make([]byte, width*height*c)
		if d.Decode(whole, data, h, o) != nil {
			t.Skip("damaged")
		}
		r := Region{W: rapid.IntRange(1, width).Draw(t, "w"), H: rapid.IntRange(1, height).Draw(t, "h")}
		r.X, r.Y = rapid.IntRange(0, width-r.W).Draw(t, "x"), rapid.IntRange(0, height-r.H).Draw(t, "y")
		o.Region = r
		part := make([]byte, r.W*r.H*c)
		if err := d.Decode(part, data, h, o); err != nil {
			t.Fatalf("window %+v: %v", r, err)
		}
		for y := range r.H {
			from := ((r.Y+y)*width + r.X) * c
			if !bytes.Equal(part[y*r.W*c:(y+1)*r.W*c], whole[from:from+r.W*c]) {
				t.Fatalf("window %+v of %dx%d: row %d differs", r, width, height, y)
			}
		}
	})
}

func TestRegionRefused(t *testing.T) {
	var d Decoder
	data := read(t, "j420_odd.jpg")
	h, _ := d.ReadHeader(data)
	for _, r := range []Region{{-1, 0, 2, 2}, {0, 0, 0, 2}, {h.Width - 1, 0, 2, 2}, {0, h.Height, 1, 1}, {1 << 62, 1 << 62, 1 << 62, 1}} {
		if err := d.Decode(make([]byte, 12), data, h, Options{Region: r}); !errors.Is(err, errs.Invalid) {
			t.Errorf("window %+v: got %v", r, err)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	data := read(b, "flower.jpg")
	for _, format := range []Format{RGB, Gray} {
		b.Run(map[Format]string{RGB: "rgb", Gray: "gray"}[format], func(b *testing.B) {
			var d Decoder
			h, err := d.ReadHeader(data)
			if err != nil {
				b.Fatal(err)
			}
			dst := make([]byte, h.Width*h.Height*format.Channels())
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if err := d.Decode(dst, data, h, Options{Format: format, Orient: true}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "images/s")
		})
	}
}

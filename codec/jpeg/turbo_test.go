//go:build cgo && libjpeg

package jpeg

import (
	"bytes"
	"errors"
	"path/filepath"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
)

// TestPortableDistance measures how far the standard library is from libjpeg-turbo.
func TestPortableDistance(t *testing.T) {
	images, _ := filepath.Glob(filepath.Join("testdata", "*.jpg"))
	var d Decoder
	var p portable
	levels := map[int]int{}
	samples := 0
	for _, path := range images {
		data := read(t, filepath.Base(path))
		h, err := d.ReadHeader(data)
		if err != nil {
			continue
		}
		want := make([]byte, h.Width*h.Height*3)
		if d.Decode(want, data, h, Options{}) != nil {
			continue
		}
		got := make([]byte, len(want))
		if err := p.decode(got, data, h, Region{W: h.Width, H: h.Height}, RGB, false); err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		samples += len(got)
		for i := range got {
			diff := max(got[i], want[i]) - min(got[i], want[i])
			if levels[int(diff)]++; diff > 3 {
				t.Fatalf("%s: sample %d is %d, libjpeg-turbo gives %d", path, i, got[i], want[i])
			}
		}
	}
	for diff := range 4 {
		t.Logf("%d levels: %.3f %%", diff, 100*float64(levels[diff])/float64(max(samples, 1)))
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

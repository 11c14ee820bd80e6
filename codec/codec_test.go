package codec

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/codec/jpeg"
	"github.com/bivouac-ml/bivouac/codec/raster"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// path returns where an image lies: among those that Pillow wrote, or in the vectors.
func path(name string) string {
	if strings.HasSuffix(name, ".txt") {
		return filepath.Join("testdata", name)
	}
	if own := filepath.Join("testdata", "pillow", name); !strings.Contains(name, "_") || exists(own) {
		return own
	}
	return filepath.Join("..", "testdata", "dali", "inputs", name)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func read(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(path(name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// decode returns the pixels and shape of an image.
func decode(d *Decoder, data []byte, o Output) (pixels []byte, shape [3]int, err error) {
	h, err := ReadHeader(data)
	if err != nil {
		return nil, shape, err
	}
	width, height, channels := o.Size(h)
	if o.Region != (jpeg.Region{}) {
		width, height = o.Region.W, o.Region.H
	}
	size := max(o.DType.Size(), 1)
	pixels = make([]byte, width*height*channels*size)
	return pixels, [3]int{height, width, channels}, d.Decode(pixels, data, h, o)
}

var (
	colors = map[string]raster.Color{"RGB": raster.RGB, "BGR": raster.BGR, "GRAY": raster.Gray, "YCbCr": raster.YCbCr, "ANY_DATA": raster.Any}
	types  = map[string]tensor.DType{"uint8": tensor.Uint8, "uint16": tensor.Uint16, "int16": tensor.Int16, "float32": tensor.Float32}
)

// TestRecorded holds what DALI and Pillow recorded, to the last bit.
func TestRecorded(t *testing.T) {
	var d Decoder
	for _, list := range []string{"dali.txt", "pillow.txt"} {
		lines := bufio.NewScanner(bytes.NewReader(read(t, list)))
		cases := 0
		for lines.Scan() {
			f := strings.Fields(lines.Text())
			if f[0] == "#" {
				continue
			}
			cases++
			pixels, shape, err := decode(&d, read(t, f[0]), Output{Color: colors[f[1]], DType: types[f[2]], Orient: f[3] == "true"})
			if err != nil {
				t.Errorf("%s: %v", lines.Text(), err)
				continue
			}
			if got := fmt.Sprintf("%dx%dx%d", shape[0], shape[1], shape[2]); got != f[4] {
				t.Errorf("%s: shape %s", lines.Text(), got)
			}
			sum := sha256.Sum256(pixels)
			if hex.EncodeToString(sum[:]) != f[5] {
				t.Errorf("%s: other pixels", lines.Text())
			}
		}
		if cases < 20 {
			t.Errorf("%s: %d cases", list, cases)
		}
	}
}

// TestWindows holds windows against the same part of whole images, turned or not, in
// colours and types that go different ways.
func TestWindows(t *testing.T) {
	var d Decoder
	for _, name := range []string{"j420_odd.jpg", "j_exif6.jpg", "p_16rgb.png", "p_rgba.png", "t_rgba.tiff", "w_lossy.webp", "n_pgm.pgm"} {
		data := read(t, name)
		for _, o := range []Output{
			{}, {Color: raster.Any, Orient: true}, {Color: raster.YCbCr, Orient: true}, {Color: raster.BGR, DType: tensor.Float32},
			{Color: raster.Gray, DType: tensor.Int8, Orient: true},
		} {
			whole, shape, err := decode(&d, data, o)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			o.Region = jpeg.Region{X: 3, Y: 2, W: shape[1] - 5, H: shape[0] - 7}
			part, _, err := decode(&d, data, o)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			size := shape[2] * max(o.DType.Size(), 1)
			for y := range o.Region.H {
				from := ((y+o.Region.Y)*shape[1] + o.Region.X) * size
				n := o.Region.W * size
				if !bytes.Equal(part[y*n:(y+1)*n], whole[from:from+n]) {
					t.Fatalf("%s, %+v: row %d differs", name, o, y)
				}
			}
			for _, r := range []jpeg.Region{{X: -1, W: 2, H: 2}, {X: shape[1] - 1, W: 2, H: 1}, {Y: shape[0], W: 1, H: 1}} {
				o.Region = r
				if _, _, err := decode(&d, data, o); !errors.Is(err, errs.Invalid) {
					t.Errorf("%s, window %+v: got %v", name, r, err)
				}
			}
		}
	}
}

func TestRefused(t *testing.T) {
	var d Decoder
	for _, c := range []struct {
		name string
		o    Output
		kind errs.Kind
		text string
	}{
		{"k_jp2.jp2", Output{}, errs.Unsupported, "import codec/video"},
		{"a0_pcm_16_1ch.wav", Output{}, errs.Corrupt, "an image"},
		{"j_cmyk.jpg", Output{Color: raster.Any}, errs.Unsupported, "4 channels"},
		{"p_la.png", Output{Color: raster.Any}, errs.Unsupported, "2 channels"},
		{"bad_cut.png", Output{}, errs.Corrupt, "png"},
		{"bad_flip.png", Output{}, errs.Corrupt, "Failed to decode"},
		{"bad_cut60.jpg", Output{}, errs.Corrupt, "Failed to decode"},
	} {
		if _, _, err := decode(&d, read(t, c.name), c.o); !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: got %v", c.name, err)
		}
	}
}

// TestCut cuts and damages every image at every byte: none may panic, and one that is
// cut to half gives an error.
func TestCut(t *testing.T) {
	images, err := filepath.Glob(path("*_*"))
	if err != nil || len(images) == 0 {
		t.Fatalf("no images: %v", err)
	}
	var d Decoder
	for _, name := range images {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if f := Detect(data); f == Unknown || f == JP2 || f == JPEG || len(data) > 4000 {
			continue
		}
		if _, _, err := decode(&d, data[:len(data)/2], Output{}); err == nil {
			t.Errorf("%s: half of it decodes", name)
		}
		step := 1 + len(data)/150
		for i := 0; i < len(data); i += step {
			b := bytes.Clone(data)
			b[i] ^= 0xff
			_, _, _ = decode(&d, b, Output{Color: raster.Any})
			_, _, _ = decode(&d, data[:i], Output{})
		}
	}
}

func FuzzDecode(f *testing.F) {
	images, _ := filepath.Glob(path("*_*"))
	for _, name := range images {
		if b, err := os.ReadFile(name); err == nil && len(b) < 4000 && Detect(b) != Unknown {
			f.Add(b, uint8(raster.RGB), false)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, color uint8, orient bool) {
		h, err := ReadHeader(data)
		if err != nil || h.Width*h.Height > 1<<18 {
			return
		}
		var d Decoder
		o := Output{Color: raster.Color(color % 5), Orient: orient}
		first, _, err := decode(&d, data, o)
		if err != nil {
			return
		}
		second, _, err := decode(&d, data, o)
		if err != nil || !bytes.Equal(first, second) {
			t.Fatalf("decoding twice gives different results (%v)", err)
		}
	})
}

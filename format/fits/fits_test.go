package fits_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/fits"
	"github.com/bivouac-ml/bivouac/tensor"
)

// The images that DALI and astropy wrote are compared in package reader (TestMeasured). Here are
// headers and damage.

// pad fills up to a multiple of 2,880 bytes.
func pad(b []byte, with byte) []byte {
	for len(b)%2880 != 0 {
		b = append(b, with)
	}
	return b
}

// hdu returns a header of the given lines.
func hdu(lines ...string) []byte {
	var b []byte
	for _, l := range append(lines, "END") {
		b = append(b, fmt.Sprintf("%-80s", l)...)
	}
	return pad(b, ' ')
}

// primary is a first HDU without data.
var primary = hdu("SIMPLE  =                    T", "BITPIX  =                    8", "NAXIS   =                    0")

// image is a file with an image of 16-bit integers, 2 rows of 3.
func image(more ...string) []byte {
	lines := append([]string{"XTENSION= 'IMAGE   '", "BITPIX  =                   16", "NAXIS   =                    2",
		"NAXIS1  =                    3", "NAXIS2  =                    2"}, more...)
	var data []byte
	for i := range 6 {
		data = binary.BigEndian.AppendUint16(data, uint16(i))
	}
	return append(append(bytes.Clone(primary), hdu(lines...)...), pad(data, 0)...)
}

func read(b []byte, number int) (tensor.Tensor, error) {
	m, err := fits.Open(bytes.NewReader(b), int64(len(b)), number)
	if err != nil {
		return tensor.Tensor{}, err
	}
	t := tensor.New(m.DType, m.Shape...)
	return t, m.Read(bytes.NewReader(b), t.Data)
}

func TestRead(t *testing.T) {
	got, err := read(image("BZERO   =              32768.0 / as 'unsigned'", "COMMENT a line = without a value"), 2)
	want := tensor.FromSlice([]uint16{32768, 32769, 32770, 32771, 32772, 32773}, 2, 3)
	if err != nil || !got.Equal(want) {
		t.Errorf("%v, %v", got, err)
	}
	b := image()
	m, err := fits.Open(bytes.NewReader(b), int64(len(b)), 2)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Read(bytes.NewReader(b), make([]byte, 11)); !errors.Is(err, errs.Invalid) {
		t.Errorf("room for 11 bytes: %v", err)
	}
	if err := m.Read(bytes.NewReader(b[:5762]), make([]byte, 12)); err == nil {
		t.Error("a file that was cut since")
	}
}

func TestDamage(t *testing.T) {
	change := func(old, with string) []byte { return bytes.Replace(image(), []byte(old), []byte(with), 1) }
	for _, c := range []struct {
		name   string
		b      []byte
		number int
		want   errs.Kind
	}{
		{"no bytes", nil, 1, errs.Corrupt},
		{"no HDU of that number", image(), 3, errs.NotFound},
		{"number 0", image(), 0, errs.Invalid},
		{"the first without data", image(), 1, errs.Unsupported},
		{"no SIMPLE", change("SIMPLE", "SAMPLE"), 2, errs.Corrupt},
		{"no XTENSION", change("XTENSION", "EXTENSIO"), 2, errs.Corrupt},
		{"a table", change("'IMAGE   '", "'BINTABLE'"), 2, errs.Unsupported},
		{"BITPIX", change("                  16", "                  12"), 2, errs.Corrupt},
		{"no BITPIX", change("BITPIX  =                   16", "BITS    =                   16"), 2, errs.Corrupt},
		{"no axis", change("NAXIS2", "NAXIS3"), 2, errs.Corrupt},
		{"axis below 0", change("NAXIS2  =                    2", "NAXIS2  =                   -2"), 2, errs.Corrupt},
		{"axis that is no number", change("NAXIS2  =                    2", "NAXIS2  =                  two"), 2,
			errs.Corrupt},
		{"an image beyond the file", change("NAXIS2  =                    2", "NAXIS2  =              2000000"), 2,
			errs.Corrupt},
		{"an image beyond 63 bits", change("NAXIS2  =                    2", "NAXIS2  =  9223372036854775807"), 2,
			errs.Corrupt},
		{"cut data", image()[:6000], 2, errs.Corrupt},
		{"cut header", image()[:4000], 2, errs.Corrupt},
		{"no END", bytes.Repeat([]byte(fmt.Sprintf("%-80s", "SIMPLE  =                    T")), 36*400), 1,
			errs.Corrupt},
		{"BSCALE", image("BSCALE  = 'text'"), 2, errs.Corrupt},
		{"PCOUNT below 0", image("PCOUNT  =                   -1"), 2, errs.Corrupt},
		{"PCOUNT beyond 63 bits", image("PCOUNT  =  9223372036854775807"), 2, errs.Corrupt},
		{"compression", change("'IMAGE   '", "'BINTABLE' /                   ")[:0], 2, errs.Corrupt},
	} {
		if got, err := read(c.b, c.number); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, %v, want %v", c.name, got.Shape, err, c.want)
		}
	}
}

// recorded returns a file of testdata/readers.
func recorded(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "testdata", "readers", "data", "fits", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Each change of a compressed image is refused.
func TestDamagedTiles(t *testing.T) {
	for _, c := range []struct{ file, old, with string }{
		{"c-RICE_1-i2-16.fits", "'RICE_1  '", "'RICE_7  '"},
		{"c-RICE_1-i2-16.fits", "ZTILE1  =                    7", "ZTILE1  =                    0"},
		{"c-RICE_1-i2-16.fits", "ZTILE1  =                    7", "ZTILE1  =                    6"},
		{"c-RICE_1-i2-16.fits", "ZNAXIS1 =                   20", "ZNAXIS1 =          20000000000"},
		{"c-RICE_1-i2-16.fits", "ZBITPIX =                   16", "ZBITPIX =                   64"},
		{"c-RICE_1-i2-16.fits", "ZBITPIX =                   16", "ZBITPIX =                   17"},
		{"c-RICE_1-i2-16.fits", "'COMPRESSED_DATA'", "'COMPRESSED_DATE'"},
		{"c-RICE_1-i2-16.fits", "TFORM1  = '1PB", "TFORM1  = '1ZB"},
		{"c-RICE_1-i2-16.fits", "TFORM1  = '1PB", "TFORM1  = '9PB"},
		{"c-RICE_1-i2-16.fits", "TFORM1  = '1PB", "TFORM1  = '1JB"},
		{"c-RICE_1-i2-16.fits", "TFIELDS =                    1", "TFIELDS =                    0"},
		{"c-RICE_1-i2-16.fits", "TFIELDS =                    1", "TFIELDS =                    3"},
		{"c-RICE_1-i2-16.fits", "ZVAL1   =                   32", "ZVAL1   =                    0"},
		{"c-RICE_1-i2-16.fits", "ZVAL2   =                    2", "ZVAL2   =                    3"},
		{"c-dither1.fits", "ZDITHER0=                   37", "ZDITHER0=                    0"},
		{"c-dither1.fits", "SUBTRACTIVE_DITHER_1", "SUBTRACTIVE_DITHER_7"},
	} {
		b := recorded(t, c.file)
		d := bytes.Replace(b, []byte(c.old), []byte(c.with), 1)
		if bytes.Equal(b, d) {
			t.Errorf("%s has no %q", c.file, c.old)
		}
		if _, err := read(d, 2); !errors.Is(err, errs.Corrupt) && !errors.Is(err, errs.Unsupported) {
			t.Errorf("%s: %v", c.with, err)
		}
	}
	for _, file := range []string{"c-RICE_1-i2-16.fits", "c-GZIP_2-i4-16.fits"} {
		b := recorded(t, file)
		at := strings.Index(string(b), "COMPRESSED_IMAGE") // the last line but one of the header
		data := (at + 2880) / 2880 * 2880
		for i, change := range []func(b []byte){
			func(b []byte) { binary.BigEndian.PutUint32(b[data+4:], 1<<30) },    // a place beyond the heap
			func(b []byte) { binary.BigEndian.PutUint32(b[data:], 0xffffffff) }, // a length below 0
			func(b []byte) { binary.BigEndian.PutUint32(b[data:], 3) },          // too short
			func(b []byte) { copy(b[data:], make([]byte, 8)) },                  // no data
			func(b []byte) {
				copy(b[data+8*9:],
					bytes.Repeat([]byte{0xff}, 20)[:2])
			}, // other bytes, which Rice may take
		} {
			d := bytes.Clone(b)
			change(d)
			if _, err := read(d, 2); err == nil && i < 4 {
				t.Errorf("%s, change %d: no error", file, i)
			}
		}
	}
}

// FuzzImage reads the images of any file.
func FuzzImage(f *testing.F) {
	f.Add(image("BZERO   =              32768.0"))
	for _, name := range []string{"c-RICE_1-u1-16.fits", "c-GZIP_1-i2-16.fits", "c-dither2.fits"} {
		f.Add(recorded(f, name))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for number := 1; number < 4; number++ {
			m, err := fits.Open(bytes.NewReader(b), int64(len(b)), number)
			if err != nil {
				continue
			}
			if n, err := m.Shape.Bytes(m.DType); err != nil {
				t.Fatal(err)
			} else if n <= 1<<20 {
				_ = m.Read(bytes.NewReader(b), make([]byte, n))
			}
		}
	})
}

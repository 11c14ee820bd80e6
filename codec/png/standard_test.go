package png

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/codec/internal/decodetest"
	"github.com/bivouac-ml/bivouac/codec/raster"
)

// TestStandard holds the decoder against the standard library: the same files are images, of the
// same pixels.
func TestStandard(t *testing.T) {
	files := made(t)
	for _, pattern := range []string{"../testdata/pillow/*.png", "../../testdata/dali/inputs/*.png"} {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			t.Fatal(pattern, err)
		}
		for _, name := range names {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, b)
		}
	}
	for _, b := range files {
		if h, err := ReadHeader(b); err == nil {
			compare(t, h, b)
		}
	}
}

func compare(t *testing.T, h raster.Header, data []byte) {
	t.Helper()
	want, wantErr := png.Decode(bytes.NewReader(data))
	var img raster.Image
	err := Decode(data, &img)
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("error %v, of the standard library %v", err, wantErr)
	}
	if err != nil {
		return
	}
	for y := range h.Height {
		for x := range h.Width {
			at := (y*h.Width + x) * h.Channels
			for c := range h.Channels {
				if h.Depth == 16 {
					if got := img.Wide[at+c]; got != sample16(want, x, y, c, h.Channels) {
						t.Fatalf("pixel %d, %d, channel %d: %d", x, y, c, got)
					}
				} else if got := img.Pix[at+c]; got != sample8(want, x, y, c, h.Channels) {
					t.Fatalf("pixel %d, %d, channel %d: %d", x, y, c, got)
				}
			}
		}
	}
}

// channel returns the place of a channel in red, green, blue and alpha.
func channel(c, channels int) int {
	if channels == 2 && c == 1 {
		return 3
	}
	return c
}

func sample8(m image.Image, x, y, c, channels int) uint8 {
	switch p := m.(type) {
	case *image.Gray:
		return p.GrayAt(x, y).Y
	case *image.RGBA:
		v := p.RGBAAt(x, y)
		return [4]uint8{v.R, v.G, v.B, v.A}[channel(c, channels)]
	case *image.NRGBA:
		v := p.NRGBAAt(x, y)
		return [4]uint8{v.R, v.G, v.B, v.A}[channel(c, channels)]
	case *image.Paletted:
		switch v := p.At(x, y).(type) {
		case color.RGBA:
			return [3]uint8{v.R, v.G, v.B}[c]
		case color.NRGBA:
			return [3]uint8{v.R, v.G, v.B}[c]
		}
	}
	return 0
}

func sample16(m image.Image, x, y, c, channels int) uint16 {
	switch p := m.(type) {
	case *image.Gray16:
		return p.Gray16At(x, y).Y
	case *image.RGBA64:
		v := p.RGBA64At(x, y)
		return [4]uint16{v.R, v.G, v.B, v.A}[channel(c, channels)]
	case *image.NRGBA64:
		v := p.NRGBA64At(x, y)
		return [4]uint16{v.R, v.G, v.B, v.A}[channel(c, channels)]
	}
	return 0
}

// made returns files of all kinds: depths, sizes, filters, and interlaced.
func made(t testing.TB) (files [][]byte) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, size := range []image.Rectangle{image.Rect(0, 0, 1, 1), image.Rect(0, 0, 3, 9), image.Rect(0, 0, 17, 5)} {
		var palette color.Palette
		for i := range 5 {
			palette = append(palette, color.NRGBA{uint8(40 * i), uint8(7 * i), 9, uint8(255 - i)})
		}
		for _, m := range []interface {
			image.Image
			Set(x, y int, c color.Color)
		}{
			image.NewGray(size), image.NewRGBA(size), image.NewNRGBA(size), image.NewGray16(size), image.NewRGBA64(size), image.NewNRGBA64(size),
			image.NewPaletted(size, palette),
		} {
			for y := range size.Dy() {
				for x := range size.Dx() {
					m.Set(x, y, color.NRGBA64{uint16(r.Uint32()), uint16(r.Uint32()), uint16(r.Uint32()), uint16(r.Uint32())})
				}
			}
			var b bytes.Buffer
			if err := png.Encode(&b, m); err != nil {
				t.Fatal(err)
			}
			files = append(files, b.Bytes(), interlaced(t, r, b.Bytes()))
		}
	}
	return files
}

// interlaced returns a file of the same size, depth and colours that is interlaced: random rows
// with random filters.
func interlaced(t testing.TB, r *rand.Rand, file []byte) []byte {
	const header = 8 + 8
	width, height := int(binary.BigEndian.Uint32(file[header:])), int(binary.BigEndian.Uint32(file[header+4:]))
	bits := int(file[header+8]) * map[byte]int{typeGray: 1, typeRGB: 3, typePalette: 1, typeGrayAlpha: 2, typeRGBA: 4}[file[header+9]]
	var rows bytes.Buffer
	z := zlib.NewWriter(&rows)
	for _, p := range adam7 {
		w, h := (width-p.x+p.dx-1)/p.dx, (height-p.y+p.dy-1)/p.dy
		for range h {
			if w == 0 {
				break
			}
			row := []byte{byte(r.IntN(5))}
			for range (w*bits + 7) / 8 {
				row = append(row, byte(r.Uint32()))
			}
			z.Write(row) //nolint:errcheck // into memory
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	b := bytes.Clone(file[:8])
	add := func(name string, body []byte) {
		b = binary.BigEndian.AppendUint32(b, uint32(len(body)))
		at := len(b)
		b = append(append(b, name...), body...)
		b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b[at:]))
	}
	head := bytes.Clone(file[header : header+13])
	head[12] = 1
	add("IHDR", head)
	if head[9] == typePalette {
		add("PLTE", []byte{1, 2, 3, 4, 5, 6})
	}
	add("IDAT", rows.Bytes())
	add("IEND", nil)
	return b
}

// TestDamagedAsStandard damages files in many places, with and without right check sums.
func TestDamagedAsStandard(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, file := range made(t) {
		for range 60 {
			b := bytes.Clone(file)
			switch r.IntN(3) {
			case 0:
				b[r.IntN(len(b))] ^= 1 << r.IntN(8)
			case 1: // in the header, with its check sum
				b[16+8+r.IntN(5)] = uint8(r.IntN(17))
				binary.BigEndian.PutUint32(b[29:], crc32.ChecksumIEEE(b[12:29]))
			case 2: // a chunk twice, or away
				b = shuffled(r, b)
			}
			h, err := ReadHeader(b)
			if err != nil || h.Width*h.Height > 1<<18 {
				continue
			}
			compare(t, h, b)
		}
	}
}

// shuffled returns the file with two of its chunks behind the header exchanged, and some split.
func shuffled(r *rand.Rand, file []byte) []byte {
	var chunks [][]byte
	for rest := file[8:]; len(rest) > 0; {
		n := 12 + int(binary.BigEndian.Uint32(rest))
		chunks = append(chunks, rest[:n])
		rest = rest[n:]
	}
	i, j := r.IntN(len(chunks)), r.IntN(len(chunks))
	chunks[i], chunks[j] = chunks[j], chunks[i]
	out := bytes.Clone(file[:8])
	for _, c := range chunks {
		body := c[8 : len(c)-4]
		if string(c[4:8]) != "IDAT" || len(body) == 0 {
			out = append(out, c...)
			continue
		}
		cut := r.IntN(len(body) + 1)
		for _, part := range [][]byte{body[:cut], body[cut:]} {
			at := len(out)
			out = binary.BigEndian.AppendUint32(out, uint32(len(part)))
			out = append(append(out, "IDAT"...), part...)
			out = binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out[at+4:]))
		}
	}
	return out
}

// FuzzDecode also compares the images with the images of the standard library.
func FuzzDecode(f *testing.F) { decodetest.Fuzz(f, ReadHeader, Decode, compare) }

// Each filter adds what the standard says, byte by byte, for pixels of each size.
func TestFilters(t *testing.T) {
	abs := func(v int) int { return max(v, -v) }
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SampledFrom([]int{1, 2, 3, 4, 6, 8}).Draw(t, "bytes of a pixel")
		size := n * rapid.IntRange(1, 20).Draw(t, "pixels")
		row := rapid.SliceOfN(rapid.Byte(), size, size).Draw(t, "row")
		above := rapid.SliceOfN(rapid.Byte(), size, size).Draw(t, "above")
		filter := rapid.ByteRange(0, 4).Draw(t, "filter")
		want := bytes.Clone(row)
		for i := range want {
			var left, up, corner int
			if up = int(above[i]); i >= n {
				left, corner = int(want[i-n]), int(above[i-n])
			}
			p := left + up - corner
			nearest := corner
			if abs(p-left) <= abs(p-up) && abs(p-left) <= abs(p-corner) {
				nearest = left
			} else if abs(p-up) <= abs(p-corner) {
				nearest = up
			}
			want[i] += uint8([]int{0, left, up, (left + up) / 2, nearest}[filter])
		}
		if err := unfilter(filter, row, above, n); err != nil || !bytes.Equal(row, want) {
			t.Fatalf("got %v, %v, want %v", row, err, want)
		}
	})
}

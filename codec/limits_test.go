package codec

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"runtime"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/codec/raster"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// side of the images in bombs, and the bytes that a file of them may have.
const (
	side    = 4096
	smaller = 200 << 10
)

// bombs are small files of large images, by format.
func bombs(t testing.TB) map[string][]byte {
	return map[string][]byte{
		"png": pngBomb(8, 0, side, side*side), "png of 16 bits": pngBomb(16, 6, side/2, side/2*side/2*8), "png, interlaced": interlacedBomb(),
		"bmp": bmpBomb(), "tiff": tiffBomb(false), "tiff in planes": tiffBomb(true), "gif": gifBomb(t), "jpeg": jpegBomb(t),
	}
}

func squeezed(zeros int) []byte {
	var b bytes.Buffer
	z, _ := zlib.NewWriterLevel(&b, zlib.BestCompression) //nolint:errcheck // a known level, into memory
	for piece := make([]byte, 1<<16); zeros > 0; zeros -= len(piece) {
		piece = piece[:min(len(piece), zeros)]
		z.Write(piece) //nolint:errcheck // into memory
	}
	z.Close() //nolint:errcheck // into memory
	return b.Bytes()
}

func chunk(dst []byte, name string, body []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(body)))
	at := len(dst)
	dst = append(append(dst, name...), body...)
	return binary.BigEndian.AppendUint32(dst, crc32.ChecksumIEEE(dst[at:]))
}

func pngFile(header, pixels []byte) []byte {
	b := chunk([]byte("\x89PNG\r\n\x1a\n"), "IHDR", header)
	return chunk(chunk(b, "IDAT", pixels), "IEND", nil)
}

func pngHeader(width, height int, depth, color, interlace byte) []byte {
	h := binary.BigEndian.AppendUint32(nil, uint32(width))
	return append(binary.BigEndian.AppendUint32(h, uint32(height)), depth, color, 0, 0, interlace)
}

func pngBomb(depth, color byte, width, bytes int) []byte {
	return pngFile(pngHeader(width, width, depth, color, 0), squeezed(bytes+width))
}

func interlacedBomb() []byte {
	n := 0
	for _, p := range [7][4]int{{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4}, {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}} {
		w, h := (side-p[0]+p[2]-1)/p[2], (side-p[1]+p[3]-1)/p[3]
		n += (1 + (w+7)/8) * h
	}
	return pngFile(pngHeader(side, side, 1, 0, 1), squeezed(n))
}

// bmpBomb is the end of a run-length encoded image, and no run.
func bmpBomb() []byte {
	le := binary.LittleEndian
	b := append([]byte("BM"), make([]byte, 12)...)
	info := make([]byte, 40)
	le.PutUint32(info, 40)
	le.PutUint32(info[4:], side)
	le.PutUint32(info[8:], side)
	le.PutUint16(info[12:], 1)
	le.PutUint16(info[14:], 8)
	le.PutUint32(info[16:], 1)
	le.PutUint32(info[32:], 2)
	b = append(append(b, info...), 0, 0, 0, 0, 200, 100, 50, 0)
	le.PutUint32(b[10:], uint32(len(b)))
	return append(b, 0, 1)
}

func tiffBomb(planes bool) []byte {
	le := binary.LittleEndian
	packed := squeezed(side * 64)
	n := side / 64
	samples, planar := 1, 1
	photometric := 1
	if planes {
		samples, planar, photometric, n = 3, 2, 2, 3*n
	}
	b := le.AppendUint32([]byte("II*\x00"), 8)
	entries := [][4]int{ // tag, type, count, value
		{256, 4, 1, side}, {257, 4, 1, side}, {258, 3, 1, 8}, {259, 3, 1, 8}, {262, 3, 1, photometric}, {273, 4, n, 0},
		{277, 3, 1, samples}, {278, 4, 1, 64}, {279, 4, n, 0}, {284, 3, 1, planar},
	}
	end := 8 + 2 + 12*len(entries) + 4
	if planes { // the depths of three samples lie elsewhere
		entries[2] = [4]int{258, 3, 3, end}
		end += 8
	}
	b = le.AppendUint16(b, uint16(len(entries)))
	for _, e := range entries {
		switch e[0] {
		case 273:
			e[3] = end
		case 279:
			e[3] = end + 4*n
		}
		b = le.AppendUint16(le.AppendUint16(b, uint16(e[0])), uint16(e[1]))
		b = le.AppendUint32(le.AppendUint32(b, uint32(e[2])), uint32(e[3]))
	}
	b = append(b, 0, 0, 0, 0)
	if planes {
		b = append(b, 8, 0, 8, 0, 8, 0, 0, 0)
	}
	for range n {
		b = le.AppendUint32(b, uint32(end+8*n))
	}
	for range n {
		b = le.AppendUint32(b, uint32(len(packed)))
	}
	return append(b, packed...)
}

// gifBomb is a frame of one pixel on a large screen.
func gifBomb(t testing.TB) []byte {
	var b bytes.Buffer
	if err := gif.Encode(&b, image.NewPaletted(image.Rect(0, 0, 1, 1), color.Palette{color.Black, color.White}), nil); err != nil {
		t.Fatal(err)
	}
	binary.LittleEndian.PutUint16(b.Bytes()[6:], side)
	binary.LittleEndian.PutUint16(b.Bytes()[8:], side)
	return b.Bytes()
}

func jpegBomb(t testing.TB) []byte {
	var b bytes.Buffer
	if err := jpeg.Encode(&b, image.NewGray(image.Rect(0, 0, side, side)), nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// allocated returns the bytes that f takes from the heap, all together.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestMemoryBesideTheOutput decodes bombs. Besides the memory of the caller, decoding takes the
// memory of some rows. It keeps whole only data that must be complete before it can be written.
func TestMemoryBesideTheOutput(t *testing.T) {
	kept := map[string]uint64{"tiff in planes": 3 * side * side, "jpeg": 4 * side * side} // of JPEG in builds whose decoder is in Go
	for name, data := range bombs(t) {
		if len(data) > smaller {
			t.Errorf("%s: a file of %d bytes", name, len(data))
		}
		h, err := ReadHeader(data)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		dst := make([]byte, h.Width*h.Height*3)
		var d Decoder
		took := allocated(func() { err = d.Decode(dst, data, h, Output{}) })
		if most := kept[name] + 2<<20; err != nil || took > most {
			t.Errorf("%s: %d bytes beside the output, want at most %d; %v", name, took, most, err)
		}
	}
}

// TestLimits refuses images beyond the limits before memory is taken, and says which limit it is.
func TestLimits(t *testing.T) {
	files := bombs(t)
	files["pnm"] = append(fmt.Appendf(nil, "P4 %d %d\n", side, side), make([]byte, side*side/8)...)
	webp := bytes.Clone(read(t, "alpha_lossless.webp"))
	at := bytes.Index(webp, []byte("VP8L")) + 8
	binary.LittleEndian.PutUint32(webp[at+1:], binary.LittleEndian.Uint32(webp[at+1:])&^(1<<28-1)|(side-1)|(side-1)<<14)
	if x := bytes.Index(webp, []byte("VP8X")); x > 0 {
		for i := range 2 {
			webp[x+8+4+3*i], webp[x+8+5+3*i], webp[x+8+6+3*i] = (side-1)&255, (side-1)>>8, 0
		}
	}
	files["webp"] = webp
	files["jpeg, progressive"] = bytes.Clone(read(t, "j_prog420.jpg"))
	resize(t, files["jpeg, progressive"], 0xc2)
	files["jpeg, a scan for each component"] = bytes.Clone(read(t, "j444_q98.jpg"))
	resize(t, files["jpeg, a scan for each component"], 0xc0)
	scan := bytes.Index(files["jpeg, a scan for each component"], []byte{0xff, 0xda})
	files["jpeg, a scan for each component"][scan+4] = 1
	small := raster.Limits{Pixels: 1 << 20, Bytes: 1 << 19}
	for name, data := range files {
		h, err := ReadHeader(data)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		dst := make([]byte, 4*h.Width*h.Height*3)
		for _, c := range []struct {
			limits raster.Limits
			says   string
		}{{raster.Limits{Pixels: small.Pixels}, "Options.Limits.MaxPixels"}, {raster.Limits{Bytes: small.Bytes}, "Options.Limits.MaxBytes"}} {
			o := Output{Limits: c.limits}
			n := 3
			if c.limits.Bytes > 0 {
				switch name {
				case "tiff in planes", "gif", "webp", "jpeg, progressive", "jpeg, a scan for each component":
				case "jpeg":
					o.DType, n = tensor.Float32, 12
				default:
					continue // they need no memory beside the output
				}
			}
			var d Decoder
			took := allocated(func() { err = d.Decode(dst[:n*h.Width*h.Height], data, h, o) })
			if !errors.Is(err, errs.Exhausted) || !strings.Contains(fmt.Sprint(err), c.says) || took > 256<<10 {
				t.Errorf("%s: took %d bytes; %v", name, took, err)
			}
		}
	}
}

// resize writes another size into the frame header of a JPEG file.
func resize(t *testing.T, data []byte, frame byte) {
	at := bytes.Index(data, []byte{0xff, frame})
	if at < 0 {
		t.Fatalf("the image has no frame %x", frame)
	}
	binary.BigEndian.PutUint16(data[at+5:], 1040)
	binary.BigEndian.PutUint16(data[at+7:], 1024)
}

// TestDefaultLimits takes images of 2^28 pixels and refuses larger ones, until the limit is raised.
func TestDefaultLimits(t *testing.T) {
	for width, ok := range map[int]bool{1 << 14: true, 1<<14 + 1: false} {
		data := pngFile(pngHeader(width, 1<<14, 1, 0, 0), make([]byte, 64<<10))
		h, err := ReadHeader(data)
		if err != nil {
			t.Fatal(err)
		}
		var d Decoder
		for _, limits := range []raster.Limits{{}, {Pixels: 1 << 40}} {
			err = d.Decode(nil, data, h, Output{Limits: limits})
			if refused := errors.Is(err, errs.Exhausted); refused == (ok || limits.Pixels > 0) {
				t.Errorf("width %d, %+v: %v", width, limits, err)
			}
		}
	}
}

// TestCheckEndsDecoding asks while an image is decoded, and stops.
func TestCheckEndsDecoding(t *testing.T) {
	late := errors.New("late")
	files := bombs(t)
	delete(files, "jpeg") // libjpeg-turbo has a deadline instead
	for name, data := range files {
		h, err := ReadHeader(data)
		if err != nil {
			t.Fatal(err)
		}
		asked := 0
		var d Decoder
		err = d.Decode(make([]byte, 3*h.Width*h.Height), data, h, Output{Limits: raster.Limits{Check: func() error {
			if asked++; asked == 3 {
				return late
			}
			return nil
		}}})
		if !errors.Is(err, late) || asked != 3 {
			t.Errorf("%s: asked %d times, %v", name, asked, err)
		}
	}
}

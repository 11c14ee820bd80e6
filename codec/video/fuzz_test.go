package video

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"testing"

	"github.com/bivouac-ml/bivouac/codec/raster"
)

// FuzzImages opens and decodes files of the formats that need no ffmpeg. Others are left out.
func FuzzImages(f *testing.F) {
	for _, name := range []string{"motion.avi", "motion.mjpeg", "animated.gif", "animated.webp"} {
		b, err := os.ReadFile(path(name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
		f.Add(b[:len(b)/2])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		o := Options{Limits: raster.Limits{Pixels: 1 << 14, Bytes: 1 << 20}, MaxFrames: 64}
		s := source{data: data}
		x, err := readImages(&s, o.withDefaults())
		if x == nil || err != nil {
			return
		}
		v := &Video{x, s, o.withDefaults()}
		d := v.NewDecoder()
		defer d.Close()
		p := make([]byte, x.Width*x.Height*3)
		for i := range min(x.Frames(), 8) {
			first := d.Decode(t.Context(), i, p)
			fresh := v.NewDecoder()
			q := make([]byte, len(p))
			again := fresh.Decode(t.Context(), i, q)
			fresh.Close()
			if (first == nil) != (again == nil) || first == nil && !bytes.Equal(p, q) {
				t.Fatalf("frame %d depends on what was decoded before it: %v, %v", i, first, again)
			}
		}
	})
}

// FuzzNut reads what may come from a program that is not ffmpeg.
func FuzzNut(f *testing.F) {
	f.Add([]byte(nutID))
	f.Fuzz(func(t *testing.T, data []byte) {
		n := nutReader{in: bufio.NewReader(bytes.NewReader(data))}
		for {
			h, err := n.next()
			if err != nil {
				return
			}
			if h.size < len(h.start) || h.time < 0 {
				t.Fatalf("a frame of %d bytes at %d", h.size, h.time)
			}
			if _, err := io.CopyN(io.Discard, n.in, int64(h.size-len(h.start))); err != nil {
				return
			}
		}
	})
}

// FuzzParseIndex reads saved indices. What is accepted is written the same again.
func FuzzParseIndex(f *testing.F) {
	for _, x := range []*Index{
		{Codec: "h264", Width: 4, Height: 2, pixels: "yuv420p", num: 1, den: 25, base: [2]int64{1, 25}, times: []int64{0, 1, 2, 5}, keys: []int{0, 2}},
		{Kind: MotionJPEG, Codec: "mjpeg", Width: 4, Height: 2, num: 1, den: 25, times: []int64{0, 1}, parts: []part{{9, 4}, {20, 7}}},
	} {
		b, err := x.AppendBinary(nil)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		x, err := ParseIndex(data)
		if err != nil {
			return
		}
		b, err := x.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		y, err := ParseIndex(b)
		if err != nil || y.Frames() != x.Frames() || y.Width != x.Width {
			t.Fatalf("an index that was accepted is not read again: %v", err)
		}
		for i := range min(x.Frames(), 8) {
			x.Seconds(i)
			if x.Kind == ByProgram && x.start(i) > i {
				t.Fatalf("frame %d begins at %d", i, x.start(i))
			}
		}
	})
}

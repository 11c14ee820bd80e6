package video

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/bivouac-ml/bivouac/codec/raster"
	"github.com/bivouac-ml/bivouac/codec/video/videotest"
	"github.com/bivouac-ml/bivouac/errs"
)

// sample is a video of testdata. Its frames have the hash, whatever decodes them.
type sample struct {
	name          string
	frames        int
	width, height int
	keys          int // frames from which decoding can begin
	last          float64
	hash          string
}

var samples = []sample{
	{"h264.mp4", 40, 64, 48, 4, 1.56, "7819e7c5b549c485"},
	{"open_gop.mkv", 40, 64, 48, 4, 1.56, "0a88e69855001996"},
	{"h265.mp4", 40, 64, 48, 4, 1.56, "99da99e55787bc81"},
	{"no_keys.mp4", 30, 64, 48, 1, 1.16, "111256b299f5dcee"},
	{"mpeg4.avi", 30, 64, 48, 1, 1.16, "c2596887dd153145"},
	{"vp8.webm", 30, 64, 48, 3, 1.16, "7a75dd56e9ac23fd"},
	{"vp9.webm", 30, 64, 48, 3, 1.16, "80c796b8fd96fd37"},
	{"odd.webm", 6, 33, 35, 1, 0.2, "64a8c69387c0f6fe"},
	{"ten_bits.webm", 6, 64, 48, 1, 0.2, "7047381fc82dcdb7"},
	{"variable.mp4", 12, 64, 48, 3, 2.64, "f3542f2ab3e2b5f0"},
	{"edited.mp4", 27, 64, 48, 3, 1.04, "2f0ea948426163b3"},
	{"stream.ts", 30, 64, 48, 3, 2.64, "e917ad94f2875530"},
	{"motion.avi", 12, 64, 48, 0, 0.44, "59197f63e7d0a94c"},
	{"motion.mjpeg", 8, 64, 48, 0, 0.28, "bf34b5f3380f954a"},
	{"animated.gif", 8, 64, 48, 0, 0.28, "2206c3eb49dd6fb9"},
	{"animated.webp", 4, 64, 48, 0, 0.28, "971a9c1fdd0e86cd"},
}

// inGo reports whether a video is decoded without ffmpeg.
func (s sample) inGo() bool { return s.keys == 0 }

func path(name string) string { return filepath.Join("testdata", name) }

func open(t *testing.T, name string, o Options) *Video {
	t.Helper()
	v, err := Open(t.Context(), path(name), o)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// decodeAll decodes all frames in order.
func decodeAll(t *testing.T, v *Video) [][]byte {
	t.Helper()
	d := v.NewDecoder()
	defer d.Close()
	var all [][]byte
	for i := range v.Frames() {
		p := make([]byte, v.Width*v.Height*3)
		if err := d.Decode(t.Context(), i, p); err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	return all
}

// TestFrames decodes each video in order and in random order, from a file and from memory.
func TestFrames(t *testing.T) {
	for _, s := range samples {
		t.Run(s.name, func(t *testing.T) {
			if !s.inGo() {
				videotest.Need(t)
			}
			v := open(t, s.name, Options{})
			if v.Frames() != s.frames || v.Width != s.width || v.Height != s.height || len(v.keys) != s.keys {
				t.Fatalf("%d frames of %d x %d, %d keys", v.Frames(), v.Width, v.Height, len(v.keys))
			}
			if got := fmt.Sprintf("%.3f", v.Seconds(s.frames-1)); got != fmt.Sprintf("%.3f", s.last) {
				t.Errorf("the last frame is at %s s, want %v", got, s.last)
			}
			all := decodeAll(t, v)
			sum := sha256.Sum256(slices.Concat(all...))
			if got := hex.EncodeToString(sum[:8]); got != s.hash {
				t.Errorf("the frames have the hash %s, want %s", got, s.hash)
			}
			if !s.inGo() {
				compareWhole(t, s, v, all)
			}
			data, err := os.ReadFile(path(s.name))
			if err != nil {
				t.Fatal(err)
			}
			inMemory, err := OpenBytes(t.Context(), data, Options{Keep: 1})
			if err != nil {
				t.Fatal(err)
			}
			defer inMemory.Close()
			random := rand.New(rand.NewSource(1))
			for _, v := range []*Video{v, inMemory} {
				d := v.NewDecoder()
				defer d.Close()
				p := make([]byte, v.Width*v.Height*3)
				for _, i := range append(random.Perm(s.frames)[:min(s.frames, 8)], 0, s.frames-1, 0, 1) {
					if err := d.Decode(t.Context(), i, p); err != nil {
						t.Fatal(err)
					}
					if !bytes.Equal(p, all[i]) {
						t.Fatalf("frame %d depends on what was decoded before it", i)
					}
				}
			}
		})
	}
}

// compareWhole compares frames with those that ffmpeg writes when it decodes the whole file,
// without times and without an index.
func compareWhole(t *testing.T, s sample, v *Video, all [][]byte) {
	t.Helper()
	raw, err := exec.Command("ffmpeg", "-v", "error", "-i", path(s.name), "-an", "-vsync", "passthrough", "-f", "rawvideo",
		"-pix_fmt", v.pixels, "pipe:1").Output()
	if err != nil {
		t.Fatal(err)
	}
	size := v.frameSize()
	if len(raw) != size*v.Frames() {
		t.Fatalf("ffmpeg writes %d bytes, want %d frames of %d", len(raw), v.Frames(), size)
	}
	var p planes
	want := make([]byte, v.Width*v.Height*3)
	for i := range all {
		p.toRGB(want, raw[i*size:(i+1)*size], v.Index)
		if !bytes.Equal(all[i], want) {
			t.Fatalf("frame %d is not frame %d of the whole video", i, i)
		}
	}
}

// TestColors compares the conversion with the formula of BT.601, in floating point.
func TestColors(t *testing.T) {
	random := rand.New(rand.NewSource(2))
	for name, f := range formats {
		for _, size := range [][2]int{{16, 8}, {17, 9}, {1, 1}, {2, 1}, {3, 2}} {
			for _, full := range []bool{false, true} {
				x := &Index{Width: size[0], Height: size[1], pixels: name, full: full}
				raw := make([]byte, x.frameSize())
				for i := range raw {
					if raw[i] = byte(random.Intn(256)); f.bits > 8 && i%2 == 1 {
						raw[i] &= 1<<(f.bits-8) - 1
					}
				}
				got := make([]byte, x.Width*x.Height*3)
				new(planes).toRGB(got, raw, x)
				want := formula(raw, x, f)
				sum := 0.0
				for i := range got {
					off := float64(got[i]) - want[i]
					if sum += off; math.Abs(off) > 0.75 {
						t.Fatalf("%s, %v, full %v: byte %d is %d, want %.2f", name, size, full, i, got[i], want[i])
					}
				}
				if mean := sum / float64(len(got)); len(got) > 300 && !f.gray && math.Abs(mean) > 0.05 {
					t.Errorf("%s, %v, full %v: %.3f too much on average", name, size, full, mean)
				}
			}
		}
	}
}

// formula converts a frame as the comment of the package says.
func formula(raw []byte, x *Index, f format) (rgb []float64) {
	w, h := x.Width, x.Height
	cw, ch := f.chroma(w, h)
	bytes := (f.bits + 7) / 8
	sample := func(i int) float64 {
		if bytes == 1 {
			return float64(raw[i])
		}
		return float64(int(raw[2*i])|int(raw[2*i+1])<<8) / float64(int(1)<<(f.bits-8))
	}
	chroma := func(plane int, px, py int) float64 {
		if f.gray {
			return 128
		}
		at := func(p, n, samples int) (a, b int, t float64) {
			v := math.Min(math.Max((float64(p)+0.5)*float64(samples)/float64(n)-0.5, 0), float64(samples-1))
			a = int(v)
			return a, min(a+1, samples-1), v - float64(a)
		}
		x0, x1, tx := at(px, w, cw)
		y0, y1, ty := at(py, h, ch)
		base := w*h + plane*cw*ch
		row := func(y int) float64 { return sample(base+y*cw+x0)*(1-tx) + sample(base+y*cw+x1)*tx }
		return row(y0)*(1-ty) + row(y1)*ty
	}
	for py := range h {
		for px := range w {
			y, u, v := sample(py*w+px), chroma(0, px, py)-128, chroma(1, px, py)-128
			if !x.full {
				y, u, v = (y-16)*255/219, u*255/224, v*255/224
			}
			for _, c := range []float64{y + 1.402*v, y - 0.344136*u - 0.714136*v, y + 1.772*u} {
				rgb = append(rgb, math.Min(math.Max(c, 0), 255))
			}
		}
	}
	return rgb
}

// TestKept tells when a frame is decoded anew: not if it is kept, or lies ahead in the same
// process.
func TestKept(t *testing.T) {
	videotest.Need(t)
	v := open(t, "h264.mp4", Options{})
	d := v.NewDecoder()
	defer d.Close()
	p := make([]byte, v.Width*v.Height*3)
	begun := map[*stream]bool{}
	for _, i := range []int{3, 4, 5, 4, 3, 9, 13, 14} {
		if err := d.Decode(t.Context(), i, p); err != nil {
			t.Fatal(err)
		}
		begun[d.stream] = true
	}
	// Frame 13 is behind a key frame: a new process reaches it sooner than the old one.
	if len(begun) != 2 {
		t.Errorf("%d processes", len(begun))
	}
	for frame, want := range map[int]int{14: 0, 13: 0, 15: 1, 23: 9, 0: 1, 11: 12} {
		if got := d.Distance(frame); got != want {
			t.Errorf("frame %d is %d frames away, want %d", frame, got, want)
		}
	}
	if d.Next() != 15 {
		t.Errorf("the next frame is %d", d.Next())
	}
}

// TestLimits checks each limit, before memory is taken.
func TestLimits(t *testing.T) {
	for _, name := range []string{"h264.mp4", "mpeg4.avi", "motion.avi", "motion.mjpeg", "animated.gif", "animated.webp"} {
		if name == "h264.mp4" || name == "mpeg4.avi" {
			videotest.Need(t)
		}
		for _, o := range []Options{{MaxFrames: 3}, {Limits: raster.Limits{Pixels: 64*48 - 1}}} {
			if _, err := Open(t.Context(), path(name), o); !errors.Is(err, errs.Exhausted) {
				t.Errorf("%s, %+v: got %v", name, o, err)
			}
		}
	}
	v := open(t, "animated.gif", Options{Limits: raster.Limits{Bytes: 1000}})
	d := v.NewDecoder()
	defer d.Close()
	if err := d.Decode(t.Context(), 0, make([]byte, 64*48*3)); !errors.Is(err, errs.Exhausted) {
		t.Errorf("a canvas beyond the limit: got %v", err)
	}
}

// TestArguments checks calls that no video can answer.
func TestArguments(t *testing.T) {
	v := open(t, "motion.avi", Options{})
	d := v.NewDecoder()
	defer d.Close()
	p := make([]byte, 64*48*3)
	for frame, p := range map[int][]byte{-1: p, 12: p, 3: p[:100]} {
		if err := d.Decode(t.Context(), frame, p); !errors.Is(err, errs.Invalid) {
			t.Errorf("frame %d: got %v", frame, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.Decode(ctx, 0, p); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if _, err := Open(t.Context(), path("none.mp4"), Options{}); !errors.Is(err, errs.NotFound) {
		t.Errorf("got %v", err)
	}
	if _, err := Open(t.Context(), "testdata", Options{}); !errors.Is(err, errs.Invalid) {
		t.Errorf("got %v", err)
	}
	if _, err := OpenBytes(t.Context(), nil, Options{}); !errors.Is(err, errs.Corrupt) {
		t.Errorf("got %v", err)
	}
}

// TestPad compares each mode with a line of frames that was written down by hand.
func TestPad(t *testing.T) {
	for name, want := range map[string]string{
		"none":         "-1 -1 -1 -1 -1 0 1 2 -1 -1 -1 -1 -1",
		"constant":     "-1 -1 -1 -1 -1 0 1 2 -1 -1 -1 -1 -1",
		"repeat":       "0 0 0 0 0 0 1 2 2 2 2 2 2",
		"reflect":      "1 0 1 2 1 0 1 2 1 0 1 2 1",
		"symmetric":    "1 2 2 1 0 0 1 2 2 1 0 0 1",
		"reflect_1001": "1 2 2 1 0 0 1 2 2 1 0 0 1",
	} {
		m, ok := ParsePadMode(name)
		var got []int
		for i := -5; i < 8; i++ {
			got = append(got, m.Frame(i, 3))
		}
		if fmt.Sprint(got) != "["+want+"]" || !ok {
			t.Errorf("%s: got %v, want %s", name, got, want)
		}
		if one := m.Frame(5, 1); one != 0 && m > PadConstant {
			t.Errorf("%s: frame 5 of 1 is %d", name, one)
		}
	}
	if _, ok := ParsePadMode("mirror"); ok {
		t.Error("there is no mode mirror")
	}
}

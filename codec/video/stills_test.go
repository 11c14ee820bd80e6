//go:build unix

package video

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac/codec"
	"github.com/bivouac-ml/bivouac/codec/jpeg"
	"github.com/bivouac-ml/bivouac/codec/raster"
	"github.com/bivouac-ml/bivouac/codec/video/videotest"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// still returns a file of testdata/stills.
func still(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "stills", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// decodeStill returns the pixels of an image with all channels that it stores.
func decodeStill(d *codec.Decoder, data []byte, o codec.Output) ([]byte, codec.Header, error) {
	h, err := codec.ReadHeader(data)
	if err != nil {
		return nil, h, err
	}
	o.DType = tensor.Uint8
	if h.Depth == 16 {
		o.DType = tensor.Uint16
	}
	width, height, channels := o.Size(h)
	if o.Region != (jpeg.Region{}) {
		width, height = o.Region.W, o.Region.H
	}
	dst := make([]byte, width*height*channels*o.DType.Size())
	return dst, h, d.Decode(dst, data, h, o)
}

// stills are the images, and how far the pixels may be from the pixels that were recorded: the
// largest difference, and the mean in thousandths. Chroma that is stored at a lower resolution is
// interpolated in another way in each library.
var stills = []struct {
	name     string
	channels int
	depth    int
	most     int
	mean     int
}{
	{"rgb.jp2", 3, 8, 0, 0}, {"raw.j2k", 3, 8, 0, 0}, {"gray.jp2", 1, 8, 0, 0}, {"rgba.jp2", 4, 8, 0, 0},
	{"gray16.jp2", 1, 16, 0, 0}, {"one.jp2", 3, 8, 0, 0}, {"tiles.jp2", 3, 8, 0, 0}, {"lossy.jp2", 3, 8, 1, 20},
	{"rgb444.avif", 3, 8, 1, 400}, {"gray.avif", 1, 8, 0, 0}, {"rgba444.avif", 4, 8, 1, 400}, {"turned.avif", 3, 8, 1, 400},
	{"rgb420.avif", 3, 8, 2, 450}, {"odd420.avif", 3, 8, 10, 1500},
	{"rgb444.heic", 3, 8, 1, 400}, {"odd444.heic", 3, 8, 1, 400}, {"rgba.heic", 4, 8, 1, 400}, {"rgb420.heic", 3, 8, 1, 50},
}

// TestStills holds images of JPEG 2000, AVIF and HEIC against other libraries.
func TestStills(t *testing.T) {
	videotest.Need(t)
	var d codec.Decoder
	for _, c := range stills {
		got, h, err := decodeStill(&d, still(t, c.name), codec.Output{Color: raster.Any, Orient: true})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if h.Channels != c.channels || h.Depth != c.depth {
			t.Errorf("%s: %d channels of %d bits", c.name, h.Channels, h.Depth)
		}
		want := still(t, c.name+".raw")
		if len(got) != len(want) {
			t.Errorf("%s: %d bytes of %d", c.name, len(got), len(want))
			continue
		}
		most, sum, n := 0, 0, len(got)*8/c.depth
		for i := range n {
			a, b := 0, 0
			if c.depth == 16 {
				a, b = int(binary.LittleEndian.Uint16(got[2*i:])), int(binary.LittleEndian.Uint16(want[2*i:]))
			} else {
				a, b = int(got[i]), int(want[i])
			}
			most, sum = max(most, a-b, b-a), sum+max(a-b, b-a)
		}
		mean := sum * 1000 / n
		t.Logf("%s: at most %d, on average %d.%03d", c.name, most, mean/1000, mean%1000)
		if most > c.most || mean > c.mean {
			t.Errorf("%s: differs by at most %d, on average %d/1000; want %d and %d", c.name, most, mean, c.most, c.mean)
		}
	}
}

// TestStillWindows holds windows, gray and turned images against the whole image.
func TestStillWindows(t *testing.T) {
	videotest.Need(t)
	var d codec.Decoder
	for _, name := range []string{"rgb.jp2", "gray16.jp2", "rgba444.avif", "odd444.heic"} {
		data := still(t, name)
		whole, h, err := decodeStill(&d, data, codec.Output{Color: raster.Any})
		if err != nil {
			t.Fatal(err)
		}
		r := jpeg.Region{X: 3, Y: 5, W: 17, H: 9}
		part, _, err := decodeStill(&d, data, codec.Output{Color: raster.Any, Region: r})
		if err != nil {
			t.Fatal(err)
		}
		pixel := len(whole) / h.Width / h.Height
		for y := range r.H {
			n := r.W * pixel
			from := ((r.Y+y)*h.Width + r.X) * pixel
			if !bytes.Equal(part[y*n:(y+1)*n], whole[from:from+n]) {
				t.Errorf("%s: row %d of the window differs", name, y)
			}
		}
	}
	_, _, err := decodeStill(&d, still(t, "la.jp2"), codec.Output{Color: raster.Any})
	if !errors.Is(err, errs.Unsupported) {
		t.Errorf("gray with alpha, without conversion: got %v", err)
	}
	gray, h, err := decodeStill(&d, still(t, "la.jp2"), codec.Output{Color: raster.Gray})
	if err != nil || h.Channels != 2 {
		t.Fatalf("%d channels, %v", h.Channels, err)
	}
	want := still(t, "la.jp2.raw")
	for i, v := range gray {
		if v != want[2*i] {
			t.Fatalf("gray with alpha: pixel %d is %d, want %d", i, v, want[2*i])
		}
	}
}

// TestStillProcessIsKept decodes images one after the other, and at once: one process serves all
// that follow each other, and a damaged image between them changes nothing.
func TestStillProcessIsKept(t *testing.T) {
	videotest.Need(t)
	retireAll()
	var d codec.Decoder
	data, want := still(t, "rgb.jp2"), still(t, "rgb.jp2.raw")
	pids := map[int]bool{}
	for range 5 {
		got, _, err := decodeStill(&d, data, codec.Output{})
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("other pixels, or %v", err)
		}
		pids[waiting(t).process.PID()] = true
	}
	if len(pids) != 1 {
		t.Errorf("%d processes for five images", len(pids))
	}
	bad := bytes.Clone(data)
	at := bytes.Index(bad, []byte{0xff, 0x93}) // the data of the tile begins behind it
	for i := at + 2; i < at+200; i++ {
		bad[i] = 0xff
	}
	if _, _, err := decodeStill(&d, bad, codec.Output{}); err == nil {
		t.Log("ffmpeg conceals the damage")
	}
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			var d codec.Decoder
			for range 8 {
				got, _, err := decodeStill(&d, data, codec.Output{})
				if err != nil || !bytes.Equal(got, want) {
					t.Errorf("at once: other pixels, or %v", err)
				}
			}
		})
	}
	all.Wait()
	idle.Lock()
	n := len(idle.list)
	idle.Unlock()
	if n < 1 || n > mostIdle() {
		t.Errorf("%d processes wait", n)
	}
	retireAll()
}

// waiting returns the process that waits.
func waiting(t *testing.T) *stillProcess {
	t.Helper()
	idle.Lock()
	defer idle.Unlock()
	if len(idle.list) == 0 {
		t.Fatal("no process waits")
	}
	return idle.list[len(idle.list)-1]
}

// retireAll ends all processes that wait, as their timers do.
func retireAll() {
	idle.Lock()
	list := append([]*stillProcess(nil), idle.list...)
	idle.Unlock()
	for _, p := range list {
		p.timer.Stop()
		p.retire()
	}
}

// TestStillProcessKilled kills the process between images: the next one starts another. A process
// that is retired ends.
func TestStillProcessKilled(t *testing.T) {
	videotest.Need(t)
	retireAll()
	var d codec.Decoder
	data, want := still(t, "rgb.jp2"), still(t, "rgb.jp2.raw")
	for range 3 {
		got, _, err := decodeStill(&d, data, codec.Output{})
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("other pixels, or %v", err)
		}
		syscall.Kill(waiting(t).process.PID(), syscall.SIGKILL)
	}
	if _, _, err := decodeStill(&d, data, codec.Output{}); err != nil {
		t.Fatal(err)
	}
	pid := waiting(t).process.PID()
	retireAll()
	gone(t, pid)
}

// TestStillDamaged cuts and changes images. One that is cut is an error; none hangs, and each gives
// the same result again.
func TestStillDamaged(t *testing.T) {
	videotest.Need(t)
	var d codec.Decoder
	for _, name := range []string{"rgb.jp2", "raw.j2k", "rgb444.avif", "odd444.heic"} {
		data := still(t, name)
		for _, n := range []int{len(data) / 2, len(data) - 3} {
			if _, _, err := decodeStill(&d, data[:n], codec.Output{}); !errors.Is(err, errs.Corrupt) {
				t.Errorf("%s, %d of %d bytes: got %v", name, n, len(data), err)
			}
		}
		for i := 1; i < 8; i++ {
			bad := bytes.Clone(data)
			bad[i*(len(bad)-1)/8] ^= 0x55
			h, err := codec.ReadHeader(bad)
			if err != nil || h.Width*h.Height > 1<<16 {
				continue
			}
			first, _, err := decodeStill(&d, bad, codec.Output{Color: raster.RGB})
			second, _, again := decodeStill(&d, bad, codec.Output{Color: raster.RGB})
			if (err == nil) != (again == nil) || err == nil && !bytes.Equal(first, second) ||
				err != nil && err.Error() != again.Error() {
				t.Errorf("%s, byte %d: %v, then %v", name, i*(len(bad)-1)/8, err, again)
			}
			var e *errs.Error
			if err != nil && !errors.As(err, &e) {
				t.Errorf("%s: an error of another type: %v", name, err)
			}
		}
	}
}

// TestStillLimits reaches limits before a process starts, and while one decodes.
func TestStillLimits(t *testing.T) {
	videotest.Need(t)
	retireAll()
	var d codec.Decoder
	data := still(t, "rgb.jp2")
	_, _, err := decodeStill(&d, data, codec.Output{Limits: raster.Limits{Pixels: 100}})
	if !errors.Is(err, errs.Exhausted) {
		t.Errorf("pixels: got %v", err)
	}
	late := errors.New("late")
	end := time.Now()
	l := raster.Limits{Deadline: end, Check: func() error {
		if time.Now().After(end) {
			return late
		}
		return nil
	}}
	if _, _, err := decodeStill(&d, data, codec.Output{Limits: l}); !errors.Is(err, late) {
		t.Errorf("time: got %v", err)
	}
	idle.Lock()
	if n := len(idle.list); n != 0 {
		t.Errorf("%d processes were started", n)
	}
	idle.Unlock()
	end = time.Now().Add(5 * time.Millisecond) // ffmpeg takes longer to start
	l.Deadline = end
	if _, _, err := decodeStill(&d, data, codec.Output{Limits: l}); !errors.Is(err, late) {
		t.Errorf("time of a process: got %v", err)
	}
}

// fakeProgram makes a program called ffmpeg the only one in PATH.
func fakeProgram(t *testing.T, script string) {
	t.Helper()
	dir := t.TempDir()
	shell := "#!/bin/sh\nif [ \"$1\" = -version ]; then echo ffmpeg version 6.0; exit; fi\n"
	if script != "" {
		if err := os.WriteFile(filepath.Join(dir, "ffmpeg"), []byte(shell+script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":/nowhere")
	if script != "" {
		t.Setenv("PATH", dir+":/usr/bin:/bin")
	}
}

// TestStillBadProgram decodes where ffmpeg is missing, says nothing, says other things, or ends.
func TestStillBadProgram(t *testing.T) {
	for name, c := range map[string]struct {
		script, text string
		kind         errs.Kind
	}{
		"missing":       {"", "install the package ffmpeg", errs.Unsupported},
		"ends":          {"echo no memory >&2; exit 3", "exit status 3", errs.Corrupt},
		"other output":  {"cat >/dev/null & echo this is no stream of frames at all; wait", "NUT", errs.Corrupt},
		"cut output":    {"printf 'nut/multimedia container\\0'; exit 0", "end of its output", errs.Corrupt},
		"killed itself": {"kill -9 $$", "killed", errs.IO},
	} {
		t.Run(name, func(t *testing.T) {
			retireAll()
			fakeProgram(t, c.script)
			var d codec.Decoder
			_, h, err := decodeStill(&d, still(t, "rgb.jp2"), codec.Output{})
			if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("got %v", err)
			}
			if h.Width != 53 || h.Height != 37 {
				t.Errorf("header of %dx%d without ffmpeg", h.Width, h.Height)
			}
		})
	}
}

func BenchmarkStill(b *testing.B) {
	videotest.Need(b)
	for _, name := range []string{"rgb.jp2", "rgb444.avif", "rgb444.heic"} {
		data := still(b, name)
		for _, kept := range []bool{true, false} {
			how := "kept"
			if !kept {
				how = "started"
			}
			b.Run(name+"/"+how, func(b *testing.B) {
				var d codec.Decoder
				for b.Loop() {
					if !kept {
						retireAll()
					}
					if _, _, err := decodeStill(&d, data, codec.Output{}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// box returns a box with a body.
func box(kind string, body ...[]byte) []byte {
	b := bytes.Join(body, nil)
	return append(append(binary.BigEndian.AppendUint32(nil, uint32(8+len(b))), kind...), b...)
}

// gridFile makes an AVIF file whose image is a grid of 2 x 2 tiles, all of them the same, of which
// the last column and the last row are cut.
func gridFile(t *testing.T, tile []byte, side [2]int, size [2]int) []byte {
	t.Helper()
	be := binary.BigEndian
	config := tile[bytes.Index(tile, []byte("av1C"))-4:]
	config = config[:be.Uint32(config)]
	coded := tile[bytes.Index(tile, []byte("mdat"))+4:]
	extent := func(s [2]int) []byte {
		return box("ispe", make([]byte, 4), be.AppendUint32(nil, uint32(s[0])), be.AppendUint32(nil, uint32(s[1])))
	}
	entry := func(id byte, kind string) []byte {
		return box("infe", []byte{2, 0, 0, 0, 0, id, 0, 0}, []byte(kind), []byte{0})
	}
	grid := []byte{0, 0, 1, 1, byte(size[0] >> 8), byte(size[0]), byte(size[1] >> 8), byte(size[1])}
	ftyp := box("ftyp", []byte("avif\x00\x00\x00\x00avifmif1"))
	make1 := func(at int) []byte { // at is where the data is in the file
		place := func(id byte, method byte, offset, length int) []byte {
			b := []byte{0, id, 0, method, 0, 0, 0, 1}
			return be.AppendUint32(be.AppendUint32(b, uint32(offset)), uint32(length))
		}
		iloc := box("iloc", []byte{1, 0, 0, 0, 0x44, 0, 0, 5}, place(1, 1, 0, len(grid)), place(2, 0, at, len(coded)),
			place(3, 0, at, len(coded)), place(4, 0, at, len(coded)), place(5, 0, at, len(coded)))
		links := box("dimg", []byte{0, 1, 0, 4, 0, 2, 0, 3, 0, 4, 0, 5})
		properties := []byte{0, 0, 0, 0, 0, 0, 0, 5, 0, 1, 1, 1}
		for id := byte(2); id <= 5; id++ {
			properties = append(properties, 0, id, 2, 2, 0x80|3)
		}
		return box("meta", make([]byte, 4), box("pitm", []byte{0, 0, 0, 0, 0, 1}), iloc,
			box("iinf", []byte{0, 0, 0, 0, 0, 5}, entry(1, "grid"), entry(2, "av01"), entry(3, "av01"),
				entry(4, "av01"), entry(5, "av01")),
			box("iref", make([]byte, 4), links),
			box("iprp", box("ipco", extent(size), extent(side), config), box("ipma", properties)), box("idat", grid))
	}
	at := len(ftyp) + len(make1(0)) + 8
	return bytes.Join([][]byte{ftyp, make1(at), box("mdat", coded)}, nil)
}

// TestStillGrid decodes an image of several tiles, and some whose tiles do not fit.
func TestStillGrid(t *testing.T) {
	videotest.Need(t)
	var d codec.Decoder
	tile := still(t, "gray.avif")
	want, _, err := decodeStill(&d, tile, codec.Output{Color: raster.Any})
	if err != nil {
		t.Fatal(err)
	}
	const w, h = 45, 31
	side, size := [2]int{w, h}, [2]int{2*w - 7, 2*h - 4}
	data := gridFile(t, tile, side, size)
	got, head, err := decodeStill(&d, data, codec.Output{Color: raster.Any})
	if err != nil {
		t.Fatal(err)
	}
	if head.Width != size[0] || head.Height != size[1] {
		t.Fatalf("%dx%d pixels", head.Width, head.Height)
	}
	for y := range size[1] {
		for x := range size[0] {
			if got[y*size[0]+x] != want[y%h*w+x%w] {
				t.Fatalf("pixel (%d, %d) is %d, want %d", x, y, got[y*size[0]+x], want[y%h*w+x%w])
			}
		}
	}
	for name, data := range map[string][]byte{
		"small tiles":  gridFile(t, tile, side, [2]int{2*w + 1, h}),
		"another size": gridFile(t, tile, [2]int{w + 1, h}, size),
		"other tiles":  bytes.Replace(data, []byte("dimg\x00\x01\x00\x04\x00\x02"), []byte("dimg\x00\x01\x00\x04\x00\x09"), 1),
	} {
		if _, _, err := decodeStill(&d, data, codec.Output{Color: raster.Any}); !errors.Is(err, errs.Corrupt) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

package video

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bivouac-ml/bivouac/codec/video"
	"github.com/bivouac-ml/bivouac/codec/video/videotest"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/reader"
	"github.com/bivouac-ml/bivouac/tensor"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func sampleFile(name string) string {
	return filepath.Join("..", "..", "codec", "video", "testdata", name)
}

// source opens the reader.
func source(t *testing.T, args op.Args) (reader.Source, []tensor.Spec, error) {
	t.Helper()
	s, err := op.Lookup(readerName)
	if err != nil {
		t.Fatal(err)
	}
	set := map[string]op.Argument{}
	for k, v := range args {
		set[k] = op.Argument{Const: v}
	}
	c, _, err := op.Resolve(s, "r", 0, set)
	if err != nil {
		return nil, nil, err
	}
	o, err := reader.Lookup(s)
	if err != nil {
		t.Fatal(err)
	}
	specs, err := o.Outputs(c)
	if err != nil {
		return nil, nil, err
	}
	src, err := o.Open(t.Context(), c)
	return src, specs, err
}

func mustOpen(t *testing.T, args op.Args) (*clips, []tensor.Spec) {
	t.Helper()
	src, specs, err := source(t, args)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { src.Close() })
	return src.(*clips), specs
}

// memory gives every output memory of its own.
type memory struct{}

func (memory) Output(_, _, size int) []byte { return make([]byte, size) }
func (memory) Scratch(size int) []byte      { return make([]byte, size) }

// fetch reads clips, and returns all outputs of each as text of bytes.
func fetch(ctx context.Context, d *clips, specs []tensor.Spec, limits op.Limits, ids ...int64) ([]string,
	map[int]error, error) {
	var b op.Block
	x := b.Binding()
	x.Specs, x.Memory, x.Positions, x.Limits = specs, memory{}, ids, limits
	if limits.MaxTime > 0 {
		x.Deadline = time.Now().Add(limits.MaxTime)
	}
	for range specs {
		x.Out = append(x.Out, make([]tensor.Tensor, len(ids)))
	}
	err := d.Fetch(ctx, ids, &b)
	all := make([]string, len(ids))
	for s := range ids {
		for o := range specs {
			all[s] += fmt.Sprint(x.Out[o][s].Shape) + string(x.Out[o][s].Data)
		}
	}
	return all, x.Errors, err
}

func one(t *testing.T, d *clips, specs []tensor.Spec, id int64) string {
	t.Helper()
	got, failed, err := fetch(t.Context(), d, specs, op.Limits{}, id)
	if err != nil || failed[0] != nil {
		t.Fatal(err, failed[0])
	}
	return got[0]
}

// TestClipsAreFrames reads the clips of several videos in random order with many goroutines, and
// compares them with frames that were decoded in order.
func TestClipsAreFrames(t *testing.T) {
	videotest.Need(t)
	names := []string{"h264.mp4", "open_gop.mkv", "h265.mp4", "mpeg4.avi", "motion.avi", "variable.mp4", "animated.gif"}
	var paths []string
	var all [][][]byte
	for _, name := range names {
		paths = append(paths, sampleFile(name))
		v, err := video.Open(t.Context(), sampleFile(name), video.Options{})
		if err != nil {
			t.Fatal(err)
		}
		d := v.NewDecoder()
		var frames [][]byte
		for i := range v.Frames() {
			p := make([]byte, v.Width*v.Height*3)
			if err := d.Decode(t.Context(), i, p); err != nil {
				t.Fatal(err)
			}
			frames = append(frames, p)
		}
		d.Close()
		all = append(all, frames)
	}
	d, specs := mustOpen(t, op.Args{"filenames": paths, "sequence_length": 4, "stride": 2, "step": 3,
		"pad_mode": "edge", "enable_frame_num": "sequence"})
	want := map[int64]string{}
	for id := range d.info.Samples {
		e, numbers := d.numbersOf(id)
		var clip []byte
		for _, n := range numbers {
			clip = append(clip, all[slices.Index(paths, e.path)][n]...)
		}
		want[id] = "[4 48 64 3]" + string(clip)
	}
	ids := rand.New(rand.NewSource(4)).Perm(int(d.info.Samples))
	var group sync.WaitGroup
	var mu sync.Mutex
	seen := 0
	for worker := range 6 {
		group.Go(func() {
			for i := worker; i < len(ids); i += 6 {
				id := int64(ids[i])
				if worker%2 == 0 {
					id = int64(i) // half of the goroutines read in order
				}
				got, failed, err := fetch(context.Background(), d, specs, op.Limits{}, id)
				if err != nil || failed[0] != nil {
					t.Error(err, failed[0])
					return
				}
				if !strings.HasPrefix(strings.ReplaceAll(got[0], ",", " "), strings.ReplaceAll(want[id], ",", " ")) {
					t.Errorf("clip %d (%s) has other frames", id, d.Describe(id))
				}
				mu.Lock()
				seen++
				mu.Unlock()
			}
		})
	}
	group.Wait()
	if seen < 50 {
		t.Errorf("%d clips", seen)
	}
	if n := len(d.pool.slots); n > d.pool.most {
		t.Errorf("%d decoders, at most %d", n, d.pool.most)
	}
}

// TestSpread compares uniform_sample with numbers that were computed by numpy.
func TestSpread(t *testing.T) {
	for _, c := range []struct {
		n, size int
		want    []int
	}{{5, 30, []int{0, 7, 15, 22, 29}}, {4, 30, []int{0, 10, 19, 29}}, {5, 3, []int{0, 1, 1, 2, 2}}, {1, 9,
		[]int{0}}, {3, 1, []int{0, 0, 0}}} {
		var got []int
		for i := range c.n {
			got = append(got, spread(i, c.n, c.size))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%d of %d: got %v, want %v", c.n, c.size, got, c.want)
		}
	}
}

// TestBadVideos reads what is damaged, missing or changed. Other clips stay.
func TestBadVideos(t *testing.T) {
	videotest.Need(t)
	dir := t.TempDir()
	copied := func(name string, change func(b []byte) []byte) string {
		b, err := os.ReadFile(sampleFile(name))
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, change(b), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, path := range map[string]string{
		"cut mp4":    copied("h264.mp4", func(b []byte) []byte { return b[:len(b)/2] }),
		"empty":      copied("vp9.webm", func([]byte) []byte { return nil }),
		"text":       copied("odd.webm", func([]byte) []byte { return []byte("no video at all\n") }),
		"no frames":  copied("motion.mjpeg", func(b []byte) []byte { return b[:3] }),
		"cut gif":    copied("animated.gif", func(b []byte) []byte { return b[:10] }),
		"a folder":   dir,
		"not there":  filepath.Join(dir, "none.mp4"),
		"a URL":      "http://localhost/video.mp4",
		"a playlist": copied("stream.ts", func([]byte) []byte { return []byte("#EXTM3U\n#EXTINF:1,\nhttp://localhost/a.ts\n") }),
	} {
		src, _, err := source(t, op.Args{"filenames": []string{path}, "sequence_length": 2})
		if err == nil {
			src.Close()
			t.Errorf("%s: no error", name)
		} else if errs.KindOf(err) == errs.Other || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
	}

	// A size that changes is an error of the clips with other frames.
	d, specs := mustOpen(t, op.Args{"filenames": []string{sampleFile("resized.ts")}, "sequence_length": 1})
	failures := 0
	for id := range d.info.Samples {
		_, failed, err := fetch(t.Context(), d, specs, op.Limits{}, id)
		if err != nil {
			t.Fatal(err)
		}
		if failed[0] != nil {
			if failures++; id < 4 || !errors.Is(failed[0], errs.Mismatch) && !errors.Is(failed[0], errs.Corrupt) {
				t.Errorf("frame %d: %v", id, failed[0])
			}
		}
	}
	if failures == 0 {
		t.Error("frames of another size are no error")
	}

	// A motion JPEG file that is cut has one bad frame.
	cut := copied("motion.avi", func(b []byte) []byte { return b[:len(b)*2/3] })
	d, specs = mustOpen(t, op.Args{"filenames": []string{cut}, "sequence_length": 1})
	for id := range d.info.Samples {
		_, failed, err := fetch(t.Context(), d, specs, op.Limits{}, id)
		if last := id == d.info.Samples-1; err != nil || (failed[0] != nil) != last || last && !errors.Is(failed[0],
			errs.Corrupt) {
			t.Errorf("frame %d: %v %v", id, err, failed[0])
		}
	}

	// A file that changes after the data set was opened is an error.
	changing := copied("vp8.webm", func(b []byte) []byte { return b })
	d, specs = mustOpen(t, op.Args{"filenames": []string{changing}, "sequence_length": 2})
	one(t, d, specs, 0)
	copied("vp8.webm", func(b []byte) []byte { return append(b, 0) })
	if _, failed, _ := fetch(t.Context(), d, specs, op.Limits{}, 1); !errors.Is(failed[0], errs.Mismatch) {
		t.Errorf("got %v", failed[0])
	}
}

// TestFetchLimits checks the limits of pixels, bytes and time, and the end of the context.
func TestFetchLimits(t *testing.T) {
	videotest.Need(t)
	d, specs := mustOpen(t, op.Args{"filenames": []string{sampleFile("h264.mp4")}, "sequence_length": 2})
	if _, failed, _ := fetch(t.Context(), d, specs, op.Limits{MaxPixels: 64*48 - 1}, 0); !errors.Is(failed[0],
		errs.Exhausted) {
		t.Errorf("pixels: got %v", failed[0])
	}
	if _, failed, _ := fetch(t.Context(), d, specs, op.Limits{MaxTime: time.Nanosecond}, 0); !errors.Is(failed[0],
		errs.Exhausted) {
		t.Errorf("time: got %v", failed[0])
	}
	func() {
		defer func() {
			if err, ok := recover().(error); !ok || !errors.Is(err, errs.Exhausted) {
				t.Errorf("bytes: got %v", err)
			}
		}()
		fetch(t.Context(), d, specs, op.Limits{MaxBytes: 64 * 48 * 3}, 0)
	}()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := fetch(ctx, d, specs, op.Limits{}, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("context: got %v", err)
	}
}

// TestPoolWaits cancels a clip that waits for a decoder.
func TestPoolWaits(t *testing.T) {
	videotest.Need(t)
	d, _ := mustOpen(t, op.Args{"filenames": []string{sampleFile("no_keys.mp4")}, "sequence_length": 2})
	f := d.entries[0].file
	s, err := d.pool.take(t.Context(), f, 0, 2)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := d.pool.take(ctx, f, 2, 4); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a clip did not wait for the clip before it: %v", err)
	}
	d.pool.give(s, nil)
	next, err := d.pool.take(t.Context(), f, 4, 6)
	if err != nil {
		t.Fatal(err)
	}
	d.pool.give(next, nil)
	d.pool.close()
	if _, err := d.pool.take(t.Context(), f, 0, 2); !errors.Is(err, errs.Closed) {
		t.Errorf("got %v", err)
	}
}

// TestSavedIndex opens a data set with a file of indices: made, used, damaged, and after a change.
func TestSavedIndex(t *testing.T) {
	videotest.Need(t)
	dir := t.TempDir()
	index := filepath.Join(dir, "videos.index")
	paths := []string{sampleFile("h264.mp4"), sampleFile("mpeg4.avi"), sampleFile("motion.avi"),
		sampleFile("animated.webp"), sampleFile("variable.mp4")}
	args := op.Args{"filenames": paths, "sequence_length": 3, "index_path": index, "enable_timestamps": true}
	d, specs := mustOpen(t, args)
	var want []string
	for id := range d.info.Samples {
		want = append(want, one(t, d, specs, id))
	}
	first, err := os.ReadFile(index)
	if err != nil {
		t.Fatal(err)
	}
	path := os.Getenv("PATH")
	t.Setenv("PATH", t.TempDir()) // the index is not read from the videos
	again, _ := mustOpen(t, args)
	t.Setenv("PATH", path)
	if again.info.Fingerprint != d.info.Fingerprint || again.info.Samples != d.info.Samples {
		t.Errorf("another data set: %+v", again.info)
	}
	for id := range again.info.Samples {
		if one(t, again, specs, id) != want[id] {
			t.Fatalf("clip %d differs", id)
		}
	}
	if second, err := os.ReadFile(index); err != nil || !bytes.Equal(first, second) {
		t.Error("the file of indices changed without a reason")
	}
	for name, change := range map[string]func(b []byte) []byte{
		"empty":     func([]byte) []byte { return nil },
		"text":      func([]byte) []byte { return []byte("hello, world\n") },
		"cut":       func(b []byte) []byte { return b[:len(b)-3] },
		"one bit":   func(b []byte) []byte { b[len(b)-9] ^= 4; return b },
		"too large": func(b []byte) []byte { return append(b, 0xff, 0xff, 0xff, 0xff, 0xff, 1) },
	} {
		if err := os.WriteFile(index, change(bytes.Clone(first)), 0o666); err != nil {
			t.Fatal(err)
		}
		if src, _, err := source(t, args); !errors.Is(err, errs.Corrupt) || !strings.Contains(err.Error(), index) {
			t.Errorf("%s: got %v", name, err)
			if err == nil {
				src.Close()
			}
		}
	}
	// The index of another data set stays, and the index of a changed video is made anew.
	if err := os.WriteFile(index, first, 0o666); err != nil {
		t.Fatal(err)
	}
	more, _ := mustOpen(t, op.Args{"filenames": []string{sampleFile("vp9.webm")}, "sequence_length": 3,
		"index_path": index})
	if known, err := readSaved(index); err != nil || len(known) != 6 || more.info.Samples != 10 {
		t.Errorf("%d indices, %v", len(known), err)
	}
	if _, _, err := source(t, op.Args{"filenames": paths[:1], "sequence_length": 3, "index_path": filepath.Join(dir,
		"none", "x")}); !errors.Is(err, errs.NotFound) {
		t.Errorf("got %v", err)
	}
}

// TestArguments checks what is refused before a video is opened.
func TestArguments(t *testing.T) {
	list := filepath.Join(t.TempDir(), "list")
	motion := []string{sampleFile("motion.avi")}
	for name, args := range map[string]op.Args{
		"no stride":    {"filenames": motion, "sequence_length": 2, "stride": 0},
		"no length":    {"filenames": motion, "sequence_length": 0},
		"huge length":  {"filenames": motion, "sequence_length": 1 << 40},
		"bgr":          {"filenames": motion, "sequence_length": 1, "image_type": op.BGR},
		"rounding":     {"file_list": list, "sequence_length": 1, "file_list_rounding": "nearest"},
		"shards":       {"filenames": motion, "sequence_length": 1, "num_shards": 0},
		"only labels":  {"file_root": ".", "labels": []int{1}, "sequence_length": 1},
		"large labels": {"filenames": motion, "labels": []int{1 << 33}, "sequence_length": 1},
	} {
		if _, _, err := source(t, args); !errors.Is(err, errs.Invalid) && !errors.Is(err, errs.Unsupported) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	for text, want := range map[string]string{
		"":                                  "no line",
		"a.mp4\n":                           "line 1",
		"\na.mp4 -1\n":                      "line 2",
		"a.mp4 x\n":                         "a label",
		"a.mp4 1 two\n":                     "numbers",
		"a.mp4 1 2 nan\n":                   "numbers",
		"a.mp4 1 2 3 4\n":                   "a path without spaces",
		strings.Repeat("a", 1<<17) + " 1\n": "lines of at most",
	} {
		if err := os.WriteFile(list, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, _, err := source(t, op.Args{"file_list": list, "sequence_length": 1}); !errors.Is(err,
			errs.Invalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: got %v", text, err)
		}
	}
}

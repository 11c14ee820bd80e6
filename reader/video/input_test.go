package video

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac/codec/raster"
	"github.com/bivouac-ml/bivouac/codec/video"
	"github.com/bivouac-ml/bivouac/codec/video/videotest"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// newInput returns an input that was fed videos.
func newInput(t *testing.T, o InputOptions, files ...string) *Input {
	t.Helper()
	x, err := NewInput(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	for _, name := range files {
		feedFile(t, x, name)
	}
	return x
}

func feedFile(t *testing.T, x *Input, name string) {
	t.Helper()
	b, err := os.ReadFile(sampleFile(name))
	if err == nil {
		err = x.Feed([]tensor.Tensor{tensor.FromSlice(b, len(b))})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestRecordedInputs holds batches against what DALI gives: how many there are, their shapes, and
// the mean of each frame. Frames of padding are black.
func TestRecordedInputs(t *testing.T) {
	videotest.Need(t)
	b, err := os.ReadFile(filepath.Join("testdata", "inputs.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Files   []string
		Length  int    `json:"sequence_length"`
		Policy  string `json:"last_sequence_policy"`
		Size    int    `json:"batch_size"`
		Batches [][]struct {
			Shape []int
			Means []float64
		}
	}
	if err := json.Unmarshal(b, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) < 20 {
		t.Fatalf("%d cases", len(cases))
	}
	for i, c := range cases {
		x := newInput(t, InputOptions{SequenceLength: c.Length, BatchSize: c.Size, Pad: c.Policy == "pad"}, c.Files...)
		for k, want := range c.Batches {
			got, err := x.Next(t.Context())
			if err != nil {
				t.Errorf("case %d, batch %d: %v", i, k, err)
				break
			}
			if len(got) != len(want) {
				t.Errorf("case %d, batch %d: %d sequences, want %d", i, k, len(got), len(want))
				continue
			}
			for s := range got {
				if !slices.Equal(got[s].Shape, want[s].Shape) || got[s].Layout != "FHWC" {
					t.Errorf("case %d, batch %d: %v, want shape %v", i, k, got[s], want[s].Shape)
					continue
				}
				size := len(got[s].Data) / len(want[s].Means)
				for f, mean := range want[s].Means {
					sum := 0
					for _, v := range got[s].Data[f*size : (f+1)*size] {
						sum += int(v)
					}
					const most = 0.6 // levels, by which the conversions of colours differ
					if d := math.Abs(float64(sum)/float64(size) - mean); d > most || mean == 0 && sum != 0 {
						t.Errorf("case %d, batch %d, sequence %d, frame %d: mean %.2f, want %.2f", i, k, s, f,
							float64(sum)/float64(size), mean)
					}
				}
			}
		}
		if x.Has() {
			t.Errorf("case %d: more batches than DALI gives", i)
		}
		if _, err := x.Next(t.Context()); !errors.Is(err, errs.Invalid) {
			t.Errorf("case %d: after the last batch: got %v", i, err)
		}
	}
}

// all returns the bytes of the batches that are left.
func all(t *testing.T, x *Input) (list [][]byte) {
	t.Helper()
	for x.Has() {
		b, err := x.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var all []byte
		for i := range b {
			all = append(all, b[i].Data...)
		}
		list = append(list, all)
	}
	return list
}

// TestInputIsExact holds the frames against a decoder.
func TestInputIsExact(t *testing.T) {
	videotest.Need(t)
	v, err := video.Open(t.Context(), sampleFile("h264.mp4"), video.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d := v.NewDecoder()
	defer d.Close()
	var want []byte
	for i := range v.Frames() {
		p := make([]byte, v.Width*v.Height*3)
		if err := d.Decode(t.Context(), i, p); err != nil {
			t.Fatal(err)
		}
		want = append(want, p...)
	}
	x := newInput(t, InputOptions{SequenceLength: 3, BatchSize: 4}, "h264.mp4")
	if got := bytes.Join(all(t, x), nil); !bytes.Equal(got, want) {
		t.Errorf("%d bytes that differ from %d", len(got), len(want))
	}
}

// TestInputResumes goes on from each batch of two videos: within one, and between them.
func TestInputResumes(t *testing.T) {
	videotest.Need(t)
	files := []string{"vp9.webm", "odd.webm", "motion.avi"}
	o := InputOptions{SequenceLength: 4, BatchSize: 2, Pad: true}
	want := all(t, newInput(t, o, files...))
	x := newInput(t, o, files...)
	for i := range len(want) + 1 {
		s, err := x.AppendState(nil)
		if err != nil {
			t.Fatal(err)
		}
		var at place
		if err := json.Unmarshal(s, &at); err != nil {
			t.Fatal(err)
		}
		again := newInput(t, o)
		if err := again.SetState(s); err != nil {
			t.Fatal(err)
		}
		for _, name := range files[at.Videos:] {
			feedFile(t, again, name)
		}
		if got := all(t, again); !slices.EqualFunc(got, want[i:], bytes.Equal) {
			t.Errorf("from batch %d on: %d batches that differ from %d", i, len(got), len(want)-i)
		}
		if i < len(want) {
			if _, err := x.Next(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestInputRefusesStates resumes with another video, with other options, and from damaged states.
func TestInputRefusesStates(t *testing.T) {
	videotest.Need(t)
	o := InputOptions{SequenceLength: 4, BatchSize: 2}
	x := newInput(t, o, "vp9.webm")
	if _, err := x.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	s, err := x.AppendState(nil)
	if err != nil {
		t.Fatal(err)
	}
	other := newInput(t, o)
	if err := other.SetState(s); err != nil {
		t.Fatal(err)
	}
	feedFile(t, other, "vp8.webm")
	_, err = other.Next(t.Context())
	if !errors.Is(err, errs.Mismatch) || !strings.Contains(err.Error(), "video 0") ||
		!strings.Contains(err.Error(), "feed the same video") {
		t.Errorf("another video: got %v", err)
	}
	feedFile(t, other, "vp9.webm") // the right one goes on
	if b, err := other.Next(t.Context()); err != nil || len(b) != 2 {
		t.Errorf("the right video after another one: %v", err)
	}
	for name, c := range map[string]struct {
		o    InputOptions
		s    string
		kind errs.Kind
	}{
		"another length": {InputOptions{SequenceLength: 5, BatchSize: 2}, string(s), errs.Mismatch},
		"another batch":  {InputOptions{SequenceLength: 4, BatchSize: 3}, string(s), errs.Mismatch},
		"another policy": {InputOptions{SequenceLength: 4, BatchSize: 2, Pad: true}, string(s), errs.Mismatch},
		"a newer state":  {o, strings.Replace(string(s), `"version":1`, `"version":2`, 1), errs.Mismatch},
		"a cut state":    {o, string(s[:len(s)-5]), errs.Corrupt},
		"within one":     {o, strings.Replace(string(s), `"frame":8`, `"frame":7`, 1), errs.Corrupt},
		"before all":     {o, strings.Replace(string(s), `"frame":8`, `"frame":-8`, 1), errs.Corrupt},
		"no checksum":    {o, strings.Replace(string(s), `"sha256"`, `"sha"`, 1), errs.Corrupt},
		"nothing":        {o, "", errs.Corrupt},
	} {
		x := newInput(t, c.o)
		if err := x.SetState([]byte(c.s)); !errors.Is(err, c.kind) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	// A state behind the end of its video.
	end := newInput(t, o)
	if err := end.SetState([]byte(strings.Replace(string(s), `"frame":8`, `"frame":4000`, 1))); err != nil {
		t.Fatal(err)
	}
	feedFile(t, end, "vp9.webm")
	if _, err := end.Next(t.Context()); !errors.Is(err, errs.Mismatch) {
		t.Errorf("behind the end: got %v", err)
	}
}

// TestInputErrors feeds what is no video, and waits in vain.
func TestInputErrors(t *testing.T) {
	videotest.Need(t)
	for _, o := range []InputOptions{{}, {SequenceLength: 1}, {BatchSize: 1}, {SequenceLength: -1, BatchSize: 1}} {
		if _, err := NewInput(o); !errors.Is(err, errs.Invalid) {
			t.Errorf("%+v: got %v", o, err)
		}
	}
	x := newInput(t, InputOptions{SequenceLength: 2, BatchSize: 2})
	one := tensor.FromSlice([]byte("no video at all"), 15)
	for _, samples := range [][]tensor.Tensor{nil, {one, one}, {tensor.FromSlice([]int8{1}, 1)},
		{tensor.New(tensor.Uint8, 1, 4)}, {tensor.New(tensor.Uint8, 0)}} {
		if err := x.Feed(samples); !errors.Is(err, errs.Invalid) {
			t.Errorf("%v: got %v", samples, err)
		}
	}
	if err := x.Feed([]tensor.Tensor{one}); err != nil {
		t.Fatal(err)
	}
	feedFile(t, x, "odd.webm")
	if _, err := x.Next(t.Context()); !errors.Is(err, errs.Corrupt) || !strings.Contains(err.Error(), "video 0") {
		t.Errorf("no video: got %v", err)
	}
	if b, err := x.Next(t.Context()); err != nil || len(b) != 2 {
		t.Errorf("the video after it: %v", err)
	}
	small := newInput(t, InputOptions{SequenceLength: 2, BatchSize: 2, Limits: raster.Limits{Bytes: 1000}}, "odd.webm")
	if _, err := small.Next(t.Context()); !errors.Is(err, errs.Exhausted) {
		t.Errorf("a large batch: got %v", err)
	}
	late := newInput(t, InputOptions{SequenceLength: 2, BatchSize: 2, Blocking: true})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := late.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("waiting: got %v", err)
	}
	b, err := os.ReadFile(sampleFile("odd.webm"))
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(10*time.Millisecond, func() { late.Feed([]tensor.Tensor{tensor.FromSlice(b, len(b))}) })
	if got, err := late.Next(t.Context()); err != nil || len(got) != 2 {
		t.Errorf("after waiting: %v", err)
	}
}

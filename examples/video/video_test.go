package video

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/bivouac-ml/bivouac/codec/video/videotest"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/tensor"
)

// videos makes four videos of a bright bar: in the folder 0 it moves to the right, in the folder 1
// down. The codec has frames that depend on others before and behind them.
func videos(t *testing.T) string {
	t.Helper()
	videotest.Need(t)
	root := t.TempDir()
	for label, bar := range []string{"gt(X\\,W*N/48-6)*lt(X\\,W*N/48+6)", "gt(Y\\,H*N/48-6)*lt(Y\\,H*N/48+6)"} {
		for i, codec := range []string{"libx264", "mpeg4"} {
			dir := filepath.Join(root, fmt.Sprint(label))
			if err := os.MkdirAll(dir, 0o777); err != nil {
				t.Fatal(err)
			}
			out, err := exec.Command("ffmpeg", "-v", "error", "-f", "lavfi", "-i", "nullsrc=size=64x64:rate=24",
				"-frames:v", "48",
				"-vf", "geq=lum='20+200*"+bar+"':cb=128:cr=128", "-c:v", codec, "-g", "16", "-bf", "2", "-pix_fmt", "yuv420p",
				filepath.Join(dir, fmt.Sprint(i, ".mkv"))).CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
		}
	}
	return root
}

func start(t *testing.T, root string, workers int) *pipeline.Pipeline {
	t.Helper()
	def, err := Clips(pipeline.Options{BatchSize: 3, Seed: 3, Workers: workers}, root)
	if err != nil {
		t.Fatal(err)
	}
	p, err := def.New(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// center returns the middle of the bright pixels of frame f.
func center(v []float32, f int) (x, y float64) {
	total := 0.0
	for i, bright := range v[f*3*Side*Side:][:Side*Side] {
		w := math.Max(0, float64(bright))
		x, y, total = x+w*float64(i%Side), y+w*float64(i/Side), total+w
	}
	return x / total, y / total
}

// The bar moves in the direction of the label, by as many pixels as the frames are apart, and
// begins where the number of the first frame says.
func TestClipsMove(t *testing.T) {
	p := start(t, videos(t), 0)
	for range 6 {
		batch, err := p.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for s := range batch.Outputs[0].NumSamples() {
			clip := batch.Outputs[0].Sample(s)
			v, err := tensor.Of[float32](clip)
			if err != nil || !clip.Shape.Equal(tensor.Shape{Frames, 3, Side, Side}) {
				t.Fatal(clip, err)
			}
			label, first := batch.Outputs[1].Sample(s).Data[0], int(batch.Outputs[2].Sample(s).Data[0])
			for f := range Frames {
				n := float64(first + f*Stride)
				if n < 6 || n > 42 {
					continue // the bar is cut off at the edge
				}
				x, y := center(v, f)
				along, across := x, y
				if label == 1 {
					along, across = y, x
				}
				if want := n / 48 * Side; math.Abs(along-want) > 1.5 || math.Abs(across-Side/2) > 1.5 {
					t.Errorf("label %d, frame %v: the bar is at %.1f and %.1f, want %.1f and %d", label, n, along,
						across, want, Side/2)
				}
			}
		}
	}
}

// A pipeline that begins at a saved state delivers the same clips, with any number of workers, also
// where the state lies within a video.
func TestResume(t *testing.T) {
	root, ctx := videos(t), context.Background()
	p := start(t, root, 1)
	var states, clips [][]byte
	for range 9 {
		state, err := p.AppendState(nil)
		if err != nil {
			t.Fatal(err)
		}
		batch, err := p.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		var all []byte
		for _, out := range batch.Outputs {
			for s := range out.NumSamples() {
				all = append(all, out.Sample(s).Data...)
			}
		}
		states, clips = append(states, state), append(clips, all)
	}
	for _, from := range []int{1, 4, 7} {
		q := start(t, root, from)
		if err := q.SetState(states[from]); err != nil {
			t.Fatal(err)
		}
		for k := from; k < len(clips); k++ {
			batch, err := q.Next(ctx)
			if err != nil {
				t.Fatal(err)
			}
			var all []byte
			for _, out := range batch.Outputs {
				for s := range out.NumSamples() {
					all = append(all, out.Sample(s).Data...)
				}
			}
			if !bytes.Equal(all, clips[k]) {
				t.Fatalf("batch %d differs after a resume at batch %d", k, from)
			}
		}
	}
}

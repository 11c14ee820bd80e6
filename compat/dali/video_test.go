package dali_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/codec/video/videotest"
	"github.com/bivouac-ml/bivouac/compat/dali"
	"github.com/bivouac-ml/bivouac/compat/dali/pipeproto"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

const fedVideo = `batch_size: 2
num_threads: 1
prefetch_queue_depth_cpu: 1
op:
  - name: experimental__inputs__Video
    inst_name: v
    output: [{name: v, device: cpu}]
    args: {device: cpu, sequence_length: 5, last_sequence_policy: partial, blocking: true, no_copy: true}
pipe_outputs: [{name: v, device: cpu}]
`

// TestDeserializedVideoInput: each pipeline of a serialized input is fed its own videos, the input
// is serialized again as it was, and there are no checkpoints.
func TestDeserializedVideoInput(t *testing.T) {
	videotest.Need(t)
	p, err := pipeproto.UnmarshalYAML([]byte(fedVideo))
	if err != nil {
		t.Fatal(err)
	}
	d, err := dali.FromProto(p, nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := dali.Serialize(d)
	if err != nil {
		t.Fatal(err)
	}
	again, err := dali.Deserialize(text, nil)
	if err != nil {
		t.Fatal(err)
	}
	var pipes []*dali.Pipeline
	for _, def := range []*dali.Definition{d, d, again} {
		pipe, err := def.New(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer pipe.Close()
		pipes = append(pipes, pipe)
	}
	for i, file := range []string{"motion.avi", "odd.webm", "vp9.webm"} { // 12, 6 and 30 frames
		b, err := os.ReadFile(filepath.Join("..", "..", "codec", "video", "testdata", file))
		if err == nil {
			err = pipes[i].FeedInput("v", []tensor.Tensor{tensor.FromSlice(b, len(b))}, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range []string{"[5 5] [2] end", "[5 1] end", "[5 5] [5 5] [5 5] end"} {
		var got []string
		for {
			b, err := pipes[i].Run(t.Context(), nil)
			if err != nil {
				if !errors.Is(err, errs.Invalid) {
					t.Fatal(err)
				}
				break
			}
			frames := make([]int, b.Outputs[0].NumSamples())
			for s := range frames {
				frames[s] = b.Outputs[0].Shape(s)[0]
			}
			got = append(got, fmt.Sprint(frames))
		}
		if text := strings.Join(append(got, "end"), " "); text != want {
			t.Errorf("pipeline %d: %s, want %s", i, text, want)
		}
	}
	o := &dali.PipelineOptions{EnableCheckpointing: true}
	if _, err := d.New(t.Context(), o); !errors.Is(err, errs.Unsupported) || !strings.Contains(err.Error(), "node v") {
		t.Errorf("with checkpoints: got %v", err)
	}
}

package pipeline_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/reader/readertest"
)

// A pipeline over files of any kind goes on from its state with the batches that follow, shuffled or
// not.
func TestReadersResume(t *testing.T) {
	ctx := context.Background()
	for _, make := range []func(string, int) (string, op.Args, error){
		readertest.Webdataset, readertest.Numpy, readertest.Sequence, readertest.Fits,
	} {
		name, args, err := make(t.TempDir(), 17)
		if err != nil {
			t.Fatal(err)
		}
		for _, shuffle := range []bool{false, true} {
			args["random_shuffle"] = shuffle
			def, err := pipeline.Define(pipeline.Options{BatchSize: 3, Seed: 7}, func(p *pipeline.Builder) []pipeline.Node {
				return p.Op(name, args)[:1]
			})
			if err != nil {
				t.Fatal(name, err)
			}
			whole := batchTexts(t, def, nil, 14)
			distinct := map[string]bool{}
			for _, b := range whole[:5] {
				distinct[b] = true
			}
			if len(distinct) != 5 {
				t.Errorf("%s: batches %q", name, whole[:5])
			}
			for at := range 7 {
				pipe, err := def.New(ctx, nil)
				if err != nil {
					t.Fatal(err)
				}
				for range at {
					if _, err := pipe.Next(ctx); err != nil {
						t.Fatal(err)
					}
				}
				state, err := pipe.AppendState(nil)
				if err != nil {
					t.Fatal(err)
				}
				if err := pipe.Close(); err != nil {
					t.Fatal(err)
				}
				for i, got := range batchTexts(t, def, state, 7) {
					if got != whole[at+i] {
						t.Errorf("%s, shuffle %t, batch %d after %d: got %q, want %q", name, shuffle, i, at, got, whole[at+i])
					}
				}
			}
		}
	}
}

// batchTexts returns the bytes of the next batches of a pipeline, from a state on.
func batchTexts(t *testing.T, def *pipeline.Definition, state []byte, n int) (texts []string) {
	t.Helper()
	pipe, err := def.New(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	if state != nil {
		if err := pipe.SetState(state); err != nil {
			t.Fatal(err)
		}
	}
	for len(texts) < n {
		batch, err := pipe.Next(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		for i := range batch.Outputs[0].NumSamples() {
			fmt.Fprintf(&b, "%v %x, ", batch.Outputs[0].Sample(i).Shape, batch.Outputs[0].Sample(i).Data)
		}
		texts = append(texts, b.String())
	}
	return texts
}

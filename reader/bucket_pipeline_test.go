package reader_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/reader/readertest"
	"github.com/bivouac-ml/bivouac/store/blocks"
	"github.com/bivouac-ml/bivouac/store/object/simulated"
)

// runOf takes batches of a pipeline from a state, and returns the labels and the last state.
func runOf(t *testing.T, name string, args op.Args, saved []byte, batches int) (labels []string, state []byte) {
	t.Helper()
	ctx := context.Background()
	def, err := pipeline.Define(pipeline.Options{BatchSize: 16, Seed: 3}, func(p *pipeline.Builder) []pipeline.Node {
		return p.Op(name, args)
	})
	if err != nil {
		t.Fatal(err)
	}
	pipe, err := def.New(ctx, &pipeline.Options{IOWorkers: 1, Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	if saved != nil {
		if err := pipe.SetState(saved); err != nil {
			t.Fatal(err)
		}
	}
	for range batches {
		b, err := pipe.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for s := range b.Outputs[0].NumSamples() {
			labels = append(labels, fmt.Sprintf("%x %x", b.Outputs[0].Sample(s).Data, b.Outputs[1].Sample(s).Data))
		}
	}
	if state, err = pipe.AppendState(nil); err != nil {
		t.Fatal(err)
	}
	return labels, state
}

// TestPipelinesOfBuckets reads files of a slow bucket with one goroutine. The samples, and the
// state, are as on a disk. Requests of the batches in the making go on at the same time, and each
// object is requested once.
func TestPipelinesOfBuckets(t *testing.T) {
	dir := t.TempDir()
	const files, delay = 96, 30 * time.Millisecond
	for i := range files {
		at := filepath.Join(dir, fmt.Sprint("class", i%3), fmt.Sprintf("%03d.jpg", i))
		if err := os.MkdirAll(filepath.Dir(at), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, fmt.Append(nil, "sample ", i), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	b := readertest.NewBucket()
	if err := b.Upload(dir, "set"); err != nil {
		t.Fatal(err)
	}
	near := op.Args{"file_root": dir, "random_shuffle": true}
	far := readertest.Moved(near, dir, b.URL+"/set")
	want, wantState := runOf(t, "readers.file", near, nil, 4)
	c := useCache(t, blocks.Options{})
	b.Fail(func(r simulated.Request) simulated.Fate {
		if r.Kind == "Get" {
			return simulated.Fate{Delay: delay}
		}
		return simulated.Fate{}
	})
	began := time.Now()
	got, state := runOf(t, "readers.file", far, nil, 4)
	took := time.Since(began)
	if !slices.Equal(got, want) || string(state) != string(wantState) {
		t.Errorf("other samples, or another state:\n%s\n%s", state, wantState)
	}
	if one := files * delay; took > one/3 {
		t.Errorf("%v for 64 samples, of which each takes %v: nothing is read ahead", took, delay)
	}
	if n := c.Stats().Requests; n > files {
		t.Errorf("%d requests for %d objects", n, files)
	}
	// Killed, and resumed on the other side.
	wantNext, _ := runOf(t, "readers.file", near, wantState, 3)
	for _, args := range []op.Args{near, far} {
		if next, _ := runOf(t, "readers.file", args, state, 3); !slices.Equal(next, wantNext) {
			t.Error("a resume gives other samples")
		}
	}
}

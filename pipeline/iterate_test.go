package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/compat/dali"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/tensor"
)

// numbered makes files whose contents are their numbers, in three classes.
func numbered(t testing.TB, n int) string {
	t.Helper()
	dir := t.TempDir()
	for k := range n {
		class := filepath.Join(dir, fmt.Sprintf("c%d", k*3/n))
		if err := errors.Join(os.MkdirAll(class, 0o777), os.WriteFile(filepath.Join(class, fmt.Sprintf("f%05d.jpg", k)), []byte(strconv.Itoa(k)), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

type iterated struct {
	Len    int64
	Size   int64
	Epochs [][][][]int
	States []string `json:"iterator_data_after_epoch"`
}

// iterate takes three epochs as the recording did.
func iterate(t *testing.T, it *pipeline.Iterator, reset bool, number func(tensor.Tensor) int) iterated {
	t.Helper()
	ctx := context.Background()
	var r iterated
	for range 3 {
		epoch := [][][]int{}
		for batches, err := range it.Epoch(ctx) {
			if err != nil {
				t.Fatal(err)
			}
			list := [][]int{}
			for _, b := range batches {
				values := []int{}
				for s := range b.Outputs[0].NumSamples() {
					values = append(values, number(b.Outputs[0].Sample(s)))
				}
				list = append(list, values)
			}
			epoch = append(epoch, list)
		}
		r.Epochs, r.States = append(r.Epochs, epoch), append(r.States, it.State())
		if !reset {
			if err := it.Reset(ctx); err != nil {
				t.Fatal(err)
			}
		}
	}
	r.Len, r.Size = it.Len(), it.Size()
	return r
}

var policyNames = map[string]pipeline.LastBatch{"FILL": pipeline.Fill, "DROP": pipeline.Drop, "PARTIAL": pipeline.Partial}

// closeAll ends pipelines before the end of the test: there are hundreds.
func closeAll(pipes []*pipeline.Pipeline) {
	for _, p := range pipes {
		p.Close()
	}
}

func TestIteratorPoliciesAsDALI(t *testing.T) {
	type c struct {
		N       int
		Batch   int
		Shards  int
		Policy  string
		Pad     bool `json:"pad_last_batch"`
		Stick   bool `json:"stick_to_shard"`
		Reset   bool `json:"auto_reset"`
		Prepare bool `json:"prepare_first_batch"`
		Result  outcome[iterated]
	}
	dirs := map[int]string{}
	for _, c := range recorded[c](t, "iterator_policy") {
		if dirs[c.N] == "" {
			dirs[c.N] = numbered(t, c.N)
		}
		var pipes []*pipeline.Pipeline
		for s := range c.Shards {
			pipes = append(pipes, start(t, pipeline.Options{BatchSize: c.Batch, NumThreads: 1, Seed: 1, Compat: dali.Mode()}, func(p *pipeline.Builder) []pipeline.Node {
				return p.Op("readers.file", op.Args{"name": "r", "file_root": dirs[c.N], "shard_id": s, "num_shards": c.Shards, "pad_last_batch": c.Pad, "stick_to_shard": c.Stick})
			}))
		}
		it, err := pipeline.NewIterator(context.Background(), pipes, pipeline.IteratorOptions{ReaderName: "r", LastBatch: policyNames[c.Policy], AutoReset: c.Reset, Lazy: !c.Prepare})
		if !c.Result.OK {
			if !errors.Is(err, errs.Invalid) {
				t.Errorf("%+v: got %v", c, err)
			}
			closeAll(pipes)
			continue
		}
		if err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
		got := iterate(t, it, c.Reset, func(v tensor.Tensor) int { n, _ := strconv.Atoi(string(v.Data)); return n })
		if d := cmp.Diff(c.Result.Value, got); d != "" {
			t.Errorf("%d files, batch %d, %d shards, %s, pad %v, stick %v, reset %v, prepared %v (-want +got):\n%s", c.N, c.Batch, c.Shards, c.Policy, c.Pad, c.Stick, c.Reset, c.Prepare, d)
		}
		closeAll(pipes)
	}
}

func TestIteratorWithoutReaderAsDALI(t *testing.T) {
	type c struct {
		Size      int64
		Batch     int
		Pipelines int
		Policy    string
		Reset     bool `json:"auto_reset"`
		Result    outcome[iterated]
	}
	for _, c := range recorded[c](t, "iterator_without_reader") {
		var pipes []*pipeline.Pipeline
		for s := range c.Pipelines {
			src := pipeline.BatchFunc(func(_ context.Context, info pipeline.BatchInfo) ([]pipeline.Data, error) {
				if c.Size < 0 && info.Iteration >= 3 {
					return nil, io.EOF
				}
				var list []tensor.Tensor
				for j := range c.Batch {
					list = append(list, ints(int32(1000*s+int(info.Iteration)*c.Batch+j)))
				}
				return []pipeline.Data{list}, nil
			})
			pipes = append(pipes, start(t, pipeline.Options{BatchSize: c.Batch, NumThreads: 1}, func(b *pipeline.Builder) []pipeline.Node {
				return pipeline.ExternalSource(b, src, pipeline.SourceOptions{})
			}))
		}
		it, err := pipeline.NewIterator(context.Background(), pipes, pipeline.IteratorOptions{Size: max(0, c.Size), LastBatch: policyNames[c.Policy], AutoReset: c.Reset})
		if !c.Result.OK {
			if !errors.Is(err, errs.Invalid) {
				t.Errorf("%+v: got %v", c, err)
			}
			closeAll(pipes)
			continue
		}
		if err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
		got := iterate(t, it, c.Reset, func(v tensor.Tensor) int {
			list, err := tensor.Of[int32](v)
			if err != nil {
				t.Fatal(err)
			}
			return int(list[0])
		})
		if d := cmp.Diff(c.Result.Value, got); d != "" {
			t.Errorf("size %d, batch %d, %d pipelines, %s, reset %v (-want +got):\n%s", c.Size, c.Batch, c.Pipelines, c.Policy, c.Reset, d)
		}
		closeAll(pipes)
	}
}

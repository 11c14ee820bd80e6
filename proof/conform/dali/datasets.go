package dali

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/bivouac-ml/bivouac/format/npy"
	"github.com/bivouac-ml/bivouac/format/webdataset"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/proof/conform/suite"
	"github.com/bivouac-ml/bivouac/proof/dalivec"
	"github.com/bivouac-ml/bivouac/tensor"
)

// dataSet makes the data of a reader, as gen_dali_lib.py does, and says what the vectors have of a
// sample.
type dataSet struct {
	// orders returns the arguments of a case of order.
	orders func(ctx context.Context, c *orderCase) (op.Args, error)
	// checkpoints returns the arguments of a case of ckpt over n samples.
	checkpoints func(ctx context.Context, n int) (op.Args, error)
	// sample is what the vectors have of a sample, as JSON has it.
	sample func(c *orderCase, outputs []tensor.Tensor) (any, error)
}

// dataSets are the readers whose samples are not files with labels.
var dataSets = map[string]dataSet{
	"numpy": {
		orders: func(ctx context.Context, c *orderCase) (op.Args, error) {
			dir, err := numpySet(ctx, c.Params.N)
			return op.Args{"file_root": dir}, err
		},
		checkpoints: func(ctx context.Context, n int) (op.Args, error) {
			dir, err := numpySet(ctx, n)
			return op.Args{"file_root": dir}, err
		},
		sample: numpySample,
	},
	"webdataset": {
		orders: func(ctx context.Context, c *orderCase) (op.Args, error) {
			return webdatasetSet(ctx, c.Params.PerShard, c.Params.Index == nil || *c.Params.Index)
		},
		checkpoints: func(ctx context.Context, n int) (op.Args, error) {
			args, err := webdatasetSet(ctx, []int{n / 2, n - n/2}, true)
			args["ext"] = "cls"
			return args, err
		},
		sample: func(_ *orderCase, outputs []tensor.Tensor) (any, error) {
			var texts []any
			for _, t := range outputs {
				texts = append(texts, string(t.Data))
			}
			return texts, nil
		},
	},
}

// runSet holds the case against a pipeline over a data set.
func (c *orderCase) runSet(ctx context.Context, reader string, set dataSet) error {
	args, err := set.orders(ctx, c)
	if err != nil {
		return err
	}
	args["name"] = "r"
	for name, v := range c.Params.Args {
		if args[name], err = dalivec.Constant(v); err != nil {
			return err
		}
	}
	o := daliOptions(c.Params.BatchSize, c.Params.PipeSeed)
	o.EnableCheckpointing, o.Prefetch = c.Params.Checkpointing, c.Params.PipePrefetch
	p, err := newPipeline(ctx, o, func(b *pipeline.Builder) ([]pipeline.Node, error) {
		return b.Op("readers."+reader, args), b.Err()
	})
	if err != nil {
		return err
	}
	defer p.Close()
	batches := len(c.Samples)
	if c.Error != nil {
		batches = 1
	} else if meta, err := p.ReaderMeta("r"); err != nil || meta != c.Meta {
		return fmt.Errorf("reader_meta: got %+v, %v, want %+v", meta, err, c.Meta)
	}
	got, err := takeBatches(ctx, p, batches)
	if err != nil || c.Error != nil {
		return err
	}
	for i, batch := range got {
		if len(c.Samples[i]) != len(batch[0]) {
			return fmt.Errorf("batch %d: got %d samples, want %d", i, len(batch[0]), len(c.Samples[i]))
		}
		for s := range batch[0] {
			outputs := make([]tensor.Tensor, len(batch))
			for o := range batch {
				outputs[o] = batch[o][s]
			}
			v, err := set.sample(c, outputs)
			if err != nil {
				return err
			}
			if err := sameJSON(v, c.Samples[i][s]); err != nil {
				return fmt.Errorf("batch %d, sample %d: %w", i, s, err)
			}
		}
	}
	return nil
}

// sameJSON compares a value with a text of JSON.
func sameJSON(got any, want json.RawMessage) error {
	b, err := json.Marshal(got)
	if err != nil {
		return err
	}
	var g, w any
	if err := json.Unmarshal(b, &g); err != nil {
		return err
	}
	if err := json.Unmarshal(want, &w); err != nil {
		return err
	}
	if !reflect.DeepEqual(g, w) {
		return fmt.Errorf("got %s, want %s", b, want)
	}
	return nil
}

// numpySample is the array, or its number in the data set.
func numpySample(c *orderCase, outputs []tensor.Tensor) (any, error) {
	t := outputs[0]
	values := make([]float64, t.Shape.Len())
	for i := range values {
		v, ok := op.Number(t, i)
		if !ok {
			return nil, fmt.Errorf("got %s", t.DType)
		}
		values[i] = v
	}
	if !c.Params.Payload {
		return int(values[0]) / 100, nil
	}
	return map[string]any{"dtype": t.DType.String(), "shape": t.Shape, "data": values}, nil
}

// numpySet makes n arrays of 2 to 4 rows, every fourth in Fortran order.
func numpySet(ctx context.Context, n int) (string, error) {
	dir := filepath.Join(suite.Scratch(ctx), fmt.Sprintf("numpy-%d", n))
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", err
	}
	for i := range n {
		values := make([]float32, (2+i%3)*4)
		for j := range values {
			values[j] = float32(j + 100*i)
		}
		b, err := npy.Encode(tensor.FromSlice(values, 2+i%3, 4), &npy.WriteOptions{Fortran: i%4 == 3})
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("a%03d.npy", i)), b, 0o666); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// webdatasetSet makes archives, of which each has perShard samples: a text, an image in two of
// three, and the number.
func webdatasetSet(ctx context.Context, perShard []int, index bool) (op.Args, error) {
	dir := filepath.Join(suite.Scratch(ctx), strings.ReplaceAll(fmt.Sprintf("webdataset-%v", perShard), " ", "-"))
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	var paths, indexes []string
	k := 0
	for shard, n := range perShard {
		var b, text bytes.Buffer
		w := tar.NewWriter(&b)
		for range n {
			files := [][2]string{{"txt", fmt.Sprintf("text %d", k)}, {"cls", fmt.Sprint(k)}}
			if k%3 != 2 {
				image := [2]string{"png", strings.Repeat(fmt.Sprintf("img%d", k), k+1)}
				if k%2 == 1 {
					image[0] = "jpg"
				}
				files = [][2]string{files[0], image, files[1]}
			}
			for _, f := range files {
				h := &tar.Header{Name: fmt.Sprintf("dir/%04d.%s", k, f[0]), Size: int64(len(f[1])), Mode: 0o644,
					Format: tar.FormatUSTAR}
				if err := w.WriteHeader(h); err != nil {
					return nil, err
				}
				if _, err := w.Write([]byte(f[1])); err != nil {
					return nil, err
				}
			}
			k++
		}
		if err := w.Close(); err != nil {
			return nil, err
		}
		if err := webdataset.WriteIndex(&text, bytes.NewReader(b.Bytes()), int64(b.Len())); err != nil {
			return nil, err
		}
		paths = append(paths, filepath.Join(dir, fmt.Sprintf("shard-%02d.tar", shard)))
		indexes = append(indexes, strings.TrimSuffix(paths[shard], ".tar")+".idx")
		for name, content := range map[string][]byte{paths[shard]: b.Bytes(), indexes[shard]: text.Bytes()} {
			if err := os.WriteFile(name, content, 0o666); err != nil {
				return nil, err
			}
		}
	}
	args := op.Args{"paths": paths}
	if index {
		args["index_paths"] = indexes
	}
	return args, nil
}

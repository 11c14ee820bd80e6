package dali

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/bivouac-ml/bivouac/format/npy"
	"github.com/bivouac-ml/bivouac/format/webdataset"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/proof/conform/suite"
	"github.com/bivouac-ml/bivouac/tensor"
)

var numpyData = dataSet{
	orders: func(ctx context.Context, c *orderCase) (op.Args, error) {
		dir, err := numpySet(ctx, c.Params.N)
		return op.Args{"file_root": dir}, err
	},
	checkpoints: func(ctx context.Context, n int) (op.Args, error) {
		dir, err := numpySet(ctx, n)
		return op.Args{"file_root": dir}, err
	},
	sample: numpySample,
}

var webdatasetData = dataSet{
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

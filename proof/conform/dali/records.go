package dali

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/bivouac-ml/bivouac/format/recordio"
	"github.com/bivouac-ml/bivouac/format/tfrecord"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/proof/conform/suite"
	"github.com/bivouac-ml/bivouac/tensor"
)

var tfrecordData = dataSet{
	orders: func(ctx context.Context, c *orderCase) (op.Args, error) {
		args, err := tfrecordSet(ctx, c.Params.PerShard)
		args["features"] = []op.Feature{
			op.FixedLen("image/encoded", nil, tensor.Uint8, ""),
			op.FixedLen("image/class/label", []int{1}, tensor.Int64, -1),
			op.VarLen("vals", tensor.Float32, 0.0),
			op.FixedLen("box", []int{2, 2}, tensor.Int64, 0),
			op.FixedLen("missing", []int{1}, tensor.Int64, -7),
		}
		return args, err
	},
	checkpoints: func(ctx context.Context, n int) (op.Args, error) {
		args, err := tfrecordSet(ctx, []int{n / 2, n - n/2})
		args["features"] = op.FixedLen("image/class/label", []int{1}, tensor.Int64, -1)
		return args, err
	},
	sample: tfrecordSample,
}

var mxnetData = dataSet{
	orders: func(ctx context.Context, c *orderCase) (op.Args, error) { return mxnetSet(ctx, c.Params.N) },
	checkpoints: func(ctx context.Context, n int) (op.Args, error) {
		return mxnetSet(ctx, n)
	},
	recorded: []int{1}, // the labels
	sample: func(_ *orderCase, outputs []tensor.Tensor) (any, error) {
		labels, err := tensor.Of[float32](outputs[1])
		return []any{string(outputs[0].Data), labels}, err
	},
}

// tfrecordSample is the label, or all features. An absent feature has its default, where the
// vectors have memory that DALI did not write.
func tfrecordSample(c *orderCase, outputs []tensor.Tensor) (any, error) {
	label, err := tensor.Of[int64](outputs[1])
	if err != nil || !c.Params.Payload {
		return label[0], err
	}
	values, err := tensor.Of[float32](outputs[2])
	if err != nil {
		return nil, err
	}
	box, err := tensor.Of[int64](outputs[3])
	if err != nil {
		return nil, err
	}
	missing, err := tensor.Of[int64](outputs[4])
	if err == nil && (len(missing) != 1 || missing[0] != -7) {
		err = fmt.Errorf("an absent feature: got %v, want the default", missing)
	}
	array := func(t tensor.Tensor, shape, data any) any {
		return map[string]any{"dtype": t.DType.String(), "shape": shape, "data": data}
	}
	return map[string]any{
		"encoded": string(outputs[0].Data), "label": label, "vals": array(outputs[2], outputs[2].Shape, values),
		"box": array(outputs[3], outputs[3].Shape, box), "missing": array(outputs[4], []int{}, "uninitialised"),
	}, err
}

// tfrecordSet makes a file with n examples for each n of perShard, and an index of each.
func tfrecordSet(ctx context.Context, perShard []int) (op.Args, error) {
	dir := filepath.Join(suite.Scratch(ctx), strings.ReplaceAll(fmt.Sprintf("tfrecord-%v", perShard), " ", "-"))
	args := op.Args{}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return args, err
	}
	var paths, indexes []string
	k := 0
	for shard, n := range perShard {
		var b, lines []byte
		for range n {
			var vals []float32
			for x := range k%4 + 1 {
				vals = append(vals, float32(x)/4)
			}
			message, err := tfrecord.EncodeExample(map[string]any{
				"image/encoded": strings.Repeat(fmt.Sprintf("payload-%d", k), 1+k%3), "image/class/label": []int64{int64(k)},
				"vals": vals, "box": []int64{int64(k), int64(-k), int64(k + 1), int64(k * k)},
			})
			if err != nil {
				return args, err
			}
			at := len(b)
			b = tfrecord.Append(b, message)
			lines = tfrecord.AppendIndex(lines, int64(at), int64(len(b)-at))
			k++
		}
		paths = append(paths, filepath.Join(dir, fmt.Sprintf("part-%02d.tfrecord", shard)))
		indexes = append(indexes, paths[shard]+".idx")
		if err := writeAbsent(map[string][]byte{paths[shard]: b, indexes[shard]: lines}); err != nil {
			return args, err
		}
	}
	args["path"], args["index_path"] = paths, indexes
	return args, nil
}

// mxnetSet makes a file of n images and its index.
func mxnetSet(ctx context.Context, n int) (op.Args, error) {
	dir := filepath.Join(suite.Scratch(ctx), fmt.Sprintf("mxnet-%d", n))
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return op.Args{}, err
	}
	var b, lines []byte
	for k := range n {
		lines = recordio.AppendIndex(lines, fmt.Sprint(k), int64(len(b)))
		image := recordio.Image{Label: float32(k), ID: uint64(k),
			Data: []byte(strings.Repeat(fmt.Sprintf("rec%d", k), 1+k%5))}
		b = recordio.Append(b, recordio.AppendImage(nil, image))
	}
	path, index := filepath.Join(dir, "train.rec"), filepath.Join(dir, "train.idx")
	return op.Args{"path": path, "index_path": index}, writeAbsent(map[string][]byte{path: b, index: lines})
}

// writeAbsent writes the files that are not there: cases share them.
func writeAbsent(files map[string][]byte) error {
	for name, content := range files {
		if _, err := os.Stat(name); err == nil {
			continue
		}
		if err := os.WriteFile(name, content, 0o666); err != nil {
			return err
		}
	}
	return nil
}

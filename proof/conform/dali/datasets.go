package dali

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline"
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
	// recorded is the output that cases of ckpt have recorded, or all.
	recorded []int
	// sample is what the vectors have of a sample, as JSON has it.
	sample func(c *orderCase, outputs []tensor.Tensor) (any, error)
}

// dataSets are the readers whose samples are not files with labels.
var dataSets = map[string]dataSet{
	"mxnet":      mxnetData,
	"numpy":      numpyData,
	"tfrecord":   tfrecordData,
	"webdataset": webdatasetData,
	"coco":       cocoData,
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

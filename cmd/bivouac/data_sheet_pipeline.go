//go:build !bivouac_wheel

package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/bivouac-ml/bivouac/compat/dali"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/loader/timeline"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/tensor"
)

// pipelineSheet is the flag for the file of a pipeline whose batches are drawn.
type pipelineSheet struct{ File string }

func (o *pipelineSheet) addFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.File, "pipeline", "", "`FILE` of the pipeline that the run used, to draw what it delivers")
}

// open makes the pipeline and moves it to a step. The state of a run checks that it is the same
// pipeline.
func (o *pipelineSheet) open(ctx context.Context, t *timeline.Timeline, step int64) (*dali.Pipeline, error) {
	if kind := t.Document().Kind; kind != "pipeline" {
		return nil, &errs.Error{Kind: errs.Invalid, Op: "data peek", Subject: "--pipeline", Want: "the state of a pipeline",
			Got: "the state of a " + kind, Remedy: "--data names the data of a loader"}
	}
	b, err := t.Seek(ctx, step, nil)
	if err != nil {
		return nil, err
	}
	d, err := (&PipelineOptions{Seed: -1, Compat: "none", CPU: true, checkpointing: true}).define(o.File)
	if err != nil {
		return nil, err
	}
	p, err := d.New(ctx, &dali.PipelineOptions{EnableCheckpointing: true})
	if err != nil {
		return nil, err
	}
	if err := p.SetState(b); err != nil {
		return nil, errors.Join(errs.Wrap("data peek", o.File, err), p.Close())
	}
	return p, nil
}

// draw runs the pipeline over some steps and draws its samples to a new file.
func (o *pipelineSheet) draw(ctx context.Context, t *timeline.Timeline, step, count int64, path string, cell int,
	g *global) (err error) {
	p, err := o.open(ctx, t, step)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	w := newWork(g)
	defer w.close()
	advance := samplesDone(w, "steps")
	var all []drawnSample
	for i := range count {
		batch, err := p.Next(ctx)
		if errors.Is(err, io.EOF) {
			batch, err = p.Next(ctx)
		}
		if err != nil {
			return errs.Wrap("data peek", fmt.Sprint("step ", step+i), err)
		}
		if err := checkDrawn(int64(len(all) + len(batch.IDs))); err != nil {
			return err
		}
		all = append(all, delivered(batch, step+i)...)
		advance(i+1, count)
	}
	w.close()
	return writeSheet(path, all, cell)
}

// delivered returns what the sheet shows of a batch: the first output that is a picture, and the
// other outputs as numbers.
func delivered(batch *pipeline.Batch, step int64) []drawnSample {
	all := make([]drawnSample, batch.Outputs[0].NumSamples())
	for row := range all {
		d := &all[row]
		d.title = fmt.Sprintf("step %d, row %d", step, row)
		if row < len(batch.IDs) {
			d.title += fmt.Sprintf(": sample %d", batch.IDs[row])
		}
		for i, o := range batch.Outputs {
			v := o.Sample(row)
			if isRaster(v) && !d.picture.DType.Valid() {
				d.picture = v.Clone() // the batch is valid until the next one
				continue
			}
			d.lines = append(d.lines, fmt.Sprintf("output %d: %s", i, describeField("", tensor.Tensor(v), false).short()))
		}
	}
	return all
}

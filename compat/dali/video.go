package dali

import (
	"fmt"
	"strconv"

	"github.com/bivouac-ml/bivouac/codec/raster"
	"github.com/bivouac-ml/bivouac/compat/dali/pipeproto"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/reader/video"
	"github.com/bivouac-ml/bivouac/tensor"
)

const videoInput = "experimental.inputs.video"

// video appends an input that is fed videos. Each pipeline has an input of its own. What is fed is
// copied, also with no_copy. A batch without a video is an error, also with blocking.
func (r *rebuilder) video(o *pipeproto.Op) error {
	if len(o.Inputs) > 0 || len(o.Outputs) != 1 {
		return &errs.Error{Kind: errs.Invalid, Want: "one output of a video and no inputs",
			Got: fmt.Sprintf("%d and %d", len(o.Outputs), len(o.Inputs))}
	}
	in := video.InputOptions{BatchSize: r.options.BatchSize,
		Limits: raster.Limits{Pixels: r.options.Limits.MaxPixels, Bytes: r.options.Limits.MaxBytes}}
	for i := range o.Args {
		a := &o.Args[i]
		var err error
		switch a.Name {
		case "sequence_length":
			in.SequenceLength, err = value[int](op.Int, a)
		case "last_sequence_policy":
			var policy string
			if policy, err = value[string](op.String, a); err == nil && policy != "partial" && policy != "pad" {
				return &errs.Error{Kind: errs.Invalid, Subject: "argument " + a.Name, Want: `"partial" or "pad"`,
					Got: strconv.Quote(policy)}
			}
			in.Pad = policy == "pad"
		}
		if err != nil {
			return &errs.Error{Kind: errs.Invalid, Subject: "argument " + a.Name, Got: err.Error()}
		}
	}
	if _, err := video.NewInput(in); err != nil { // it has nothing to close yet
		return err
	}
	source, given := r.sources[o.Instance]
	if !given {
		source = pipeline.OpenFed(func() (pipeline.FedReader, error) { return video.NewInput(in) })
		if r.videos == nil {
			r.videos = map[string]*pipeproto.Op{}
		}
		r.videos[o.Instance] = o
	}
	frames := tensor.Spec{DType: tensor.Uint8, Shape: tensor.Shape{-1, -1, -1, 3}, Layout: "FHWC"}
	options := pipeline.SourceOptions{Name: o.Instance, Specs: []tensor.Spec{frames}}
	return r.put(o.Outputs[0], pipeline.ExternalSource(r.b, source, options)[0])
}

// checkStates returns an error for a pipeline with states that has an input that is fed videos:
// DALI has none for it.
func (d *Definition) checkStates(o PipelineOptions) error {
	for name := range d.videos {
		if o.EnableCheckpointing {
			return &errs.Error{Kind: errs.Unsupported, Op: videoInput, Subject: "node " + name,
				Want: "no EnableCheckpointing", Got: "true",
				Remedy: "leave it out: a checkpoint of DALI has no place in a video; pipeline.FromFed has one"}
		}
	}
	return nil
}

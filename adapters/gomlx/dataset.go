package gomlx

import (
	stdcontext "context"
	"io"
	"iter"

	"github.com/gomlx/gomlx/pkg/core/tensors"

	"github.com/bivouac-ml/bivouac"
)

// A Dataset gives the batches of a job to a loop of GoMLX. It implements train.Dataset.
//
// A step is done when the loop asks for the next batch, which is when the job commits it. So run
// the loop until the Dataset ends, by RunEpochs with 1 epoch; Options.Steps of the job says how
// many steps there are, over as many epochs as needed. With RunSteps the last step is not done
// before the caller asks for one more batch, and a restart does it again.
type Dataset[B any] struct {
	next    func() (B, error, bool)
	stop    func()
	convert func(B) (inputs, labels []*tensors.Tensor, err error)
	err     error // what ended it
}

// NewDataset returns a Dataset of the steps of a job from where it stands. convert makes the
// tensors of a batch; see FromBatch. It must copy what it needs, because the memory of a batch is
// used again.
func NewDataset[B any](ctx stdcontext.Context, job *bivouac.Job[B],
	convert func(B) (inputs, labels []*tensors.Tensor, err error)) *Dataset[B] {
	next, stop := iter.Pull2(job.Steps(ctx))
	return &Dataset[B]{next: next, stop: stop, convert: convert}
}

// Name implements train.Dataset.
func (d *Dataset[B]) Name() string { return "bivouac" }

// Reset implements train.Dataset. It does nothing: the job begins the next epoch by itself.
func (d *Dataset[B]) Reset() {}

// Yield implements train.Dataset. It returns io.EOF after the last step, once it is committed. Any
// other error of the job, such as bivouac.ErrPreempted, is returned from then on. The spec is nil.
func (d *Dataset[B]) Yield() (spec any, inputs, labels []*tensors.Tensor, err error) {
	if d.err != nil {
		return nil, nil, nil, d.err
	}
	batch, err, ok := d.next()
	if !ok {
		err = io.EOF
	}
	if err == nil {
		inputs, labels, err = d.convert(batch)
	}
	if d.err = err; err != nil {
		return nil, nil, nil, err
	}
	return nil, inputs, labels, nil
}

// Close ends the steps. A step whose batch was taken last is not done then. Close the job after it.
// Close may be called twice.
func (d *Dataset[B]) Close() {
	d.stop()
	if d.err == nil {
		d.err = io.EOF
	}
}

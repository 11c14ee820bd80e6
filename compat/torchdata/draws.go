package torchdata

import "github.com/bivouac-ml/bivouac/errs"

// Draws draws the sources of torchdata.nodes.MultiNodeWeightedSampler by torch.multinomial. Pass it
// to the weighted node of loader/nodes. Its state is the generator, as
// {"tensor":"uint8","shape":[5056],"hex":…}.
type Draws struct {
	first     Generator // the generator of the seeds of epochs
	generator Generator
}

// NewDraws returns the draws of a node with the given seed, rank and world_size. The seed of an
// epoch is number epoch of the seeds that rank draws.
func NewDraws(seed, rank, world int64) *Draws {
	d := &Draws{first: NewGenerator(uint64(seed*world + rank))}
	d.Begin(0)
	return d
}

// Begin starts the draws of an epoch, from 0 on.
func (d *Draws) Begin(epoch int64) {
	seeds, seed := d.first, int64(0)
	for range epoch + 1 {
		seed = seeds.Int63n(1<<32 - 1)
	}
	d.generator = NewGenerator(uint64(seed))
}

// Draw fills dst with indices of weights. The error is of kind errs.Invalid.
func (d *Draws) Draw(weights []float64, dst []int64) error {
	w, err := NewWeighted(WeightedOptions{Weights: weights, NumSamples: int64(len(dst)), Generator: &d.generator})
	if err != nil {
		return err
	}
	if n := w.Fill(0, dst); n < len(dst) {
		return &errs.Error{Kind: errs.Exhausted, Op: "torchdata.Draws", Got: "no more random numbers"}
	}
	d.generator, _ = w.Generator(1)
	return nil
}

// AppendState appends the state of the generator, in the form of EncodeGenerator.
func (d *Draws) AppendState(dst []byte) ([]byte, error) {
	b, err := EncodeGenerator(&d.generator)
	return append(dst, b...), err
}

// SetState restores the state of the generator. The error is of kind errs.Corrupt, and nothing has
// changed then.
func (d *Draws) SetState(state []byte) error {
	g, err := DecodeGenerator(state)
	if err == nil {
		d.generator = g
	}
	return err
}

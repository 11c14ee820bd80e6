package torchdata

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/bivouac-ml/bivouac/errs"
)

// Draws draws the sources of torchdata.nodes.MultiNodeWeightedSampler, by
// torch.multinomial: give it to the weighted node of loader/nodes. Its state is the generator, as
// {"tensor":"uint8","shape":[5056],"hex":…}.
type Draws struct {
	first     Generator // of the seeds of epochs
	generator Generator
}

// NewDraws returns the draws of a node with that seed, rank and world_size, whose seed
// for an epoch is number epoch of those that rank draws.
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

// AppendState appends the state of the generator.
func (d *Draws) AppendState(dst []byte) ([]byte, error) {
	b, err := d.generator.MarshalBinary()
	if err != nil {
		return dst, err
	}
	dst = fmt.Appendf(dst, `{"tensor":"uint8","shape":[%d],"hex":"`, len(b))
	return append(hex.AppendEncode(dst, b), `"}`...), nil
}

// SetState restores it. The error is of kind errs.Corrupt; then nothing has changed.
func (d *Draws) SetState(state []byte) error {
	var tensor struct {
		Tensor string
		Shape  []int64
		Hex    string
	}
	dec := json.NewDecoder(bytes.NewReader(state))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&tensor); err != nil {
		return &errs.Error{Kind: errs.Corrupt, Op: "torchdata.Draws", Subject: "state", Want: "a tensor", Err: err}
	}
	if tensor.Tensor != "uint8" || len(tensor.Shape) != 1 || tensor.Shape[0] != StateSize {
		return badState("a tensor of 5056 uint8", fmt.Sprint(tensor.Tensor, tensor.Shape))
	}
	b, err := hex.DecodeString(tensor.Hex)
	if err != nil {
		return &errs.Error{Kind: errs.Corrupt, Op: "torchdata.Draws", Subject: "state", Err: err}
	}
	return d.generator.UnmarshalBinary(b)
}

package digits

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/rng"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// State is everything a training run is made of, apart from its place in the
// data: commit it whole, and a run carries on as if nothing had happened.
type State struct {
	Step   int64   `bivouac:"step"`   // steps done
	Model  Network `bivouac:"model"`  // the weights
	Adam   Adam    `bivouac:"adam"`   // the optimizer
	Random []byte  `bivouac:"random"` // the generator that dropout draws from, as rng.Philox writes it
}

// Network holds the four layers; also the moments of the optimizer, which have
// the same shapes.
type Network struct {
	Conv1  Params `bivouac:"conv1"`
	Conv2  Params `bivouac:"conv2"`
	Hidden Params `bivouac:"hidden"`
	Output Params `bivouac:"output"`
}

// Params are the float32 parameters of a layer: Weight[out, in, kernel, kernel]
// and Bias[out].
type Params struct {
	Weight tensor.Tensor `bivouac:"weight"`
	Bias   tensor.Tensor `bivouac:"bias"`
}

// Adam holds running means of the gradients and of their squares.
type Adam struct {
	Mean   Network `bivouac:"mean"`
	Square Network `bivouac:"square"`
}

// NewState returns the state before the first step: weights drawn from seed by Kaiming
// initialisation, moments zero.
func NewState(seed uint64) (*State, error) {
	s := &State{Model: newNetwork(), Adam: Adam{Mean: newNetwork(), Square: newNetwork()}}
	random := rng.NewPhilox(seed, 0, 0)
	for i, p := range s.Model.params() {
		w, err := tensor.Of[float32](p.Weight)
		if err != nil {
			return nil, err
		}
		scale := math.Sqrt(2 / float64(layers[i].window()))
		for j := range w {
			w[j] = float32(scale * random.Normal())
		}
	}
	var err error
	s.Random, err = random.AppendBinary(nil)
	return s, err
}

func newNetwork() Network {
	var n Network
	for i, p := range n.params() {
		l := layers[i]
		p.Weight = tensor.New(tensor.Float32, l.out, l.in, l.kernel, l.kernel)
		p.Bias = tensor.New(tensor.Float32, l.out)
	}
	return n
}

// params returns the layers in the order of the table layers.
func (n *Network) params() [len(layers)]*Params {
	return [...]*Params{&n.Conv1, &n.Conv2, &n.Hidden, &n.Output}
}

// slices returns the parameters as views: weight and bias of each layer in
// turn. The error is of kind errs.Mismatch when a shape is not the network's.
func (n *Network) slices() ([2 * len(layers)][]float32, error) {
	var out [2 * len(layers)][]float32
	for i, p := range n.params() {
		l := layers[i]
		want := [2]tensor.Shape{{l.out, l.in, l.kernel, l.kernel}, {l.out}}
		for j, t := range [2]tensor.Tensor{p.Weight, p.Bias} {
			if !t.Shape.Equal(want[j]) {
				return out, &errs.Error{Kind: errs.Mismatch, Op: "digits.Network", Subject: fmt.Sprintf("layer %d", i),
					Want: want[j].String(), Got: t.Shape.String()}
			}
			v, err := tensor.Of[float32](t)
			if err != nil {
				return out, err
			}
			out[2*i+j] = v
		}
	}
	return out, nil
}

// Checksum returns a checksum over every byte of the state, names, types and
// shapes included. Two states with the same checksum are the same bit for bit.
func (s *State) Checksum() (string, error) {
	root, err := tree.From(s)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	for _, e := range tree.Flatten(root) {
		fmt.Fprintf(h, "%s %T ", e.Path, e.Node.Value)
		if t, ok := e.Node.Value.(tensor.Tensor); ok {
			fmt.Fprintf(h, "%s ", t)
			h.Write(t.Data)
		} else {
			fmt.Fprintf(h, "%v", e.Node.Value)
		}
		h.Write([]byte{'\n'})
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}

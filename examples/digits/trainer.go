package digits

import (
	"fmt"
	"math"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/rng"
	"github.com/bivouac-ml/bivouac/tensor"
)

const (
	// Side is the extent of the images that the network sees: float32 [1, Side, Side].
	Side = 28
	// BatchSize is the number of samples a step is made for.
	BatchSize = 32
	// keep is the probability that dropout keeps a hidden unit.
	keep = 0.8
)

// Trainer does steps on a State. It keeps scratch memory and nothing that a
// step depends on; it is for one goroutine.
type Trainer struct {
	state *State
	net   forward
	grads Network
	dOut  [len(layers)][]float32 // gradients of the outputs
	dWin  [len(layers)][]float32 // gradients of the windows; nil for the first layer
	mask  []float32              // dropout of the sample at hand
}

// hidden is the layer whose outputs dropout thins.
const hidden = len(layers) - 2

// NewTrainer returns a trainer for s, which it changes with every step.
func NewTrainer(s *State) *Trainer {
	t := &Trainer{state: s, net: newForward(), grads: newNetwork()}
	for i, l := range layers {
		t.dOut[i] = make([]float32, l.outputs())
		if i > 0 {
			t.dWin[i] = make([]float32, l.positions()*l.window())
		}
	}
	t.mask = make([]float32, layers[hidden].outputs())
	return t
}

// Step trains on a batch: images float32 [n, 1, Side, Side], labels int32 of n
// elements. It returns the mean cross entropy before the step. The state is
// unchanged when it fails: errs.Mismatch for batches of another shape.
func (t *Trainer) Step(images, labels *tensor.Batch) (loss float32, err error) {
	x, y, err := unpack(images, labels)
	if err != nil {
		return 0, err
	}
	var random rng.Philox
	if err := random.UnmarshalBinary(t.state.Random); err != nil {
		return 0, err
	}
	weights, err := t.state.Model.slices()
	if err != nil {
		return 0, err
	}
	grads, err := t.grads.slices()
	if err != nil {
		return 0, err
	}
	for _, g := range grads {
		clear(g)
	}
	scale := 1 / float32(len(y))
	for i, class := range y {
		t.drawMask(&random)
		t.net.run(x[i], &weights, t.mask)
		loss += float32(scale * t.lossGradient(int(class), scale))
		t.backward(&weights, &grads)
	}
	if err := t.state.adam(&weights, &grads); err != nil {
		return 0, err
	}
	if t.state.Random, err = random.AppendBinary(t.state.Random[:0]); err != nil {
		return 0, err
	}
	t.state.Step++
	return loss, nil
}

func (t *Trainer) drawMask(random *rng.Philox) {
	for i := range t.mask {
		t.mask[i] = 0
		if random.Float32() < keep {
			t.mask[i] = 1 / float32(keep)
		}
	}
}

// lossGradient returns the cross entropy of the last outputs and leaves its
// gradient, times scale, in dOut of the last layer.
func (t *Trainer) lossGradient(class int, scale float32) float32 {
	logits, d := t.net.out[len(layers)-1], t.dOut[len(layers)-1]
	top := float64(logits[0])
	for _, v := range logits {
		top = max(top, float64(v))
	}
	var sum float64
	for _, v := range logits {
		sum += math.Exp(float64(v) - top)
	}
	for i, v := range logits {
		d[i] = float32(scale * float32(math.Exp(float64(v)-top)/sum))
	}
	d[class] -= scale
	return float32(math.Log(sum) + top - float64(logits[class]))
}

// backward carries dOut of the last layer down and adds to grads.
func (t *Trainer) backward(weights, grads *[2 * len(layers)][]float32) {
	for i := len(layers) - 1; i >= 0; i-- {
		layers[i].backward(t.dWin[i], grads[2*i], grads[2*i+1], t.dOut[i], t.net.win[i], weights[2*i])
		if i == 0 {
			return
		}
		below := t.dOut[i-1]
		clear(below)
		layers[i].scatter(below, t.dWin[i])
		for j, v := range t.net.out[i-1] {
			if v <= 0 { // closed rectifier, or dropped
				below[j] = 0
			} else if i-1 == hidden {
				below[j] *= t.mask[j]
			}
		}
	}
}

// forward runs the network on one sample.
type forward struct {
	win [len(layers)][]float32 // windows of the inputs
	out [len(layers)][]float32 // outputs, rectified except in the last layer
}

func newForward() forward {
	var f forward
	for i, l := range layers {
		f.win[i] = make([]float32, l.positions()*l.window())
		f.out[i] = make([]float32, l.outputs())
	}
	return f
}

// run leaves the outputs of all layers in f. mask, if not nil, multiplies the
// hidden units.
func (f *forward) run(image []float32, weights *[2 * len(layers)][]float32, mask []float32) {
	for i, l := range layers {
		l.gather(f.win[i], image)
		l.forward(f.out[i], f.win[i], weights[2*i], weights[2*i+1])
		if i == len(layers)-1 {
			return
		}
		for j, v := range f.out[i] {
			f.out[i][j] = max(v, 0)
		}
		if i == hidden && mask != nil {
			for j, m := range mask {
				f.out[i][j] *= m
			}
		}
		image = f.out[i]
	}
}

// unpack returns the samples of a batch and their classes as views.
func unpack(images, labels *tensor.Batch) (x [][]float32, y []int32, err error) {
	mismatch := func(subject, want, got string) error {
		return &errs.Error{Kind: errs.Mismatch, Op: "digits.unpack", Subject: subject, Want: want, Got: got}
	}
	n := images.NumSamples()
	if n == 0 || labels.NumSamples() != n {
		return nil, nil, mismatch("batch", "as many labels as images", fmt.Sprintf("%d and %d", labels.NumSamples(), n))
	}
	for i := range n {
		image, label := images.Sample(i), labels.Sample(i)
		if want := (tensor.Shape{1, Side, Side}); !image.Shape.Equal(want) {
			return nil, nil, mismatch("images", want.String(), image.Shape.String())
		}
		pixels, err := tensor.Of[float32](image)
		if err != nil {
			return nil, nil, err
		}
		class, err := tensor.Of[int32](label)
		if err != nil {
			return nil, nil, err
		}
		if len(class) != 1 || class[0] < 0 || class[0] >= Classes {
			return nil, nil, mismatch("labels", fmt.Sprintf("one class below %d", Classes), fmt.Sprint(class))
		}
		x, y = append(x, pixels), append(y, class[0])
	}
	return x, y, nil
}

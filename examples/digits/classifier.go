package digits

import (
	"github.com/bivouac-ml/bivouac/tensor"
)

// classifier runs the network without dropout.
type classifier struct {
	state *State
	net   forward
}

func newClassifier(s *State) *classifier { return &classifier{state: s, net: newForward()} }

// right counts how many samples are classified rightly.
func (c *classifier) right(images, labels *tensor.Batch) (int, error) {
	x, y, err := unpack(images, labels)
	if err != nil {
		return 0, err
	}
	weights, err := c.state.Model.slices()
	if err != nil {
		return 0, err
	}
	count := 0
	for i := range y {
		c.net.run(x[i], &weights, nil)
		if argmax(c.net.out[len(layers)-1]) == int(y[i]) {
			count++
		}
	}
	return count, nil
}

// argmax returns the index of the largest element, the first of equal ones.
func argmax(v []float32) int {
	best := 0
	for i := range v {
		if v[i] > v[best] {
			best = i
		}
	}
	return best
}

package nodes

import (
	"sort"

	"github.com/bivouac-ml/bivouac/rng"
)

// keyedDraws draws by the position in the epoch.
type keyedDraws struct {
	seed  uint64
	rank  int64
	epoch int64
	drawn int64
}

// NewDraws returns draws that are a function of seed, rank, epoch and position. The
// state is {"epoch", "drawn"}.
func NewDraws(seed uint64, rank int64) Draws { return &keyedDraws{seed: seed, rank: rank} }

func (k *keyedDraws) Begin(epoch int64) { k.epoch, k.drawn = epoch, 0 }

func (k *keyedDraws) Draw(weights []float64, dst []int64) error {
	w := newWheel(weights)
	generator := rng.NewPhilox(rng.Mix(k.seed)^rng.Mix(uint64(k.rank)+1), uint64(k.epoch), 2*uint64(k.drawn))
	for i := range dst {
		dst[i] = int64(w.at(generator.Float64() * w.sum))
	}
	k.drawn += int64(len(dst))
	return nil
}

func (k *keyedDraws) AppendState(dst []byte) ([]byte, error) {
	return append(appendCount(appendCount(append(dst, '{'), "drawn", k.drawn), "epoch", k.epoch), '}'), nil
}

func (k *keyedDraws) SetState(state []byte) error {
	d := parse("Draws", state, "drawn", "epoch")
	drawn, epoch := d.count("drawn"), d.count("epoch")
	if d.err != nil {
		return d.err
	}
	k.drawn, k.epoch = drawn, epoch
	return nil
}

// wheel finds the weight that a number falls on: the first one at which the number is
// below 0, once the weights up to it are subtracted from it one after the other, or else
// the last. Subtraction rounds, so the sums of the first weights tell that weight only for
// numbers that are not too close to one of them. All others are subtracted from.
type wheel struct {
	weights []float64
	sums    []float64 // of the first weights
	sum     float64   // of all
	near    float64   // how close is too close
}

func newWheel(weights []float64) wheel {
	w := wheel{weights: weights, sums: make([]float64, 0, len(weights))}
	for _, weight := range weights {
		w.sum += weight
		w.sums = append(w.sums, w.sum)
	}
	// Each of the sums, and each difference, is off by at most half a unit in the last place
	// of all weights together, for each weight in it. This is four times as much.
	w.near = float64(len(weights)) * w.sum * 0x1p-51
	return w
}

// at returns the weight of a number from 0 to below the sum. It takes logarithmic time, except for
// numbers close to a sum.
func (w *wheel) at(u float64) int {
	i := sort.Search(len(w.sums), func(i int) bool { return u < w.sums[i] })
	if i < len(w.sums) && u < w.sums[i]-w.near && (i == 0 || u >= w.sums[i-1]+w.near) {
		return i
	}
	return w.subtract(u)
}

// subtract is at, by its definition.
func (w *wheel) subtract(u float64) int {
	last := len(w.weights) - 1
	for i, weight := range w.weights {
		if u -= weight; u < 0 {
			return i
		}
	}
	return last
}

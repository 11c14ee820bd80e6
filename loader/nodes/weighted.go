package nodes

import (
	"context"
	"encoding/json"
	"io"
	"math"
	"sort"
	"strconv"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/rng"
)

// blockDraws is the number of sources that are drawn at once, as in torchdata. The state of a
// weighted node is the state of the Draws before a block, and how many draws of the block were
// used.
const blockDraws = 1000

// Draws draws sources by their weights. compat/torchdata has torchdata's draws.
type Draws interface {
	// Begin starts the draws of an epoch.
	Begin(epoch int64)
	// Draw fills dst with indices of weights, each at least 0 and finite, with a sum above 0.
	Draw(weights []float64, dst []int64) error
	// AppendState and SetState implement state.Stateful; the state is JSON.
	AppendState(dst []byte) ([]byte, error)
	SetState([]byte) error
}

// WeightedOptions say how [Weighted] chooses. The zero value uses seed 0 and rank 0.
type WeightedOptions struct {
	Stop Stop
	// Draws draws the sources. nil means NewDraws(0, 0).
	Draws Draws
}

// Weighted returns the node that yields values of sources that are drawn by their weights. The
// error is of kind errs.Invalid.
func Weighted[T any](all []Source[T], o WeightedOptions) (Node[T], error) {
	s, err := newSources("Weighted", all, o.Stop, CycleUntilAll, All, First, Forever)
	if err != nil {
		return nil, err
	}
	n := &weighted[T]{sources: s, draws: o.Draws}
	for _, source := range all {
		if !(source.Weight > 0) || math.IsInf(source.Weight, 1) {
			return nil, invalid("Weighted", "weight of "+source.Name, "a finite number above 0", source.Weight)
		}
		n.weights = append(n.weights, source.Weight)
	}
	if n.draws == nil {
		n.draws = NewDraws(0, 0)
	}
	return n, n.beginDraws(0)
}

type weighted[T any] struct {
	sources[T]
	weights []float64
	draws   Draws
	before  []byte  // state of Draws before the block
	lent    bool    // a version uses before
	block   []int64 // empty if not drawn yet
	offset  int     // index in block
	epoch   int64
	yielded int64
	begun   bool
	asked   bool // Next was called since the last Reset
}

// beginDraws starts the draws of an epoch.
func (n *weighted[T]) beginDraws(epoch int64) error {
	n.draws.Begin(epoch)
	n.epoch, n.block, n.offset = epoch, n.block[:0], 0
	return n.setBefore()
}

func (n *weighted[T]) Reset(ctx context.Context, state []byte) error {
	asked := n.asked
	n.begun, n.asked = false, false
	if state != nil {
		return n.resumeFrom(ctx, state)
	}
	if asked {
		n.epoch++
	}
	if err := n.beginDraws(n.epoch); err != nil {
		return err
	}
	if err := n.reset(ctx); err != nil {
		return err
	}
	n.yielded, n.begun = 0, true
	return nil
}

func (n *weighted[T]) resumeFrom(ctx context.Context, state []byte) error {
	d := parse(n.op, state, "dataset_node_states", "datasets_exhausted", "epoch", "num_yielded", "weighted_sampler_state")
	epoch, yielded := d.count("epoch"), d.count("num_yielded")
	states, exhausted := named[json.RawMessage](&n.sources, d, "dataset_node_states"),
		named[bool](&n.sources, d, "datasets_exhausted")
	if d.err != nil {
		return d.err
	}
	drawn := parse(n.op, d.object("weighted_sampler_state"), "g_state", "offset")
	offset := read(drawn, "offset", "0 to "+strconv.Itoa(blockDraws),
		func(k int) bool { return k >= 0 && k <= blockDraws })
	if drawn.err != nil {
		return drawn.err
	}
	if err := n.beginDraws(epoch); err != nil {
		return err
	}
	if err := n.draws.SetState(drawn.object("g_state")); err != nil {
		return errs.Wrap("nodes.Weighted", "state: g_state", err)
	}
	if err := n.setBefore(); err != nil {
		return err
	}
	if err := n.resume(ctx, states, exhausted); err != nil {
		return err
	}
	n.offset, n.yielded, n.begun, n.asked = offset, yielded, true, offset > 0 || yielded > 0
	return nil
}

// draw returns the next source.
func (n *weighted[T]) draw() (int, error) {
	if n.offset == blockDraws {
		if len(n.block) == 0 { // the block was used up before the state was saved
			if err := n.drawBlock(); err != nil {
				return 0, err
			}
		}
		if err := n.setBefore(); err != nil {
			return 0, err
		}
		n.block, n.offset = n.block[:0], 0
	}
	if len(n.block) == 0 {
		if err := n.drawBlock(); err != nil {
			return 0, err
		}
	}
	n.offset++
	return int(n.block[n.offset-1]), nil
}

func (n *weighted[T]) drawBlock() error {
	if cap(n.block) < blockDraws {
		n.block = make([]int64, blockDraws)
	}
	n.block = n.block[:blockDraws]
	if err := n.draws.Draw(n.weights, n.block); err != nil {
		n.block = n.block[:0]
		return err
	}
	return nil
}

func (n *weighted[T]) Next(ctx context.Context) (v T, err error) {
	if !n.begun {
		if err := n.Reset(ctx, nil); err != nil {
			return v, err
		}
	}
	n.asked = true
	for !n.over() {
		i, err := n.draw()
		if err != nil {
			return v, err
		}
		v, again, err := n.next(ctx, i)
		if err != nil {
			return v, err
		}
		if !again {
			n.yielded++
			return v, nil
		}
	}
	return v, io.EOF
}

func (n *weighted[T]) AppendState(dst []byte) ([]byte, error) {
	if n.above != nil {
		states, err := n.shelve()
		if err != nil {
			return dst, err
		}
		n.above.versions = append(n.above.versions, &weightedState[T]{n, states, n.epoch, n.yielded, n.before, n.offset})
		n.lent = true
		return append(dst, mark), nil
	}
	dst, err := n.appendNamed(append(dst, '{'), "datasets_exhausted", func(dst []byte, i int) ([]byte, error) {
		return strconv.AppendBool(dst, n.exhausted[i]), nil
	})
	if err != nil {
		return dst, err
	}
	dst, err = n.appendNamed(dst, "dataset_node_states", func(dst []byte, i int) ([]byte, error) {
		return n.all[i].Node.AppendState(dst)
	})
	if err != nil {
		return dst, err
	}
	return appendDraws(dst, n.epoch, n.yielded, n.before, n.offset), nil
}

// appendDraws appends the members that follow the members of the sources.
func appendDraws(dst []byte, epoch, yielded int64, before []byte, offset int) []byte {
	dst = appendCount(appendCount(dst, "epoch", epoch), "num_yielded", yielded)
	dst = append(appendKey(dst, "weighted_sampler_state"), '{')
	dst = append(appendKey(dst, "g_state"), before...)
	return append(appendCount(dst, "offset", int64(offset)), "}}"...)
}

// weightedState is a version of a weighted node.
type weightedState[T any] struct {
	node           *weighted[T] // for the names of the sources, which never change
	states         *shelf
	epoch, yielded int64
	before         []byte
	offset         int
}

func (s *weightedState[T]) appendTo(dst []byte) []byte {
	var all []sourceState
	s.states.each(func(one sourceState) { all = append(all, one) })
	dst, _ = s.node.appendNamed(append(dst, '{'), "datasets_exhausted", func(dst []byte, i int) ([]byte, error) {
		return strconv.AppendBool(dst, all[i].exhausted), nil
	})
	dst, _ = s.node.appendNamed(dst, "dataset_node_states",
		func(dst []byte, i int) ([]byte, error) { return append(dst, all[i].text...), nil })
	return appendDraws(dst, s.epoch, s.yielded, s.before, s.offset)
}

// setBefore stores the state of the draws before a block. It does not overwrite the old state if a
// version may use it.
func (n *weighted[T]) setBefore() (err error) {
	if n.lent {
		n.before, n.lent = nil, false
	}
	n.before, err = n.draws.AppendState(n.before[:0])
	return err
}

func (n *weighted[T]) Close() error { return n.close() }

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

// wheel finds the weight that a number falls on. By definition the weights are subtracted from the
// number one after the other. The result is the first weight at which the number is below 0, or
// else the last weight. Subtraction rounds. So the sums of the first weights give the result only
// for numbers that are not too close to one of the sums. For all other numbers wheel subtracts.
type wheel struct {
	weights []float64
	sums    []float64 // sums of the first weights
	sum     float64   // sum of all weights
	near    float64   // how close to a sum is too close
}

func newWheel(weights []float64) wheel {
	w := wheel{weights: weights, sums: make([]float64, 0, len(weights))}
	for _, weight := range weights {
		w.sum += weight
		w.sums = append(w.sums, w.sum)
	}
	// Each sum, and each difference, is off by at most half a unit in the last place of the sum of all
	// weights, for each weight in it. This is four times as much.
	w.near = float64(len(weights)) * w.sum * 0x1p-51
	return w
}

// at returns the weight of a number u, 0 <= u < sum. It takes logarithmic time, except for numbers
// close to a sum.
func (w *wheel) at(u float64) int {
	i := sort.Search(len(w.sums), func(i int) bool { return u < w.sums[i] })
	if i < len(w.sums) && u < w.sums[i]-w.near && (i == 0 || u >= w.sums[i-1]+w.near) {
		return i
	}
	return w.subtract(u)
}

// subtract does the same as at, by the definition.
func (w *wheel) subtract(u float64) int {
	last := len(w.weights) - 1
	for i, weight := range w.weights {
		if u -= weight; u < 0 {
			return i
		}
	}
	return last
}

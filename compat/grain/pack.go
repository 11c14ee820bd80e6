package grain

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/rng/numpy"
)

// Packed is an element that a packer made of several elements. Its maps have feature names as keys.
// Where an element here has Segments["t"] and Positions["t"], Grain's element has the features
// t_segment_ids and t_positions.
type Packed[V any] struct {
	Values    map[string][]V     // as long as Lengths says
	Segments  map[string][]int32 // the number of the element from 1 on, and 0 for padding
	Positions map[string][]int32 // the place in the element
	Meta      map[string][][]V   // meta features without a length: one for each element
}

// PackedIter is an iterator over packed elements. It also ends at an element that it cannot pack:
// Err then returns an error of kind errs.Invalid. SetState clears the error.
type PackedIter[V any] interface {
	Iter[Packed[V]]
	// Err returns the error that ended the iterator, or nil.
	Err() error
}

// PackOptions are the arguments of FirstFitPackIterDataset and BestFitPackIterDataset. An element
// is a map of features. A feature is a slice; one number is a slice of length 1.
type PackOptions[V any] struct {
	Lengths map[string]int // length_struct: the length of each packed feature
	Bins    int            // num_packing_bins
	Seed    uint32
	// Shuffle is shuffle_bins: the bins of a batch come in random order. Grain's default is true.
	Shuffle bool
	// GroupBy is shuffle_bins_group_by_feature: a feature with numbers. Bins come in the order of
	// the mean of its distinct values.
	GroupBy      string
	Meta         []string       // meta_features: they have no segments and positions
	Alignments   map[string]int // pack_alignment_struct: an element begins at a multiple of it
	Padding      map[string]V   // padding_struct; the default is the zero value of V
	MaxSequences int            // max_sequences_per_bin, or 0 for no limit
}

// FirstFitPackIter is FirstFitPackIterDataset: an element goes into the first bin with enough
// space. If there is no such bin, the iterator delivers the bins and begins new ones. The error is
// of kind errs.Invalid if the options contradict themselves.
func FirstFitPackIter[V any](it Iter[map[string][]V], o PackOptions[V]) (PackedIter[V], error) {
	return newPackIter("grain.FirstFitPackIter", it, o, false)
}

// BestFitPackIter is BestFitPackIterDataset. It works like FirstFitPackIter, but an element goes
// into the fullest bin with enough space.
func BestFitPackIter[V any](it Iter[map[string][]V], o PackOptions[V]) (PackedIter[V], error) {
	return newPackIter("grain.BestFitPackIter", it, o, true)
}

func newPackIter[V any](op string, it Iter[map[string][]V], o PackOptions[V], best bool) (PackedIter[V], error) {
	if o.Bins < 1 || o.MaxSequences < 0 {
		return nil, invalid(op, "at least 1 bin and at least 0 sequences for each",
			fmt.Sprintf("%d bins, %d sequences", o.Bins, o.MaxSequences))
	}
	features, err := layoutOf(op, o.Lengths, o.Meta, o.Padding)
	if err != nil {
		return nil, err
	}
	for name, n := range o.Alignments {
		if o.Lengths[name] == 0 || n < 1 {
			return nil, invalid(op, "an alignment of at least 1 of a feature in Lengths", fmt.Sprintf("%q: %d", name, n))
		}
	}
	if o.GroupBy != "" && o.Lengths[o.GroupBy] == 0 {
		return nil, invalid(op, "a feature in Lengths to group by", fmt.Sprintf("%q", o.GroupBy))
	}
	if !o.Shuffle {
		o.GroupBy = "" // Grain groups only the bins that it shuffles
	}
	p := &packIter[V]{op: op, parent: it, layout: features, options: o, best: best, start: it.State()}
	for _, name := range o.Meta {
		if o.Lengths[name] == 0 {
			p.lists = append(p.lists, name)
		}
	}
	return p, nil
}

// layout is the shape of packed elements.
type layout[V any] struct {
	names   []string // of the features with a length, sorted
	lengths map[string]int
	meta    map[string]bool
	padding map[string]V
}

func layoutOf[V any](op string, lengths map[string]int, meta []string, padding map[string]V) (layout[V], error) {
	l := layout[V]{names: slices.Sorted(maps.Keys(lengths)), lengths: maps.Clone(lengths),
		meta: map[string]bool{}, padding: maps.Clone(padding)}
	if len(lengths) == 0 {
		return l, invalid(op, "the length of at least one feature", "no lengths")
	}
	for name, n := range lengths {
		if n < 1 {
			return l, invalid(op, "lengths of at least 1", fmt.Sprintf("%q: %d", name, n))
		}
	}
	for name := range padding {
		if lengths[name] == 0 {
			return l, invalid(op, "padding for features in Lengths", fmt.Sprintf("%q", name))
		}
	}
	for _, name := range meta {
		l.meta[name] = true
	}
	return l, nil
}

// empty returns an element with nothing but padding.
func (l layout[V]) empty() Packed[V] {
	p := Packed[V]{Values: map[string][]V{}, Segments: map[string][]int32{}, Positions: map[string][]int32{}}
	for _, name := range l.names {
		p.Values[name] = slices.Repeat([]V{l.padding[name]}, l.lengths[name])
		if !l.meta[name] {
			p.Segments[name] = make([]int32, l.lengths[name])
			p.Positions[name] = make([]int32, l.lengths[name])
		}
	}
	return p
}

// put writes a feature of a segment into p, from start on. The caller checks that it fits.
func (l layout[V]) put(p Packed[V], name string, start int, values []V, segment int) {
	copy(p.Values[name][start:], values)
	if l.meta[name] {
		return
	}
	for i := range values {
		p.Segments[name][start+i] = int32(segment)
		p.Positions[name][start+i] = int32(i)
	}
}

type packIter[V any] struct {
	layout[V]
	op      string
	parent  Iter[map[string][]V]
	options PackOptions[V]
	best    bool
	lists   []string // meta features without a length

	open []bin[V]        // bins that elements go into
	full []bin[V]        // bins to deliver
	turn []int64         // the order of the full bins, nil if it is their own
	row  int             // bins of these that were delivered
	all  int64           // bins that were delivered since the start
	end  json.RawMessage // state of the parent behind the full bins
	// start is the state of the parent before the first element of the full bins.
	start json.RawMessage
	err   error
}

type bin[V any] struct {
	Packed[V]
	used     map[string]int
	elements int
}

type packState struct {
	Parent json.RawMessage `json:"parent"`
	Row    int             `json:"next_row"`
	All    int64           `json:"counter"`
}

func (it *packIter[V]) Err() error { return it.err }

func (it *packIter[V]) Next() (element Packed[V], ok bool) {
	if it.err != nil || len(it.full) == 0 && !it.fill() {
		return element, false
	}
	i := int64(it.row)
	if it.turn != nil {
		i = it.turn[it.row]
	}
	element = it.full[i].Packed
	it.row++
	it.all++
	if it.row == len(it.full) {
		it.full, it.start, it.row = nil, it.end, 0
	}
	return element, true
}

// fill reads elements until one does not fit, or to the end. It returns whether there are full
// bins.
func (it *packIter[V]) fill() bool {
	for {
		before := it.parent.State()
		element, ok := it.parent.Next()
		if !ok {
			return len(it.open) > 0 && it.deliver(before)
		}
		if it.err = it.check(element); it.err != nil {
			return false
		}
		if it.add(element) {
			continue
		}
		delivered := it.deliver(before)
		it.add(element)
		return delivered
	}
}

// check returns an error if an element does not fit into an empty bin.
func (it *packIter[V]) check(element map[string][]V) error {
	for _, name := range it.names {
		values, ok := element[name]
		if n := it.lengths[name]; !ok || len(values) > n {
			got := fmt.Sprintf("%d values", len(values))
			if !ok {
				got = "no such feature"
			}
			return &errs.Error{Kind: errs.Invalid, Op: it.op, Subject: fmt.Sprintf("feature %q", name),
				Want: fmt.Sprintf("at most %d values", n), Got: got,
				Remedy: "cut the elements, or leave them out, before they are packed"}
		}
	}
	for _, name := range it.lists {
		if _, ok := element[name]; !ok {
			return &errs.Error{Kind: errs.Invalid, Op: it.op, Subject: fmt.Sprintf("feature %q", name),
				Want: "each meta feature in each element", Got: "no such feature"}
		}
	}
	return nil
}

// add puts an element into a bin, and returns whether there is one. A new bin takes any element.
func (it *packIter[V]) add(element map[string][]V) bool {
	at, most := -1, -1
	for i := range it.open {
		if !it.fits(&it.open[i], element) {
			continue
		}
		used := 0
		for _, n := range it.open[i].used {
			used += n
		}
		if at < 0 || it.best && used > most {
			at, most = i, used
		}
	}
	if at < 0 {
		if len(it.open) == it.options.Bins {
			return false
		}
		at = len(it.open)
		it.open = append(it.open, bin[V]{Packed: it.empty(), used: map[string]int{}})
	}
	b := &it.open[at]
	b.elements++
	for _, name := range it.names {
		it.put(b.Packed, name, b.used[name], element[name], b.elements)
		step := max(it.options.Alignments[name], 1)
		b.used[name] = (b.used[name] + len(element[name]) + step - 1) / step * step
	}
	for _, name := range it.lists {
		if b.Meta == nil {
			b.Meta = map[string][][]V{}
		}
		b.Meta[name] = append(b.Meta[name], element[name])
	}
	return true
}

// fits returns whether a bin has space. In Grain's best fit, a bin with the most elements counts as
// full only if it or the element has a value.
func (it *packIter[V]) fits(b *bin[V], element map[string][]V) bool {
	crowded := it.options.MaxSequences > 0 && b.elements >= it.options.MaxSequences
	for _, name := range it.names {
		used := b.used[name] + len(element[name])
		if used > it.lengths[name] || crowded && (!it.best || used > 0) {
			return false
		}
	}
	return true
}

// deliver makes the open bins full, in the order in which they are delivered. end is the state of
// the parent behind them. It returns whether that succeeds.
func (it *packIter[V]) deliver(end json.RawMessage) bool {
	it.full, it.open, it.turn, it.end = it.open, nil, nil, end
	if !it.options.Shuffle {
		return true
	}
	// Every batch has its own seed: the number of bins before it is added.
	g := numpy.DefaultRNG(uint64(it.options.Seed) + uint64(it.all-int64(it.row)))
	it.turn = g.Permutation(int64(len(it.full)))
	if it.options.GroupBy != "" {
		it.turn, it.err = it.grouped(it.turn)
	}
	return it.err == nil
}

// grouped returns the bins in the order of their groups. Bins of equal groups come in the order of
// their random numbers.
func (it *packIter[V]) grouped(random []int64) ([]int64, error) {
	means, turn := make([]float64, len(random)), make([]int64, len(random))
	for i := range random {
		mean, err := meanOfDistinct(it.full[i].Values[it.options.GroupBy])
		if err != nil {
			return nil, &errs.Error{Kind: errs.Invalid, Op: it.op, Subject: fmt.Sprintf("feature %q", it.options.GroupBy),
				Want: "a feature with numbers to group by", Err: err}
		}
		means[i], turn[i] = mean, int64(i)
	}
	slices.SortFunc(turn, func(a, b int64) int {
		switch {
		case means[a] != means[b] && means[a] < means[b] || means[a] == means[b] && random[a] < random[b]:
			return -1
		default:
			return 1
		}
	})
	return turn, nil
}

// meanOfDistinct returns the sum of the distinct values over the count of those that are not 0, or
// 0 if all are 0.
func meanOfDistinct[V any](values []V) (float64, error) {
	distinct := map[float64]bool{}
	for _, v := range values {
		x, err := asFloat(v)
		if err != nil {
			return 0, err
		}
		if !math.IsNaN(x) {
			distinct[x] = true
		}
	}
	delete(distinct, 0)
	sum := 0.0
	for _, x := range slices.Sorted(maps.Keys(distinct)) {
		sum += x
	}
	return sum / float64(max(len(distinct), 1)), nil
}

func asFloat(v any) (float64, error) {
	switch r := reflect.ValueOf(v); {
	case r.CanInt():
		return float64(r.Int()), nil
	case r.CanUint():
		return float64(r.Uint()), nil
	case r.CanFloat():
		return r.Float(), nil
	}
	return 0, fmt.Errorf("a value of type %T", v)
}

func (it *packIter[V]) State() json.RawMessage {
	return encodeState(packState{it.start, it.row, it.all})
}

func (it *packIter[V]) SetState(state json.RawMessage) error {
	var s packState
	if err := decodeState(it.op, state, &s); err != nil {
		return err
	}
	if s.Row < 0 || s.Row >= it.options.Bins || s.All < int64(s.Row) {
		return corrupt(it.op, fmt.Sprintf("a row of %d bins, and at least as many rows in all", it.options.Bins),
			string(state), nil)
	}
	if err := it.parent.SetState(s.Parent); err != nil {
		return err
	}
	it.open, it.full, it.turn, it.err = nil, nil, nil, nil
	it.start, it.row, it.all = s.Parent, s.Row, s.All
	if s.Row == 0 {
		return nil
	}
	if !it.fill() || s.Row >= len(it.full) {
		return corrupt(it.op, fmt.Sprintf("more bins than %d behind the state of the parent", s.Row),
			fmt.Sprint(len(it.full)), it.err)
	}
	return nil
}

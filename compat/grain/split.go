package grain

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
)

// SplitOptions are the arguments of ConcatThenSplitIterDataset. An element is a map of features. It
// has exactly the features in Lengths.
type SplitOptions[V any] struct {
	Lengths map[string]int // length_struct: the length of each feature
	// Meta is meta_features: features that are never split. Each part of an element has them whole.
	Meta []string
	// Scalars are the features that are one number in Grain, and a slice of length 1 here. Grain
	// gives the number to each part of an element.
	Scalars []string
	// PassFull is split_full_length_features=False: an element that already has the length of a
	// feature is passed on as it is. Elements that are passed on are kept in memory until the
	// others fill one.
	PassFull bool
	// BOS is REPLACE_FIRST_TOKEN_WITH_BOS: the value that replaces the first value of each segment.
	BOS map[string]V
	// Padding is the value behind the last segment. The default is the zero value of V. Grain
	// always writes zeros.
	Padding map[string]V
}

// ConcatThenSplitIter is ConcatThenSplitIterDataset: it concatenates elements, and splits what
// exceeds a length. The error is of kind errs.Invalid if the options contradict themselves.
//
// Grain does not resume from its own states after they were JSON: it takes an element that is left
// whole for an empty one, and loses it. SetState goes on exactly from the same states.
//
// With two features or more, Grain cuts the rest of an element at a wrong place if one feature is
// too long again and another is not: values come twice, or in another segment. The elements here
// have the same fault, because an order that goes on must be the same. With some lengths Grain
// never comes to the end of an element; Err then returns an error.
func ConcatThenSplitIter[V any](it Iter[map[string][]V], o SplitOptions[V]) (PackedIter[V], error) {
	l, err := layoutOf(splitOp, o.Lengths, o.Meta, o.Padding)
	if err != nil {
		return nil, err
	}
	s := &splitIter[V]{layout: l, parent: it, options: o, scalar: map[string]bool{}}
	for name := range o.BOS {
		if o.Lengths[name] == 0 || l.meta[name] {
			return nil, invalid(splitOp, "a BOS for features in Lengths that are no meta features", fmt.Sprintf("%q", name))
		}
	}
	for _, name := range o.Scalars {
		s.scalar[name] = true
	}
	for name := range l.meta {
		if o.Lengths[name] == 0 {
			return nil, invalid(splitOp, "the length of each meta feature", fmt.Sprintf("no length of %q", name))
		}
	}
	s.checkpoint()
	return s, nil
}

const splitOp = "grain.ConcatThenSplitIter"

type splitIter[V any] struct {
	layout[V]
	parent  Iter[map[string][]V]
	options SplitOptions[V]
	scalar  map[string]bool

	ready []Packed[V]
	rest  *part[V] // what is left of an element, or nil
	ended bool
	err   error
	state splitState
}

// splitState is a state in which nothing is ready, and how many elements came since.
type splitState struct {
	Parent json.RawMessage  `json:"parent_state"`
	Slices map[string][]int `json:"remainder_slices"`
	Taken  int              `json:"elements_from_buffer_after_checkpoint"`
}

// part is an element or a part of one.
type part[V any] struct {
	before   json.RawMessage // state of the parent before the element
	features map[string][]V
	slices   map[string][]int // start and stop of each feature that can be split, nil for the whole
}

// of returns the values of a feature in a part. Grain's wrong cuts stop before they start.
func (it *splitIter[V]) of(p *part[V], name string) []V {
	s, ok := p.slices[name]
	if !ok || it.scalar[name] {
		return p.features[name]
	}
	return p.features[name][s[0]:max(s[0], s[1])]
}

func (it *splitIter[V]) Err() error { return it.err }

func (it *splitIter[V]) Next() (element Packed[V], ok bool) {
	if len(it.ready) == 0 && (it.ended || it.err != nil || !it.fill()) {
		return element, false
	}
	element, it.ready = it.ready[0], it.ready[1:]
	it.state.Taken++
	return element, true
}

// fill reads until an element is full, or to the end. It returns whether elements are ready.
func (it *splitIter[V]) fill() bool {
	it.checkpoint()
	var parts []*part[V]
	used := map[string]int{}
	if it.rest != nil {
		p := it.rest
		parts, it.rest = it.append(parts, used, p)
		if it.rest != nil && it.endless(p, it.rest) {
			it.err = &errs.Error{Kind: errs.Invalid, Op: splitOp, Want: "an element whose parts come to an end",
				Got:    fmt.Sprintf("%v again and again: Grain cuts this rest at wrong places without end", p.slices),
				Remedy: "pack features of equal length, or make features longer in Lengths so that only one is split"}
			return false
		}
	}
	for it.rest == nil && !it.ended && it.err == nil {
		before := it.parent.State()
		features, ok := it.parent.Next()
		if !ok {
			it.ended = true
			break
		}
		if it.err = it.check(features); it.err != nil {
			return false
		}
		p := &part[V]{before: before, features: features}
		if it.options.PassFull && it.isFull(p) {
			it.pack([]*part[V]{p}, len(it.ready))
			continue
		}
		parts, it.rest = it.append(parts, used, p)
	}
	if len(parts) > 0 {
		it.pack(parts, 0)
	}
	switch {
	case it.err != nil:
		it.ready = nil
	case len(it.ready) > 0:
		return true
	case it.ended:
		it.checkpoint()
	default:
		it.err = it.refused("meta features that fit into an empty element", "more values", "")
	}
	return false
}

func (it *splitIter[V]) refused(want, got, name string) error {
	e := &errs.Error{Kind: errs.Invalid, Op: splitOp, Want: want, Got: got}
	if name != "" {
		e.Subject = fmt.Sprintf("feature %q", name)
	}
	return e
}

// check returns an error if an element has other features.
func (it *splitIter[V]) check(features map[string][]V) error {
	if got := slices.Sorted(maps.Keys(features)); !slices.Equal(got, it.names) {
		return it.refused(fmt.Sprintf("elements with the features %q", it.names), fmt.Sprintf("%q", got), "")
	}
	for name := range it.scalar {
		if n := len(features[name]); n != 1 && it.lengths[name] > 0 {
			return it.refused("1 value of a scalar", fmt.Sprint(n), name)
		}
	}
	return nil
}

func (it *splitIter[V]) isFull(p *part[V]) bool {
	full := false
	for _, name := range it.names {
		n := len(it.of(p, name))
		if n > it.lengths[name] {
			return false
		}
		full = full || n == it.lengths[name]
	}
	return full
}

// append adds a part to parts. It returns what does not fit: the whole part, a rest of it, or nil.
// used is how many values of each feature the parts have.
func (it *splitIter[V]) append(parts []*part[V], used map[string]int, p *part[V]) ([]*part[V], *part[V]) {
	cuts, taken := map[string]int{}, map[string]int{}
	split := false
	for _, name := range it.names {
		n, free := len(it.of(p, name)), it.lengths[name]-used[name]
		taken[name] = min(n, free)
		switch {
		case it.meta[name] && n > free:
			return parts, p
		case it.meta[name]:
		case n > free:
			split = true
			cuts[name] = p.start(name) + free
		default:
			cuts[name] = n // Grain counts from the start of the element where the part has another
		}
	}
	var rest *part[V]
	if split {
		if p, rest = p.cut(cuts); p == nil {
			return parts, rest
		}
	}
	for name, n := range taken {
		used[name] += n
	}
	return append(parts, p), rest
}

func (p *part[V]) start(name string) int {
	if s, ok := p.slices[name]; ok {
		return s[0]
	}
	return 0
}

// cut returns the two parts of a part. The left one is nil if the cuts are at the very beginning.
func (p *part[V]) cut(cuts map[string]int) (left, right *part[V]) {
	l, r := map[string][]int{}, map[string][]int{}
	begins := true
	for name, at := range cuts {
		start, stop := 0, len(p.features[name])
		if s, ok := p.slices[name]; ok {
			start, stop = s[0], s[1]
		}
		l[name], r[name] = []int{start, at}, []int{at, stop}
		begins = begins && at == 0
	}
	if begins {
		return nil, p
	}
	return &part[V]{p.before, p.features, l}, &part[V]{p.before, p.features, r}
}

// endless returns whether p, whose next rest is given, is again a rest of itself. This needs a cut
// that goes back, so other parts cost nothing.
func (it *splitIter[V]) endless(p, rest *part[V]) bool {
	back := false
	for name := range rest.slices {
		back = back || rest.start(name) < p.start(name)
	}
	if !back {
		return false
	}
	start := fmt.Sprint(p.slices)
	for seen := map[string]bool{}; rest != nil; _, rest = it.append(nil, map[string]int{}, rest) {
		key := fmt.Sprint(rest.slices)
		if key == start || seen[key] {
			return key == start
		}
		seen[key] = true
	}
	return false
}

// pack makes an element of parts and inserts it among those that are ready.
func (it *splitIter[V]) pack(parts []*part[V], at int) {
	packed := it.empty()
	for _, name := range it.names {
		end, bos := 0, it.options.BOS
		for i, p := range parts {
			values := it.of(p, name)
			first, replace := bos[name]
			if end+len(values) > it.lengths[name] || replace && end == it.lengths[name] {
				it.err = it.refused(fmt.Sprintf("at most %d values", it.lengths[name]), fmt.Sprint(end+max(len(values), 1)), name)
				return
			}
			it.put(packed, name, end, values, i+1)
			if replace {
				packed.Values[name][end] = first
			}
			end += len(values)
		}
	}
	it.ready = slices.Insert(it.ready, at, packed)
}

// checkpoint remembers the state. Nothing is ready.
func (it *splitIter[V]) checkpoint() {
	it.state = splitState{Slices: map[string][]int{}}
	for _, name := range it.names {
		if !it.meta[name] {
			it.state.Slices[name] = []int{-1, -1}
		}
	}
	if it.rest == nil {
		it.state.Parent = it.parent.State()
		return
	}
	it.state.Parent = it.rest.before
	maps.Copy(it.state.Slices, it.rest.slices)
}

func (it *splitIter[V]) State() json.RawMessage { return encodeState(it.state) }

func (it *splitIter[V]) SetState(state json.RawMessage) error {
	var s splitState
	if err := decodeState(splitOp, state, &s); err != nil {
		return err
	}
	if err := it.parent.SetState(s.Parent); err != nil {
		return err
	}
	it.ready, it.rest, it.ended, it.err = nil, nil, false, nil
	whole := true
	for _, name := range it.names {
		cut, ok := s.Slices[name]
		if ok == it.meta[name] || ok && len(cut) != 2 {
			return corrupt(splitOp, fmt.Sprintf("the start and stop of each of %q without meta features", it.names),
				string(state), nil)
		}
		whole = whole && (!ok || cut[0] == -1 && cut[1] == -1)
	}
	if !whole {
		features, ok := it.parent.Next()
		if ok {
			it.err = it.check(features)
		}
		if !ok || it.err != nil {
			return corrupt(splitOp, "an element that a part is left of", "no such element", it.err)
		}
		for name, cut := range s.Slices {
			if it.lengths[name] == 0 || cut[0] < 0 || cut[0] > cut[1] || cut[1] > len(features[name]) {
				return corrupt(splitOp, fmt.Sprintf("a part of the %d values of %q", len(features[name]), name),
					fmt.Sprint(cut), nil)
			}
		}
		it.rest = &part[V]{before: s.Parent, features: features, slices: s.Slices}
	}
	it.checkpoint()
	if s.Taken == 0 {
		return nil
	}
	if s.Taken < 0 || !it.fill() || s.Taken > len(it.ready) {
		return corrupt(splitOp, fmt.Sprintf("%d elements that are ready together", s.Taken),
			fmt.Sprint(len(it.ready)), it.err)
	}
	it.ready, it.state.Taken = it.ready[s.Taken:], s.Taken
	return nil
}

package grain

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/bivouac-ml/bivouac/compat/grain"
	"github.com/bivouac-ml/bivouac/proof/conform/suite"
)

// comparePipeline judges a pipeline: its length, its elements by index, the elements of an iterator
// with the states between them, and what follows each state.
func comparePipeline(r *suite.Report, o *suite.Object) {
	b := &builder{}
	d, err := b.build(o.Get("ast"))
	var unknown unknownStep
	if errors.As(err, &unknown) {
		r.Skip = err.Error()
		return
	}
	if err != nil {
		o.Refusal(err)
		o.Has("len") // where Grain fails at an element only
		return
	}
	p := recording{b, d, o.List("values"), o.List("states"), o.Boolean("stop")}
	if o.Has("len") {
		if got, want := d.m.Len(), o.IntegerOf("len"); got != want {
			r.Fail("length %d, want %d", got, want)
		}
	}
	for i, want := range o.List("getitem") {
		got, _ := d.m.At(int64(i))
		p.same(r, fmt.Sprintf("element %d", i), got, want)
	}
	if o.Has("values") {
		if len(p.states) != len(p.values)+1 {
			r.Fail("%d states of %d values (end %t)", len(p.states), len(p.values), p.stop)
			return
		}
		p.from(r, 0, nil)
	}
	switch {
	case o.Has("error") && b.windowSeed > 1<<31: // Grain adds the window's number beyond 2^32
		r.Diverge("window_seed", "want %v", o.Get("error"))
	case !o.Has("error"):
		p.resumed(r, o)
	case d.m != nil && d.m.Len() == 0: // Grain fails at its elements; here it has none
	case !o.Has("values"): // it fails at an element
		_, _, err := p.run(nil, 100)
		o.Refusal(err)
	case len(p.values) > 0: // without values the script that records has no state 1 to resume from
		r.Fail("values beside the error %v", o.Get("error"))
	}
	if b.err != nil && !o.Has("error") {
		r.Fail("%v", b.err)
	}
}

// resumed judges what follows each state that Grain was resumed from.
func (p recording) resumed(r *suite.Report, o *suite.Object) {
	for _, resumed := range o.List("resumed") {
		e := suite.NewObject(r, "resumed.", resumed)
		k := e.Integer("from")
		e.Has("equal_to_rest") // false is a fault of Grain's; the rest must follow here
		e.Done()
		if k < 0 || k >= int64(len(p.states)) {
			r.Fail("no state %d", k)
			continue
		}
		state, err := json.Marshal(p.states[k])
		if err != nil {
			r.Fail("%v", err)
		}
		p.from(r, int(k), state)
	}
}

// recording is a pipeline with what an iterator over it gave.
type recording struct {
	b              *builder
	d              dataset
	values, states []any
	stop           bool
}

// run iterates from a state, nil for the start.
func (p recording) run(state json.RawMessage, most int) (values []any, states []json.RawMessage, err error) {
	it, err := p.d.iterate()
	if err != nil {
		return nil, nil, err
	}
	if state != nil {
		if err := it.SetState(state); err != nil {
			return nil, nil, err
		}
	}
	states = append(states, it.State())
	for len(values) < most {
		v, ok := it.Next()
		if !ok || p.b.err != nil {
			break
		}
		values, states = append(values, v), append(states, it.State())
	}
	return values, states, p.b.err
}

// from judges what follows state k.
func (p recording) from(r *suite.Report, k int, state json.RawMessage) {
	want := p.values[k:]
	most := len(want)
	if p.stop {
		most++ // there must be no more
	}
	values, states, err := p.run(state, most)
	if err != nil || len(values) != len(want) {
		r.Fail("from state %d: %d elements, want %d (end %t): %v", k, len(values), len(want), p.stop, err)
		return
	}
	for i := range values {
		p.same(r, fmt.Sprintf("from state %d, element %d", k, i), values[i], want[i])
	}
	for i, got := range states {
		v, err := suite.ParseJSON(got)
		want := p.states[k+i]
		// InterleaveMended goes on from both.
		if err == nil && !suite.SameJSON(v, want) &&
			suite.SameJSON(v, reopened(want, v)) {
			r.Diverge("interleave_epoch", "from state %d, Grain says in state %d of iterators in use that they have ended", k, i)
			continue
		}
		if err != nil || !suite.SameJSON(v, want) {
			r.Fail("from state %d: state %d is %s, want %v (%v)", k, i, got, p.states[k+i], err)
		}
	}
}

// reopened returns a state of Grain in which those iterators have not ended that are in use by
// another.
func reopened(state, ours any) any {
	switch s := state.(type) {
	case map[string]any:
		o, _ := ours.(map[string]any)
		out := map[string]any{}
		for key, v := range s {
			if out[key] = reopened(v, o[key]); key != "exhausted" {
				continue
			}
			theirs, _ := v.([]any)
			own, _ := o[key].([]any)
			flags := slices.Clone(theirs)
			for i := range flags {
				if i < len(own) && fmt.Sprint(own[i]) == "0" {
					flags[i] = own[i]
				}
			}
			out[key] = flags
		}
		return out
	case []any:
		o, _ := ours.([]any)
		out := make([]any, len(s))
		for i, v := range s {
			var own any
			if i < len(o) {
				own = o[i]
			}
			out[i] = reopened(v, own)
		}
		return out
	}
	return state
}

func (p recording) same(r *suite.Report, what string, got, want any) {
	text, err := json.Marshal(got)
	if err != nil {
		r.Fail("%s: %v", what, err)
		return
	}
	v, err := suite.ParseJSON(text)
	if err != nil || !suite.SameJSON(v, want) {
		r.Fail("%s: got %s, want %v", what, text, want)
	}
}

// unknownStep is the name of a step that is not here.
type unknownStep string

func (s unknownStep) Error() string { return "no step " + string(s) }

// dataset is a MapDataset, or an IterDataset that m is not set of.
type dataset struct {
	m     grain.Map[any]
	iter  func(share) (grain.Iter[any], error)
	seeds []grain.Seeded // of the seeds given before, seen from here
}

// share is every of-th element of the maps below, from index on: what a worker reads.
type share struct{ index, of int64 }

// iterate returns a new iterator over all of it.
func (d dataset) iterate() (grain.Iter[any], error) {
	if d.iter != nil {
		return d.iter(share{0, 1})
	}
	return grain.Iterate(d.m), nil
}

// builder makes pipelines of the trees of cases. Functions of elements leave their
// first error in err.
type builder struct {
	err        error
	windowSeed uint32 // the largest of windows
}

// step is a step with its arguments.
type step struct {
	name       string
	positional []any
	named      map[string]any
	taken      map[string]bool
}

func parseStep(v any) (step, error) {
	l, _ := v.([]any)
	if len(l) == 0 {
		return step{}, fmt.Errorf("no step: %v", v)
	}
	name, ok := l[0].(string)
	if !ok {
		return step{}, fmt.Errorf("no name of a step: %v", l[0])
	}
	s := step{name: name, positional: l[1:], taken: map[string]bool{}}
	if n := len(s.positional); n > 0 {
		last, _ := s.positional[n-1].(map[string]any)
		_, pipeline := last["pipeline"]
		_, params := last["params"]
		if last != nil && !pipeline && !params {
			s.positional, s.named = s.positional[:n-1], last
		}
	}
	return s, nil
}

// arg takes an argument by its place and name, nil where it is not given.
func (s *step) arg(place int, name string) any {
	s.taken[name] = true
	if place >= 0 && place < len(s.positional) {
		s.taken[fmt.Sprint(place)] = true
		return s.positional[place]
	}
	return s.named[name]
}

// Integer takes an integer; given tells whether it was.
func (s *step) Integer(place int, name string) (n int64, given bool, err error) {
	v := s.arg(place, name)
	if v == nil {
		return 0, false, nil
	}
	number, _ := v.(json.Number)
	n, err = number.Int64()
	return n, true, err
}

// left returns an argument that nobody took.
func (s *step) left() error {
	for i := range s.positional {
		if !s.taken[fmt.Sprint(i)] {
			return unknownStep(fmt.Sprintf("%s with argument %d", s.name, i))
		}
	}
	for name := range s.named {
		if !s.taken[name] {
			return unknownStep(s.name + " with " + name)
		}
	}
	return nil
}

func (b *builder) build(v any) (d dataset, err error) {
	steps, _ := v.([]any)
	for _, raw := range steps {
		s, err := parseStep(raw)
		if err != nil {
			return d, err
		}
		seeds := d.seeds
		if d, err = b.apply(d, &s); err == nil {
			err = s.left()
		}
		if s.name != "seed" && len(seeds) > 0 {
			d.seeds = deeper(seeds)
		}
		if err != nil {
			return d, err
		}
	}
	if d.m == nil && d.iter == nil {
		return d, fmt.Errorf("no steps: %v", v)
	}
	return d, nil
}

// deeper are seeds seen from one step further.
func deeper(seeds []grain.Seeded) []grain.Seeded {
	out := make([]grain.Seeded, len(seeds))
	for i, s := range seeds {
		out[i] = grain.Seeded{Seed: s.Seed, Depth: s.Depth + 1}
	}
	return out
}

// parents takes the argument that is a list of pipelines.
func (b *builder) parents(s *step) ([]dataset, error) {
	l, _ := s.arg(0, "parents").([]any)
	parents := make([]dataset, len(l))
	for i, v := range l {
		m, _ := v.(map[string]any)
		d, err := b.build(m["pipeline"])
		if err != nil {
			return nil, err
		}
		parents[i] = d
	}
	return parents, nil
}

// mapsOf are the maps of data sets, which all must be such.
func mapsOf(all []dataset) ([]grain.Map[any], error) {
	out := make([]grain.Map[any], len(all))
	for i, d := range all {
		if out[i] = d.m; d.m == nil {
			return nil, fmt.Errorf("data set %d is an IterDataset", i)
		}
	}
	return out, nil
}

// iterators makes an iterator over each.
func iterators(all []dataset, p share) ([]grain.Iter[any], error) {
	out := make([]grain.Iter[any], len(all))
	for i, d := range all {
		if d.iter == nil {
			return nil, fmt.Errorf("data set %d is a MapDataset", i)
		}
		it, err := d.iter(p)
		if err != nil {
			return nil, err
		}
		out[i] = it
	}
	return out, nil
}

// function takes the argument that is a function.
func (b *builder) function(s *step) (function, error) {
	m, _ := s.arg(0, "transform").(map[string]any)
	text, err := json.Marshal(m)
	if err != nil {
		return function{}, err
	}
	var f function
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	dec.DisallowUnknownFields()
	return f, dec.Decode(&f)
}

// keep keeps the first error of functions of elements.
func (b *builder) keep(v any, err error) any {
	if err != nil && b.err == nil {
		b.err = err
	}
	return v
}

// boxed is a map of elements as one of any.
func boxed[T any](m grain.Map[T], box func(T) any) grain.Map[any] { return grain.Apply(m, "box", box) }

func (b *builder) batches(rows []any) any {
	v, err := stack(slices.Clone(rows))
	return b.keep(v, err)
}

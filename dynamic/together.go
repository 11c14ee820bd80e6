package dynamic

import (
	"context"
	"slices"

	"github.com/bivouac-ml/bivouac/rng"
)

// Together begins to compute deferred values in the background, and does not wait for them. It
// makes one graph of the calls that they come from, and of the calls before them that are not
// computed yet. So a sample goes through all calls while it is in the processor's cache, no worker
// waits between two calls, and the values between them take no memory. Such a value is computed on
// its own if it is wanted later. Values and errors are the same as of single calls. The graph is
// kept for the next time that the same calls are computed together, with inputs of the same dtypes,
// numbers of axes and layouts.
//
// Calls that give Tensors, calls with effects or a state, and batches of another size than the
// first value do not become part of the graph, and no calls beyond 256. They are computed in the
// background too, one by one.
func Together(values ...Value) {
	t, others := gather(values)
	for _, k := range others {
		k.e.enqueue(k)
	}
	switch {
	case len(t.wanted) == 0:
	case t.ready():
		t.start()
	default:
		go t.start()
	}
}

// mostTogether is the most calls of a graph. What the calls before them give is computed first.
const mostTogether = 256

// together are calls on their way through one graph.
type together struct {
	e       *EvalContext
	samples int
	members []member
	inputs  []*result // from outside
	wanted  []int     // the members whose values are wanted, in their order
}

// member is a call of a graph, as it was before another goroutine could compute it.
type member struct {
	call     *call
	operator *operator
	args     arguments
	ports    int
	from     []link // of the inputs, then of the arguments
	draw     rng.Philox
}

// link says where an input of a member comes from.
type link struct {
	member int // -1: an input of the graph
	number int // of the member's output, or of the graph's input
}

// gather collects the calls behind values, and the calls among them that make no graph with others.
func gather(values []Value) (t *together, others []*call) {
	t = &together{}
	known := map[*call]int{}
	for _, v := range values {
		k := v.core().origin()
		if k == nil || k.mode != Deferred || k.finished() {
			continue
		}
		if t.e == nil && k.batch {
			t.e, t.samples = k.e, k.samples
		}
		switch i := t.add(k, known); {
		case i < 0:
			others = append(others, k)
		case !slices.Contains(t.wanted, i):
			t.wanted = append(t.wanted, i)
		}
	}
	slices.Sort(t.wanted)
	return t, others
}

// add makes a call a member, after the calls that it needs, and returns its number. It returns -1
// if the values of the call come from outside.
func (t *together) add(k *call, known map[*call]int) int {
	if i, ok := known[k]; ok {
		return i
	}
	known[k] = -1
	s := k.operator.schema
	if len(known) > mostTogether || k.e != t.e || !k.batch || k.samples != t.samples || s.Keep || s.Stateful {
		return -1
	}
	k.mu.Lock()
	fresh := k.state.Load() == fresh
	m := member{call: k, operator: k.operator, args: k.args, ports: k.ports, draw: k.draw}
	inputs := slices.Clone(k.inputs)
	k.mu.Unlock()
	if !fresh {
		return -1
	}
	for _, in := range inputs {
		m.from = append(m.from, t.link(in, known))
	}
	known[k] = len(t.members)
	t.members = append(t.members, m)
	return known[k]
}

// link returns where an input comes from.
func (t *together) link(in *result, known map[*call]int) link {
	if in.call != nil {
		if i := t.add(in.call, known); i >= 0 {
			return link{i, slices.Index(in.call.outs, in)}
		}
	}
	i := slices.Index(t.inputs, in)
	if i < 0 {
		i = len(t.inputs)
		t.inputs = append(t.inputs, in)
	}
	return link{-1, i}
}

// ready reports whether all inputs of the graph are computed.
func (t *together) ready() bool {
	return !slices.ContainsFunc(t.inputs, func(in *result) bool {
		c := in.origin()
		return c != nil && !c.finished()
	})
}

// start waits for the inputs and starts the graph. A call that another goroutine computes meanwhile
// is left to it. If something is wrong, each wanted call is computed on its own, so that it has its
// own error.
func (t *together) start() {
	held, err := t.hold()
	var claimed []int
	for _, i := range t.wanted { // only now: an input may need a wanted call
		if t.members[i].call.claim() {
			claimed = append(claimed, i)
		}
	}
	var run *jointRun
	if err == nil && len(claimed) > 0 {
		run, err = t.e.begin(t)
	}
	go func() {
		ok := err == nil && len(claimed) > 0 && run.finish(t, claimed)
		for _, in := range held {
			in.drop()
		}
		if ok {
			return
		}
		for _, i := range claimed {
			t.members[i].call.evaluateClaimed()
		}
	}()
}

// hold holds the memory of the inputs, and waits for them. The caller drops what it returns.
func (t *together) hold() (held []*result, err error) {
	for _, in := range t.inputs {
		if err := in.hold(); err != nil {
			return held, err
		}
		held = append(held, in)
		if err := in.wait(context.Background()); err != nil {
			return held, err
		}
	}
	return held, nil
}

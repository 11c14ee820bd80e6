package serve

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/bivouac-ml/bivouac/dynamic"
	"github.com/bivouac-ml/bivouac/internal/ahead"
	"github.com/bivouac-ml/bivouac/rng"
)

// A captured loop makes the same calls in every step. While the program uses a step, the server
// reads the next batch and makes the calls of the last step for it. Each call that comes then is
// compared with the call that was made ahead: operator, inputs, size and generator. If they are
// equal, the values are there already. Else it is made as always. So results are the same. A call
// that was made ahead and did not come is released, and nobody sees its error.
//
// The calls of a step are computed as one graph. It gives the values that were used in steps
// before, by others than these calls. If the program uses another value, that value is computed
// then.

// origin says where an input of a call comes from in a step.
type origin struct {
	call   int   // number of the call in the step; -1: the reader; -2: outside of the step
	output int64 // of the call or the reader; else the number of the value
}

const (
	ofReader  = -1
	ofOutside = -2
)

// stepCall is a call of a step.
type stepCall struct {
	operator *dynamicOperator
	inputs   []origin
	batch    int
	site     string
	draw     rng.Philox // the generator before the call
	drawn    bool
	values   []dynamic.Value // of a call that was made ahead
	ahead    bool            // the call has values that were made ahead
	mark     *ahead.Call     // of a call that was made ahead
}

// same reports whether two calls are equal, so that they have the same values.
func (c *stepCall) same(other *stepCall) bool {
	return c.operator == other.operator && c.batch == other.batch && c.drawn == other.drawn &&
		c.draw.Canonical() == other.draw.Canonical() && slices.Equal(c.inputs, other.inputs)
}

// tracing notes the calls of the step of a captured loop. The group that is being made uses it, and
// the call that begins the next step, for which no group is being made.
type tracing struct {
	reader *dynamicReader // nil: nothing is traced
	ctx    context.Context
	calls  []stepCall
	before []stepCall // of the step before
	ahead  []stepCall // that were made ahead for this step
	used   int        // of them
	ended  bool       // the epoch has ended; the next one may have equal steps

	mu      sync.Mutex       // of the following
	origins map[int64]origin // of the values of the step
	older   map[int64]origin // of the values of the step before
	wanted  map[origin]bool  // values that were used by others than calls of the same step
}

// want notes that a value is used by another than a call of the same step.
func (t *tracing) want(number int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, origins := range []map[int64]origin{t.origins, t.older} {
		if from, ok := origins[number]; ok && from.call >= 0 {
			t.wanted[from] = true
		}
	}
}

// wantAll notes that all values of the step are used.
func (t *tracing) wantAll() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, from := range t.origins {
		if from.call >= 0 {
			t.wanted[from] = true
		}
	}
}

// from returns where a value comes from.
func (t *tracing) from(number int64) origin {
	t.mu.Lock()
	defer t.mu.Unlock()
	if from, ok := t.origins[number]; ok {
		return from
	}
	if from, ok := t.older[number]; ok && from.call >= 0 {
		t.wanted[from] = true
	}
	return origin{ofOutside, number}
}

// note notes where the values from first on come from.
func (t *tracing) note(first int64, call, outputs int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range outputs {
		t.origins[first+int64(i)] = origin{call, int64(i)}
	}
}

// trace returns the values of a call that was made ahead, or nil, and notes the call.
func (d *dynamics) trace(ctx context.Context, c stepCall, numbers []int64, first int64) []dynamic.Value {
	t := &d.tracing
	if t.reader == nil || t.ended {
		return nil
	}
	t.ctx = ctx
	fits := true // the call that was made ahead had the same inputs
	for _, n := range numbers {
		from := t.from(n)
		c.inputs = append(c.inputs, from)
		fits = fits && (from.call < 0 || t.calls[from.call].ahead)
	}
	at := len(t.calls)
	c.ahead = fits && at < len(t.ahead) && c.same(&t.ahead[at])
	t.calls = append(t.calls, c)
	t.note(first, at, c.operator.outputs)
	if !c.ahead {
		return nil
	}
	t.used++
	t.ahead[at].mark.Made()
	values := t.ahead[at].values
	t.ahead[at].values = nil
	return values
}

// endStep ends a step of a captured loop, and returns how many of its calls were made ahead. Calls
// that did not come are released.
func (t *tracing) endStep() (used int) {
	used = t.used
	for _, c := range t.ahead {
		for _, v := range c.values {
			v.Release()
		}
	}
	t.mu.Lock()
	if used < len(t.ahead) { // the numbers of calls may mean others now
		t.wanted = map[origin]bool{}
	}
	t.mu.Unlock()
	t.ahead, t.used = nil, 0
	return used
}

// beginStep begins a step after endStep: the calls from now on belong to its batch, whose values
// have the numbers from first on. It takes the calls that were made ahead for the step.
func (t *tracing) beginStep(r *dynamicReader, first int64, outputs int, ahead []stepCall) {
	t.before, t.calls = t.calls, nil
	t.ahead, t.ended = ahead, false
	t.mu.Lock()
	t.older, t.origins = t.origins, map[int64]origin{}
	t.mu.Unlock()
	t.note(first, ofReader, outputs)
}

// follow makes a loop over r the loop whose steps are noted.
func (t *tracing) follow(r *dynamicReader) {
	if t.reader == r {
		return
	}
	t.reader, t.before, t.calls = r, nil, nil
	t.mu.Lock()
	t.wanted = map[origin]bool{}
	t.mu.Unlock()
}

// stepPlan are calls to make ahead.
type stepPlan struct {
	calls  []stepCall
	wanted map[origin]bool // what they give to others
}

// plan returns the calls of the step that is steps after the last one, as the last two steps say.
func (t *tracing) plan(steps uint64) stepPlan {
	t.mu.Lock()
	p := stepPlan{t.foreseen(steps), maps.Clone(t.wanted)}
	t.mu.Unlock()
	for _, c := range t.calls[len(p.calls):] {
		for _, from := range c.inputs {
			if from.call >= 0 && from.call < len(p.calls) {
				p.wanted[from] = true
			}
		}
	}
	return p
}

// foreseen returns the calls of a plan. Generators move on by as many words in each step.
func (t *tracing) foreseen(steps uint64) []stepCall {
	calls := slices.Clone(t.calls)
	for i := range calls {
		c := &calls[i]
		if c.operator.effects {
			return calls[:i]
		}
		if !c.drawn {
			continue
		}
		if i >= len(t.before) || !t.before[i].drawn || t.before[i].operator != c.operator {
			return calls[:i]
		}
		words, ok := c.draw.Since(t.before[i].draw)
		if !ok {
			return calls[:i]
		}
		c.draw.Skip(steps * words)
	}
	return calls
}

// makeAhead makes the calls of a plan for a batch, up to the first one whose inputs are not known.
func (d *dynamics) makeAhead(ctx context.Context, p stepPlan, batch []dynamic.Value) []stepCall {
	together := len(p.wanted) > 0 && dynamic.ModeOf(ctx) == dynamic.Eager
	if together {
		ctx = dynamic.WithMode(ctx, dynamic.Deferred)
	}
	made := 0
	for made < len(p.calls) && d.makeOneAhead(ctx, p.calls, made, batch) {
		made++
	}
	if together {
		var wanted []dynamic.Value
		for i := range made {
			for k, v := range p.calls[i].values {
				if p.wanted[origin{i, int64(k)}] {
					wanted = append(wanted, v)
				}
			}
		}
		dynamic.Together(wanted...)
	}
	return p.calls[:made]
}

// makeOneAhead makes a call of a plan. It reports false if an input is not known.
func (d *dynamics) makeOneAhead(ctx context.Context, calls []stepCall, at int, batch []dynamic.Value) bool {
	c := &calls[at]
	inputs := make([]dynamic.Value, len(c.inputs))
	for k, from := range c.inputs {
		switch {
		case from.call == ofOutside:
			inputs[k] = d.find(from.output).value
		case from.call == ofReader && from.output < int64(len(batch)):
			inputs[k] = batch[from.output]
		case from.call >= 0 && from.output < int64(len(calls[from.call].values)):
			inputs[k] = calls[from.call].values[from.output]
		}
		if inputs[k] == nil {
			return false
		}
	}
	call := c.operator.call(inputs, c.batch, c.site)
	if c.drawn {
		g := c.draw
		call.Draw = drawn{g.Fork()}
	}
	c.mark = &ahead.Call{}
	c.values = dynamic.Invoke(ahead.With(ctx, c.mark), call)
	return true
}

// step is a batch that was read ahead, with the calls that were made for it.
type step struct {
	values []dynamic.Value
	err    error
	ok     bool
	calls  []stepCall
}

// nextStep begins the step of a captured loop whose batch is s, and has the one after it made
// ahead. It returns how many calls of the last step were made ahead. The caller has the turn.
func (d *dynamics) nextStep(r *dynamicReader, first int64, s *step) (used int) {
	t := &d.tracing
	used = t.endStep()
	t.follow(r)
	if !s.ok {
		t.ended = true
		return used
	}
	if s.calls == nil && t.ctx != nil { // the first one of an epoch
		s.calls = d.makeAhead(t.ctx, t.plan(1), s.values)
	}
	p := t.plan(2)
	t.beginStep(r, first, len(s.values), s.calls)
	d.readAhead(r, t.ctx, p)
	return used
}

// readAhead reads the next batch and makes the calls of a plan for it.
func (d *dynamics) readAhead(r *dynamicReader, ctx context.Context, p stepPlan) {
	made := make(chan step, 1)
	r.ahead = made
	next := r.next
	go func() {
		var s step
		s.values, s.err, s.ok = next()
		if s.err == nil && s.ok && ctx != nil {
			s.calls = d.makeAhead(ctx, p, s.values)
		}
		made <- s
	}()
}

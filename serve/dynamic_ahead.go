package serve

import (
	"context"
	"slices"

	"github.com/bivouac-ml/bivouac/dynamic"
	"github.com/bivouac-ml/bivouac/internal/ahead"
	"github.com/bivouac-ml/bivouac/rng"
)

// A captured loop makes the same calls in every step. While the program uses a step, the server
// reads the next batch and makes the calls of the last step for it. Each call that comes then is
// compared with the call that was made ahead: operator, inputs, size and generator. If they are
// equal, the values are there already. Else it is made as always. So results are the same. A call
// that was made ahead and did not come is released, and nobody sees its error.

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
	reader  *dynamicReader // nil: nothing is traced
	ctx     context.Context
	origins map[int64]origin // of the values of the step
	calls   []stepCall
	before  []stepCall // of the step before
	ahead   []stepCall // that were made ahead for this step
	used    int        // of them
}

// trace returns the values of a call that was made ahead, or nil, and notes the call.
func (d *dynamics) trace(ctx context.Context, c stepCall, numbers []int64, first int64) []dynamic.Value {
	t := &d.tracing
	if t.reader == nil {
		return nil
	}
	t.ctx = ctx
	fits := true // the call that was made ahead had the same inputs
	for _, n := range numbers {
		from, ok := t.origins[n]
		if !ok {
			from = origin{ofOutside, n}
		}
		c.inputs = append(c.inputs, from)
		fits = fits && (from.call < 0 || t.calls[from.call].ahead)
	}
	at := len(t.calls)
	c.ahead = fits && at < len(t.ahead) && c.same(&t.ahead[at])
	t.calls = append(t.calls, c)
	for i := range c.operator.outputs {
		t.origins[first+int64(i)] = origin{at, int64(i)}
	}
	if !c.ahead {
		return nil
	}
	t.used++
	t.ahead[at].mark.Made()
	values := t.ahead[at].values
	t.ahead[at].values = nil
	return values
}

// beginStep begins a step of a captured loop: the calls from now on belong to its batch, whose
// values have the numbers from first on. It returns how many calls of the last step were made
// ahead, and the calls of the step that follows this one.
func (d *dynamics) beginStep(r *dynamicReader, first int64, outputs int, ahead []stepCall) (used int, plan []stepCall) {
	t := &d.tracing
	used = t.used
	for _, c := range t.ahead { // that did not come
		for _, v := range c.values {
			v.Release()
		}
	}
	if t.reader != r {
		t.before, t.calls = nil, nil
	}
	plan = t.plan()
	t.before, t.calls = t.calls, nil
	t.reader, t.ahead, t.used = r, ahead, 0
	t.origins = map[int64]origin{}
	for i := range outputs {
		t.origins[first+int64(i)] = origin{ofReader, int64(i)}
	}
	return used, plan
}

// plan returns the calls of the step after the next one, as the last two steps say. Generators move
// on by as many words in each step.
func (t *tracing) plan() []stepCall {
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
		c.draw.Skip(2 * words)
	}
	return calls
}

// makeAhead makes the calls of a plan for a batch, up to the first one whose inputs are not known.
func (d *dynamics) makeAhead(ctx context.Context, calls []stepCall, batch []dynamic.Value) []stepCall {
	for i := range calls {
		c := &calls[i]
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
				return calls[:i]
			}
		}
		call := c.operator.call(inputs, c.batch, c.site)
		if c.drawn {
			g := c.draw
			call.Draw = drawn{g.Fork()}
		}
		c.mark = &ahead.Call{}
		c.values = dynamic.Invoke(ahead.With(ctx, c.mark), call)
	}
	return calls
}

// step is a batch that was read ahead, with the calls that were made for it.
type step struct {
	values []dynamic.Value
	err    error
	ok     bool
	calls  []stepCall
}

// readAhead reads the next batch and makes the calls of a plan for it.
func (d *dynamics) readAhead(r *dynamicReader, ctx context.Context, calls []stepCall) {
	made := make(chan step, 1)
	r.ahead = made
	next := r.next
	go func() {
		var s step
		s.values, s.err, s.ok = next()
		if s.err == nil && s.ok && ctx != nil {
			s.calls = d.makeAhead(ctx, calls, s.values)
		}
		made <- s
	}()
}

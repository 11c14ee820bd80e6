package serve

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/bivouac-ml/bivouac/compat/dali"
	"github.com/bivouac-ml/bivouac/compat/dali/pipeproto"
	"github.com/bivouac-ml/bivouac/dynamic"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/rng"
	"github.com/bivouac-ml/bivouac/tensor"
)

// dynamicOperator is an operator with its constants, which many calls have.
type dynamicOperator struct {
	dali.OperatorCall
	args    func(...dynamic.Value) any
	plain   any // Call.Args of a call without values
	outputs int
	effects bool  // a call does more than to compute its values
	err     error // why it cannot be called
}

// addOperators takes the operators that calls of a group name first.
func (d *dynamics) addOperators(text []byte) error {
	if text == nil {
		return nil
	}
	var added []struct {
		Operator int64  `json:"operator"`
		Outputs  int    `json:"outputs"`
		Graph    []byte `json:"graph"`
	}
	if err := json.Unmarshal(text, &added); err != nil {
		return wrongArgument("operators", "operators with number, outputs and graph", clipped(text))
	}
	for _, a := range added {
		o := &dynamicOperator{outputs: a.Outputs}
		if a.Outputs < 0 || a.Outputs > mostOutputs {
			return wrongArgument("outputs", "0 to "+strconv.Itoa(mostOutputs), strconv.Itoa(a.Outputs))
		}
		o.OperatorCall, o.err = parseOperator(a.Graph)
		o.args = (&dynamic.Call{Args: o.Args}).Prepare(o.Values...)
		o.plain = o.args()
		if s, err := op.Lookup(o.Name); err == nil {
			o.effects = s.Keep || s.Stateful
		}
		d.operators[a.Operator] = o
	}
	return nil
}

// mostOutputs bounds the outputs of a call.
const mostOutputs = 1 << 16

// parseOperator reads a serialized pipeline with one operator.
func parseOperator(graph []byte) (dali.OperatorCall, error) {
	p, err := pipeproto.Parse(graph)
	if err != nil {
		return dali.OperatorCall{}, err
	}
	if len(p.Ops) != 1 {
		return dali.OperatorCall{}, wrongArgument("graph", "one operator", strconv.Itoa(len(p.Ops)))
	}
	return dali.CallOf(&p.Ops[0])
}

// The kinds of calls, which are the first number of each.
const (
	callOperator  = iota // [0, operator, first, batch, [inputs], site, draw]
	callAt               // [1, number, batch, sample]
	callSelect           // [2, number, batch, [samples]]
	callBatch            // [3, number, [tensors], layout]
	callStack            // [4, number, batch, pad]
	callBroadcast        // [5, number, tensor, samples]
	callPut              // [6, number, batched, dtype, layout, [shapes], data]
)

// makeCalls makes the calls of a group in their order. An error of a call is an error of its
// values. Only a text that has no calls is an error here.
func (d *dynamics) makeCalls(ctx context.Context, text []byte) error {
	if text == nil {
		return nil
	}
	c := &cursor{b: text}
	for c.enter('['); c.err == nil && c.more(']'); {
		c.enter('[')
		switch c.integer() {
		case callOperator:
			d.callOperator(ctx, c)
			continue
		case callAt:
			number, base, i := c.integer(), d.batchOf(c.integer()), int(c.integer())
			if c.err == nil {
				d.view(number, base, func(b *dynamic.Batch) dynamicValue { return dynamicValue{value: b.At(i)} })
			}
		case callSelect:
			number, base, picked := c.integer(), d.batchOf(c.integer()), c.extents()
			if c.err == nil {
				d.view(number, base, func(b *dynamic.Batch) dynamicValue { return dynamicValue{value: b.Select(picked...)} })
			}
		case callBatch:
			d.callBatch(c)
		case callStack:
			number, base, pad := c.integer(), d.batchOf(c.integer()), c.integer() != 0
			if c.err == nil {
				d.view(number, base, func(b *dynamic.Batch) dynamicValue { return stacked(ctx, b, pad) })
			}
		case callBroadcast:
			d.callBroadcast(c)
		case callPut:
			d.callPut(c)
		default:
			c.fail("a kind of call")
		}
		c.leave()
	}
	return errs.Wrap("", "argument calls", c.err)
}

// drawn is a generator at the place where a call draws.
type drawn struct{ rng.Philox }

// Draw implements dynamic.Draw.
func (g drawn) Draw() rng.Philox { return g.Philox }

// callOperator makes a call of an operator, and passes its end.
func (d *dynamics) callOperator(ctx context.Context, c *cursor) {
	o, first, batch := d.operators[c.integer()], c.integer(), c.integer()
	of := stepCall{operator: o, batch: int(batch)}
	var err error
	var room [4]dynamic.Value
	var places [4]int64
	inputs, numbers := room[:0], places[:0]
	for c.enter('['); c.err == nil && c.more(']'); {
		n := c.integer()
		numbers = append(numbers, n)
		v := d.find(n)
		if v.err != nil && err == nil {
			err = v.err
		}
		inputs = append(inputs, v.value)
	}
	site := c.integer()
	if c.peek() == '"' {
		g, failed := rng.ParsePhilox(c.text())
		if failed != nil && err == nil {
			err = failed
		}
		of.draw, of.drawn = g, true
	}
	c.leave()
	if c.err != nil {
		return
	}
	if site >= 0 && site < int64(len(d.sites)) {
		of.site = d.sites[site]
	}
	switch {
	case o == nil:
		c.fail("the number of an operator")
		return
	case o.err != nil:
		err = o.err
	case len(inputs) != o.Inputs+len(o.Values):
		c.fail("as many inputs as the operator has")
		return
	}
	if err != nil {
		for i := range o.outputs {
			d.put(first+int64(i), dynamicValue{err: err})
		}
		return
	}
	made := d.trace(ctx, of, numbers, first)
	if made == nil {
		call := o.call(inputs, of.batch, of.site)
		if of.drawn {
			call.Draw = drawn{of.draw.Fork()}
		}
		made = dynamic.Invoke(ctx, call)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range o.outputs {
		d.values[first+int64(i)] = dynamicValue{value: made[min(i, len(made)-1)]} // a refused call has one value
	}
}

// call returns a call of the operator, without a generator.
func (o *dynamicOperator) call(inputs []dynamic.Value, batch int, site string) dynamic.Call {
	call := dynamic.Call{Op: o.Name, Args: o.plain, Inputs: inputs[:o.Inputs:o.Inputs], Batch: batch, Site: site}
	if len(o.Values) > 0 {
		call.Args = o.args(inputs[o.Inputs:]...)
	}
	return call
}

// batchOf returns a batch.
func (d *dynamics) batchOf(number int64) dynamicValue {
	d.tracing.want(number)
	v := d.find(number)
	if _, ok := v.value.(*dynamic.Batch); !ok && v.err == nil {
		v = dynamicValue{err: wrongArgument("value "+strconv.FormatInt(number, 10), "a Batch", "a Tensor")}
	}
	return v
}

// view gives a number to what is made of a batch.
func (d *dynamics) view(number int64, base dynamicValue, make func(*dynamic.Batch) dynamicValue) {
	if b, ok := base.value.(*dynamic.Batch); ok {
		base = make(b)
	}
	d.put(number, base)
}

// stacked returns the samples of a batch as one Tensor. It waits for them. With pad, samples of
// other extents become as large as the largest ones.
func stacked(ctx context.Context, b *dynamic.Batch, pad bool) dynamicValue {
	shapes := b.Shapes()
	differ := slices.ContainsFunc(shapes, func(s tensor.Shape) bool { return !slices.Equal(s, shapes[0]) })
	if pad && differ {
		b = dynamic.Invoke1[*dynamic.Batch](ctx, dynamic.Call{Op: "pad", Inputs: []dynamic.Value{b}})
	}
	t, err := b.Stack(ctx)
	if err != nil {
		return dynamicValue{err: err}
	}
	if len(t.Shape) == 1 { // of scalars, as in DALI
		t.Layout = "N"
	}
	return dynamicValue{value: dynamic.TensorOf(t)} // a copy: the memory of the batch may go back
}

// callBatch makes a batch of tensors. It waits for them.
func (d *dynamics) callBatch(c *cursor) {
	number := c.integer()
	var tensors []*dynamic.Tensor
	var err error
	for c.enter('['); c.err == nil && c.more(']'); {
		n := c.integer()
		d.tracing.want(n)
		v := d.find(n)
		t, ok := v.value.(*dynamic.Tensor)
		if !ok && v.err == nil {
			v.err = wrongArgument("value "+strconv.FormatInt(n, 10), "a Tensor", "a Batch")
		}
		if v.err != nil && err == nil {
			err = v.err
		}
		tensors = append(tensors, t)
	}
	form := dynamic.Form{Layout: c.text()}
	switch {
	case c.err != nil:
	case err != nil:
		d.put(number, dynamicValue{err: err})
	default:
		d.put(number, dynamicValue{value: dynamic.BatchOf(tensors, form)})
	}
}

// callBroadcast makes a batch with the same tensor several times.
func (d *dynamics) callBroadcast(c *cursor) {
	number, from, n := c.integer(), c.integer(), int(c.integer())
	if c.err != nil {
		return
	}
	d.tracing.want(from)
	v := d.find(from)
	if t, ok := v.value.(*dynamic.Tensor); ok {
		v.value = dynamic.Broadcast(t, n)
	} else if v.err == nil {
		v = dynamicValue{err: wrongArgument("value "+strconv.FormatInt(from, 10), "a Tensor", "a Batch")}
	}
	d.put(number, v)
}

// callPut takes elements that travel with the call.
func (d *dynamics) callPut(c *cursor) {
	number, batched := c.integer(), c.integer() != 0
	dtype, layout := c.text(), c.text()
	var shapes []tensor.Shape
	for c.enter('['); c.err == nil && c.more(']'); {
		shapes = append(shapes, c.extents())
	}
	data, err := base64.StdEncoding.DecodeString(c.text())
	if c.err != nil {
		return
	}
	if err != nil {
		c.fail("base64")
		return
	}
	t, err := tensor.ParseDType(dtype)
	samples := make([]tensor.Tensor, len(shapes))
	for i, shape := range shapes {
		n, failed := shape.Bytes(t)
		if err == nil && failed != nil {
			err = failed
		}
		if err != nil || n > len(data) {
			c.fail("a dtype, and as many bytes as the shapes say")
			return
		}
		samples[i] = tensor.Tensor{DType: t, Shape: shape, Layout: layout, Data: data[:n:n]}
		data = data[n:]
	}
	if err != nil || len(data) > 0 || !batched && len(samples) != 1 {
		c.fail("a dtype, and as many bytes as the shapes say")
		return
	}
	d.put(number, dynamicValue{value: valueOf(samples, batched, t, layout)})
}

// valueOf returns samples, whose memory is the value's from now on, as a value.
func valueOf(samples []tensor.Tensor, batched bool, d tensor.DType, layout string) dynamic.Value {
	if batched {
		return dynamic.BatchOf(samples, dynamic.Form{NoCopy: true, DType: d, Layout: layout})
	}
	return dynamic.TensorOf(samples[0], dynamic.Form{NoCopy: true})
}

package serve

import (
	"context"
	"strconv"

	"github.com/bivouac-ml/bivouac/dynamic"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// fetched is a value on its way to the client. Few bytes travel with the answer. More bytes are in
// a slot, unless the client wants a description alone.
type fetched struct {
	slotOutput
	Batch bool      `json:"batch,omitempty"`
	Size  int64     `json:"size"`
	Data  []byte    `json:"data,omitempty"`
	Slots []slotUse `json:"slots,omitempty"` // the slot with the elements, if there is one
	Gone  []int64   `json:"gone,omitempty"`  // slots that the client may unmap
}

// mostInline is how many bytes travel with the answer.
const mostInline = 2 << 10

// fetch waits for a value and answers with its description, and with its elements unless only the
// description is wanted. Few elements travel in any case.
func (d *dynamics) fetch(ctx context.Context, number int64, only bool) (reply, error) {
	v := d.find(number)
	if v.err != nil {
		return reply{}, v.err
	}
	d.tracing.want(number)
	samples, b, err := elements(ctx, v.value)
	if err != nil {
		return reply{}, err
	}
	_, batch := v.value.(*dynamic.Batch)
	_, size := extent(b)
	f := fetched{slotOutput: describe(b), Batch: batch, Size: int64(size)}
	switch {
	case size <= mostInline:
		f.Data = make([]byte, size)
		gather(f.Data, samples)
		return answer(&f)
	case only:
		return answer(&f)
	}
	d.handing.Lock()
	defer d.handing.Unlock()
	if err := d.slots.admit(); err != nil {
		return reply{}, err
	}
	d.slots.mu.Lock()
	defer d.slots.mu.Unlock()
	into, err := d.slots.take(f.Size + f.Size/8)
	if err != nil {
		return reply{}, err
	}
	gather(into.mem[:f.Size], samples)
	f.Slot = into.number
	uses, files := d.slots.lend([]*slot{into})
	f.Slots, f.Gone, d.slots.gone = uses, d.slots.gone, nil
	r, err := answer(&f)
	r.files = files
	return r, err
}

// elements waits for a value and returns its samples. The batch describes them as they are when
// they lie one after the other; it has no data.
func elements(ctx context.Context, v dynamic.Value) (samples []tensor.Tensor, b *tensor.Batch, err error) {
	switch v := v.(type) {
	case *dynamic.Batch:
		if samples, err = v.Samples(ctx); err != nil {
			return nil, nil, err
		}
		b = &tensor.Batch{DType: v.DType(), NDim: v.NDim(), Layout: v.Layout()}
	case *dynamic.Tensor:
		t, err := v.Tensor(ctx)
		if err != nil {
			return nil, nil, err
		}
		samples = []tensor.Tensor{t}
		b = &tensor.Batch{DType: t.DType, NDim: len(t.Shape), Layout: t.Layout}
	default:
		return nil, nil, &errs.Error{Kind: errs.Unsupported, Op: "serve.dynamic.run", Want: "a Tensor or a Batch"}
	}
	b.Offsets = append(make([]int, 0, 1+len(samples)), 0)
	for _, t := range samples {
		b.Offsets = append(b.Offsets, b.Offsets[len(b.Offsets)-1]+len(t.Data))
		b.Dims = append(b.Dims, t.Shape...)
	}
	return samples, b, nil
}

// gather copies samples into memory, one after the other. It uses several goroutines for large
// ones.
func gather(into []byte, samples []tensor.Tensor) {
	const large = 4 << 10 // a smaller sample costs less than to hand its copy over
	var pieces []copying
	for _, t := range samples {
		if len(t.Data) < large {
			copy(into, t.Data)
		} else {
			pieces = cutCopy(pieces, into, t.Data)
		}
		into = into[len(t.Data):]
	}
	copyAll(pieces)
}

// putValue is a value whose elements are in an arena. It has samples, or a shape. A Batch with a
// shape has its samples along the first axis.
type putValue struct {
	fedOutput
	Number int64  `json:"number"`
	Batch  bool   `json:"batch"`
	Layout string `json:"layout"`
}

// dynamicPut takes values from an arena, which can be used again after the call.
func dynamicPut(k *call) (reply, error) {
	id := k.args.id("arena")
	var given []putValue
	k.args.into("values", &given)
	if err := k.args.finish(); err != nil {
		return reply{}, err
	}
	from, err := k.arenas.use(id)
	if err != nil {
		return reply{}, err
	}
	if from != nil {
		defer from.drop()
	}
	for i := range given {
		v, err := given[i].value(from)
		if err != nil {
			return reply{}, errs.Wrap("serve.dynamic.put", "value "+strconv.FormatInt(given[i].Number, 10), err)
		}
		k.dynamics.put(given[i].Number, dynamicValue{value: v})
	}
	return nothing(nil)
}

// value copies a value from an arena.
func (p *putValue) value(from *arena) (dynamic.Value, error) {
	d, err := tensor.ParseDType(p.DType)
	if err != nil {
		return nil, err
	}
	data, err := p.read(from)
	if err != nil {
		return nil, err
	}
	form := dynamic.Form{DType: d, Layout: p.Layout}
	var v dynamic.Value
	if p.Batch {
		v = dynamic.BatchOf(data, form)
	} else {
		v = dynamic.TensorOf(data, form)
	}
	return v, v.Err()
}

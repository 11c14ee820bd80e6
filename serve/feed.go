package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"strconv"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/tensor"
)

// feedArgs are the arguments of pipeline.feed.
type feedArgs struct {
	name, layout string
	arena        int64
	data         []fedOutput
	memory       offered
}

// fedOutput is the batch for one output of an external source. It has a shape, with the samples
// along the first axis, or samples.
type fedOutput struct {
	DType   string      `json:"dtype"`
	Offset  int64       `json:"offset"`
	Shape   []int       `json:"shape"`
	Samples []fedSample `json:"samples"`

	Bytes  int             `json:"bytes"`  // of all samples, if they are read in the client
	Pieces json.RawMessage `json:"pieces"` // of the client's memory
}

// fedSample is a sample in the arena.
type fedSample struct {
	Offset int64 `json:"offset"`
	Shape  []int `json:"shape"`
}

func readFeedArgs(a *args) (f feedArgs) {
	f.name, f.layout, f.arena = a.text("name"), a.text("layout"), a.id("arena")
	a.into("data", &f.data)
	a.into("memory", &f.memory)
	return f
}

// pipelineFeed gives an external source a batch. The arena can be used again after the call.
func pipelineFeed(k *call, p *piped, a feedArgs) (reply, error) {
	from, err := k.arenas.use(a.arena)
	if err != nil {
		return reply{}, err
	}
	if from != nil {
		defer from.drop()
	}
	by := k.newReach(a.memory.Address, a.memory.Token)
	data := make([]pipeline.Data, len(a.data))
	for i := range a.data {
		if a.data[i].Pieces == nil {
			data[i], err = a.data[i].read(from)
		} else {
			data[i], err = a.data[i].pulled(k.ctx, by, p)
		}
		if err != nil {
			return reply{}, errs.Wrap("serve."+k.op, "output "+strconv.Itoa(i), err)
		}
	}
	return nothing(p.FeedInputs(a.name, data, &pipeline.FeedOptions{Layout: a.layout}))
}

// pulled returns a batch that is read in the memory of the client when it is fed.
func (f *fedOutput) pulled(ctx context.Context, by *reach, p *piped) (pipeline.Data, error) {
	if by == nil {
		return nil, &errs.Error{Kind: errs.IO, Subject: "memory of the client", Want: "memory that this process may read",
			Remedy: "put the data into an arena"}
	}
	pieces, err := readPieces(f.Pieces)
	if err != nil {
		return nil, err
	}
	d := &pipeline.Filled{Bytes: f.Bytes, Fill: func(memory []byte) error { return by.pull(ctx, memory, pieces) }}
	if d.DType, err = tensor.ParseDType(f.DType); err != nil {
		return nil, err
	}
	if f.Bytes < 0 || int64(f.Bytes) > maxArena {
		return nil, wrongArgument("bytes", "0 to "+strconv.Itoa(maxArena), strconv.Itoa(f.Bytes))
	}
	if f.Bytes > p.pulled { // more than the pipeline has memory for
		if err := checkRoom(int64(f.Bytes)); err != nil {
			return nil, err
		}
		p.pulled = f.Bytes
	}
	if f.Samples == nil {
		return d, f.rows(d)
	}
	for _, s := range f.Samples {
		d.At, d.Shapes = append(d.At, int(s.Offset)), append(d.Shapes, s.Shape)
	}
	return d, nil
}

// mostRows is more than the samples of a batch can be.
const mostRows = 1 << 24

// rows makes the elements of the first axis samples.
func (f *fedOutput) rows(d *pipeline.Filled) error {
	if len(f.Shape) == 0 {
		return wrongArgument("shape", "samples along a first axis", "a scalar")
	}
	row := tensor.Shape(f.Shape[1:])
	n, err := row.Bytes(d.DType)
	if err != nil {
		return err
	}
	if rows := f.Shape[0]; rows < 0 || rows > mostRows || n > 0 && rows > f.Bytes/n {
		return wrongArgument("shape", "rows inside of "+strconv.Itoa(f.Bytes)+" bytes", tensor.Shape(f.Shape).String())
	}
	for i := range f.Shape[0] {
		d.At, d.Shapes = append(d.At, int(f.Offset)+i*n), append(d.Shapes, row)
	}
	return nil
}

// read returns the batch as views of the arena.
func (f *fedOutput) read(from *arena) (pipeline.Data, error) {
	d, err := tensor.ParseDType(f.DType)
	if err != nil {
		return nil, err
	}
	if f.Samples == nil {
		return f.view(from, d, f.Offset, f.Shape)
	}
	samples := make([]tensor.Tensor, len(f.Samples))
	for i, s := range f.Samples {
		var failed error
		samples[i], failed = f.view(from, d, s.Offset, s.Shape)
		err = cmp.Or(err, failed)
	}
	return samples, err
}

// view returns a tensor in the arena.
func (f *fedOutput) view(from *arena, d tensor.DType, offset int64, shape tensor.Shape) (t tensor.Tensor, err error) {
	n, err := shape.Bytes(d)
	if err != nil {
		return t, err
	}
	t = tensor.Tensor{DType: d, Shape: shape, Data: []byte{}}
	if n == 0 {
		return t, nil
	}
	if from == nil {
		return t, wrongArgument("arena", "an arena with the data", "none")
	}
	t.Data, err = from.slice(offset, int64(n))
	return t, err
}

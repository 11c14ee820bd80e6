package serve

import (
	"cmp"
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
}

// fedOutput is the batch for one output of an external source. It has a shape, with the samples
// along the first axis, or samples.
type fedOutput struct {
	DType   string      `json:"dtype"`
	Offset  int64       `json:"offset"`
	Shape   []int       `json:"shape"`
	Samples []fedSample `json:"samples"`
}

// fedSample is a sample in the arena.
type fedSample struct {
	Offset int64 `json:"offset"`
	Shape  []int `json:"shape"`
}

func readFeedArgs(a *args) (f feedArgs) {
	f.name, f.layout, f.arena = a.text("name"), a.text("layout"), a.id("arena")
	a.into("data", &f.data)
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
	data := make([]pipeline.Data, len(a.data))
	for i := range a.data {
		if data[i], err = a.data[i].read(from); err != nil {
			return reply{}, errs.Wrap("serve."+k.op, "output "+strconv.Itoa(i), err)
		}
	}
	return nothing(p.FeedInputs(a.name, data, &pipeline.FeedOptions{Layout: a.layout}))
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

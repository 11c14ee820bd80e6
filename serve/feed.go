package serve

import (
	"cmp"
	"math/bits"
	"os"
	"strconv"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/tensor"
)

// feedArgs are the arguments of pipeline.feed.
type feedArgs struct {
	name, layout string
	room         int64
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

// fedSample is a sample in the arena, or in the room.
type fedSample struct {
	Offset int64 `json:"offset"`
	Shape  []int `json:"shape"`
}

// sliced is memory that a client has put data into. No memory, as a nil pointer, has no bytes.
type sliced interface {
	slice(offset, n int64) ([]byte, error)
}

func readFeedArgs(a *args) (f feedArgs) {
	f.name, f.layout, f.room = a.text("name"), a.text("layout"), a.id("room")
	a.into("data", &f.data)
	return f
}

// pipelineFeed gives an external source a batch, which lies in a room. The room is the pipeline's
// from then on. The answer has another one, if there is memory for it.
func pipelineFeed(k *call, p *piped, a feedArgs) (reply, error) {
	room, err := p.slots.enter(a.room)
	if err != nil {
		return reply{}, err
	}
	data := make([]pipeline.Data, len(a.data))
	bytes := int64(0)
	for i := range a.data {
		if data[i], err = a.data[i].lent(room); err != nil {
			p.slots.leave(room)
			return reply{}, errs.Wrap("serve."+k.op, "output "+strconv.Itoa(i), err)
		}
		bytes += size(data[i])
	}
	o := &pipeline.FeedOptions{Layout: a.layout}
	if room != nil {
		o.Release = func() { p.slots.over(room) }
	}
	if err := p.FeedInputs(a.name, data, o); err != nil {
		p.slots.leave(room)
		return reply{}, err
	}
	if room == nil {
		return nothing(nil)
	}
	next, err := p.slots.room(p.following(a.name, bytes))
	if err != nil {
		return nothing(nil) // the client asks for one when it needs it, and gets the error
	}
	return next, nil
}

// following returns the size of a room for the batch after one of n bytes. Later batches may be
// larger. A batch that was far larger than the others is forgotten after a while.
func (p *piped) following(source string, n int64) int64 {
	if p.fedBytes == nil {
		p.fedBytes = map[string]int64{}
	}
	most := p.fedBytes[source]
	n = max(n, most-most/16)
	p.fedBytes[source] = n
	step := int64(1) << max(0, bits.Len64(uint64(n))-4) // batches of nearly one size use the same slots again
	return (n + n/8 + step - 1) &^ (step - 1)
}

// size returns the bytes of the samples of a batch.
func size(data pipeline.Data) (n int64) {
	switch d := data.(type) {
	case tensor.Tensor:
		return int64(len(d.Data))
	case *tensor.Batch:
		return int64(len(d.Data))
	case []tensor.Tensor:
		for i := range d {
			n += int64(len(d[i].Data))
		}
	}
	return n
}

// roomArgs are the arguments of pipeline.room.
type roomArgs struct{ bytes, room int64 }

func readRoomArgs(a *args) (r roomArgs) {
	a.into("bytes", &r.bytes)
	r.room = a.id("room")
	a.text("name") // of the source that it is for
	return r
}

// pipelineRoom gives the client a room for data that is about to be fed, and takes an old one back.
func pipelineRoom(_ *call, p *piped, a roomArgs) (reply, error) {
	if a.bytes < 1 || a.bytes > maxArena {
		return reply{}, wrongArgument("bytes", "1 to "+strconv.Itoa(maxArena), strconv.FormatInt(a.bytes, 10))
	}
	old, err := p.slots.enter(a.room)
	if err != nil {
		return reply{}, err
	}
	if old != nil {
		p.slots.over(old)
	}
	return p.slots.room(a.bytes + a.bytes/8) // later batches may be larger
}

// room makes a slot a room of the client.
func (s *slots) room(n int64) (r reply, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.take(n)
	if err != nil {
		return r, err
	}
	t.room = true
	use := slotUse{t.number, len(t.mem), t.file != nil}
	r, err = answer(struct {
		Room slotUse `json:"room"`
		Gone []int64 `json:"gone,omitempty"`
	}{use, s.gone})
	s.gone = nil
	if t.file != nil {
		r.files, t.file = []*os.File{t.file}, nil
	}
	return r, err
}

// enter takes a room from the client. It returns nil for number 0.
func (s *slots) enter(number int64) (*slot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.all[number]
	if number == 0 {
		return nil, nil
	}
	if t == nil || !t.room {
		return nil, wrongArgument("room", "a room that the client has", strconv.FormatInt(number, 10))
	}
	t.room = false
	return t, nil
}

// leave gives the client a room again.
func (s *slots) leave(t *slot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t != nil {
		t.room = true
	}
}

// over ends the use of what was a room.
func (s *slots) over(t *slot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.release(t)
}

// slice implements sliced.
func (t *slot) slice(offset, n int64) ([]byte, error) {
	if n == 0 {
		return []byte{}, nil
	}
	size := int64(0)
	if t != nil {
		size = int64(len(t.mem))
	}
	if offset < 0 || n < 0 || n > size || offset > size-n {
		return nil, &errs.Error{Kind: errs.Invalid, Subject: "offset " + strconv.FormatInt(offset, 10),
			Want: "data inside of the " + strconv.FormatInt(size, 10) + " bytes of the room",
			Got:  strconv.FormatInt(n, 10) + " bytes from there on"}
	}
	return t.mem[offset : offset+n : offset+n], nil
}

// mostRows is more than the samples of a batch can be.
const mostRows = 1 << 24

// lent returns the batch where it lies in a room. Samples that lie back to back stay one batch.
func (f *fedOutput) lent(room *slot) (pipeline.Data, error) {
	data, err := f.read(room)
	if err != nil {
		return nil, err
	}
	samples, ragged := data.([]tensor.Tensor)
	if !ragged {
		switch t := data.(tensor.Tensor); {
		case f.Offset%int64(t.DType.Size()) != 0:
			return nil, wrongOffset(t.DType, f.Offset)
		case len(t.Shape) > 0 && t.Shape[0] > mostRows:
			return nil, wrongArgument("shape", "at most "+strconv.Itoa(mostRows)+" samples", t.Shape.String())
		}
		return data, nil
	}
	if len(samples) == 0 {
		return samples, nil
	}
	b := &tensor.Batch{DType: samples[0].DType, NDim: len(samples[0].Shape), Offsets: []int{0}}
	next := f.Samples[0].Offset
	together := true
	for i, t := range samples {
		at, size := f.Samples[i].Offset, int64(len(t.Data))
		if at%int64(t.DType.Size()) != 0 {
			return nil, wrongOffset(t.DType, at)
		}
		together = together && at == next && len(t.Shape) == b.NDim
		next = at + size
		b.Offsets, b.Dims = append(b.Offsets, int(next-f.Samples[0].Offset)), append(b.Dims, t.Shape...)
	}
	if !together {
		return samples, nil
	}
	b.Data, err = room.slice(f.Samples[0].Offset, next-f.Samples[0].Offset)
	return b, err
}

func wrongOffset(d tensor.DType, at int64) error {
	return wrongArgument("offset", "a multiple of "+strconv.Itoa(d.Size())+", the size of an element",
		strconv.FormatInt(at, 10))
}

// read returns the batch as views of memory.
func (f *fedOutput) read(from sliced) (pipeline.Data, error) {
	d, err := tensor.ParseDType(f.DType)
	if err != nil {
		return nil, err
	}
	if f.Samples == nil {
		return view(from, d, f.Offset, f.Shape)
	}
	samples := make([]tensor.Tensor, len(f.Samples))
	for i, s := range f.Samples {
		var failed error
		samples[i], failed = view(from, d, s.Offset, s.Shape)
		err = cmp.Or(err, failed)
	}
	return samples, err
}

// view returns a tensor in memory.
func view(from sliced, d tensor.DType, offset int64, shape tensor.Shape) (t tensor.Tensor, err error) {
	n, err := shape.Bytes(d)
	if err != nil {
		return t, err
	}
	t = tensor.Tensor{DType: d, Shape: shape, Data: []byte{}}
	if n > 0 {
		t.Data, err = from.slice(offset, int64(n))
	}
	return t, err
}

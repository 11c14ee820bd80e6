package serve

import (
	"os"
	"runtime"
	"strconv"
	"sync"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/tensor"
)

// mostHeld is how many batches a client may hold unless it asks for another number.
const mostHeld = 64

// slots are the memory in which batches of a pipeline go to the client. Both sides map a slot. The
// client says when nothing uses a batch any more. Then its slot takes another batch. A slot that is
// too small for the next batch is dropped, and its number is not used again.
type slots struct {
	most int // that may be held
	last int64
	all  map[int64]*slot
	gone []int64 // that the client was not told of yet
}

// slot is memory for one batch.
type slot struct {
	mem  []byte
	held bool // by the client
}

// free takes slots back.
func (s *slots) free(numbers []int64) error {
	for _, n := range numbers {
		held := s.all[n]
		if held == nil || !held.held {
			return wrongArgument("freed", "slots that the client holds", strconv.FormatInt(n, 10))
		}
		held.held = false
	}
	return nil
}

// admit returns an error if the client holds as many batches as it may.
func (s *slots) admit() error {
	n := 0
	for _, t := range s.all {
		if t.held {
			n++
		}
	}
	if n < s.most {
		return nil
	}
	return &errs.Error{Kind: errs.Exhausted, Op: "serve.pipeline.run", Subject: "batches",
		Want: "at most " + strconv.Itoa(s.most) + " that the program holds", Got: strconv.Itoa(n),
		Remedy: "let go of batches, copy what is needed longer, or let the program hold more " +
			"(hold of pipeline.open, most_held in Python)"}
}

// take returns a free slot of at least n bytes, and its file if the client does not have it yet.
func (s *slots) take(n int64) (number int64, of *slot, file *os.File, err error) {
	for k, t := range s.all {
		if !t.held && int64(len(t.mem)) >= n && (of == nil || len(t.mem) < len(of.mem)) {
			number, of = k, t
		}
	}
	if of != nil {
		return number, of, nil, nil
	}
	for k, t := range s.all { // they are all too small
		if !t.held {
			s.drop(k, t)
		}
	}
	size := pageUp(max(1, n+n/8))
	if err := checkRoom(size); err != nil {
		return 0, nil, nil, errs.Wrap("serve.pipeline.run", "", err)
	}
	file, mem, err := sharedMemory("bivouac-slot", size)
	if err != nil {
		return 0, nil, nil, errs.Wrap("serve.pipeline.run", "", err)
	}
	if s.all == nil {
		s.all = map[int64]*slot{}
	}
	s.last++
	of = &slot{mem: mem}
	s.all[s.last] = of
	return s.last, of, file, nil
}

func (s *slots) drop(number int64, t *slot) {
	unmap(t.mem)
	delete(s.all, number)
	s.gone = append(s.gone, number)
}

// close gives all memory back. What the client has mapped stays readable.
func (s *slots) close() {
	for k, t := range s.all {
		s.drop(k, t)
	}
}

// slotBatch is a batch on its way to the client.
type slotBatch struct {
	flight
	Slot     int64        `json:"slot"`
	Bytes    int          `json:"bytes"` // of the whole slot
	New      bool         `json:"new,omitempty"`
	Gone     []int64      `json:"gone,omitempty"` // slots that the client may unmap
	Epoch    int64        `json:"epoch"`
	Index    int64        `json:"index"`
	Position int64        `json:"position"`
	Outputs  []slotOutput `json:"outputs"`

	data [][]byte // of the outputs
}

// slotOutput is one output of a batch. If all samples have one shape and lie back to back from
// Offset on, it has Shape. Else it has Offsets and Shapes.
type slotOutput struct {
	Name    string  `json:"name,omitempty"` // of a field of a data set
	DType   string  `json:"dtype"`
	Layout  string  `json:"layout,omitempty"`
	Samples int     `json:"samples"`
	NDim    int     `json:"ndim"`
	Offset  int64   `json:"offset"`
	Shape   []int   `json:"shape,omitempty"`
	Offsets []int64 `json:"offsets,omitempty"` // of each sample, from the beginning of the slot
	Dims    []int   `json:"dims,omitempty"`    // of all samples
}

// describe describes a batch. The offsets begin at each output.
func describe(b *pipeline.Batch) *slotBatch {
	h := &slotBatch{Epoch: b.Epoch, Index: b.Index, Position: b.Position}
	for _, o := range b.Outputs {
		out := slotOutput{DType: o.DType.String(), Layout: o.Layout, Samples: o.NumSamples(), NDim: o.NDim}
		from, to := extent(o)
		if o.Uniform() {
			out.Shape = append([]int{}, o.Shape(0)...)
		} else {
			for i := range out.Samples {
				out.Offsets = append(out.Offsets, int64(o.Offsets[i]-from))
			}
			out.Dims = o.Dims
		}
		h.Outputs, h.data = append(h.Outputs, out), append(h.data, o.Data[from:to])
	}
	return h
}

// hand copies a batch into a slot, which the client holds from now on.
func (p *piped) hand(h *slotBatch) (reply, error) {
	s := &p.slots
	at := int64(0)
	for i := range h.Outputs {
		out := &h.Outputs[i]
		out.Offset = at
		for k := range out.Offsets {
			out.Offsets[k] += at
		}
		at = (at + int64(len(h.data[i])) + alignment - 1) &^ (alignment - 1)
	}
	number, to, file, err := s.take(at)
	if err != nil {
		return reply{}, err
	}
	var pieces []copying
	for i, from := range h.data {
		pieces = cutCopy(pieces, to.mem[h.Outputs[i].Offset:][:len(from)], from)
	}
	copyAll(pieces)
	to.held, h.flight = true, p.flight()
	h.Slot, h.Bytes, h.New = number, len(to.mem), file != nil
	h.Gone, s.gone = s.gone, nil
	r, err := answer(h)
	r.file = file
	return r, err
}

// extent returns where the samples of a batch lie in its data.
func extent(b *tensor.Batch) (from, to int) {
	if len(b.Offsets) == 0 {
		return 0, 0
	}
	return b.Offsets[0], b.Offsets[len(b.Offsets)-1]
}

// copying is one copy of memory.
type copying struct{ to, from []byte }

// copyPiece is what one goroutine copies at a time.
const copyPiece = 4 << 20

func cutCopy(pieces []copying, to, from []byte) []copying {
	for len(from) > copyPiece {
		pieces = append(pieces, copying{to[:copyPiece], from[:copyPiece]})
		to, from = to[copyPiece:], from[copyPiece:]
	}
	return append(pieces, copying{to, from})
}

// copyAll makes copies, with several goroutines if they are large.
func copyAll(pieces []copying) {
	n := min(runtime.GOMAXPROCS(0), len(pieces))
	left := make(chan copying, len(pieces))
	size := 0
	for _, p := range pieces {
		left <- p
		size += len(p.from)
	}
	close(left)
	work := func() {
		for p := range left {
			copy(p.to, p.from)
		}
	}
	if n < 2 || size <= copyPiece {
		work()
		return
	}
	var wg sync.WaitGroup
	for range n - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
}

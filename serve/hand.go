package serve

import (
	"runtime"
	"slices"
	"sync"

	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/tensor"
)

// slotBatch is a batch on its way to the client.
type slotBatch struct {
	flight
	Slots    []slotUse    `json:"slots"`
	Gone     []int64      `json:"gone,omitempty"` // slots that the client may unmap
	Epoch    int64        `json:"epoch"`
	Index    int64        `json:"index"`
	Position int64        `json:"position"`
	Outputs  []slotOutput `json:"outputs"`
}

// slotUse is a slot that a batch lies in.
type slotUse struct {
	Slot  int64 `json:"slot"`
	Bytes int   `json:"bytes"` // of the whole slot
	New   bool  `json:"new,omitempty"`
}

// slotOutput is one output of a batch. If all samples have one shape and lie back to back from
// Offset on, it has Shape. Else it has Offsets and Shapes.
type slotOutput struct {
	DType   string  `json:"dtype"`
	Layout  string  `json:"layout,omitempty"`
	Samples int     `json:"samples"`
	NDim    int     `json:"ndim"`
	Slot    int64   `json:"slot"`
	Offset  int64   `json:"offset"`
	Shape   []int   `json:"shape,omitempty"`
	Offsets []int64 `json:"offsets,omitempty"` // of each sample, from the beginning of the slot
	Dims    []int   `json:"dims,omitempty"`    // of all samples
}

// mostFiles is how many descriptors travel with a batch at most.
const mostFiles = 64

// hand gives a batch to the client, which holds it from now on. Outputs that were made in slots go
// as they are. The others are copied into one slot.
func (p *piped) hand(b *pipeline.Batch) (reply, error) {
	s := &p.slots
	s.mu.Lock()
	defer s.mu.Unlock()
	own := make([]*slot, len(b.Outputs)) // the slot that the output lies in
	places := make([]int64, len(b.Outputs))
	files, size, copied := 1, int64(0), false
	for i, o := range b.Outputs {
		from, to := extent(o)
		if t, at := s.find(o.Data); t != nil && to > from && (t.file == nil || files < mostFiles) {
			own[i], places[i] = t, at+int64(from)
			if t.file != nil {
				files++
			}
			continue
		}
		copied, places[i] = true, size
		size = (size + int64(to-from) + alignment - 1) &^ (alignment - 1)
	}
	var common *slot
	if copied || len(b.Outputs) == 0 {
		var err error
		if common, err = s.take(size + size/8); err != nil {
			return reply{}, err
		}
	}
	h := slotBatch{flight: p.flight(), Epoch: b.Epoch, Index: b.Index, Position: b.Position}
	var pieces []copying
	for i, o := range b.Outputs {
		from, to := extent(o)
		in := own[i]
		if in == nil {
			in = common
			pieces = cutCopy(pieces, in.mem[places[i]:][:to-from], o.Data[from:to])
		}
		h.Outputs = append(h.Outputs, describe(o, in.number, places[i]))
	}
	copyAll(pieces)
	for i, in := range own {
		if in != nil {
			b.Detach(i)
		}
	}
	uses, sent := s.lend(append(own, common))
	h.Slots, h.Gone, s.gone = uses, s.gone, nil
	r, err := answer(&h)
	r.files = sent
	return r, err
}

// describe returns what the client is told of an output whose samples begin at a place of a slot.
func describe(o *tensor.Batch, in, place int64) slotOutput {
	n := o.NumSamples()
	out := slotOutput{DType: o.DType.String(), Layout: o.Layout, Samples: n, NDim: o.NDim, Slot: in, Offset: place}
	if o.Uniform() {
		out.Shape = append([]int{}, o.Shape(0)...)
		return out
	}
	from, _ := extent(o)
	for _, at := range o.Offsets[:n] {
		out.Offsets = append(out.Offsets, place+int64(at-from))
	}
	out.Dims = slices.Clone(o.Dims)
	return out
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

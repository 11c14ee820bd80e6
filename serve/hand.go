package serve

import (
	"os"
	"runtime"
	"slices"
	"sync"

	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/tensor"
)

// delivery is what the client is told of batches that it gets.
type delivery struct {
	flight
	Number int64     `json:"number"` // of the first batch, in the order in which the client gets them
	Slots  []slotUse `json:"slots"`
	Gone   []int64   `json:"gone,omitempty"` // slots that the client may unmap
	// Warnings are what was said since the last answer.
	Warnings []string `json:"warnings,omitempty"`
	slotBatch
	Together int          `json:"together"`       // how many batches of this size may come at a time
	More     []*slotBatch `json:"more,omitempty"` // the other batches
}

// slotBatch is a batch on its way to the client.
type slotBatch struct {
	Epoch    int64        `json:"epoch"`
	Index    int64        `json:"index"`
	Position int64        `json:"position"`
	Outputs  []slotOutput `json:"outputs"`

	data   [][]byte    // of the outputs
	detach func(i int) // makes the memory of an output the caller's; nil: the memory stays the engine's
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
	Name    string  `json:"name,omitempty"` // of a field of a data set
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

// outgoing describes a batch.
func outgoing(b *pipeline.Batch) *slotBatch {
	h := &slotBatch{Epoch: b.Epoch, Index: b.Index, Position: b.Position, detach: func(i int) { b.Detach(i) }}
	for _, o := range b.Outputs {
		from, to := extent(o)
		h.Outputs, h.data = append(h.Outputs, describe(o)), append(h.data, o.Data[from:to])
	}
	return h
}

// describe describes an output. Its offsets begin at the first sample.
func describe(o *tensor.Batch) slotOutput {
	n := o.NumSamples()
	out := slotOutput{DType: o.DType.String(), Layout: o.Layout, Samples: n, NDim: o.NDim}
	if o.Uniform() {
		out.Shape = append([]int{}, o.Shape(0)...)
		return out
	}
	from, _ := extent(o)
	for _, at := range o.Offsets[:n] {
		out.Offsets = append(out.Offsets, int64(at-from))
	}
	out.Dims = slices.Clone(o.Dims)
	return out
}

// put notes where the output lies.
func (out *slotOutput) put(in, place int64) {
	out.Slot, out.Offset = in, place
	for k := range out.Offsets {
		out.Offsets[k] += place
	}
}

// size returns the bytes of all outputs.
func (h *slotBatch) size() (n int) {
	for _, data := range h.data {
		n += len(data)
	}
	return n
}

// hand gives batches to the client, which holds them as one from now on. Large outputs that lie in
// slots go as they are. The others are copied into one slot. together is how many of them may come
// at a time.
func (p *piped) hand(all []*slotBatch, together int) (reply, error) {
	s := &p.slots
	s.mu.Lock()
	defer s.mu.Unlock()
	type copied struct {
		out  *slotOutput
		data []byte
	}
	var slots []*slot
	var detach []func()
	var rest []copied // that goes into the common slot
	files, size, outputs := 1, int64(0), 0
	for _, h := range all {
		for i, data := range h.data {
			out := &h.Outputs[i]
			outputs++
			t, at := s.find(data)
			if h.detach != nil && t != nil && len(data) >= ownSlot && (t.file == nil || files < mostFiles) {
				slots, detach = append(slots, t), append(detach, func() { h.detach(i) })
				out.put(t.number, at)
				if t.file != nil {
					files++
				}
				continue
			}
			out.put(0, size)
			rest = append(rest, copied{out, data})
			size = (size + int64(len(data)) + alignment - 1) &^ (alignment - 1)
		}
	}
	if len(rest) > 0 || outputs == 0 {
		common, err := s.take(size + size/8)
		if err != nil {
			return reply{}, err
		}
		var pieces []copying
		for _, c := range rest {
			c.out.Slot = common.number
			pieces = cutCopy(pieces, common.mem[c.out.Offset:][:len(c.data)], c.data)
		}
		copyAll(pieces)
		slots = append(slots, common)
	}
	for _, d := range detach {
		d()
	}
	h := delivery{Number: p.last + 1, slotBatch: *all[0], Together: together, More: all[1:]}
	p.last, p.unsure = p.last+int64(len(all)), p.unsure+len(all)
	h.flight, h.Warnings = p.flight(), p.warnings()
	var sent []*os.File
	h.Slots, sent = s.lend(slots)
	h.Gone, s.gone = s.gone, nil
	r, err := answer(h)
	r.files = sent
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

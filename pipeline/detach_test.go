package pipeline_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"testing"
	"unsafe"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/loan"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/tensor"
)

// shelf is a pipeline.Memory that notices memory that is freed twice or is not its own.
type shelf struct {
	t  testing.TB
	mu sync.Mutex

	used map[*byte]int // bytes of each
	free [][]byte
}

func (s *shelf) Allocate(n int) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, b := range s.free {
		if len(b) >= n {
			s.free = append(s.free[:i], s.free[i+1:]...)
			s.used[unsafe.SliceData(b)] = len(b)
			return b[:n]
		}
	}
	words := make([]uint64, n/8+1)
	b := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), 8*len(words))
	for i := range b {
		b[i] = 0xA5 // a caller that relies on zeros is found
	}
	s.used[unsafe.SliceData(b)] = len(b)
	return b[:n]
}

func (s *shelf) Free(b []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := unsafe.SliceData(b)
	n, ok := s.used[p]
	if !ok {
		s.t.Error("memory was freed that nobody uses")
		return
	}
	delete(s.used, p)
	whole := unsafe.Slice(p, n)
	for i := range whole {
		whole[i] = 0xDB
	}
	s.free = append(s.free, whole)
}

// contents returns the elements of all outputs, which may have been detached.
func contents(b *pipeline.Batch, data [][]byte) (out []string) {
	for i, o := range b.Outputs {
		for s := range o.NumSamples() {
			out = append(out, fmt.Sprint(o.DType, o.Shape(s), o.Layout, data[i][o.Offsets[s]:o.Offsets[s+1]]))
		}
	}
	return out
}

// TestDetach: a pipeline whose outputs are detached gives the same batches, and what was detached
// never changes, whatever else is in the making.
func TestDetach(t *testing.T) {
	dir := dataset(t, 23)
	for _, prefetch := range []int{pipeline.NoPrefetch, 1, 3} {
		o := pipeline.Options{BatchSize: 5, Seed: 3, Workers: 2, Prefetch: prefetch}
		plain := start(t, o, training(dir))
		memory := &shelf{t: t, used: map[*byte]int{}}
		o.Memory = memory
		p := start(t, o, training(dir))
		random := rand.New(rand.NewPCG(7, uint64(prefetch)))
		type piece struct{ data, copy []byte }
		var held []piece
		for k := range 40 {
			want, b := next(t, plain), next(t, p)
			data := make([][]byte, len(b.Outputs))
			for i, out := range b.Outputs {
				data[i] = out.Data
				if random.IntN(3) > 0 {
					data[i] = b.Detach(i)
					held = append(held, piece{data[i], bytes.Clone(data[i])})
					if out.Data != nil {
						t.Fatal("a detached output still has data")
					}
				}
			}
			theirs := make([][]byte, len(want.Outputs))
			for i, out := range want.Outputs {
				theirs[i] = out.Data
			}
			if got, want := contents(b, data), contents(want, theirs); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("prefetch %d, batch %d: got %v, want %v", prefetch, k, got, want)
			}
			for len(held) > 12 || len(held) > 0 && random.IntN(6) == 0 {
				i := random.IntN(len(held))
				if h := held[i]; !bytes.Equal(h.data, h.copy) {
					t.Fatal("detached memory has changed")
				} else if cap(h.data) > 0 {
					memory.Free(h.data)
				}
				held = append(held[:i], held[i+1:]...)
			}
		}
		for _, h := range held {
			if !bytes.Equal(h.data, h.copy) {
				t.Fatal("detached memory has changed")
			}
		}
		memory.mu.Lock()
		n, most := len(memory.used), len(held)+5*(max(0, prefetch)+2)
		memory.mu.Unlock()
		if n > most && !loan.Debug { // with bivouac_debug nothing is used again
			t.Errorf("%d pieces of memory are used, want at most %d", n, most)
		}
	}
}

// TestFilled: samples that are written into the memory of the pipeline are the batch.
func TestFilled(t *testing.T) {
	p := start(t, pipeline.Options{BatchSize: 4, Prefetch: 1}, func(b *pipeline.Builder) []pipeline.Node {
		return pipeline.ExternalSource(b, pipeline.Source{}, pipeline.SourceOptions{Name: "in"})
	})
	random := rand.New(rand.NewPCG(1, 1))
	feed := func(d *pipeline.Filled) error { return p.Feed("in", []pipeline.Data{d}, nil) }
	for k := range 50 {
		d := &pipeline.Filled{DType: tensor.Uint16, Layout: "W"}
		var want [][]byte
		for range 1 + random.IntN(4) {
			n := random.IntN(40)
			d.Bytes += 2 * random.IntN(9)
			d.At, d.Shapes = append(d.At, d.Bytes), append(d.Shapes, tensor.Shape{n})
			sample := make([]byte, 2*n)
			for i := range sample {
				sample[i] = byte(random.Uint32())
			}
			want = append(want, sample)
			d.Bytes += 2 * n
		}
		d.Fill = func(memory []byte) error {
			if len(memory) != d.Bytes {
				t.Errorf("%d bytes of memory, want %d", len(memory), d.Bytes)
			}
			for i, at := range d.At {
				copy(memory[at:], want[i])
			}
			return nil
		}
		if err := feed(d); err != nil {
			t.Fatal(err)
		}
		b := next(t, p).Outputs[0]
		if b.NumSamples() != len(want) || b.Layout != "W" || b.DType != tensor.Uint16 {
			t.Fatalf("batch %d: %d samples of %v, layout %q", k, b.NumSamples(), b.DType, b.Layout)
		}
		for i := range want {
			if got := b.Sample(i).Data; !bytes.Equal(got, want[i]) {
				t.Fatalf("batch %d, sample %d: got %v, want %v", k, i, got, want[i])
			}
		}
	}
	one, fill := []tensor.Shape{{1}}, func([]byte) error { return nil }
	for name, d := range map[string]*pipeline.Filled{
		"nothing":          nil,
		"no samples":       {DType: tensor.Uint16, Bytes: 2, Fill: fill},
		"no function":      {DType: tensor.Uint16, Bytes: 2, Shapes: one, At: []int{0}},
		"no place":         {DType: tensor.Uint16, Bytes: 2, Shapes: one, Fill: fill},
		"too many places":  {DType: tensor.Uint16, Bytes: 2, Shapes: one, At: []int{0, 0}, Fill: fill},
		"too few bytes":    {DType: tensor.Uint16, Bytes: 1, Shapes: one, At: []int{0}, Fill: fill},
		"behind the end":   {DType: tensor.Uint16, Bytes: 4, Shapes: one, At: []int{4}, Fill: fill},
		"before the start": {DType: tensor.Uint16, Bytes: 4, Shapes: one, At: []int{-2}, Fill: fill},
		"between elements": {DType: tensor.Uint16, Bytes: 4, Shapes: one, At: []int{1}, Fill: fill},
		"a negative size":  {DType: tensor.Uint16, Bytes: -1, Shapes: one, At: []int{0}, Fill: fill},
		"another dtype":    {DType: tensor.Int8, Bytes: 1, Shapes: one, At: []int{0}, Fill: fill},
		"a negative shape": {DType: tensor.Uint16, Bytes: 2, Shapes: []tensor.Shape{{-1}}, At: []int{0}, Fill: fill},
	} {
		if err := feed(d); !errors.Is(err, errs.Invalid) && !errors.Is(err, errs.Mismatch) {
			t.Errorf("%s: got %v, want an error of kind invalid or mismatch", name, err)
		}
	}
	broken := &pipeline.Filled{DType: tensor.Uint16, Bytes: 2, Shapes: one, At: []int{0}, Layout: "W",
		Fill: func([]byte) error { return io.ErrUnexpectedEOF }}
	if err := feed(broken); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v, want the error of Fill", err)
	}
	if _, err := p.Next(context.Background()); !errors.Is(err, errs.Invalid) {
		t.Errorf("got %v, want an error: nothing was fed", err)
	}
}

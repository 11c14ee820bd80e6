package pipeline_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
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

// TestLentFeed: memory that is lent with a batch comes back once, with the bytes it had. It does
// not if it was given away with an output. Other outputs and batches do not share it.
func TestLentFeed(t *testing.T) {
	for _, c := range []struct {
		name     string
		repeat   bool
		prefetch int
		outputs  func(p *pipeline.Builder, x pipeline.Node) []pipeline.Node
		passes   []bool // of each output: it lies in the memory that was lent
	}{
		{"one output", false, 1, func(p *pipeline.Builder, x pipeline.Node) []pipeline.Node { return []pipeline.Node{x} }, []bool{true}},
		{"no prefetch", false, pipeline.NoPrefetch, func(p *pipeline.Builder, x pipeline.Node) []pipeline.Node { return []pipeline.Node{x} }, []bool{true}},
		{"twice", false, 3, func(p *pipeline.Builder, x pipeline.Node) []pipeline.Node { return []pipeline.Node{x, x} }, []bool{true, false}},
		{"repeats", true, 2, func(p *pipeline.Builder, x pipeline.Node) []pipeline.Node { return []pipeline.Node{x} }, []bool{false}},
		{"used", false, 1, func(p *pipeline.Builder, x pipeline.Node) []pipeline.Node {
			return []pipeline.Node{x.Sub(255)}
		}, []bool{false}},
	} {
		t.Run(c.name, func(t *testing.T) {
			memory := &shelf{t: t, used: map[*byte]int{}}
			o := pipeline.Options{BatchSize: 4, Prefetch: c.prefetch, Workers: 2, Memory: memory}
			p := start(t, o, func(b *pipeline.Builder) []pipeline.Node {
				return c.outputs(b, pipeline.ExternalSource(b, pipeline.Source{},
					pipeline.SourceOptions{Name: "in", RepeatLast: c.repeat})[0])
			})
			random := rand.New(rand.NewPCG(1, 1))
			back := map[*byte]int{} // how often each memory came back
			var given [][]byte
			feed := func() {
				d := &tensor.Batch{DType: tensor.Uint8, NDim: 1, Layout: "W", Offsets: []int{random.IntN(3)}}
				for range 1 + random.IntN(4) {
					n := random.IntN(40)
					d.Dims, d.Offsets = append(d.Dims, n), append(d.Offsets, d.Offsets[len(d.Offsets)-1]+n)
				}
				d.Data = make([]byte, d.Offsets[len(d.Offsets)-1]+1)
				for i := range d.Data {
					d.Data[i] = byte(random.Uint32())
				}
				at, copied := unsafe.SliceData(d.Data), bytes.Clone(d.Data)
				release := func() {
					if back[at]++; !bytes.Equal(d.Data, copied) {
						t.Error("memory came back with other bytes")
					}
					clear(d.Data)
				}
				given = append(given, d.Data)
				if err := p.Feed("in", []pipeline.Data{d}, &pipeline.FeedOptions{Release: release}); err != nil {
					t.Fatal(err)
				}
			}
			for range max(0, c.prefetch) {
				feed()
			}
			detached := map[*byte]bool{}
			for k := range 50 {
				if !c.repeat || k%3 == 0 {
					feed()
				}
				b := next(t, p)
				for i, out := range b.Outputs {
					in := slices.IndexFunc(given, func(g []byte) bool { return inside(out.Data, g) })
					if out.Offsets[len(out.Offsets)-1] == 0 {
						continue
					}
					if in >= 0 != c.passes[i] {
						t.Errorf("batch %d, output %d lies in the memory that was fed: %v, want %v", k, i, in >= 0, c.passes[i])
					}
					if random.IntN(2) == 0 {
						data := b.Detach(i)
						if in >= 0 {
							detached[unsafe.SliceData(given[in])] = true
							clear(data) // it is the caller's
						} else {
							memory.Free(data)
						}
					}
				}
			}
			under := max(0, c.prefetch) + 2 // may be in use yet
			for i, g := range given[:len(given)-under] {
				at := unsafe.SliceData(g)
				if want := map[bool]int{true: 0, false: 1}[detached[at]]; back[at] != want {
					t.Errorf("memory %d came back %d times, want %d", i, back[at], want)
				}
			}
			lent := tensor.Batch{DType: tensor.Int8, NDim: 1, Layout: "W", Offsets: []int{0, 1}, Dims: []int{1}, Data: []byte{1}}
			options := &pipeline.FeedOptions{Release: func() { t.Error("released after an error") }}
			err := p.Feed("in", []pipeline.Data{&lent}, options)
			if !errors.Is(err, errs.Mismatch) {
				t.Errorf("got %v, want an error: the dtype differs", err)
			}
		})
	}
}

// inside reports whether b lies in memory.
func inside(b, memory []byte) bool {
	at, from := uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(unsafe.Pointer(unsafe.SliceData(memory)))
	return at >= from && at < from+uintptr(len(memory))
}

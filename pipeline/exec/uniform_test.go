package exec_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline/exec"
	"github.com/bivouac-ml/bivouac/tensor"
)

// firstPlace is where "test.doubled" wrote sample 0 last, which output 3 delivers.
var firstPlace atomic.Pointer[byte]

// "test.doubled" doubles numbers. Nothing tells how many there are.
func init() {
	op.Register(op.Schema{Name: "doubled", Module: []string{"test"}, Inputs: []op.Port{{Name: "in"}},
		Outputs: []op.Port{{Name: "out"}},
		New: func(c *op.Config) (op.Kernel, error) {
			return &kernel{c, []tensor.Spec{{DType: tensor.Int64, Shape: tensor.Shape{-1}}}, false,
				func(_ *op.Config, b *op.Block) error {
					return b.Each(func(s int) error {
						v := list(b.In(0, s))
						out := b.Out(0, s, len(v)).Data
						if b.Binding().Slots[s] == 0 {
							firstPlace.Store(unsafe.SliceData(out))
						}
						for i, x := range v {
							binary.LittleEndian.PutUint64(out[8*i:], uint64(2*x))
						}
						return nil
					})
				}}, nil
		}})
}

// ledger gives memory, and checks what comes back.
type ledger struct {
	mu    sync.Mutex
	lives map[*byte]int
	t     *testing.T
}

func (l *ledger) allocate(n int) []byte {
	b := make([]byte, n+8)[:n]
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lives[unsafe.SliceData(b)] = cap(b)
	return b
}

func (l *ledger) free(b []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := unsafe.SliceData(b)
	if l.lives[p] != cap(b) {
		l.t.Errorf("%d bytes come back, %d were given there", cap(b), l.lives[p])
	}
	delete(l.lives, p)
	for i := range b[:cap(b)] {
		b[:cap(b)][i] = 0xdb // a batch that still lies there shows it
	}
}

// Outputs are the same whether the sizes of their samples were foretold or not: with samples of one
// size, of another one, of several, in frames that follow each other, and after memory was given
// away.
func TestUniformPlaces(t *testing.T) {
	g := fed(t, ints, func(add func(string, ...node) node, in node) []node {
		d := add("doubled", in)
		return []node{d, add("pass", in), add("total", d), add("doubled", d)}
	})
	const direct = 2 // the first batches tell
	for threads := 1; threads <= 3; threads++ {
		l := &ledger{lives: map[*byte]int{}, t: t}
		c := config(threads)
		c.Allocate, c.Free = l.allocate, l.free
		e := exec.New(g, nil, c)
		frames := []*exec.Frame{e.NewFrame(), e.NewFrame(), e.NewFrame()}
		r := rand.New(rand.NewPCG(uint64(threads), 1))
		var kept [][]byte // that were detached, and what they held
		last, times, inPlace := -1, 0, 0
		for round := range 400 {
			size, ragged := 1+round/7%4, round%11 == 10
			samples := make([][]int64, 1+r.IntN(6))
			for s := range samples {
				n := size
				if ragged {
					n = r.IntN(5)
				}
				for range n {
					samples[s] = append(samples[s], r.Int64N(1000))
				}
			}
			f := frames[round%3]
			if err := through(e, f, samples...); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(doubledOf(samples), outputsOf(f)); d != "" {
				t.Fatalf("%d threads, round %d (-want +got):\n%s", threads, round, d)
			}
			same := !slices.ContainsFunc(samples, func(s []int64) bool { return len(s) != len(samples[0]) })
			if at := f.Outputs[3].Data; times >= direct && same && last == len(samples[0]) && last > 0 {
				inPlace++
				if firstPlace.Load() != unsafe.SliceData(at) {
					t.Errorf("round %d: the first sample was made elsewhere", round)
				}
			}
			switch {
			case !same:
				times = 0
			case last == len(samples[0]) && times > 0:
				times++
			default:
				last, times = len(samples[0]), 1
			}
			if r.IntN(3) == 0 {
				data := f.Detach(3)
				kept = append(kept, data, slices.Clone(data))
			}
			e.Abandon(f)
		}
		for i := 0; i < len(kept); i += 2 {
			if !slices.Equal(kept[i], kept[i+1]) {
				t.Fatal("memory that was given away has changed")
			}
		}
		if inPlace < 50 {
			t.Errorf("%d batches were laid out before", inPlace)
		}
		for _, f := range frames {
			f.Drop()
		}
		e.Close()
		for _, data := range kept {
			delete(l.lives, unsafe.SliceData(data))
		}
		if len(l.lives) > 0 {
			t.Errorf("%d pieces of memory did not come back", len(l.lives))
		}
	}
}

// doubledOf returns what the outputs of the graph are.
func doubledOf(samples [][]int64) (out []string) {
	var doubled, fourfold [][]int64
	sum := int64(0)
	for _, v := range samples {
		two, four := []int64{}, []int64{}
		for _, x := range v {
			two, four, sum = append(two, 2*x), append(four, 4*x), sum+2*x
		}
		doubled, fourfold = append(doubled, two), append(fourfold, four)
	}
	out = append(out, fmt.Sprint(doubled), fmt.Sprint(samples))
	for s := range doubled {
		doubled[s] = append(slices.Clone(doubled[s]), sum)
	}
	return append(out, fmt.Sprint(doubled), fmt.Sprint(fourfold))
}

func outputsOf(f *exec.Frame) (out []string) {
	for _, o := range f.Outputs {
		var samples [][]int64
		for s := range o.NumSamples() {
			samples = append(samples, list(o.Sample(s)))
		}
		out = append(out, fmt.Sprint(samples))
	}
	return out
}

package exec_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"unsafe"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline/exec"
	"github.com/bivouac-ml/bivouac/pipeline/graph"
	"github.com/bivouac-ml/bivouac/tensor"
)

// "test.length" gives how many numbers a sample has: one number each, as is known before the data.
func init() {
	op.Register(op.Schema{Name: "length", Module: []string{"test"}, Inputs: []op.Port{{Name: "in"}},
		Outputs: []op.Port{{Name: "out"}},
		New: func(c *op.Config) (op.Kernel, error) {
			return &kernel{c, []tensor.Spec{{DType: tensor.Int64, Shape: tensor.Shape{1}}}, false,
				func(_ *op.Config, b *op.Block) error {
					for s := range b.Len() {
						put(b, s, []int64{int64(b.In(0, s).Len())})
					}
					return nil
				}}, nil
		}})
}

// fed makes a graph of an input and the nodes that define adds.
func fed(t *testing.T, spec tensor.Spec, define func(add func(name string, in ...node) node, in node) []node) *graph.Graph {
	t.Helper()
	var b graph.Builder
	in, err := b.Input("", 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	outputs := define(func(name string, in ...node) node {
		n, err := b.Add("test."+name, "", in, nil)
		if err != nil {
			t.Fatal(err)
		}
		return node{Node: n}
	}, node{Node: in})
	g, err := b.Graph(outputs)
	if err != nil {
		t.Fatal(err)
	}
	if g, err = g.Specialize([][]tensor.Spec{{spec}}, nil); err != nil {
		t.Fatal(err)
	}
	return g
}

var ints = tensor.Spec{DType: tensor.Int64, Shape: tensor.Shape{-1}}

// through runs a frame over samples and returns its error.
func through(e *exec.Executor, f *exec.Frame, samples ...[]int64) error {
	f.Begin(len(samples))
	list := make([]tensor.Tensor, len(samples))
	for i, s := range samples {
		f.Positions[i], f.Slots[i] = int64(i), int32(i)
		list[i] = tensor.FromSlice(s)
	}
	f.Feed(0, 0, list)
	return wait(e, f)
}

func wait(e *exec.Executor, f *exec.Frame) error {
	e.Start(f)
	if err := e.Wait(context.Background(), f); err != nil {
		return err
	}
	return e.Err(f)
}

// Taken outputs do not change when the frame is used again. Two executors share their threads.
func TestTake(t *testing.T) {
	g := fed(t, ints, func(add func(string, ...node) node, in node) []node {
		return []node{add("pass", in), add("total", add("scale", in)), add("length", in)}
	})
	for threads := 1; threads <= 3; threads++ {
		pool := exec.NewPool(threads)
		c := exec.Config{BatchSize: 4, Workers: threads, Keyers: keyers, Pool: pool, Take: true}
		one, two := exec.New(g, nil, c), exec.New(g, nil, c)
		frames := map[*exec.Executor]*exec.Frame{one: one.NewFrame(), two: two.NewFrame()}
		var taken [][]tensor.Tensor
		var want []string
		text := func(samples []tensor.Tensor) (s string) {
			for _, x := range samples {
				s += fmt.Sprint(list(x))
			}
			return s
		}
		for i := range int64(60) {
			e := []*exec.Executor{one, two}[i%2]
			f := frames[e]
			samples := [][]int64{{i}, {i, i}, {}, {7}}[:1+i%4]
			if err := through(e, f, samples...); err != nil {
				t.Fatal(err)
			}
			for o := range 3 {
				got, slab := f.Take(o)
				if len(got) != len(samples) || (slab != nil) != (o == 2) {
					t.Fatalf("output %d: %d samples of %d, %d bytes", o, len(got), len(samples), len(slab))
				}
				taken, want = append(taken, got), append(want, text(got))
			}
			e.Abandon(f)
		}
		for i, samples := range taken {
			if got := text(samples); got != want[i] {
				t.Errorf("%d threads, %d: %s, was %s", threads, i, got, want[i])
			}
		}
		if want[12*3] != "[12]" || want[12*3+1] != "[24 24]" || want[13*3+1] != "[26 78][26 26 78]" {
			t.Errorf("%q", want[36:42])
		}
		one.Close()
		two.Close()
		pool.Close()
	}
}

// Samples go where they are asked to, and memory comes from where it is asked from.
func TestGive(t *testing.T) {
	g := fed(t, ints, func(add func(string, ...node) node, in node) []node { return []node{add("scale", in)} })
	pool := exec.NewPool(1)
	defer pool.Close()
	var given []*byte
	e := exec.New(g, nil, exec.Config{BatchSize: 4, Workers: 1, Keyers: keyers, Pool: pool, Take: true,
		Allocate: func(n int) []byte {
			b := make([]byte, n)
			given = append(given, unsafe.SliceData(b))
			return b
		}})
	defer e.Close()
	f := e.NewFrame()
	mine := make([]tensor.Tensor, 1)
	f.Begin(1)
	f.Positions[0], f.Slots[0] = 0, 0
	f.Feed(0, 0, []tensor.Tensor{tensor.FromSlice([]int64{3, 4})})
	f.Give(0, mine)
	if err := wait(e, f); err != nil {
		t.Fatal(err)
	}
	got, _ := f.Take(0)
	e.Abandon(f)
	if &got[0] != &mine[0] || !slices.Equal(list(mine[0]), []int64{6, 8}) || len(given) != 1 ||
		unsafe.SliceData(mine[0].Data) != given[0] {
		t.Errorf("%v, memory asked for %d times", mine, len(given))
	}
}

// A frame that failed gives nothing, and the next one on it is right.
func TestTakeAfterFailure(t *testing.T) {
	g := build(t, func(add func(string, op.Args, ...node) node) []node {
		return []node{add("place", op.Args{"way": "fail"})}
	})
	pool := exec.NewPool(2)
	defer pool.Close()
	e := exec.New(g, nil, exec.Config{BatchSize: 8, Workers: 2, Keyers: keyers, Pool: pool, Take: true})
	defer e.Close()
	f := e.NewFrame()
	for round := range 20 {
		n := 1 + round%8
		f.Begin(n)
		for s := range n {
			f.Positions[s], f.Slots[s] = int64(100+s), int32(s)
		}
		err := wait(e, f)
		if fails := n > 5; (err != nil) != fails {
			t.Fatalf("%d samples: %v", n, err)
		}
		if err == nil {
			got, _ := f.Take(0)
			for s, x := range got {
				if v := list(x); v[0] != int64(100+s) {
					t.Fatalf("sample %d of %d: %v", s, n, v)
				}
			}
		}
		e.Abandon(f)
	}
}

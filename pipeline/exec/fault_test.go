package exec_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline/exec"
	"github.com/bivouac-ml/bivouac/reader"
	"github.com/bivouac-ml/bivouac/stream/faults"
	"github.com/bivouac-ml/bivouac/tensor"
)

// "test.place" gives the position of each sample; at 105 it does what its argument says.
func init() {
	op.Register(op.Schema{Name: "place", Module: []string{"test"}, Outputs: []op.Port{{Name: "out"}},
		Params: []op.Parameter{{Name: "way", Type: op.String, Default: ""}},
		New: func(c *op.Config) (op.Kernel, error) {
			way := op.Get[string](c, "way")
			return &kernel{c, []tensor.Spec{{DType: tensor.Int64, Shape: tensor.Shape{1}}}, false,
				func(_ *op.Config, b *op.Block) error {
					for s := range b.Len() {
						bad := b.Position(s) == 105
						switch {
						case bad && way == "fail":
							b.Fail(s, &errs.Error{Kind: errs.Corrupt, Got: "a bad place"})
						case bad && way == "error":
							return &errs.Error{Kind: errs.Corrupt, Got: "a bad place"}
						case bad && way == "panic":
							panic("a bad place")
						case bad && way == "shape":
							put(b, s, []int64{1, 2})
						default:
							put(b, s, []int64{b.Position(s)})
						}
					}
					return nil
				}}, nil
		}})
}

// TestBlocksFailAsSamples: where samples go through a node together, one of them fails as it does
// alone.
func TestBlocksFailAsSamples(t *testing.T) {
	for _, way := range []string{"", "fail", "error", "panic", "shape"} {
		for threads := 1; threads <= 3; threads++ {
			e := exec.New(build(t, func(add func(name string, args op.Args, in ...node) node) []node {
				return []node{add("place", op.Args{"way": way}), add("place", nil)}
			}), nil, config(threads))
			f := e.NewFrame()
			for range 3 {
				got, err := compute(e, f, make([]int64, 8)...)
				if way == "" {
					want := [][]int64{{100}, {101}, {102}, {103}, {104}, {105}, {106}, {107}}
					if d := cmp.Diff([][][]int64{want, want}, got); d != "" || err != nil {
						t.Errorf("%v (-want +got):\n%s", err, d)
					}
				} else if err == nil || !strings.Contains(err.Error(), "position 105") || strings.Contains(err.Error(), "place#2") {
					t.Errorf("%s, %d threads: got %v", way, threads, err)
				}
				e.Abandon(f)
			}
			e.Close()
		}
	}
}

func TestExcusedSamples(t *testing.T) {
	source := &numbers{broken: map[int64]bool{3: true, 4: true, 999: true}}
	graph := build(t, func(add func(name string, args op.Args, in ...node) node) []node {
		n := add("numbers", nil)
		id := node{Node: n.Node, Output: 1}
		return []node{n, id, add("total", nil, add("scale", nil, n))}
	})
	for action, want := range map[faults.Action][][][]int64{
		faults.Skip:    {{{1, 1}, {2, 2, 2}}, {{1}, {2}}, {{2, 2, 16}, {4, 4, 4, 16}}},
		faults.Replace: {{{1, 1}, {5, 5}, {2, 2, 2}, {0}}, {{1}, {5}, {2}, {0}}, {{2, 2, 36}, {10, 10, 36}, {4, 4, 4, 36}, {0, 36}}},
		faults.Zero:    {{{1, 1}, nil, {2, 2, 2}, nil}, {{1}, {0}, {2}, {0}}, {{2, 2, 16}, nil, {4, 4, 4, 16}, nil}},
	} {
		c := config(2)
		c.OnError = []faults.Action{action}
		e := exec.New(graph, []reader.Source{source}, c)
		f := e.NewFrame()
		for range 5 {
			got, err := compute(e, f, 1, 3, 2, 999)
			if d := cmp.Diff(want, got); d != "" || err != nil {
				t.Fatalf("action %d: %v (-want +got):\n%s", action, err, d)
			}
			var ids []int64
			for _, fault := range f.Faults() {
				ids = append(ids, fault.ID)
				if fault.Action != action ||
					errs.KindOf(fault.Err) != errs.IO && !strings.Contains(fault.Err.Error(), "bad sector") {
					t.Errorf("%+v", fault)
				}
			}
			wantIDs := []int64{3, 999}
			if action == faults.Replace {
				wantIDs = []int64{3, 4, 999}
			}
			if d := cmp.Diff(wantIDs, ids); d != "" {
				t.Errorf("action %d: faults (-want +got):\n%s", action, d)
			}
			e.Abandon(f)
			if got, err := compute(e, f, 6, 7); err != nil || len(got[0]) != 2 || f.Faults() != nil {
				t.Errorf("the frame after it: %v %v %v", got, err, f.Faults())
			}
			e.Abandon(f)
		}
		if now, _ := e.ReadAhead(); now != 0 {
			t.Errorf("%d bytes are still held", now)
		}
		e.Close()
	}
}

package exec_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline/exec"
	"github.com/bivouac-ml/bivouac/reader"
	"github.com/bivouac-ml/bivouac/stream/faults"
	"github.com/bivouac-ml/bivouac/tensor"
)

// "test.late" copies its input after a while.
func init() {
	op.Register(op.Schema{Name: "late", Module: []string{"test"}, Inputs: []op.Port{{Name: "in"}},
		Outputs: []op.Port{{Name: "out"}},
		New: func(c *op.Config) (op.Kernel, error) {
			return &kernel{c, []tensor.Spec{{DType: tensor.Int64, Shape: tensor.Shape{-1}}}, false,
				func(_ *op.Config, b *op.Block) error {
					for s := range b.Len() {
						time.Sleep(100 * time.Microsecond)
						put(b, s, list(b.In(0, s)))
					}
					return nil
				}}, nil
		}})
}

// framed is a source whose records have framing around their numbers. Sample id has id%5+1 numbers,
// all of them id.
type framed struct {
	framing func(id int64) int // numbers of framing, which Size counts
	whole   bool               // a record is read as a whole, and the output is a part of it
	broken  map[int64]bool
	mu      sync.Mutex
	ids     []int // how many ids each Fetch had
}

func (f *framed) Info() reader.Info        { return reader.Info{Samples: 1000} }
func (f *framed) Size(id int64) int64      { return 8 * (id%5 + 1 + int64(f.framing(id))) }
func (f *framed) Describe(id int64) string { return fmt.Sprintf("record %d", id) }
func (f *framed) Close() error             { return nil }

func (f *framed) Fetch(_ context.Context, ids []int64, dst *op.Block) error {
	f.mu.Lock()
	f.ids = append(f.ids, len(ids))
	f.mu.Unlock()
	for s, id := range ids {
		if f.broken[id] {
			copy(dst.Out(0, s, 1).Data, "damaged!")
			dst.Fail(s, &errs.Error{Kind: errs.Corrupt, Got: "a bad record"})
			continue
		}
		n := int(id%5) + 1
		binary.LittleEndian.PutUint64(dst.Out(1, s).Data, uint64(id))
		if !f.whole {
			put(dst, s, slices.Repeat([]int64{id}, n))
			continue
		}
		record := dst.Out(0, s, int(f.Size(id)/8)).Data
		for i := range record {
			record[i] = 0xdb
		}
		value := record[len(record)-8*n:]
		for i := range n {
			binary.LittleEndian.PutUint64(value[8*i:], uint64(id))
		}
		dst.Alias(0, s, tensor.Tensor{DType: tensor.Int64, Shape: tensor.Shape{n}, Data: value})
	}
	return nil
}

// expect returns what the outputs of a graph of the reader alone are.
func expect(ids ...int64) [][][]int64 {
	out := make([][][]int64, 2)
	for _, id := range ids {
		out[0], out[1] = append(out[0], slices.Repeat([]int64{id}, int(id%5)+1)), append(out[1], []int64{id})
	}
	return out
}

// Samples that go straight into the frame are the same, whether their sizes were foretold or not,
// in frames that follow each other and for any number of fetchers.
func TestPlaces(t *testing.T) {
	g := build(t, func(add func(string, op.Args, ...node) node) []node {
		n := add("numbers", nil)
		return []node{n, {Node: n.Node, Output: 1}}
	})
	framings := map[string]func(id int64) int{
		"none":    func(int64) int { return 0 },
		"equal":   func(int64) int { return 3 },
		"changes": func(id int64) int { return map[bool]int{true: 2, false: 4}[id < 500] },
		"differs": func(id int64) int { return int(id % 7) },
		"wild":    func(id int64) int { return map[bool]int{true: 1 << 27, false: 1}[id%50 == 49] },
	}
	for name, framing := range framings {
		for _, whole := range []bool{false, true} {
			if whole && name == "wild" {
				continue // which would take gigabytes
			}
			for fetchers := 1; fetchers <= 3; fetchers++ {
				c := config(2)
				c.Fetchers, c.ReadAhead = fetchers, 1<<20
				e := exec.New(g, []reader.Source{&framed{framing: framing, whole: whole}}, c)
				frames := []*exec.Frame{e.NewFrame(), e.NewFrame()}
				for round := range int64(60) {
					first := round * 17
					if round%20 == 11 {
						first = 499 // the others have another framing
					}
					ids := []int64{first, first + 1, first + 7, first + 3, first + 2, first, first + 9}[:round%7+1]
					f := frames[round%2]
					got, err := compute(e, f, ids...)
					if d := cmp.Diff(expect(ids...), got); d != "" || err != nil {
						t.Fatalf("framing %s, whole %v, %d fetchers, round %d: %v (-want +got):\n%s", name, whole, fetchers,
							round, err, d)
					}
					if n := cap(f.Outputs[0].Data); n > 4<<20 {
						t.Fatalf("framing %s: a batch takes %d bytes", name, n)
					}
					e.Abandon(f)
				}
				if now, _ := e.ReadAhead(); now != 0 {
					t.Errorf("%d bytes are still held", now)
				}
				e.Close()
			}
		}
	}
}

// Small samples are fetched together, and each fetcher gets its part. Where each sample has a limit
// of its own, they come alone.
func TestSmallSamplesAreFetchedTogether(t *testing.T) {
	g := build(t, func(add func(string, op.Args, ...node) node) []node { return []node{add("numbers", nil)} })
	for _, c := range []struct {
		fetchers int
		ahead    int64
		limits   op.Limits
		most     int // ids of a Fetch
	}{
		{1, 1 << 20, op.Limits{}, 8},
		{2, 1 << 20, op.Limits{}, 4},
		{16, 1 << 20, op.Limits{}, 1},
		{1, 8 * 5, op.Limits{}, 2},
		{1, 1 << 20, op.Limits{MaxTime: 1 << 50}, 1},
		{1, 1 << 20, op.Limits{MaxTotalBytes: 1 << 20}, 1},
	} {
		source := &framed{framing: func(int64) int { return 0 }}
		x := config(1)
		x.Fetchers, x.ReadAhead, x.Limits = c.fetchers, c.ahead, c.limits
		e := exec.New(g, []reader.Source{source}, x)
		f := e.NewFrame()
		got, err := compute(e, f, 0, 1, 2, 3, 4, 5, 6, 7)
		if err != nil || len(got[0]) != 8 || slices.Max(source.ids) != c.most {
			t.Errorf("%+v: fetches of %v samples, %v", c, source.ids, err)
		}
		e.Abandon(f)
		e.Close()
	}
}

// Samples that were fetched together lie in memory of their own until their operator is done.
func TestSamplesThatAreFetchedTogetherAreApart(t *testing.T) {
	g := build(t, func(add func(string, op.Args, ...node) node) []node {
		return []node{add("late", nil, add("numbers", nil))}
	})
	for _, whole := range []bool{false, true} {
		c := config(2)
		c.Fetchers, c.ReadAhead = 1, 1<<20
		e := exec.New(g, []reader.Source{&framed{framing: func(int64) int { return 1 }, whole: whole}}, c)
		frames := []*exec.Frame{e.NewFrame(), e.NewFrame(), e.NewFrame()}
		for k := range int64(40) {
			f := frames[k%3]
			if k >= 3 {
				if err := errors.Join(e.Wait(context.Background(), f), e.Err(f)); err != nil {
					t.Fatal(err)
				}
				for s := range 8 {
					id := 10*(k-3) + int64(s)
					got, want := list(f.Outputs[0].Sample(s)), slices.Repeat([]int64{id}, int(id%5)+1)
					if !slices.Equal(got, want) {
						t.Fatalf("sample %d: want %v, got %v", id, want, got)
					}
				}
				e.Abandon(f)
				time.Sleep(250 * time.Microsecond) // the next frame is half done when this one is fetched
			}
			f.Begin(8)
			for s := range f.Positions {
				f.IDs[0][s] = 10*k + int64(s)
			}
			e.Start(f)
		}
		for _, f := range frames {
			e.Abandon(f)
		}
		e.Close()
	}
}

// A sample that fails among others fails alone, under every policy, before and after sizes were
// learned.
func TestPlacesOfFailedSamples(t *testing.T) {
	g := build(t, func(add func(string, op.Args, ...node) node) []node {
		n := add("numbers", nil)
		return []node{n, {Node: n.Node, Output: 1}}
	})
	zero := expect(1, 2, 4)
	zero[0], zero[1] = slices.Insert(zero[0], 1, nil), slices.Insert(zero[1], 1, []int64{0})
	for action, want := range map[faults.Action][][][]int64{
		faults.Skip: expect(1, 2, 4), faults.Replace: expect(1, 4, 2, 4), faults.Zero: zero,
	} {
		for _, whole := range []bool{false, true} {
			c := config(1)
			c.ReadAhead, c.OnError = 1<<20, []faults.Action{action}
			c.Fetchers = 1
			source := &framed{framing: func(int64) int { return 1 }, whole: whole, broken: map[int64]bool{3: true}}
			e := exec.New(g, []reader.Source{source}, c)
			f := e.NewFrame()
			for range 4 {
				for range 2 {
					if got, err := compute(e, f, 5, 6, 7); err != nil || cmp.Diff(expect(5, 6, 7), got) != "" {
						t.Fatalf("%v, %v", got, err)
					}
					e.Abandon(f)
				}
				got, err := compute(e, f, 1, 3, 2, 4)
				if d := cmp.Diff(want, got); d != "" || err != nil || len(f.Faults()) != 1 {
					t.Fatalf("action %d: %v (-want +got):\n%s", action, err, d)
				}
				e.Abandon(f)
			}
			e.Close()
		}
	}
}

// A sample beyond the limit of bytes fails alone, although others are fetched with it.
func TestLimitOfOneSampleAmongOthers(t *testing.T) {
	g := build(t, func(add func(string, op.Args, ...node) node) []node { return []node{add("numbers", nil)} })
	for _, limit := range []int64{8 * 4, 8*5 - 1} { // 4 is of 5 numbers
		c := config(1)
		c.ReadAhead, c.Limits, c.OnError = 1<<20, op.Limits{MaxBytes: limit}, []faults.Action{faults.Skip}
		e := exec.New(g, []reader.Source{&framed{framing: func(int64) int { return 0 }}}, c)
		f := e.NewFrame()
		for range 3 {
			got, err := compute(e, f, 1, 4, 2)
			if d := cmp.Diff(expect(1, 2)[:1], got); d != "" || err != nil || len(f.Faults()) != 1 ||
				errs.KindOf(f.Faults()[0].Err) != errs.Exhausted || !strings.Contains(f.Faults()[0].Reason, "record 4") {
				t.Fatalf("%v, faults %+v (-want +got):\n%s", err, f.Faults(), d)
			}
			e.Abandon(f)
		}
		e.Close()
	}
}

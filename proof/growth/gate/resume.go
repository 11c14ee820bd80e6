package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/bivouac-ml/bivouac"
	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/integrity"
	"github.com/bivouac-ml/bivouac/checkpoint/surgery"
	"github.com/bivouac-ml/bivouac/compat/grain"
	"github.com/bivouac-ml/bivouac/compat/streaming"
	"github.com/bivouac-ml/bivouac/compat/torchdata"
	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/proof/growth"
	"github.com/bivouac-ml/bivouac/tree"
)

// resumeOps adopt and transform checkpoints, open runs, and go on from states that grow.
func resumeOps() []growth.Op {
	var ops []growth.Op
	for _, k := range kinds() {
		if k.name == "safetensors" { // which cannot be adopted
			continue
		}
		ops = append(ops, growth.Op{Name: "checkpoint: adopt: " + k.name, N: k.n,
			Prepare: func(tb growth.TB, n int) func() error {
				path := foreign(tb, k, n)
				return func() error {
					if err := os.RemoveAll(filepath.Join(path, "bivouac.manifest")); err != nil {
						return err
					}
					_, err := integrity.Adopt(tb.Context(), path, nil)
					return err
				}
			}})
	}
	for _, k := range kinds() {
		ops = append(ops, growth.Op{Name: "checkpoint: load and transform: " + k.name, N: k.n,
			Prepare: func(tb growth.TB, n int) func() error {
				path, _, _ := k.saved(tb, n)
				return func() error {
					s := surgery.Script{Rules: []surgery.Rule{surgery.Rename{Match: surgery.Match{Pattern: `^(.*)$`}, To: "was.$1"}}}
					_, err := checkpoint.LoadAndTransform(tb.Context(), []string{path}, nil, s.Transform, nil)
					return err
				}
			}})
	}
	ops = append(ops, growth.Op{Name: "checkpoint: load and transform many", N: 10,
		Prepare: func(tb growth.TB, n int) func() error {
			paths := make([]string, n)
			for i := range paths {
				paths[i] = filepath.Join(tb.TempDir(), "c")
				if err := checkpoint.Save(tb.Context(), paths[i], wide(4), nil); err != nil {
					tb.Fatal(err)
				}
			}
			together := func(_ context.Context, of []*tree.Node) (*tree.Node, error) {
				all := tree.NewDict()
				for i, n := range of {
					all.Set(name(i), n)
				}
				return all, nil
			}
			return func() error {
				_, err := checkpoint.LoadAndTransform(tb.Context(), paths, nil, together, nil)
				return err
			}
		}})
	return append(append(ops, jobOps()...), append(loaderOps(), compatOps()...)...)
}

// foreign is a checkpoint that looks as if Orbax had written it: without a manifest, and
// without the word that there was one.
func foreign(tb growth.TB, k kind, n int) string {
	path, _, _ := k.saved(tb, n)
	file := filepath.Join(path, "state", "_METADATA")
	b, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, []byte(strings.Replace(string(b), `"bivouac"`, `"another"`, 1)), 0o600)
	}
	if err == nil {
		err = os.Remove(filepath.Join(path, "bivouac.manifest"))
	}
	if err != nil {
		tb.Fatal(err)
	}
	return path
}

// jobOps open a job with n kept steps.
func jobOps() []growth.Op {
	return []growth.Op{{Name: "job: open a run", N: 10, Prepare: func(tb growth.TB, n int) func() error {
		dir := tb.TempDir()
		open := func(steps int64) (*bivouac.Job[int64], error) {
			state := map[string]any{"w": make([]float32, 4)}
			return bivouac.Open(tb.Context(), dir, &numbers{}, bivouac.Options{State: state, SaveEvery: 1, Keep: bivouac.KeepAll, Steps: steps, Grace: bivouac.Never})
		}
		j, err := open(int64(n))
		if err != nil {
			tb.Fatal(err)
		}
		for _, err := range j.Steps(tb.Context()) {
			if err != nil {
				tb.Fatal(err)
			}
		}
		if err := j.Close(); err != nil {
			tb.Fatal(err)
		}
		return func() error {
			j, err := open(int64(n))
			if err != nil {
				return err
			}
			if at, ok := j.Latest(); !ok || at != int64(n) {
				return fmt.Errorf("the latest step is %d, want %d", at, n)
			}
			return j.Close()
		}
	}}}
}

// numbers is a stream of 0, 1, 2, ….
type numbers struct{ Pos int64 }

func (c *numbers) Next(context.Context) (int64, error) {
	c.Pos++
	return c.Pos - 1, nil
}

func (c *numbers) AppendState(dst []byte) ([]byte, error) { return fmt.Appendf(dst, "%d", c.Pos), nil }
func (c *numbers) SetState(b []byte) error                { return json.Unmarshal(b, &c.Pos) }
func (c *numbers) Close() error                           { return nil }

// held is a data set of which the first samples that are even do not come before held is
// closed.
type held struct {
	n, first int64
	held     chan struct{}
}

func (h held) Len() int64          { return h.n }
func (h held) Fingerprint() string { return "held" }

func (h held) At(ctx context.Context, id int64, _ loader.Random) (int64, error) {
	if h.held != nil && id < h.first && id%2 == 0 {
		select {
		case <-h.held:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	return id, nil
}

// loaderOps go on from a state with n gaps: of 2n batches every second one was delivered.
func loaderOps() []growth.Op {
	type opener func(ds held, workers, prefetch int) (*loader.Loader[int64, []int64], error)
	collate := func(s []int64) ([]int64, error) { return append([]int64{}, s...), nil }
	own := func(ds held, workers, prefetch int) (*loader.Loader[int64, []int64], error) {
		return loader.New(ds, loader.Options[int64, []int64]{Workers: workers, Prefetch: prefetch, OutOfOrder: workers > 0,
			Collate: collate})
	}
	torch := func(ds held, workers, prefetch int) (*loader.Loader[int64, []int64], error) {
		g := torchdata.NewGenerator(0)
		l, err := torchdata.New(ds, torchdata.Options[int64, []int64]{
			NumWorkers: workers, PrefetchFactor: prefetch, OutOfOrder: workers > 0, CollateFn: collate, Global: &g,
		})
		if err != nil {
			return nil, err
		}
		return l.Loader, nil
	}
	gaps := func(tb growth.TB, n int) []byte {
		wait := make(chan struct{})
		l, err := own(held{int64(4 * n), int64(2 * n), wait}, 2*n, 0)
		if err != nil {
			tb.Fatal(err)
		}
		for range n {
			if _, err := l.Next(tb.Context()); err != nil {
				tb.Fatal(err)
			}
		}
		b, err := l.AppendState(nil)
		close(wait)
		if err == nil {
			err = l.Close()
		}
		if err != nil {
			tb.Fatal(err)
		}
		return b
	}
	read := func(tb growth.TB, n, workers int, state []byte, want int, open opener) error {
		l, err := open(held{n: int64(4 * n)}, workers, 0)
		if err != nil {
			return err
		}
		defer l.Close() //nolint:errcheck // what was read was checked
		if err := l.SetState(state); err != nil {
			return err
		}
		got := 0
		for _, err := range l.Epoch(tb.Context()) {
			if got++; err != nil {
				return err
			}
		}
		if got != want {
			return fmt.Errorf("%d batches, want %d", got, want)
		}
		_, err = l.AppendState(nil)
		return err
	}
	// beside delivers n batches while one worker of two hangs at the first, and goes on from
	// the state.
	beside := func(tb growth.TB, n, prefetch int, open opener) error {
		wait := make(chan struct{})
		l, err := open(held{int64(4 * n), 1, wait}, 2, prefetch)
		if err != nil {
			return err
		}
		for range n {
			if _, err := l.Next(tb.Context()); err != nil {
				return err
			}
		}
		state, err := l.AppendState(nil)
		close(wait)
		if err == nil {
			err = l.Close()
		}
		if err == nil {
			err = read(tb, n, 2, state, 3*n, open)
		}
		return err
	}
	var ops []growth.Op
	for _, workers := range []int{0, 2} {
		ops = append(ops, growth.Op{Name: fmt.Sprintf("loader: go on beside many gaps, %d workers", workers), N: 40,
			Prepare: func(tb growth.TB, n int) func() error {
				state := gaps(tb, n)
				return func() error { return read(tb, n, workers, state, 3*n, own) }
			}})
	}
	// Which worker has the next batch, and which batch in flight is done, takes as long as
	// there are workers, and so does the snapshot behind a batch: the batches are few.
	return append(ops,
		growth.Op{Name: "loader: batches beside one that hangs", N: 100, Prepare: func(tb growth.TB, n int) func() error {
			return func() error { return beside(tb, n, 2*n, own) }
		}},
		growth.Op{Name: "torchdata: batches beside one that hangs", N: 100, Prepare: func(tb growth.TB, n int) func() error {
			return func() error { return beside(tb, n, 8, torch) }
		}},
		growth.Op{Name: "torchdata: state of many workers", N: 20, Prepare: func(tb growth.TB, n int) func() error {
			return func() error {
				l, err := torch(held{n: 80}, n, 0)
				if err != nil {
					return err
				}
				for range 20 {
					if _, err := l.Next(tb.Context()); err != nil {
						return err
					}
				}
				state, err := l.AppendState(nil)
				if err == nil {
					err = l.Close()
				}
				if err != nil {
					return err
				}
				return read(tb, 20, n, state, 60, torch)
			}
		}})
}

// compatOps are states of Grain's iterators over many others, and orders of streaming over
// many shards. What streaming has as a state does not grow.
func compatOps() []growth.Op {
	iters := func(n int) []grain.Iter[int64] {
		its := make([]grain.Iter[int64], n)
		for i := range its {
			its[i] = grain.Iterate(grain.Range(int64(i), int64(i+10), 1))
		}
		return its
	}
	again := func(what string, values func(n int) int, open func(n int) (grain.Iter[int64], error)) growth.Op {
		return growth.Op{Name: "grain: " + what, N: 200, Prepare: func(_ growth.TB, n int) func() error {
			return func() error {
				it, err := open(n)
				if err != nil {
					return err
				}
				for range values(n) {
					if _, ok := it.Next(); !ok {
						return fmt.Errorf("an iterator has ended")
					}
				}
				next, err := open(n)
				if err == nil {
					err = next.SetState(it.State())
				}
				return err
			}
		}}
	}
	few := func(int) int { return 10 }
	all := func(n int) int { return n + n/2 }
	ops := []growth.Op{
		// Which parent has a turn takes as long as there are parents: that is not tried here.
		again("state of a mixture of many", few, func(n int) (grain.Iter[int64], error) { return grain.MixIter(iters(n), nil) }),
		again("state of an interleaving of many", all, func(n int) (grain.Iter[int64], error) { return grain.Interleave(iters(n), int64(n)) }),
		again("state of an interleaving of few at a time", all, func(n int) (grain.Iter[int64], error) { return grain.Interleave(iters(n), 4) }),
		again("state in a large window", all, func(n int) (grain.Iter[int64], error) {
			return grain.ShuffleWindowsIter(grain.Iterate(grain.Range(0, int64(4*n), 1)), int64(n), 1)
		}),
	}
	for _, a := range streaming.Algorithms() {
		ops = append(ops, growth.Op{Name: "streaming: an epoch of many shards, " + string(a), N: 200,
			Prepare: func(_ growth.TB, n int) func() error {
				shards := make([]int64, n)
				for i := range shards {
					shards[i] = int64(1 + i%7)
				}
				return func() error {
					e, err := streaming.NewEpoch(streaming.Shuffle{Algorithm: a, Shards: shards, CanonicalNodes: 4,
						Block: streaming.DefaultBlock(4)})
					if err != nil {
						return err
					}
					got := make([]int64, n)
					if e.Fill(0, got) != n {
						return fmt.Errorf("want %d samples at least", n)
					}
					return nil
				}
			}})
	}
	return ops
}

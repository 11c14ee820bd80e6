package main

import (
	"context"
	"fmt"
	"slices"
	"syscall"
	"time"

	"github.com/bivouac-ml/bivouac/bench/internal/turns"
	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/tensor"
)

// bivouac is this project. Configurations: "step" saves the next step of a
// Checkpointer that keeps one and waits for it, "async" does so in the
// background, "save" saves a checkpoint by itself; "into" loads into memory that
// is there, "load" into new memory; "rows" and "columns" load a matrix in eight
// parts that was given in eight parts by rows.
type bivouac struct {
	state  map[string]any
	target map[string]any // as state

	paced bool // how steps was opened
	dedup bool
	steps *training.Checkpointer
	step  int64
}

func (b *bivouac) close() error {
	if b.steps == nil {
		return nil
	}
	return b.steps.Close()
}

func (b *bivouac) do(ctx context.Context, op, config, path string) (answer, error) {
	switch op {
	case "save":
		if config == "step" || config == "async" {
			return b.saveStep(ctx, config, path)
		}
		if err := fresh(path); err != nil {
			return answer{}, err
		}
		return measured(func() error { return checkpoint.Save(ctx, path, b.state, nil) })
	case "keep":
		if err := fresh(path); err != nil {
			return answer{}, err
		}
		return answer{}, b.keep(ctx, config, path)
	case "load":
		return b.load(ctx, config, path)
	case "blocked":
		return b.blocked(ctx, path)
	case "resave":
		return b.resave(ctx, path)
	case "leaf":
		return b.part(ctx, path, func(l checkpoint.LeafInfo) checkpoint.Want { return checkpoint.Want{Skip: l.Param != "w03"} })
	case "reshard":
		return b.part(ctx, path, stripes(config))
	case "idle50", "idle99", "beside50", "beside99":
		return b.jitter(ctx, op, config, path)
	}
	return answer{}, fmt.Errorf("bivouac has no operation %q", op)
}

// open opens the Checkpointer, once, and saves a step: what follows is the
// steady state.
func (b *bivouac) open(ctx context.Context, path string) (err error) {
	if b.steps != nil {
		return nil
	}
	if err := fresh(path); err != nil {
		return err
	}
	o := &training.Options{Preserve: training.LatestN{N: 1}}
	o.Dedup.On = b.dedup
	if b.paced {
		o.Pace = training.Pace{Background: true, Writers: 2}
	}
	if b.steps, err = training.Open(ctx, path, o); err != nil {
		return err
	}
	return b.finish(ctx)
}

// next begins the next step.
func (b *bivouac) next(ctx context.Context) (*checkpoint.Response[bool], error) {
	b.step++
	return b.steps.SaveAsync(ctx, b.step, b.state, &training.SaveOptions{Force: true})
}

// finish saves a step to the end.
func (b *bivouac) finish(ctx context.Context) error {
	r, err := b.next(ctx)
	if err == nil {
		_, err = r.Result(ctx)
	}
	return err
}

func (b *bivouac) saveStep(ctx context.Context, config, path string) (answer, error) {
	if err := b.open(ctx, path); err != nil {
		return answer{}, err
	}
	if err := b.steps.Wait(ctx); err != nil {
		return answer{}, err
	}
	syscall.Sync()
	return measured(func() error {
		if config == "async" {
			return b.finish(ctx)
		}
		return b.wait(ctx)
	})
}

// wait saves a step while the caller waits.
func (b *bivouac) wait(ctx context.Context) error {
	b.step++
	_, err := b.steps.Save(ctx, b.step, b.state, &training.SaveOptions{Force: true})
	return err
}

// keep saves what is to be loaded: where that will be in parts, the matrix as
// eight devices hold it by rows, to be read along either axis.
func (b *bivouac) keep(ctx context.Context, config, path string) error {
	if config != "rows" && config != "columns" {
		return checkpoint.Save(ctx, path, b.state, nil)
	}
	x := b.state["x"].(tensor.Tensor)
	s := checkpoint.Shards{DType: x.DType, Shape: x.Shape}
	rows, row := x.Shape[0], len(x.Data)/x.Shape[0]
	for i := range devices {
		from, to := rows*i/devices, rows*(i+1)/devices
		part := tensor.Tensor{DType: x.DType, Shape: tensor.Shape{to - from, x.Shape[1]}, Data: x.Data[from*row : to*row]}
		s.Parts = append(s.Parts, checkpoint.Shard{Origin: []int{from, 0}, Data: part})
	}
	o := &checkpoint.SaveOptions{}
	o.Array.Saving.Storage.ShardAxes = []int{1}
	return checkpoint.Save(ctx, path, map[string]any{"x": s}, o)
}

// blocked is for how long SaveAsync holds the caller up.
func (b *bivouac) blocked(ctx context.Context, path string) (a answer, err error) {
	if err := b.open(ctx, path); err != nil {
		return a, err
	}
	if err := b.steps.Wait(ctx); err != nil { // for the removal of the step before, which is not part of this one
		return a, err
	}
	var r *checkpoint.Response[bool]
	a, err = measured(func() (err error) {
		r, err = b.next(ctx)
		return err
	})
	if err == nil {
		_, err = r.Result(ctx)
	}
	return a, err
}

func (b *bivouac) load(ctx context.Context, config, path string) (answer, error) {
	if config == "load" {
		return measured(func() error {
			_, err := checkpoint.Load(ctx, path, nil)
			return err
		})
	}
	if b.target == nil {
		b.target = zeros(b.state)
	}
	return measured(func() error { return checkpoint.LoadInto(ctx, path, b.target, nil) })
}

// jitter times steps of computation, by themselves or beside saves, and answers
// with a percentile.
func (b *bivouac) jitter(ctx context.Context, op, config, path string) (a answer, err error) {
	if paced := config == "paced"; paced != b.paced && b.steps != nil {
		err := b.steps.Close()
		if b.steps = nil; err != nil {
			return a, err
		}
	}
	b.paced = config == "paced"
	if err := b.open(ctx, path); err != nil {
		return a, err
	}
	const enough = 500
	var took []time.Duration
	percentile := 50
	if op == "idle99" || op == "beside99" {
		percentile = 99
	}
	if op == "idle50" || op == "idle99" {
		for range enough {
			took = append(took, turns.Compute())
		}
	}
	for len(took) < enough {
		r, err := b.next(ctx)
		if err != nil {
			return a, err
		}
		for pending(r.Done()) {
			took = append(took, turns.Compute())
		}
	}
	slices.Sort(took)
	a.Seconds = took[len(took)*percentile/100].Seconds()
	return a, nil
}

func pending(done <-chan struct{}) bool {
	select {
	case <-done:
		return false
	default:
		return true
	}
}

// resave saves the state again, which did not change, with links to the step
// before.
func (b *bivouac) resave(ctx context.Context, path string) (answer, error) {
	b.dedup = true
	if err := b.open(ctx, path); err != nil {
		return answer{}, err
	}
	if err := b.steps.Wait(ctx); err != nil {
		return answer{}, err
	}
	return measured(func() error { return b.wait(ctx) })
}

// part loads a part of the checkpoint.
func (b *bivouac) part(ctx context.Context, path string, want func(checkpoint.LeafInfo) checkpoint.Want) (answer, error) {
	return measured(func() error {
		_, err := checkpoint.Load(ctx, path, &checkpoint.LoadOptions{Want: want})
		return err
	})
}

// devices is how many parts a matrix is saved and loaded in.
const devices = 8

// stripes wants the matrix as eight devices hold it: by "rows" or "columns".
func stripes(axis string) func(checkpoint.LeafInfo) checkpoint.Want {
	k := 0
	if axis == "columns" {
		k = 1
	}
	return func(l checkpoint.LeafInfo) (w checkpoint.Want) {
		for i := range devices {
			box := checkpoint.Box{Origin: make([]int, len(l.Shape)), Shape: slices.Clone([]int(l.Shape))}
			from, to := l.Shape[k]*i/devices, l.Shape[k]*(i+1)/devices
			box.Origin[k], box.Shape[k] = from, to-from
			w.Boxes = append(w.Boxes, box)
		}
		return w
	}
}

package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/cluster"
	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/tree"
)

// errPreempted ends a run that was told to stop, after its step is committed.
var errPreempted = errors.New("preempted, and the step is committed")

// Items of a step.
const (
	modelItem = "model"
	dataItem  = "data"
)

// sample is an id, and the random number with which it is augmented.
type sample struct {
	id    int64
	noise uint64
}

// open returns the loader of a rank.
func (s settings) open(rank, world int) (*loader.Loader[sample, []sample], error) {
	data := loader.Func(s.samples, func(_ context.Context, id int64, r loader.Random) (sample, error) {
		draws := r.Stream("augment")
		return sample{id, draws.Uint64()}, nil
	})
	return loader.New(data, loader.Options[sample, []sample]{
		Shuffle: true, Seed: s.seed, GlobalBatch: s.batch, Rank: rank, World: world,
		Collate: func(batch []sample) ([]sample, error) { return append([]sample(nil), batch...), nil },
	})
}

// trainer is one process of a run.
type trainer struct {
	settings
	m     *cluster.Member
	data  *loader.Loader[sample, []sample]
	steps *training.Checkpointer
	model model
	out   io.Writer

	pending *checkpoint.Response[bool]
	at      int64 // the step that was saved last, or loaded
}

// train trains until the last step, or until a process is told to stop.
func train(ctx context.Context, m *cluster.Member, s settings, out io.Writer) (err error) {
	notice := training.NotifySignals()
	defer notice.Stop()
	t := &trainer{settings: s, m: m, out: out}
	if t.data, err = s.open(m.Rank(), m.World()); err != nil {
		return err
	}
	defer t.data.Close() //nolint:errcheck // it only computes
	o := &training.Options{Clean: true, Preserve: training.LatestN{N: 3}}
	o.Multiprocessing = m.Multiprocessing()
	if t.steps, err = training.Open(ctx, s.run, o); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.steps.Close()) }()
	if err := t.resume(ctx); err != nil {
		return err
	}
	for t.model.step < s.steps {
		stop, err := t.step(ctx, notice.Preempted())
		if err != nil {
			return err
		}
		if stop {
			if err := errors.Join(t.save(ctx), t.wait(ctx)); err != nil {
				return err
			}
			return errPreempted
		}
		if t.model.step%s.saveEvery == 0 || t.model.step == s.steps {
			if err := t.save(ctx); err != nil {
				return err
			}
		}
		time.Sleep(s.pause)
	}
	if err := t.wait(ctx); err != nil {
		return err
	}
	t.say("final step %d weights %s order %016x", t.model.step, t.model.digest(), uint64(t.model.order))
	return nil
}

func (t *trainer) say(format string, args ...any) {
	fmt.Fprintf(t.out, "rank %d of %d: %s\n", t.m.Rank(), t.m.World(), fmt.Sprintf(format, args...))
}

// resume loads the newest step. Rank 0 says which: the others may have looked before it cleaned up.
func (t *trainer) resume(ctx context.Context) error {
	var newest [8]byte
	if last, ok := t.steps.Latest(); ok {
		binary.LittleEndian.PutUint64(newest[:], uint64(last.Step))
	}
	said, err := t.m.Broadcast(ctx, "newest", 0, newest[:])
	if err != nil {
		return err
	}
	step := int64(binary.LittleEndian.Uint64(said))
	if step == 0 {
		t.say("begin")
		return nil
	}
	if t.m.Rank() > 0 {
		if err := t.steps.Reload(ctx); err != nil {
			return err
		}
	}
	items, err := t.steps.LoadCheckpointables(ctx, step, nil)
	if err != nil {
		return err
	}
	if err := t.model.load(items); err != nil {
		return err
	}
	if err := t.data.SetState(items[dataItem].(json.RawMessage)); err != nil {
		return err
	}
	t.at = step
	t.say("resumed at step %d", step)
	return nil
}

// load takes the item of the model.
func (m *model) load(items map[string]any) error {
	n, ok := items[modelItem].(*tree.Node)
	if _, raw := items[dataItem].(json.RawMessage); !ok || !raw {
		return errors.New("the step is not one of this program")
	}
	var s saved
	if err := tree.Into(n, &s); err != nil {
		return err
	}
	return m.restore(&s)
}

// contribution is what a process brings to a step.
type contribution struct {
	Stop  bool    `json:"stop,omitempty"`
	Ended bool    `json:"ended,omitempty"` // the pass over the data is over
	IDs   []int64 `json:"ids,omitempty"`
	Sums  []int64 `json:"sums,omitempty"`
}

// step trains on the next batch. It reports whether a process was told to stop, which all of them
// learn at the same step.
func (t *trainer) step(ctx context.Context, stop bool) (bool, error) {
	mine := contribution{Stop: stop}
	batch, err := t.data.Next(ctx)
	switch {
	case errors.Is(err, io.EOF):
		mine.Ended = true
	case err != nil:
		return false, err
	default:
		mine.Sums = make([]int64, rows*columns)
		for _, s := range batch {
			mine.IDs = append(mine.IDs, s.id)
			t.model.add(mine.Sums, s.id, s.noise)
		}
	}
	payload, err := json.Marshal(mine)
	if err != nil {
		return false, err
	}
	all, err := t.m.Gather(ctx, "step", payload)
	if err != nil {
		return false, err
	}
	stop = false
	var ids []int64
	sums := make([]int64, rows*columns)
	for rank, b := range all {
		var c contribution
		if err := json.Unmarshal(b, &c); err != nil {
			return false, fmt.Errorf("rank %d: %w", rank, err)
		}
		stop = stop || c.Stop
		ids = append(ids, c.IDs...)
		for i, x := range c.Sums {
			sums[i] += x
		}
	}
	if len(ids) > 0 { // else the pass has ended for all of them
		t.model.apply(sums, ids)
	}
	return stop, nil
}

// save saves the step in the background, once the one before is committed. All processes have the
// same state of the data, and make sure of it.
func (t *trainer) save(ctx context.Context) error {
	if err := t.wait(ctx); err != nil || t.at == t.model.step {
		return err
	}
	state, err := t.data.AppendState(nil)
	if err != nil {
		return err
	}
	if err := t.m.Agree(ctx, "data", state); err != nil {
		return err
	}
	t.at = t.model.step
	t.pending, err = t.steps.SaveCheckpointablesAsync(ctx, t.model.step, map[string]any{
		modelItem: t.model.share(t.m.Rank(), t.m.World()), dataItem: json.RawMessage(state),
	}, &training.SaveOptions{Force: true})
	return err
}

// wait waits for the save in the background.
func (t *trainer) wait(ctx context.Context) error {
	if t.pending == nil {
		return nil
	}
	_, err := t.pending.Result(ctx)
	if err != nil {
		return err
	}
	t.pending = nil
	t.say("committed step %d", t.at)
	return nil
}

// recompute compares the newest step of a run with what one process computes from the beginning.
func recompute(ctx context.Context, s settings, out io.Writer) error {
	steps, err := training.Open(ctx, s.run, nil)
	if err != nil {
		return err
	}
	defer steps.Close() //nolint:errcheck // only read
	last, ok := steps.Latest()
	if !ok {
		return fmt.Errorf("%s has no step", s.run)
	}
	items, err := steps.LoadCheckpointables(ctx, last.Step, nil)
	if err != nil {
		return err
	}
	var found, want model
	if err := found.load(items); err != nil {
		return err
	}
	data, err := s.open(0, 1)
	if err != nil {
		return err
	}
	defer data.Close() //nolint:errcheck // it only computes
	for want.step < found.step {
		batch, err := data.Next(ctx)
		if errors.Is(err, io.EOF) {
			continue
		}
		if err != nil {
			return err
		}
		sums, ids := make([]int64, rows*columns), []int64(nil)
		for _, x := range batch {
			ids = append(ids, x.id)
			want.add(sums, x.id, x.noise)
		}
		want.apply(sums, ids)
	}
	fmt.Fprintf(out, "step %d weights %s order %016x\n", found.step, found.digest(), uint64(found.order))
	if found != want {
		return fmt.Errorf("step %d is wrong: want weights %s order %016x", found.step, want.digest(), uint64(want.order))
	}
	return nil
}

package main

import (
	"context"
	"errors"
	"iter"
	"path/filepath"

	"github.com/bivouac-ml/bivouac/dynamic"
	"github.com/bivouac-ml/bivouac/dynamic/checkpoint"
	"github.com/bivouac-ml/bivouac/dynamic/fn"
	"github.com/bivouac-ml/bivouac/dynamic/random"
	"github.com/bivouac-ml/bivouac/dynamic/readers"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/opargs"
)

const (
	epochs    = 2
	batchSize = 5
)

// program is a run: what it reads and draws, and what it has made of that.
type program struct {
	reader  *readers.Reader
	windows *random.RNG // places of windows
	looks   *random.RNG // mirrors and contrasts
	sheet   *sheet
	saved   *checkpoint.Checkpoint
	pattern string // of the files of checkpoints
	every   int    // batches between two of them
	batches int    // done
}

// start makes the program ready for the pictures below dir, or carries on from the
// newest checkpoint that is there.
func start(dir string, every int) (*program, error) {
	p := &program{
		windows: random.New(1), looks: random.New(2), sheet: &sheet{},
		saved: checkpoint.New(), pattern: filepath.Join(dir, "state_{seq:03d}.json"), every: every,
	}
	var err error
	if p.reader, err = readers.NewFile(opargs.ReadersFile{FileRoot: filepath.Join(dir, "pictures"), RandomShuffle: true, Seed: op.Const(3)}, readers.Options{}); err != nil {
		return nil, err
	}
	if _, err := p.saved.Load(p.pattern); err != nil && !errors.Is(err, errs.NotFound) {
		return nil, errors.Join(err, p.reader.Close())
	}
	for _, part := range []struct {
		name   string
		object checkpoint.Object
	}{{"reader", p.reader}, {"windows", p.windows}, {"looks", p.looks}, {"sheet", p.sheet}} {
		if _, err := p.saved.Register(part.object, part.name); err != nil {
			return nil, errors.Join(err, p.reader.Close())
		}
	}
	return p, nil
}

// augment makes pictures of encoded ones: the body of the loop, whether compiled or not.
func (p *program) augment(ctx context.Context, in []dynamic.Value) []dynamic.Value {
	images := fn.DecodersImage(ctx, in[0].(*dynamic.Batch), fn.DecodersImageArgs{})
	images = fn.RandomResizedCrop(ctx, p.windows, images, fn.RandomResizedCropArgs{Size: []int{thumbHeight, thumbWidth}, RandomArea: []float64{0.4, 1}})
	mirror := random.CoinFlipBatch(ctx, p.looks, images.Len(), random.CoinFlipArgs{})
	contrast := random.UniformBatch(ctx, p.looks, images.Len(), random.UniformArgs{Range: op.Const([]float64{0.6, 1.4})})
	images = fn.Flip(ctx, images, fn.FlipArgs{Horizontal: op.Of[int](mirror)})
	return []dynamic.Value{fn.Contrast(ctx, images, fn.ContrastArgs{Contrast: op.Of[float64](contrast)})}
}

// errStopped ends a run that was to stop early.
var errStopped = errors.New("stopped")

// run goes on to the end of the last epoch, or until limit batches are done.
func (p *program) run(ctx context.Context, compiled bool, limit int) (err error) {
	meta, err := p.reader.Metadata(ctx)
	if err != nil {
		return err
	}
	epoch := p.calls
	if compiled {
		loop, err := dynamic.Compile(ctx, p.reader.Root(batchSize), p.augment, dynamic.LoopOptions{})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, loop.Close()) }()
		epoch = loop.Steps
	}
	for len(p.sheet.thumbs) < epochs*int(meta.EpochSize) {
		for values, err := range epoch(ctx) {
			if err != nil {
				return err
			}
			if err := p.keep(ctx, values[0].(*dynamic.Batch)); err != nil {
				return err
			}
			limit--
			if err := p.save(ctx, limit == 0); err != nil {
				return err
			}
			if limit == 0 {
				return errStopped
			}
		}
	}
	return nil
}

// calls yields the steps of an epoch, made by calling the operators.
func (p *program) calls(ctx context.Context) iter.Seq2[[]dynamic.Value, error] {
	return func(yield func([]dynamic.Value, error) bool) {
		for batch, err := range p.reader.NextEpoch(ctx, batchSize) {
			if err != nil {
				yield(nil, err)
				return
			}
			in := make([]dynamic.Value, len(batch))
			for i, b := range batch {
				in[i] = b
			}
			if !yield(p.augment(ctx, in), nil) {
				return
			}
		}
	}
}

// keep puts a batch on the sheet.
func (p *program) keep(ctx context.Context, images *dynamic.Batch) error {
	samples, err := images.Samples(ctx)
	for _, s := range samples {
		p.sheet.add(s)
	}
	images.Release()
	return err
}

// save captures where everything stands after a batch, now or when it is time.
func (p *program) save(ctx context.Context, now bool) error {
	if p.batches++; p.batches%p.every != 0 && !now {
		return nil
	}
	if err := p.saved.Collect(); err != nil {
		return err
	}
	_, err := p.saved.Save(ctx, p.pattern)
	return err
}

// close ends the program.
func (p *program) close() error { return p.reader.Close() }

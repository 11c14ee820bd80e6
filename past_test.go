package bivouac_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/bivouac-ml/bivouac"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/pipeline/fn"
	"github.com/bivouac-ml/bivouac/stream"
	"github.com/bivouac-ml/bivouac/tensor"
)

// openDropping returns a loader that leaves the short batch of each epoch out.
func openDropping() (stream.Stream[[]int64], error) {
	return loader.New(loader.Map[int64](digits(18)), loader.Options[int64, []int64]{
		BatchSize: 4, Shuffle: true, Seed: 3, Tail: order.Drop,
		Collate: func(b []int64) ([]int64, error) { return slices.Clone(b), nil },
	})
}

// files is a pipeline whose samples are single bytes.
type files struct{ *pipeline.Pipeline }

// Next implements stream.Stream.
func (p files) Next(ctx context.Context) ([]int64, error) {
	b, err := p.Pipeline.Next(ctx)
	if err != nil {
		return nil, err
	}
	var out []int64
	for _, o := range b.Outputs {
		for i := range o.NumSamples() {
			out = append(out, int64(o.Sample(i).Data[0]))
		}
	}
	return out, nil
}

// calls is what a function of a pipeline remembers.
type calls struct{ n uint8 }

// AppendState implements pipeline.State.
func (c *calls) AppendState(dst []byte) ([]byte, error) { return append(dst, c.n), nil }

// SetState implements pipeline.State.
func (c *calls) SetState(b []byte) error {
	c.n = b[0]
	return nil
}

// openFiles returns pipelines over 10 files of one byte, shuffled, in batches of 4. With counting
// there is an output of a function that counts its calls.
func openFiles(t *testing.T, counting bool) func() (stream.Stream[[]int64], error) {
	dir := t.TempDir()
	var list []string
	for i := range 10 {
		list = append(list, filepath.Join(dir, fmt.Sprint(i)))
		if err := os.WriteFile(list[i], []byte{byte(i)}, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return func() (stream.Stream[[]int64], error) {
		c := &calls{}
		count := fn.FuncArgs{Name: "count", Stateful: true, State: c,
			Outputs: []tensor.Spec{{DType: tensor.Uint8, Shape: tensor.Shape{1}}},
			Sample: func([]tensor.Tensor) ([]tensor.Tensor, error) {
				c.n++
				return []tensor.Tensor{tensor.FromSlice([]uint8{c.n})}, nil
			}}
		def, err := pipeline.Define(pipeline.Options{BatchSize: 4, Seed: 9}, func(b *pipeline.Builder) []pipeline.Node {
			bytes, _ := fn.ReadersFile(b, fn.ReadersFileArgs{Files: list, RandomShuffle: true})
			if !counting {
				return []pipeline.Node{bytes}
			}
			return []pipeline.Node{bytes, fn.Func(b, count, bytes)[0]}
		})
		if err != nil {
			return nil, err
		}
		p, err := def.New(context.Background(), nil)
		return files{p}, err
	}
}

// batchesOf returns the first batches of a stream, over the ends of passes.
func batchesOf(t *testing.T, s stream.Stream[[]int64], n int) (list []string) {
	t.Helper()
	for len(list) < n {
		b, err := s.Next(t.Context())
		if errors.Is(err, io.EOF) {
			b, err = s.Next(t.Context())
		}
		if errors.Is(err, io.EOF) {
			if err := s.(stream.Resetter).Reset(); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, fmt.Sprint(b))
	}
	return list
}

// A stream that At has moved delivers what the run delivered after that step, whichever steps are
// saved, and whether the place is computed or read up to.
func TestAtEveryStep(t *testing.T) {
	const trained, most = 12, 16
	for _, c := range []struct {
		name     string
		open     func() (stream.Stream[[]int64], error)
		keep     int
		computed func(step int64) bool // or read from the saved step before
		found    func(step int64) bool
	}{
		{"loader", func() (stream.Stream[[]int64], error) { return openLoader(18, 2) }, 1,
			func(int64) bool { return true }, func(int64) bool { return true }},
		{"loader without short batches", openDropping, 1,
			func(int64) bool { return true }, func(int64) bool { return true }},
		{"pipeline", openFiles(t, false), 1, func(int64) bool { return true }, func(int64) bool { return true }},
		{"pipeline that remembers", openFiles(t, true), bivouac.KeepAll,
			func(step int64) bool { return step%3 == 0 && step <= trained }, func(step int64) bool { return step >= 3 }},
		{"nodes", openNodes, bivouac.KeepAll, func(step int64) bool { return step%3 == 0 && step <= trained },
			func(step int64) bool { return step >= 3 }},
		{"passes that begin with Reset", openGated, bivouac.KeepAll, nil, func(int64) bool { return true }},
	} {
		t.Run(c.name, func(t *testing.T) {
			fresh := func() stream.Stream[[]int64] {
				s, err := c.open()
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { s.Close() }) //nolint:errcheck // only read
				return s
			}
			want := batchesOf(t, fresh(), most+2)
			dir := filepath.Join(t.TempDir(), "run")
			m := newModel()
			data, err := c.open()
			if err != nil {
				t.Fatal(err)
			}
			job, err := bivouac.Open(t.Context(), dir, data, bivouac.Options{State: &m, Steps: trained, SaveEvery: 3,
				Keep: c.keep, Grace: bivouac.Never})
			if err != nil {
				t.Fatal(err)
			}
			defer job.Close() //nolint:errcheck // checked below
			for b, err := range job.Steps(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				if got := fmt.Sprint(b); got != want[job.Step()] {
					t.Fatalf("step %d: %s, want %s", job.Step()+1, got, want[job.Step()])
				}
				// Looking back does not disturb the job, of which a save may be in flight.
				if at, ok := job.Latest(); ok && job.Step() > at {
					back := fresh()
					moved, err := job.At(t.Context(), at, back, nil)
					// A save that ends meanwhile takes the place of the one before.
					other := moved.Saved != at && (c.keep == bivouac.KeepAll || moved.Saved < at)
					if err != nil || moved.Step != at || moved.Read != 0 || other {
						t.Fatalf("step %d: %+v %v", at, moved, err)
					}
					if got := batchesOf(t, back, 1)[0]; got != want[at] {
						t.Errorf("after step %d: %s, want %s", at, got, want[at])
					}
				}
			}
			if err := job.Close(); err != nil {
				t.Fatal(err)
			}
			for step := range int64(most) {
				s := fresh()
				moved, err := bivouac.At(t.Context(), dir, step, s, nil)
				if !c.found(step) {
					if errs.KindOf(err) != errs.NotFound {
						t.Errorf("step %d: %v", step, err)
					}
					continue
				}
				if err != nil {
					t.Errorf("step %d: %v", step, err)
					continue
				}
				if got := batchesOf(t, s, 2); !slices.Equal(got, want[step:step+2]) {
					t.Errorf("after step %d: %v, want %v", step, got, want[step:step+2])
				}
				if moved.Step != step || c.computed != nil && (moved.Read == 0) != c.computed(step) ||
					moved.Read > 0 && moved.Saved+moved.Read != step {
					t.Errorf("step %d: %+v", step, moved)
				}
			}
		})
	}
}

// While the states of a run leave the end of epochs open, a step of a later epoch is read up to.
func TestAtGuessesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	data, err := openDropping()
	if err != nil {
		t.Fatal(err)
	}
	m := newModel()
	job, err := bivouac.Open(t.Context(), dir, data, bivouac.Options{State: &m, Steps: 3, Grace: bivouac.Never})
	if err != nil {
		t.Fatal(err)
	}
	trainToEnd(t, job)
	whole, err := openDropping()
	if err != nil {
		t.Fatal(err)
	}
	defer whole.Close() //nolint:errcheck // only read
	want := batchesOf(t, whole, 11)
	for step, read := range map[int64]int64{1: 0, 9: 6} {
		s, err := openDropping()
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close() //nolint:errcheck // only read
		moved, err := bivouac.At(t.Context(), dir, step, s, nil)
		if err != nil || moved != (bivouac.Moment{Step: step, Saved: 3, Read: read}) {
			t.Errorf("%+v %v", moved, err)
		}
		if got := batchesOf(t, s, 1)[0]; got != want[step] {
			t.Errorf("after step %d: %s, want %s", step, got, want[step])
		}
	}
}

// AtOptions.State is filled from a saved step. If the step is not saved, the error says so, and
// nothing is filled.
func TestAtFillsTheState(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	kept := map[int64]model{}
	m := newModel()
	trainTo(t, dir, &m, 12, bivouac.Options{}, func(step int64) {
		kept[step] = model{m.Sum, m.Hash, slices.Clone(m.Seen)}
	})
	data, err := openLoader(18, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer data.Close() //nolint:errcheck // only read
	back := newModel()
	moved, err := bivouac.At(t.Context(), dir, 10, data, &bivouac.AtOptions{State: &back})
	if err != nil || moved.Read != 0 || !same(back, kept[10]) {
		t.Errorf("%+v %v: %+v, want %+v", moved, err, back, kept[10])
	}
	none := newModel()
	for step, kind := range map[int64]errs.Kind{11: errs.NotFound, 13: errs.NotFound, -1: errs.Invalid} {
		if _, err := bivouac.At(t.Context(), dir, step, data, &bivouac.AtOptions{State: &none}); errs.KindOf(err) != kind {
			t.Errorf("step %d: %v", step, err)
		}
	}
	if !same(none, newModel()) {
		t.Errorf("%+v", none)
	}
	if _, err := bivouac.At(t.Context(), filepath.Join(dir, "none"), 1, data, nil); errs.KindOf(err) != errs.NotFound {
		t.Error(err)
	}
	other, err := openLoader(19, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close() //nolint:errcheck // only read
	for _, step := range []int64{10, 11} {
		if _, err := bivouac.At(t.Context(), dir, step, other, nil); errs.KindOf(err) != errs.Mismatch {
			t.Errorf("another stream, step %d: %v", step, err)
		}
	}
}

package bivouac_test

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"testing"

	"github.com/bivouac-ml/bivouac"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/loader/nodes"
	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/stream"
	"github.com/bivouac-ml/bivouac/stream/streamtest"
)

// digits is a data set of the numbers 0 to n-1.
type digits int64

func (d digits) Len() int64 { return int64(d) }

func (d digits) At(_ context.Context, id int64, _ loader.Random) (int64, error) { return id, nil }

func (d digits) Fingerprint() string { return "digits" }

func openLoader(n int64, workers int) (stream.Stream[[]int64], error) {
	return loader.New(loader.Map[int64](digits(n)), loader.Options[int64, []int64]{
		BatchSize: 4, Shuffle: true, Seed: 3, Workers: workers,
		Collate: func(b []int64) ([]int64, error) { return slices.Clone(b), nil },
	})
}

func openNodes() (stream.Stream[[]int64], error) {
	batches, err := nodes.Batch(nodes.FromSlice([]int64{1, 2, 3, 4, 5, 6, 7, 8, 9}), 4, order.Short)
	if err != nil {
		return nil, err
	}
	return nodes.NewLoader(batches, nodes.LoaderOptions{}), nil
}

// gated is a stream whose passes begin when Reset is called.
type gated struct {
	stream.Stream[[]int64]
	ended bool
}

func openGated() (stream.Stream[[]int64], error) {
	s, err := openLoader(18, 0)
	return &gated{Stream: s}, err
}

// Next implements stream.Stream.
func (g *gated) Next(ctx context.Context) ([]int64, error) {
	if g.ended {
		return nil, io.EOF
	}
	v, err := g.Stream.Next(ctx)
	g.ended = errors.Is(err, io.EOF)
	return v, err
}

// SetState implements stream.Stream.
func (g *gated) SetState(b []byte) error {
	err := g.Stream.SetState(b)
	g.ended = g.ended && err != nil
	return err
}

// Reset implements stream.Resetter.
func (g *gated) Reset() error {
	g.ended = false
	return nil
}

func TestStreams(t *testing.T) {
	t.Run("passes that begin with Reset", func(t *testing.T) {
		streamtest.Run(t, streamtest.Suite[[]int64]{New: openGated})
	})
	t.Run("loader", func(t *testing.T) {
		streamtest.Run(t, streamtest.Suite[[]int64]{New: func() (stream.Stream[[]int64], error) { return openLoader(18, 0) }})
	})
	t.Run("loader with workers", func(t *testing.T) {
		streamtest.Run(t, streamtest.Suite[[]int64]{New: func() (stream.Stream[[]int64], error) { return openLoader(18, 2) }})
	})
	t.Run("nodes", func(t *testing.T) {
		streamtest.Run(t, streamtest.Suite[[]int64]{New: openNodes})
	})
}

// A job trains Steps steps over as many epochs as that takes, also when it is
// interrupted at the end of one, and its batches are the batches of the stream by itself.
func TestStepsOverEpochs(t *testing.T) {
	for name, open := range map[string]func() (stream.Stream[[]int64], error){
		"loader":                       func() (stream.Stream[[]int64], error) { return openLoader(18, 0) },
		"nodes":                        openNodes,
		"passes that begin with Reset": openGated,
	} {
		t.Run(name, func(t *testing.T) {
			const total = 23
			s, err := open()
			if err != nil {
				t.Fatal(err)
			}
			var want [][]int64
			for len(want) < total {
				b, err := s.Next(t.Context())
				if r, ok := s.(stream.Resetter); ok && errors.Is(err, io.EOF) {
					err = r.Reset()
					if err == nil {
						continue
					}
				}
				if errors.Is(err, io.EOF) {
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				want = append(want, slices.Clone(b))
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			for every := int64(1); every <= 6; every++ {
				dir := filepath.Join(t.TempDir(), "run")
				var got [][]int64
				passes := 0
				for stop := every; len(got) < total; stop += every { // a run each, of `every` steps
					data, err := open()
					if err != nil {
						t.Fatal(err)
					}
					var state struct{ Steps int64 }
					job, err := bivouac.Open(t.Context(), dir, data,
						bivouac.Options{State: &state, SaveEvery: 1, Steps: min(stop, total), OnEvent: func(e bivouac.Event) {
							if e.Kind == bivouac.PassEnded {
								passes++
							}
						}})
					if err != nil {
						t.Fatal(err)
					}
					for b, err := range job.Steps(t.Context()) {
						if err != nil {
							t.Fatal(err)
						}
						state.Steps++
						got = append(got, slices.Clone(b))
					}
					if err := job.Close(); err != nil {
						t.Fatal(err)
					}
				}
				if len(got) != total || !slices.EqualFunc(got, want, slices.Equal) {
					t.Errorf("in runs of %d steps: %v, want %v", every, got, want)
				}
			}
		})
	}
}

// A stream that ends before the last step is told, when what was done is committed.
func TestStreamTooShort(t *testing.T) {
	dir, m := t.TempDir(), newModel()
	for range 2 {
		job, err := bivouac.Open(t.Context(), dir, &counter{Seed: 1, end: 12}, bivouac.Options{State: &m, Steps: 20})
		if err != nil {
			t.Fatal(err)
		}
		var told error
		for b, err := range job.Steps(t.Context()) {
			if err != nil {
				told = err
				break
			}
			m.train(b)
		}
		if last, _ := job.Latest(); !errors.Is(told, io.ErrUnexpectedEOF) || errs.KindOf(told) != errs.Invalid || last != 12 {
			t.Errorf("latest %d, %v", last, told)
		}
		if err := job.Close(); err != nil {
			t.Error(err)
		}
	}
}

package transfer

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

// Memory that was not taken is not given back.
func TestMemoryOfCancelledCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(0, smallestPiece)
		if err := b.take(t.Context(), smallestPiece); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		waiting := &Transfer{budget: b, sums: map[string][]uint32{}}
		if err := waiting.move(ctx, nil, nil, "x", 0, 0, 1); errs.KindOf(err) != errs.Canceled {
			t.Errorf("a copy: %v", err)
		}
		if now, _ := b.memory.Used(); now != smallestPiece {
			t.Errorf("%d bytes are taken, want %d", now, smallestPiece)
		}
		b.give(smallestPiece)
	})
}

// The rate holds over calls that come late, and a pause is no credit.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(100, 0)
		for i, c := range []struct{ sleep, n, want time.Duration }{
			{0, 100, time.Second}, {0, 50, 500 * time.Millisecond}, {time.Hour, 100, time.Second}, {0, 0, 0},
		} {
			time.Sleep(c.sleep)
			began := time.Now()
			if err := b.pace(t.Context(), int64(c.n)); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(began); took != c.want {
				t.Errorf("call %d took %s, want %s", i, took, c.want)
			}
		}
	})
}

// source is a store of zeros, and a writer and reader of them, which heed no context.
type source struct {
	store.Store
	wrote bool
}

func (s *source) Open(context.Context, string) (store.Reader, error) { return s, nil }
func (s *source) ReadAt(context.Context, []byte, int64) error        { return nil }
func (s *source) Size() int64                                        { return 1000 }
func (s *source) Close() error                                       { return nil }
func (s *source) WriteAt(context.Context, []byte, int64) error       { s.wrote = true; return nil }
func (s *source) Seal(context.Context) error                         { return nil }
func (s *source) Abort() error                                       { return nil }
func (s *source) open(context.Context, string) (store.Reader, error) { return s, nil }
func (s *source) see(context.Context, int, int64, []byte) error      { s.wrote = true; return nil }

// A call whose time ends while it waits for its rate, or for memory, sends and sees nothing.
func TestWaitsEndWithTheContext(t *testing.T) {
	file := File{"x", 1000}
	for name, call := range map[string]func(ctx context.Context, tr *Transfer, s *source) error{
		"move": func(ctx context.Context, tr *Transfer, s *source) error {
			return tr.move(ctx, s, s, file.Name, 0, 0, file.Bytes)
		},
		"blobs": func(ctx context.Context, tr *Transfer, s *source) error {
			blobs, err := tr.blobs(ctx)
			s.wrote = blobs != nil
			return err
		},
		"read": func(ctx context.Context, tr *Transfer, s *source) error {
			c := newCrew(ctx, 0, nil)
			tr.read(c, file, s.open, s.see)
			return c.end()
		},
	} {
		for _, full := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				s, b := &source{}, NewBudget(1, smallestPiece)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				taken := int64(0)
				if full && name != "blobs" {
					taken = smallestPiece
					if err := b.take(ctx, taken); err != nil {
						t.Fatal(err)
					}
				}
				tr := &Transfer{src: Place{Store: s}, budget: b, last: []string{"x"}, sums: map[string][]uint32{}}
				if err := call(ctx, tr, s); errs.KindOf(err) != errs.Canceled || s.wrote {
					t.Errorf("%s: wrote %v, %v", name, s.wrote, err)
				}
				if now, _ := b.memory.Used(); now != taken {
					t.Errorf("%s: %d bytes are taken, want %d", name, now, taken)
				}
			})
		}
	}
}

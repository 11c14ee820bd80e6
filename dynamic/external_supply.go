package dynamic

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/bivouac-ml/bivouac/errs"
)

// walk is the supply of a sequence.
type walk struct {
	seq  iter.Seq2[[]Value, error]
	next func() ([]Value, error, bool) //nolint:revive // as iter.Pull2 has it
	stop func()
}

func (w *walk) item(context.Context, int64) ([]Value, error) {
	if w.next == nil {
		w.next, w.stop = iter.Pull2(w.seq)
	}
	v, err, ok := w.next()
	if !ok {
		return nil, io.EOF
	}
	return v, err
}

func (w *walk) rewind(ctx context.Context, i int64, _ []byte) error {
	w.close()
	for k := int64(0); k < i; {
		if err := ctx.Err(); err != nil {
			return err
		}
		switch _, err := w.item(ctx, k); {
		case err == nil:
			k++
		case errors.Is(err, io.EOF):
			w.close()
			return &errs.Error{Kind: errs.Mismatch, Subject: "sequence", Want: fmt.Sprintf("%d items, as before", i),
				Got: fmt.Sprint(k)}
		} // other errors do not count as items
	}
	return nil
}

func (w *walk) close() {
	if w.stop != nil {
		w.stop()
	}
	w.next, w.stop = nil, nil
}

func (*walk) save() ([]byte, error) { return nil, nil }
func (*walk) cycles() bool          { return true }

// indexed is the supply of a function of the item's index.
type indexed func(ctx context.Context, i int64) ([]Value, error)

func (f indexed) item(ctx context.Context, i int64) ([]Value, error) { return f(ctx, i) }

func (indexed) rewind(context.Context, int64, []byte) error { return nil }
func (indexed) save() ([]byte, error)                       { return nil, nil }
func (indexed) cycles() bool                                { return true }
func (indexed) close()                                      {}

// called is the supply of a function without an index or a state.
type called func(ctx context.Context) ([]Value, error)

func (f called) item(ctx context.Context, _ int64) ([]Value, error) { return f(ctx) }

func (called) rewind(context.Context, int64, []byte) error { return errNoState }
func (called) save() ([]byte, error)                       { return nil, errNoState }
func (called) cycles() bool                                { return false }
func (called) close()                                      {}

var errNoState = &errs.Error{Kind: errs.Unsupported, Op: "dynamic.ExternalSource",
	Want: "a source with a position", Got: "a SourceFunc",
	Remedy: "use SourceAt, SourceSeq or SourceFrom"}

// read is the supply of a SourceReader.
type read struct{ r SourceReader }

func (r read) item(ctx context.Context, _ int64) ([]Value, error)    { return r.r.Read(ctx) }
func (r read) rewind(_ context.Context, _ int64, saved []byte) error { return r.r.SetState(saved) }
func (r read) save() ([]byte, error)                                 { return r.r.AppendState(nil) }
func (read) cycles() bool                                            { return false }
func (read) close()                                                  {}

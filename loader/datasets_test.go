package loader_test

import (
	"context"
	"encoding/json"
	"io"
	"iter"

	"github.com/bivouac-ml/bivouac/loader"
)

// The kinds of iterable data sets of the scenarios: stream w of n gives w, w+n, w+2n …
// below size, in one of several ways of keeping a state.

// plain has no state.
func plain(size int64) loader.Iterable[int64] {
	return loader.IterFunc[int64](func(ctx context.Context) iter.Seq2[int64, error] {
		w, _ := loader.WorkerInfoOf(ctx)
		return func(yield func(int64, error) bool) {
			for i := int64(w.ID); i < size; i += int64(w.N) {
				if !yield(i, nil) {
					return
				}
			}
		}
	})
}

// position is an iterator with a state: {"i":…}.
type position struct {
	I    int64 `json:"i"`
	Step int64 `json:"-"`
	Size int64 `json:"-"`
	read *int64
}

func (p *position) Next(context.Context) (int64, error) {
	if p.I >= p.Size {
		return 0, io.EOF
	}
	v := p.I
	p.I += p.Step
	if p.read != nil {
		*p.read++
	}
	return v, nil
}

func (p *position) AppendState(dst []byte) ([]byte, error) {
	b, err := json.Marshal(p)
	return append(dst, b...), err
}

func (p *position) SetState(b []byte) error { return json.Unmarshal(b, p) }

// seekable has an iterator with a state. read, if not nil, counts items.
type seekable struct {
	size int64
	read *int64
}

func (s seekable) Open(ctx context.Context) (loader.Iterator[int64], error) {
	w, _ := loader.WorkerInfoOf(ctx)
	return &position{I: int64(w.ID), Step: int64(w.N), Size: s.size, read: s.read}, nil
}

// own is its own iterator, and counts its passes: items of pass e are e*1000000 more.
type own struct {
	Pass int64 `json:"pass"`
	At   int64 `json:"at"` // -1: between passes
	size int64
	step int64
}

func newOwn(size int64) *own { return &own{At: -1, size: size} }

func (o *own) Clone(context.Context) (loader.Iterable[int64], error) { return newOwn(o.size), nil }

func (o *own) Open(ctx context.Context) (loader.Iterator[int64], error) {
	w, _ := loader.WorkerInfoOf(ctx)
	o.step, o.At = int64(w.N), int64(w.ID)
	o.Pass++
	return o, nil
}

func (o *own) Next(context.Context) (int64, error) {
	if o.At >= o.size {
		return 0, io.EOF
	}
	v := o.At + (o.Pass-1)*1_000_000
	o.At += o.step
	return v, nil
}

func (o *own) AppendState(dst []byte) ([]byte, error) {
	b, err := json.Marshal(o)
	return append(dst, b...), err
}

func (o *own) SetState(b []byte) error { return json.Unmarshal(b, o) }

// counted has a state of the data set, the number of its passes, and of the
// iterator: items of pass e are e*1000000 more.
type counted struct {
	Passes int64 `json:"passes"`
	size   int64
}

func (c *counted) Clone(context.Context) (loader.Iterable[int64], error) {
	return &counted{size: c.size}, nil
}

func (c *counted) Open(ctx context.Context) (loader.Iterator[int64], error) {
	w, _ := loader.WorkerInfoOf(ctx)
	c.Passes++
	return &epochItems{position{I: int64(w.ID), Step: int64(w.N), Size: c.size}, c}, nil
}

func (c *counted) AppendState(dst []byte) ([]byte, error) {
	b, err := json.Marshal(c)
	return append(dst, b...), err
}

// SetState is called before Open, which counts the pass that goes on once more.
func (c *counted) SetState(b []byte) error { return json.Unmarshal(b, c) }

type epochItems struct {
	position
	of *counted
}

func (e *epochItems) Next(ctx context.Context) (int64, error) {
	v, err := e.position.Next(ctx)
	return v + e.of.Passes*1_000_000, err
}

// uneven gives stream w its block of sizes[w] items.
func uneven(sizes ...int64) loader.Iterable[int64] {
	return loader.IterFunc[int64](func(ctx context.Context) iter.Seq2[int64, error] {
		w, _ := loader.WorkerInfoOf(ctx)
		first := int64(0)
		for _, n := range sizes[:w.ID] {
			first += n
		}
		return func(yield func(int64, error) bool) {
			for i := range sizes[w.ID] {
				if !yield(first+i, nil) {
					return
				}
			}
		}
	})
}

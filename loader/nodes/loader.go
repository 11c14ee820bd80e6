package nodes

import (
	"context"
	"io"
	"iter"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/flow"
	"github.com/bivouac-ml/bivouac/state"
)

// LoaderOptions say how a [Loader] continues. The zero value is torchdata's default.
type LoaderOptions struct {
	// NoRestart makes the first epoch after SetState empty if the state was taken after the io.EOF of
	// an epoch, or is a state of torchdata at the end of an epoch. By default that first epoch is the
	// next epoch.
	NoRestart bool
}

// Loader reads a node epoch by epoch. It is a stream.Stream, for one goroutine at a time. It owns
// the node and must be closed. A call during another call fails with errs.Busy and changes nothing.
type Loader[T any] struct {
	root    Node[T]
	o       LoaderOptions
	yielded int64 // values yielded in this epoch

	ahead   bool // value and err, below, were read to see whether the epoch continues
	value   T
	before  []byte // the state before that value; empty: the state of root
	pending []byte // a state to resume from, or nil
	begun   bool   // an epoch is being read
	ended   bool   // the io.EOF of the epoch was returned, and no other epoch has begun
	cancel  context.CancelFunc
	closed  bool
	moved   bool   // an epoch was begun, or a state was set
	origin  []byte // the state before the move
	turn    flow.Turn
}

// leave stores the state of the start before the loader moves away from it.
func (l *Loader[T]) leave() (err error) {
	if !l.moved {
		l.origin, err = l.appendState(nil)
	}
	l.moved = true
	return err
}

// NewLoader returns a loader of root.
func NewLoader[T any](root Node[T], o LoaderOptions) *Loader[T] { return &Loader[T]{root: root, o: o} }

// Begin starts an epoch: the epoch to which SetState has moved, else the next one. It ends an epoch
// that is being read. It corresponds to iter in Python. ctx is used for the whole epoch. After an
// error the state of SetState is still pending, unless the error comes from the value after that
// state.
func (l *Loader[T]) Begin(ctx context.Context) error {
	if err := l.turn.Take("nodes.Loader.Begin"); err != nil {
		return err
	}
	defer l.turn.Leave()
	return l.begin(ctx)
}

func (l *Loader[T]) begin(ctx context.Context) error {
	if l.closed {
		return &errs.Error{Kind: errs.Closed, Op: "nodes.Loader"}
	}
	if err := l.leave(); err != nil {
		return err
	}
	l.endContext()
	ctx, l.cancel = context.WithCancel(ctx)
	l.forget()
	l.begun = false
	if l.pending == nil {
		l.yielded, l.ended = 0, false
		if err := l.root.Reset(ctx, nil); err != nil {
			return err
		}
		l.begun = true
		return nil
	}
	return l.resume(ctx)
}

// resume moves to the pending state. If the state does not say that its epoch continues, resume
// reads one value to find out. If the epoch has ended, resume begins the next one.
func (l *Loader[T]) resume(ctx context.Context) error {
	d, ended := parseLoader(l.pending)
	yielded := d.count("num_yielded")
	if d.err != nil {
		return d.err
	}
	if err := l.root.Reset(ctx, d.object("root")); err != nil {
		return err
	}
	l.pending, l.yielded, l.begun, l.ended = nil, yielded, true, false
	if l.o.NoRestart || ended == goesOn {
		return nil
	}
	if ended == hasEnded { // a source that begins again by itself is already in the next epoch
		l.yielded = 0
	}
	before, err := l.appendState(nil)
	if err != nil {
		return err
	}
	v, err := l.root.Next(ctx)
	l.before = before
	if err == io.EOF {
		if err := l.root.Reset(ctx, nil); err != nil {
			return err
		}
		l.yielded = 0
		return nil
	}
	if err != nil {
		return err
	}
	l.ahead, l.value = true, v
	return nil
}

// ending is what a state says about the end of its epoch.
type ending int

const (
	unsaid   ending = iota // states of torchdata, and of Bivouac before it wrote the member
	goesOn                 // io.EOF was not returned yet
	hasEnded               // io.EOF was returned
)

// parseLoader reads the state of a loader.
func parseLoader(saved []byte) (*document, ending) {
	d := parse("Loader", saved, "root", "num_yielded", "ended")
	if d.err != nil {
		return parse("Loader", saved, "root", "num_yielded"), unsaid
	}
	if d.flag("ended") {
		return d, hasEnded
	}
	return d, goesOn
}

func (l *Loader[T]) forget() {
	var none T
	l.ahead, l.value, l.before = false, none, nil
}

func (l *Loader[T]) endContext() {
	if l.cancel != nil {
		l.cancel()
		l.cancel = nil
	}
}

// Next returns the next value. At the end of an epoch it returns io.EOF, and then the values of the
// next epoch.
func (l *Loader[T]) Next(ctx context.Context) (v T, err error) {
	if err := l.turn.Take("nodes.Loader.Next"); err != nil {
		return v, err
	}
	defer l.turn.Leave()
	if l.closed {
		return v, &errs.Error{Kind: errs.Closed, Op: "nodes.Loader"}
	}
	if l.pending != nil || !l.begun {
		if err := l.begin(context.WithoutCancel(ctx)); err != nil {
			return v, err
		}
	}
	if l.ahead {
		v = l.value
	} else if v, err = l.root.Next(ctx); err != nil {
		l.begun = err != io.EOF
		l.ended = l.ended || err == io.EOF
		return v, err
	}
	l.forget()
	l.yielded++
	return v, nil
}

// Epoch starts an epoch, as Begin does, and yields its values. It ends at an error; Next continues
// after the error.
func (l *Loader[T]) Epoch(ctx context.Context) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		if err := l.Begin(ctx); err != nil {
			yield(none, err)
			return
		}
		for {
			v, err := l.Next(ctx)
			if err == io.EOF || !yield(v, err) || err != nil {
				return
			}
		}
	}
}

// AppendState appends the state after the delivered values. It has torchdata's members
// "num_yielded" and "root", a "checksum", and "ended", which says whether the io.EOF of the epoch
// was returned. torchdata ignores the last two. AppendState starts nothing. It returns the error of
// a node, or an error of kind errs.Corrupt if the state of an iterable or a sampler is not JSON.
func (l *Loader[T]) AppendState(dst []byte) ([]byte, error) {
	if err := l.turn.Take("nodes.Loader.AppendState"); err != nil {
		return dst, err
	}
	defer l.turn.Leave()
	return l.appendState(dst)
}

func (l *Loader[T]) appendState(dst []byte) ([]byte, error) {
	start := len(dst)
	switch {
	case l.pending != nil:
		dst = append(append(append(dst, '{'), state.Unsealed...), l.pending[1:]...)
		state.Seal(dst[start:])
		return dst, nil
	case len(l.before) > 0:
		return append(dst, l.before...), nil
	}
	dst = appendFlag(append(append(dst, '{'), state.Unsealed...), "ended", l.ended)
	dst = appendCount(dst, "num_yielded", l.yielded)
	dst, err := appendState(dst, "root", l.root)
	if err != nil {
		return dst, err
	}
	canonical, err := state.Canonical(append(dst, '}')[start:])
	if err != nil {
		return dst[:start], errs.Wrap("nodes.Loader", "state", err)
	}
	state.Seal(canonical)
	return append(dst[:start], canonical...), nil
}

// SetState makes the next epoch continue from a state: it yields the values that followed the
// state. If the state was taken after the last value of an epoch, Next returns io.EOF first. If it
// was taken after that io.EOF, the next epoch follows. States of torchdata, and states of Bivouac
// from before the member "ended", do not tell these two apart: then the next epoch follows in both
// cases, as in torchdata. A nil state is the start of the first epoch. The error is of kind
// errs.Corrupt or errs.Mismatch, and nothing has changed then. The nodes below check their parts of
// the state in the first Next or Begin.
func (l *Loader[T]) SetState(saved []byte) error {
	if err := l.turn.Take("nodes.Loader.SetState"); err != nil {
		return err
	}
	defer l.turn.Leave()
	if saved == nil {
		if !l.moved {
			return nil
		}
		saved = l.origin
	}
	if err := l.leave(); err != nil {
		return err
	}
	canonical, err := state.CheckSeal(saved)
	if err != nil {
		return errs.Wrap("nodes.Loader", "state", err)
	}
	d, _ := parseLoader(canonical)
	d.count("num_yielded")
	if d.err != nil {
		return d.err
	}
	l.pending = canonical
	return nil
}

// Close ends the goroutines and iterators of the nodes. It may be called twice. During another call
// it does nothing and fails with errs.Busy.
func (l *Loader[T]) Close() error {
	if err := l.turn.Take("nodes.Loader.Close"); err != nil {
		return err
	}
	defer l.turn.Leave()
	l.closed = true
	l.endContext()
	l.forget()
	return l.root.Close()
}

package nodes

import (
	"context"
	"io"
	"iter"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/flow"
	"github.com/bivouac-ml/bivouac/state"
)

// LoaderOptions say how a [Loader] goes on. The zero value is torchdata's default.
type LoaderOptions struct {
	// NoRestart makes the first epoch after SetState an empty one where the state
	// was taken behind the io.EOF of one, or is torchdata's at the end of one. By default
	// it is the next epoch.
	NoRestart bool
}

// Loader reads a node epoch by epoch. It is a stream.Stream, for one goroutine at a time, and owns
// the node: Close it. A call during another call fails with errs.Busy and changes nothing.
type Loader[T any] struct {
	root    Node[T]
	o       LoaderOptions
	yielded int64 // in this epoch

	ahead   bool // value and err, below, were read to see whether the epoch goes on
	value   T
	before  []byte // the state before that value; empty: the state of root
	pending []byte // a state to go to, or nil
	begun   bool   // an epoch is being read
	ended   bool   // the io.EOF of the epoch was returned, and no other was begun
	cancel  context.CancelFunc
	closed  bool
	moved   bool   // an epoch was begun, or a state was set
	origin  []byte // the state before that
	turn    flow.Turn
}

// leave remembers the state of the start before the loader moves from it.
func (l *Loader[T]) leave() (err error) {
	if !l.moved {
		l.origin, err = l.appendState(nil)
	}
	l.moved = true
	return err
}

// NewLoader returns a loader of root.
func NewLoader[T any](root Node[T], o LoaderOptions) *Loader[T] { return &Loader[T]{root: root, o: o} }

// Begin starts an epoch: the one that SetState has moved to, else the next one. It leaves an epoch
// that is being read. It is what iter does in Python. ctx holds for the whole epoch. After an error
// the state of SetState is still to be applied, unless the error comes from the value behind that
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

// resume goes to the state that is pending. Unless the state says that its epoch goes on,
// resume looks whether it does, and else begins the next one.
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
	if ended == hasEnded { // a source that began again by itself is in the next epoch already
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

// What a state says of the end of its epoch.
type ending int

const (
	unsaid   ending = iota // torchdata's states, and Bivouac's states before there was the member
	goesOn                 // io.EOF was not returned yet
	hasEnded               // it was
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

// Next returns the next value, io.EOF at the end of an epoch and then values of the
// next one.
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

// Epoch starts an epoch, as Begin does, and yields its values. An error ends it; Next goes on
// behind the error.
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

// AppendState appends the state of what was delivered: torchdata's {"num_yielded", "root"}; a
// "checksum"; and "ended", whether the io.EOF of the epoch was returned. torchdata ignores these
// two. AppendState starts nothing. It returns the error of a node, or an error of kind errs.Corrupt
// if the state of an iterable or a sampler is not JSON.
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

// SetState makes the next epoch go on from a state: the values that followed the state follow
// again. After a state behind the last value of an epoch io.EOF comes first; after a state behind
// that io.EOF the next epoch comes. The next epoch comes in both cases after a state of torchdata,
// as there, and after a state of Bivouac from before states told the two apart. A nil state is the
// start of the first epoch. The error is of kind errs.Corrupt or errs.Mismatch; then nothing has
// changed. The nodes below check their parts of the state in the first Next or Begin.
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

// Close ends what runs below. It may be called twice. While another call is under way it does
// nothing and fails with errs.Busy.
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

package loader

import (
	"context"
	"io"
	"iter"

	"github.com/bivouac-ml/bivouac/stream"
)

// Map is a data set that is read by id. Without a Clone of its own (see
// MapCloner) it is shared by all workers, and its methods are called by several
// goroutines at once.
//
// Optional: Bulk, MapCloner, Fingerprinted and state.Stateful.
type Map[S any] interface {
	// Len is the number of samples; ids are 0 to Len-1. It is asked for when an
	// epoch begins.
	Len() int64
	// At returns a sample. r gives it random numbers, which do not depend on the worker or the time
	// that reads the sample.
	At(ctx context.Context, id int64, r Random) (S, error)
}

// Bulk is implemented by data sets that read a batch faster than its samples one
// by one, torch's __getitems__.
type Bulk[S any] interface {
	// AtAll returns the samples ids in their order; r(i) belongs to ids[i]. It may
	// not keep ids. An error fails all of them.
	AtAll(ctx context.Context, ids []int64, r func(i int) Random) ([]S, error)
}

// Iterable is a data set that is read one item after the other.
//
// Optional: Sized, IterableCloner, Fingerprinted and state.Stateful. A state of
// the data set is set before Open is called.
type Iterable[S any] interface {
	// Open begins a pass, an epoch. WorkerInfoOf(ctx) tells which of several streams
	// it is for, which should give different items. It may return the data set.
	Open(ctx context.Context) (Iterator[S], error)
}

// Iterator is one pass over an Iterable. An Iterator that is a state.Stateful goes
// on from its state without reading what came before; an io.Closer is closed.
type Iterator[S any] interface {
	// Next returns the next item, or io.EOF. After another error the next call goes
	// on behind the item that failed.
	Next(ctx context.Context) (S, error)
}

// Sized is implemented by Iterables that announce how many items they have.
type Sized interface {
	Len() (n int64, known bool)
}

// MapCloner is implemented by Maps of which each worker gets one of its own.
type MapCloner[S any] interface {
	// Clone returns the data set of a worker; WorkerInfoOf(ctx) tells of which. A
	// clone that is an io.Closer is closed when the worker does not need it any more.
	Clone(ctx context.Context) (Map[S], error)
}

// IterableCloner is MapCloner for Iterables.
type IterableCloner[S any] interface {
	Clone(ctx context.Context) (Iterable[S], error)
}

// Fingerprinted is implemented by data sets that can name their contents: equal
// for equal samples under equal ids. States are valid for one fingerprint.
type Fingerprinted interface {
	Fingerprint() string
}

// Growing is implemented by Fingerprinted data sets to which samples are added. It proves to
// Loader.Extend that the old samples are the same.
type Growing interface {
	// FingerprintOf returns the Fingerprint that the data set had when it had its first n
	// samples alone.
	FingerprintOf(n int64) string
}

// Slice is the Map of the elements of a slice.
type Slice[S any] []S

// Len implements Map.
func (s Slice[S]) Len() int64 { return int64(len(s)) }

// At implements Map.
func (s Slice[S]) At(_ context.Context, id int64, _ Random) (S, error) {
	if id < 0 || id >= int64(len(s)) {
		var none S
		return none, outOfRange(id, int64(len(s)))
	}
	return s[id], nil
}

// Func is a Map of n samples that a function makes.
func Func[S any](n int64, at func(ctx context.Context, id int64, r Random) (S, error)) Map[S] {
	return funcMap[S]{n, at}
}

type funcMap[S any] struct {
	n  int64
	at func(ctx context.Context, id int64, r Random) (S, error)
}

func (f funcMap[S]) Len() int64 { return f.n }

func (f funcMap[S]) At(ctx context.Context, id int64, r Random) (S, error) { return f.at(ctx, id, r) }

// Factory is a Map of which each worker gets one of its own, made by a function.
// first is the caller's: it tells the length and is read where there are no workers.
func Factory[S any](first Map[S], make func(ctx context.Context) (Map[S], error)) Map[S] {
	return factory[S]{first, make}
}

type factory[S any] struct {
	Map[S]
	make func(ctx context.Context) (Map[S], error)
}

func (f factory[S]) Clone(ctx context.Context) (Map[S], error) { return f.make(ctx) }

// Fingerprint implements Fingerprinted where the first data set does.
func (f factory[S]) Fingerprint() string { return fingerprintOf(f.Map) }

// IterFunc is an Iterable of a function that begins a pass. The sequence ends
// after its last pair; a pair with an error is an item that failed.
type IterFunc[S any] func(ctx context.Context) iter.Seq2[S, error]

// Open implements Iterable.
func (f IterFunc[S]) Open(ctx context.Context) (Iterator[S], error) {
	next, stop := iter.Pull2(f(ctx))
	return &pulled[S]{next, stop}, nil
}

type pulled[S any] struct {
	next func() (S, error, bool)
	stop func()
}

func (p *pulled[S]) Next(context.Context) (S, error) {
	item, err, ok := p.next()
	if !ok {
		return item, io.EOF
	}
	return item, err
}

func (p *pulled[S]) Close() error {
	p.stop()
	return nil
}

// FromStream is an Iterable of what a stream gives, such as a pipeline, a reader of
// one or another loader: a pass is what it gives up to an io.EOF. It has the state of
// the stream, which stays the caller's to close. It is read as one stream.
func FromStream[S any](s stream.Stream[S]) Iterable[S] { return &streamed[S]{s} }

type streamed[S any] struct{ stream.Stream[S] }

func (s *streamed[S]) Open(context.Context) (Iterator[S], error) { return s, nil }

// Fingerprint implements Fingerprinted where the stream does.
func (s *streamed[S]) Fingerprint() string { return fingerprintOf(s.Stream) }

// Channel is an Iterable of the values that a channel gives until it is closed.
// All streams take from the one channel, each value comes once, and there is
// nothing to go back to: a state counts what was taken, and going on from it
// takes as many values from the channel again.
func Channel[S any](c <-chan S) Iterable[S] { return channel[S](c) }

type channel[S any] <-chan S

func (c channel[S]) Open(context.Context) (Iterator[S], error) { return received[S](c), nil }

type received[S any] <-chan S

func (c received[S]) Next(ctx context.Context) (S, error) {
	var none S
	select {
	case v, ok := <-c:
		if !ok {
			return none, io.EOF
		}
		return v, nil
	case <-ctx.Done():
		return none, context.Cause(ctx)
	}
}

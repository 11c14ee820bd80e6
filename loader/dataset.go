package loader

import (
	"context"
	"io"
	"iter"

	"github.com/bivouac-ml/bivouac/stream"
)

// Map is a data set that is read by id. Without a method Clone (see MapCloner) all workers share
// it, and several goroutines call its methods at once.
//
// Optional interfaces: Bulk, MapCloner, Fingerprinted and state.Stateful.
type Map[S any] interface {
	// Len returns the number of samples. The ids are 0 to Len-1. It is called when an epoch begins.
	Len() int64
	// At returns a sample. r is the source of its random numbers, which do not depend on the worker or
	// the time of the call.
	At(ctx context.Context, id int64, r Random) (S, error)
}

// Bulk is implemented by data sets that read a whole batch faster than its samples one by one, like
// torch's __getitems__.
type Bulk[S any] interface {
	// AtAll returns the samples ids in their order. r(i) belongs to ids[i]. AtAll must not keep ids.
	// An error is the error of all samples.
	AtAll(ctx context.Context, ids []int64, r func(i int) Random) ([]S, error)
}

// Iterable is a data set that is read one item after the other.
//
// Optional interfaces: Sized, IterableCloner, Fingerprinted and state.Stateful. The state of the
// data set is set before Open is called.
type Iterable[S any] interface {
	// Open begins a pass (an epoch). WorkerInfoOf(ctx) tells for which of several streams;
	// each stream should yield different items. Open may return the data set itself.
	Open(ctx context.Context) (Iterator[S], error)
}

// Iterator is one pass over an Iterable. If it is a state.Stateful, it continues from its state
// without reading the items before. If it is an io.Closer, it is closed.
type Iterator[S any] interface {
	// Next returns the next item, or io.EOF at the end. After another error the next call continues
	// after the item that failed.
	Next(ctx context.Context) (S, error)
}

// Sized is implemented by an Iterable that announces how many items it has.
type Sized interface {
	Len() (n int64, known bool)
}

// MapCloner is implemented by a Map of which each worker gets a copy.
type MapCloner[S any] interface {
	// Clone returns the copy for a worker. WorkerInfoOf(ctx) tells for which worker. If the copy is an
	// io.Closer, it is closed when the worker does not need it any more.
	Clone(ctx context.Context) (Map[S], error)
}

// IterableCloner is the same as MapCloner for an Iterable.
type IterableCloner[S any] interface {
	Clone(ctx context.Context) (Iterable[S], error)
}

// Fingerprinted is implemented by data sets that can identify their contents. The fingerprint is
// equal if all ids have equal samples. A state is valid for one fingerprint.
type Fingerprinted interface {
	Fingerprint() string
}

// Growing is implemented by Fingerprinted data sets to which samples are added. It proves to
// Loader.Extend that the old samples are the same.
type Growing interface {
	// FingerprintOf returns the Fingerprint that the data set had when it had only its first n
	// samples.
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

// Func returns a Map of n samples that a function makes.
func Func[S any](n int64, at func(ctx context.Context, id int64, r Random) (S, error)) Map[S] {
	return funcMap[S]{n, at}
}

type funcMap[S any] struct {
	n  int64
	at func(ctx context.Context, id int64, r Random) (S, error)
}

func (f funcMap[S]) Len() int64 { return f.n }

func (f funcMap[S]) At(ctx context.Context, id int64, r Random) (S, error) { return f.at(ctx, id, r) }

// Factory returns a Map of which each worker gets a data set of its own, made by a function. first
// belongs to the caller: it tells the length, and is read if there are no workers.
func Factory[S any](first Map[S], make func(ctx context.Context) (Map[S], error)) Map[S] {
	return factory[S]{first, make}
}

type factory[S any] struct {
	Map[S]
	make func(ctx context.Context) (Map[S], error)
}

func (f factory[S]) Clone(ctx context.Context) (Map[S], error) { return f.make(ctx) }

// Fingerprint implements Fingerprinted if the first data set does.
func (f factory[S]) Fingerprint() string { return fingerprintOf(f.Map) }

func (f factory[S]) within() any { return f.Map }

// IterFunc is an Iterable made from a function that begins a pass. The sequence ends after its last
// pair. A pair with an error is an item that failed.
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

// FromStream returns an Iterable of the values of a stream, such as a pipeline, a reader of a
// pipeline or another loader. A pass ends where the stream returns io.EOF. The Iterable has the
// state of the stream. The caller closes the stream. It is read as one stream.
func FromStream[S any](s stream.Stream[S]) Iterable[S] { return &streamed[S]{s} }

type streamed[S any] struct{ stream.Stream[S] }

func (s *streamed[S]) Open(context.Context) (Iterator[S], error) { return s, nil }

// Fingerprint implements Fingerprinted if the stream does.
func (s *streamed[S]) Fingerprint() string { return fingerprintOf(s.Stream) }

func (s *streamed[S]) within() any { return s.Stream }

// Channel returns an Iterable of the values of a channel until it is closed. All streams receive
// from the same channel, and each value comes once. Values cannot be read again: a state counts the
// received values, and to continue from it the loader receives and drops that many values of the
// channel.
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

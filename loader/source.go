package loader

import (
	"context"
	"fmt"
	"io"
	"reflect"
	"strconv"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/state"
)

// source is the data set of a loader: a Map or an Iterable.
type source[S any] struct {
	mapped   Map[S]
	iterable Iterable[S]
}

// dataset returns the data set that the caller passed.
func (s source[S]) dataset() any {
	if s.mapped != nil {
		return s.mapped
	}
	return s.iterable
}

// clone returns the data set for a worker. own reports whether it is a copy for this worker.
func (s source[S]) clone(ctx context.Context) (c source[S], own bool, err error) {
	switch d := s.dataset().(type) {
	case MapCloner[S]:
		c.mapped, err = d.Clone(ctx)
	case IterableCloner[S]:
		c.iterable, err = d.Clone(ctx)
	default:
		return s, false, nil
	}
	if err == nil && c.mapped == nil && c.iterable == nil {
		err = &errs.Error{Kind: errs.Invalid, Subject: "data set", Want: "a data set from Clone", Got: "nil"}
	}
	return c, true, err
}

// same reports whether an iterator is the data set itself.
func same(iterator, dataset any) bool {
	return reflect.TypeOf(iterator) == reflect.TypeOf(dataset) && reflect.TypeOf(iterator).Comparable() &&
		iterator == dataset
}

func (s source[S]) length() (n int64, known bool) {
	if s.mapped != nil {
		return s.mapped.Len(), true
	}
	if sized, ok := s.iterable.(Sized); ok {
		return sized.Len()
	}
	return 0, false
}

func (s source[S]) fingerprint() string { return fingerprintOf(s.dataset()) }

func (s source[S]) fingerprintOfFirst(n int64) (string, bool) {
	if g, ok := s.dataset().(Growing); ok {
		return g.FingerprintOf(n), true
	}
	return "", false
}

func (s source[S]) stateful() bool {
	_, ok := s.dataset().(state.Stateful)
	return ok
}

// fingerprintOf returns the Fingerprint of a data set, or a hash of its Go type. Such a hash cannot
// tell two data sets of one type apart.
func fingerprintOf(dataset any) string {
	if f, ok := dataset.(Fingerprinted); ok {
		return f.Fingerprint()
	}
	h := state.NewHasher("bivouac.loader.dataset.v1")
	h.String(fmt.Sprintf("%T", dataset))
	return h.Sum()
}

// anonymous reports whether fingerprintOf can only return a hash of the type.
func anonymous(dataset any) bool {
	if w, ok := dataset.(interface{ within() any }); ok {
		return anonymous(w.within())
	}
	_, ok := dataset.(Fingerprinted)
	return !ok
}

// closeIfCloser closes a clone or an iterator if it is an io.Closer.
func closeIfCloser(v any) error {
	if c, ok := v.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

func outOfRange(id, n int64) error {
	return &errs.Error{Kind: errs.Invalid, Subject: "sample " + strconv.FormatInt(id, 10),
		Want: "an id below " + strconv.FormatInt(n, 10), Got: "an id that the data set does not have"}
}

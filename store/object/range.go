package object

import (
	"context"
	"errors"
	"iter"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

var _ store.Ranger = (*Store)(nil)

// Head implements store.Ranger.
func (s *Store) Head(ctx context.Context, name string) (store.Object, error) {
	const op = "store.Head"
	if err := check(op, name); err != nil {
		return store.Object{}, err
	}
	a, err := s.head(ctx, op, s.key(name))
	return s.object(a), err
}

// Objects implements store.Ranger. It leaves out the objects that the store keeps for itself, and
// the empty objects with which some programs mark folders.
func (s *Store) Objects(ctx context.Context, prefix string, delimited bool) iter.Seq2[store.Object, error] {
	const op = "store.Objects"
	return func(yield func(store.Object, error) bool) {
		after := "" // the last key that was yielded; a list that is begun again goes on behind it
		stopped := false
		_, err := s.retry(ctx, op, prefix, func(ctx context.Context) error {
			for a, err := range s.b.List(ctx, s.key(prefix), delimited) {
				if err != nil {
					return err
				}
				marker := strings.HasSuffix(a.Key, "/") && !a.Prefix
				if a.Key <= after || marker || strings.Contains("/"+a.Key, "/"+reserved+"/") {
					continue
				}
				after = a.Key
				if stopped = !yield(s.object(a), nil); stopped {
					return nil
				}
			}
			return nil
		})
		if err != nil && !stopped {
			yield(store.Object{}, err)
		}
	}
}

func (s *Store) object(a Attrs) store.Object {
	return store.Object{Name: strings.TrimPrefix(a.Key, s.prefix), Size: a.Size, Tag: a.Tag, ModTime: a.Modified,
		Dir: a.Prefix}
}

// ReadRange implements store.Ranger. It sends one request, or two if the first one is slow.
func (s *Store) ReadRange(ctx context.Context, name string, p []byte, off int64, tag string) error {
	const op = "store.ReadRange"
	if err := check(op, name); err != nil {
		return err
	}
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return alive(ctx, op, name)
	}
	defer func() { <-s.turn }()
	_, err := s.retry(ctx, op, name, func(ctx context.Context) error {
		return s.hedged(ctx, [][]byte{p}, func(ctx context.Context, into [][]byte) error {
			return s.b.Get(ctx, s.key(name), off, tag, into...)
		})
	})
	if err == nil || !errors.Is(err, ErrCondition) {
		return err
	}
	got := "another version"
	if now, headErr := s.head(ctx, op, s.key(name)); headErr == nil {
		got = "an object with the tag " + now.Tag
	} else if errs.KindOf(headErr) == errs.NotFound {
		got = "no object"
	}
	return &errs.Error{Kind: errs.Mismatch, Op: op, Subject: store.JoinURL(s.b.Name(), s.key(name)),
		Want: "the object with the tag " + tag, Got: got,
		Remedy: "the object was replaced since it was opened: open the data set again"}
}

package object

import (
	"context"
	"errors"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

// Put implements store.Store. The object has a key of its own name, as other programs expect. It is
// atomic and durable because a put of the object store is.
func (s *Store) Put(ctx context.Context, name string, b []byte, o store.PutOptions) error {
	const op = "store.Put"
	if err := checkFinal(op, name); err != nil {
		return err
	}
	if err := alive(ctx, op, name); err != nil {
		return err
	}
	if err := s.prepare(ctx, op); err != nil {
		return err
	}
	if err := s.above(ctx, op, name); err != nil {
		return err
	}
	if err := s.free(ctx, op, name); err != nil {
		return err
	}
	c := Condition{Absent: o.IfAbsent}
	unknown, err := s.retry(ctx, op, name, func(ctx context.Context) error {
		_, err := s.b.Put(ctx, s.key(name), b, sumOf(b), c)
		return err
	})
	if unknown && err != nil {
		// With a condition, the object that is there may be this one or the object of another caller with
		// the same bytes.
		return uncertain(op, name, err)
	}
	if errors.Is(err, ErrCondition) {
		return taken(op, name, "an object")
	}
	return err
}

// free returns an error if name is a directory, or an object of a directory.
func (s *Store) free(ctx context.Context, op, name string) error {
	_, _, t, rel, err := s.at(ctx, op, name)
	if err != nil {
		return err
	}
	if t != nil {
		if e, dir := t.find(rel); dir {
			return taken(op, name, "a directory")
		} else if e != nil {
			return &errs.Error{Kind: errs.Exists, Op: op, Subject: name,
				Got:    "an object of a committed directory, which does not change",
				Remedy: "make a transaction that replaces the directory"}
		}
	}
	there, err := s.any(ctx, op, s.key(name)+"/")
	if err != nil {
		return err
	}
	if there {
		return taken(op, name, "a directory")
	}
	return nil
}

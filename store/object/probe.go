package object

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
)

// A law is what the store needs of a server, and a question that shows whether the server keeps it.
type law struct {
	name string
	ask  func(ctx context.Context, b Bucket, key string) error
}

var errBroken = errors.New("the server does not keep the law")

// refused returns nil if err says that the condition of a request did not hold.
func refused(err error) error {
	switch {
	case err == nil:
		return errBroken
	case errors.Is(err, ErrCondition):
		return nil
	}
	return err
}

var laws = []law{
	{"a put on the condition that the key is absent fails if it is there (If-None-Match)", func(ctx context.Context, b Bucket, key string) error {
		_, err := b.Put(ctx, key, []byte("2"), sumOf([]byte("2")), Condition{Absent: true})
		return refused(err)
	}},
	{"a put on the condition of a tag fails if the object has another one (If-Match)", func(ctx context.Context, b Bucket, key string) error {
		p := []byte("3")
		other, err := b.Put(ctx, key+"-other", p, sumOf(p), Condition{})
		if err != nil {
			return err
		}
		_, err = b.Put(ctx, key, p, sumOf(p), Condition{Tag: other})
		return refused(err)
	}},
	{"an upload in parts on the condition that the key is absent fails if it is there", func(ctx context.Context, b Bucket, key string) error {
		u, err := b.Begin(ctx, key)
		if err != nil {
			return err
		}
		p := []byte("4")
		if err := u.Part(ctx, 1, p, sumOf(p)); err != nil {
			return errors.Join(err, u.Abort(ctx))
		}
		if _, err = u.Complete(ctx, 1, sumOf(p), Condition{Absent: true}); err == nil {
			return errBroken
		}
		return errors.Join(refused(err), u.Abort(ctx))
	}},
	{"a put with a wrong checksum fails", func(ctx context.Context, b Bucket, key string) error {
		if _, err := b.Put(ctx, key+"-other", []byte("5"), sumOf([]byte("6")), Condition{}); err == nil {
			return errBroken
		} else if again(err) {
			return err
		}
		return nil
	}},
	{"an object is found as it was put", func(ctx context.Context, b Bucket, key string) error {
		p, _, err := b.Read(ctx, key, 10)
		if err == nil && string(p) != "1" {
			return errBroken
		}
		return err
	}},
}

// probed is the document that says that a bucket was probed.
type probed struct {
	Version int    `json:"version"`
	Delete  bool   `json:"conditional_delete"`
	Unsafe  string `json:"unsafe,omitempty"` // a law that is broken
	Nonce   string `json:"nonce"`
}

// probeLasts is how long the result of a probe holds.
const probeLasts = 24 * time.Hour

// prepare asks the server, before the first request that changes something, whether it keeps the
// laws on which commits rest. The result is kept in the bucket for a day. Readers ask nothing.
func (s *Store) prepare(ctx context.Context, op string) error {
	s.probing <- struct{}{}
	defer func() { <-s.probing }()
	if s.ready || s.opt.SkipProbe {
		return nil
	}
	b, a, err := s.read(ctx, op, s.own("", "probe"))
	found := probed{}
	if err == nil && !s.expired(a, probeLasts) {
		err = decode(op, a.Key, b, &found)
	}
	if err != nil && (errs.KindOf(err) != errs.NotFound || errors.Is(err, ErrNoBucket)) {
		return err
	}
	if found.Version != version {
		if found, err = s.probe(ctx, op); err != nil {
			return err
		}
	}
	if found.Unsafe != "" && !s.opt.UnsafeSingleWriter {
		return &errs.Error{Kind: errs.Unsupported, Op: op, Subject: s.Properties().Name, Want: found.Unsafe,
			Got:    "a server that does not keep this law",
			Remedy: "use a server that does; or, if no other process ever writes there, --unsafe-single-writer"}
	}
	s.ready, s.noDelete = true, !found.Delete
	return nil
}

// probe asks the questions.
func (s *Store) probe(ctx context.Context, op string) (probed, error) {
	found := probed{Version: version, Nonce: nonce()}
	key := s.own("", "probes", nonce())
	defer s.drop(context.WithoutCancel(ctx), op, key, key+"-other") //nolint:errcheck // they mean nothing
	p := []byte("1")
	if _, err := s.retry(ctx, op, key, func(ctx context.Context) error {
		_, err := s.b.Put(ctx, key, p, sumOf(p), Condition{})
		return err
	}); err != nil {
		return found, err
	}
	for _, l := range laws {
		_, err := s.retry(ctx, op, key, func(ctx context.Context) error { return l.ask(ctx, s.b, key) })
		if errors.Is(err, errBroken) {
			found.Unsafe = strings.TrimSpace(found.Unsafe + "; " + l.name)
		} else if err != nil {
			return found, err
		}
	}
	found.Unsafe = strings.TrimPrefix(found.Unsafe, "; ")
	// Without a removal on a condition, names that were removed keep a small key.
	_, err := s.retry(ctx, op, key, func(ctx context.Context) error {
		return s.b.Delete(ctx, key, Condition{Tag: fmt.Sprintf("%q", nonce())})
	})
	found.Delete = errors.Is(err, ErrCondition)
	if err != nil && !found.Delete && errs.KindOf(err) != errs.Unsupported &&
		(again(err) || errs.KindOf(err) == errs.Permission) {
		return found, err
	}
	_, err = s.put(ctx, op, s.own("", "probe"), encode(found, 0), Condition{})
	return found, err
}

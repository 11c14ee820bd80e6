package object

import (
	"bytes"
	"context"
	"errors"
	"hash/crc32"
	"math/rand/v2"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func sumOf(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// Waits between attempts: the first, and the longest.
const (
	firstWait = 50 * time.Millisecond
	lastWait  = 5 * time.Second
)

// again reports whether a request may be sent again after err.
func again(err error) bool {
	return errors.Is(err, ErrConflict) || errors.Is(err, ErrThrottled) || errors.Is(err, ErrUnknown)
}

// retry sends a request until it succeeds, fails for good, or Options.Deadline is over. unknown
// says that an attempt may have been carried out although it returned an error.
func (s *Store) retry(
	ctx context.Context, op, name string, request func(context.Context) error,
) (unknown bool, err error) {
	limited, cancel := context.WithTimeoutCause(ctx, s.opt.Deadline, errDeadline)
	defer cancel()
	wait := firstWait
	for attempts := 1; ; attempts++ {
		if err := alive(ctx, op, name); err != nil {
			return unknown, err
		}
		err = request(limited)
		if limited.Err() != nil && err != nil && !errors.Is(err, ErrCondition) && errs.KindOf(err) != errs.NotFound {
			unknown = true // the request was sent, and then its time ran out
		}
		// Bytes that were damaged on their way are sent again, but not for ever.
		damaged := errs.KindOf(err) == errs.Corrupt && attempts < 3
		if err == nil || !again(err) && !damaged && limited.Err() == nil {
			return unknown, err
		}
		unknown = unknown || errors.Is(err, ErrUnknown)
		select {
		case <-limited.Done():
			if err := alive(ctx, op, name); err != nil {
				return unknown, err
			}
			return unknown, &errs.Error{Kind: errs.IO, Op: op, Subject: name, Err: err,
				Want: "an answer within " + s.opt.Deadline.String(), Got: "none in " + count(attempts, "attempt"),
				Remedy: "see whether the object store can be reached, or raise the deadline"}
		case <-time.After(wait/2 + rand.N(wait/2+1)):
		}
		wait = min(2*wait, lastWait)
	}
}

var errDeadline = errors.New("the deadline of the request is over")

// put stores a document of the store's own under a condition. Such a document is like no other, so
// that a lost reply is no question: if the document is there, this call put it there.
func (s *Store) put(ctx context.Context, op, key string, b []byte, c Condition) (tag string, err error) {
	tag, _, err = s.tryPut(ctx, op, key, b, c)
	return tag, err
}

// tryPut works like put. twice says, unless the outcome is uncertain, that a request without an
// answer was sent before the last one: it may have been carried out, or may still arrive.
func (s *Store) tryPut(
	ctx context.Context, op, key string, b []byte, c Condition,
) (tag string, twice bool, err error) {
	unknown, err := s.retry(ctx, op, key, func(ctx context.Context) (err error) {
		tag, err = s.b.Put(ctx, key, b, sumOf(b), c)
		return err
	})
	if unknown && errors.Is(err, ErrCondition) {
		there, attrs, readErr := s.read(ctx, op, key)
		switch {
		case errs.KindOf(readErr) == errs.NotFound:
		case readErr != nil:
			return "", false, uncertain(op, key, readErr)
		case bytes.Equal(there, b):
			return attrs.Tag, true, nil
		}
		return "", true, err
	}
	if unknown && err != nil {
		return "", false, uncertain(op, key, err)
	}
	return tag, unknown, err
}

// read returns a document.
func (s *Store) read(ctx context.Context, op, key string) (b []byte, a Attrs, err error) {
	_, err = s.retry(ctx, op, key, func(ctx context.Context) (err error) {
		b, a, err = s.b.Read(ctx, key, maxDocument)
		return err
	})
	return b, a, err
}

// head describes an object.
func (s *Store) head(ctx context.Context, op, key string) (a Attrs, err error) {
	_, err = s.retry(ctx, op, key, func(ctx context.Context) (err error) {
		a, err = s.b.Head(ctx, key)
		return err
	})
	return a, err
}

// list returns what List of the bucket yields.
func (s *Store) list(ctx context.Context, op, prefix string, delimited bool) (all []Attrs, err error) {
	_, err = s.retry(ctx, op, prefix, func(ctx context.Context) error {
		all = all[:0]
		for a, err := range s.b.List(ctx, prefix, delimited) {
			if err != nil {
				return err
			}
			all = append(all, a)
		}
		return nil
	})
	return all, err
}

// any reports whether a key begins with prefix.
func (s *Store) any(ctx context.Context, op, prefix string) (found bool, err error) {
	_, err = s.retry(ctx, op, prefix, func(ctx context.Context) error {
		found = false
		for _, err := range s.b.List(ctx, prefix, false) {
			if err != nil {
				return err
			}
			found = true
			break
		}
		return nil
	})
	return found, err
}

// drop removes keys, in no order. Missing ones are no error.
func (s *Store) drop(ctx context.Context, op string, keys ...string) error {
	most := max(1, s.b.Limits().MaxDelete)
	for len(keys) > 0 {
		n := min(most, len(keys))
		if _, err := s.retry(ctx, op, keys[0], func(ctx context.Context) error {
			return s.b.DeleteAll(ctx, keys[:n])
		}); err != nil {
			return err
		}
		keys = keys[n:]
	}
	return nil
}

// dropAll removes all keys with a prefix, except those in keep.
func (s *Store) dropAll(ctx context.Context, op, prefix string, keep map[string]bool) error {
	all, err := s.list(ctx, op, prefix, false)
	if err != nil {
		return err
	}
	var keys []string
	for _, a := range all {
		if !keep[a.Key] {
			keys = append(keys, a.Key)
		}
	}
	return s.drop(ctx, op, keys...)
}

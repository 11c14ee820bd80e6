// Package simulated is an object store in memory whose network fails on demand: replies are late or
// lost, requests arrive long after their callers gave up, and servers refuse for a while. Tests of
// package object run on it, under the virtual clock of testing/synctest.
package simulated

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/crc32"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store/object"
)

// Server holds the objects. Any number of buckets, which are the views of clients, lead to it. Its
// methods may be called concurrently.
type Server struct {
	mu      sync.Mutex
	objects map[string]*stored
	uploads map[*upload]bool
	skew    time.Duration // the server's clock less the caller's
	lies    Lies
}

// Lies are the laws that a server breaks, as weaker servers do.
type Lies struct {
	IgnoresAbsent   bool // puts whether or not the key is absent
	IgnoresTag      bool // puts whatever tag the object has
	IgnoresComplete bool // completes an upload on a condition that does not hold
	IgnoresSum      bool // takes wrong checksums
	IgnoresDelete   bool // removes whatever tag the object has
	NoDelete        bool // cannot compare tags in a removal, and says so
}

type stored struct {
	b        []byte
	tag      string
	modified time.Time
}

// NewServer returns an empty server whose clock is ahead of the callers' by skew.
func NewServer(skew time.Duration, lies Lies) *Server {
	return &Server{objects: map[string]*stored{}, uploads: map[*upload]bool{}, skew: skew, lies: lies}
}

// Clone returns a server with the same objects. There must be no uploads that were not completed.
func (v *Server) Clone() *Server {
	v.mu.Lock()
	defer v.mu.Unlock()
	w := NewServer(v.skew, v.lies)
	w.objects = maps.Clone(v.objects)
	return w
}

// Keys returns the keys of all objects, in ascending order.
func (v *Server) Keys() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Sorted(maps.Keys(v.objects))
}

// Uploads returns the number of uploads that were not completed.
func (v *Server) Uploads() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return len(v.uploads)
}

// Request describes one request to a Network.
type Request struct {
	Kind string // Put, Get, Read, Head, List, Delete, DeleteAll, Begin, Part, Complete, Abort, Uploads
	Key  string
	// Changes says that the request changes something.
	Changes bool
}

// Fate is what happens to a request.
type Fate struct {
	Delay time.Duration // until the request arrives
	Reply time.Duration // until the reply arrives
	// Err is returned by the server in place of an answer; the request changes nothing. If it has no
	// kind, the kind is errs.IO.
	Err  error
	Lost bool // the reply is lost: the caller gets object.ErrUnknown
	// Ghost is when the request arrives, counted from the time at which the caller gave up.
	Ghost time.Duration
	// Then, if not nil, is called when the request was carried out, before its reply is sent.
	Then func()
}

// Network decides the fate of requests. nil is a network without faults.
type Network func(r Request) Fate

// Bucket returns the view of a client. Its requests meet the fates of the network.
func (v *Server) Bucket(n Network) object.Bucket { return &bucket{v, n} }

type bucket struct {
	v *Server
	n Network
}

// do sends a request, and applies it to the server under its mutex.
func (b *bucket) do(ctx context.Context, r Request, apply func() error) error {
	if err := ctx.Err(); err != nil {
		return &errs.Error{Kind: errs.Canceled, Op: r.Kind, Subject: r.Key, Err: context.Cause(ctx)}
	}
	f := Fate{}
	if b.n != nil {
		f = b.n(r)
	}
	locked := func() error {
		b.v.mu.Lock()
		defer b.v.mu.Unlock()
		return apply()
	}
	if f.Ghost > 0 {
		// The caller gives up before the request arrives.
		time.AfterFunc(f.Ghost, func() { locked() }) //nolint:errcheck // nobody waits for it
		return failure(r, errs.IO, object.ErrUnknown)
	}
	if !wait(ctx, f.Delay) {
		return failure(r, errs.IO, object.ErrUnknown)
	}
	if f.Err != nil {
		return failure(r, cmp.Or(errs.KindOf(f.Err), errs.IO), f.Err)
	}
	err := locked()
	if f.Then != nil {
		f.Then()
	}
	if f.Lost || !wait(ctx, f.Reply) {
		return failure(r, errs.IO, object.ErrUnknown)
	}
	return err
}

func wait(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

func failure(r Request, kind errs.Kind, err error) error {
	return &errs.Error{Kind: kind, Op: r.Kind, Subject: r.Key, Err: err}
}

func (v *Server) now() time.Time { return time.Now().Add(v.skew) }

// put stores bytes. The caller holds the mutex.
func (v *Server) put(
	r Request, key string, p []byte, c object.Condition, absentCounts, tagCounts bool,
) (string, error) {
	old := v.objects[key]
	if c.Absent && old != nil && absentCounts || c.Tag != "" && tagCounts && (old == nil || old.tag != c.Tag) {
		kind := errs.Mismatch
		if c.Absent {
			kind = errs.Exists
		}
		return "", failure(r, kind, object.ErrCondition)
	}
	// As with ETags, the same bytes have the same tag.
	tag := fmt.Sprintf("%q", fmt.Sprintf("%x", sha256.Sum256(p)))
	v.objects[key] = &stored{slices.Clone(p), tag, v.now()}
	return tag, nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (v *Server) checked(r Request, p []byte, sum uint32) error {
	if v.lies.IgnoresSum || crc32.Checksum(p, castagnoli) == sum {
		return nil
	}
	return &errs.Error{Kind: errs.Corrupt, Op: r.Kind, Subject: r.Key,
		Want: fmt.Sprintf("bytes with the checksum %08x", sum)}
}

// Put implements object.Bucket.
func (b *bucket) Put(
	ctx context.Context, key string, p []byte, sum uint32, c object.Condition,
) (tag string, err error) {
	r := Request{"Put", key, true}
	p = slices.Clone(p)
	answer := ""
	err = b.do(ctx, r, func() error {
		if err := b.v.checked(r, p, sum); err != nil {
			return err
		}
		var err error
		answer, err = b.v.put(r, key, p, c, !b.v.lies.IgnoresAbsent, !b.v.lies.IgnoresTag)
		return err
	})
	if err == nil {
		tag = answer
	}
	return tag, err
}

func (v *Server) get(r Request, key string) (*stored, error) {
	if o := v.objects[key]; o != nil {
		return o, nil
	}
	return nil, &errs.Error{Kind: errs.NotFound, Op: r.Kind, Subject: key}
}

// Get implements object.Bucket.
func (b *bucket) Get(ctx context.Context, key string, off int64, tag string, into ...[]byte) error {
	r := Request{"Get", key, false}
	var got []byte
	end := off + object.Size(into)
	err := b.do(ctx, r, func() error {
		o, err := b.v.get(r, key)
		if err != nil {
			return err
		}
		if tag != "" && o.tag != tag {
			return failure(r, errs.Mismatch, object.ErrCondition)
		}
		if end > int64(len(o.b)) {
			return &errs.Error{Kind: errs.Corrupt, Op: r.Kind, Subject: key, Got: fmt.Sprintf("%d bytes", len(o.b))}
		}
		got = o.b[off:end]
		return nil
	})
	if err == nil {
		for _, p := range into {
			got = got[copy(p, got):]
		}
	}
	return err
}

func (v *Server) attrs(key string, o *stored) object.Attrs {
	return object.Attrs{Key: key, Size: int64(len(o.b)), Tag: o.tag, Modified: o.modified, Now: v.now()}
}

// Read implements object.Bucket.
func (b *bucket) Read(ctx context.Context, key string, limit int64) (p []byte, a object.Attrs, err error) {
	r := Request{"Read", key, false}
	var got []byte
	var attrs object.Attrs
	err = b.do(ctx, r, func() error {
		o, err := b.v.get(r, key)
		if err != nil {
			return err
		}
		if int64(len(o.b)) > limit {
			return &errs.Error{Kind: errs.Exhausted, Op: r.Kind, Subject: key, Want: fmt.Sprintf("at most %d bytes", limit),
				Got: fmt.Sprint(len(o.b))}
		}
		got, attrs = slices.Clone(o.b), b.v.attrs(key, o)
		return nil
	})
	if err == nil {
		p, a = got, attrs
	}
	return p, a, err
}

// Head implements object.Bucket.
func (b *bucket) Head(ctx context.Context, key string) (a object.Attrs, err error) {
	r := Request{"Head", key, false}
	var got object.Attrs
	err = b.do(ctx, r, func() error {
		o, err := b.v.get(r, key)
		if err == nil {
			got = b.v.attrs(key, o)
		}
		return err
	})
	if err == nil {
		a = got
	}
	return a, err
}

// List implements object.Bucket.
func (b *bucket) List(ctx context.Context, prefix string, delimited bool) iter.Seq2[object.Attrs, error] {
	return func(yield func(object.Attrs, error) bool) {
		r := Request{"List", prefix, false}
		var all []object.Attrs
		err := b.do(ctx, r, func() error {
			for _, key := range slices.Sorted(maps.Keys(b.v.objects)) {
				rest, ok := strings.CutPrefix(key, prefix)
				if !ok {
					continue
				}
				if first, _, deep := strings.Cut(rest, "/"); delimited && deep {
					common := object.Attrs{Key: prefix + first + "/", Prefix: true}
					if n := len(all); n == 0 || all[n-1].Key != common.Key {
						all = append(all, common)
					}
					continue
				}
				all = append(all, b.v.attrs(key, b.v.objects[key]))
			}
			return nil
		})
		if err != nil {
			yield(object.Attrs{}, err)
			return
		}
		for _, a := range all {
			if !yield(a, nil) {
				return
			}
		}
	}
}

// Delete implements object.Bucket.
func (b *bucket) Delete(ctx context.Context, key string, c object.Condition) error {
	r := Request{"Delete", key, true}
	return b.do(ctx, r, func() error {
		o := b.v.objects[key]
		switch {
		case c.Tag != "" && b.v.lies.NoDelete:
			return &errs.Error{Kind: errs.Unsupported, Op: r.Kind, Subject: key}
		case c.Tag != "" && !b.v.lies.IgnoresDelete && (o == nil || o.tag != c.Tag):
			return failure(r, errs.Mismatch, object.ErrCondition)
		}
		delete(b.v.objects, key)
		return nil
	})
}

// DeleteAll implements object.Bucket.
func (b *bucket) DeleteAll(ctx context.Context, keys []string) error {
	if len(keys) == 0 {
		return nil
	}
	keys = slices.Clone(keys)
	return b.do(ctx, Request{"DeleteAll", keys[0], true}, func() error {
		for _, key := range keys {
			delete(b.v.objects, key)
		}
		return nil
	})
}

// upload is an upload in parts.
type upload struct {
	b       *bucket
	key     string
	started time.Time
	parts   map[int][]byte
}

// Begin implements object.Bucket.
func (b *bucket) Begin(ctx context.Context, key string) (object.Upload, error) {
	u := &upload{b: b, key: key, parts: map[int][]byte{}}
	err := b.do(ctx, Request{"Begin", key, true}, func() error {
		u.started = b.v.now()
		b.v.uploads[u] = true
		return nil
	})
	if err != nil {
		return nil, err
	}
	return u, nil
}

// Part implements object.Upload.
func (u *upload) Part(ctx context.Context, n int, p []byte, sum uint32) error {
	r := Request{"Part", u.key, true}
	p = slices.Clone(p)
	return u.b.do(ctx, r, func() error {
		if !u.b.v.uploads[u] {
			return &errs.Error{Kind: errs.NotFound, Op: r.Kind, Subject: u.key}
		}
		if err := u.b.v.checked(r, p, sum); err != nil {
			return err
		}
		u.parts[n] = p
		return nil
	})
}

// Complete implements object.Upload.
func (u *upload) Complete(ctx context.Context, n int, sum uint32, c object.Condition) (tag string, err error) {
	r := Request{"Complete", u.key, true}
	answer := ""
	err = u.b.do(ctx, r, func() error {
		if !u.b.v.uploads[u] {
			return &errs.Error{Kind: errs.NotFound, Op: r.Kind, Subject: u.key}
		}
		var all []byte
		for i := 1; i <= n; i++ {
			p, ok := u.parts[i]
			if !ok {
				return &errs.Error{Kind: errs.Invalid, Op: r.Kind, Subject: u.key, Got: fmt.Sprintf("no part %d", i)}
			}
			all = append(all, p...)
		}
		if err := u.b.v.checked(r, all, sum); err != nil {
			return err
		}
		honest := !u.b.v.lies.IgnoresComplete
		var err error
		if answer, err = u.b.v.put(r, u.key, all, c, honest, honest); err == nil {
			delete(u.b.v.uploads, u)
		}
		return err
	})
	if err == nil {
		tag = answer
	}
	return tag, err
}

// Abort implements object.Upload.
func (u *upload) Abort(ctx context.Context) error {
	return u.b.do(ctx, Request{"Abort", u.key, true}, func() error {
		delete(u.b.v.uploads, u)
		return nil
	})
}

// Uploads implements object.Bucket.
func (b *bucket) Uploads(ctx context.Context, prefix string) iter.Seq2[object.Unfinished, error] {
	return func(yield func(object.Unfinished, error) bool) {
		var all []object.Unfinished
		err := b.do(ctx, Request{"Uploads", prefix, false}, func() error {
			for u := range b.v.uploads {
				if strings.HasPrefix(u.key, prefix) {
					mine := &upload{b, u.key, u.started, u.parts}
					all = append(all, object.Unfinished{Key: u.key, Started: u.started, Abort: func(ctx context.Context) error {
						return mine.b.do(ctx, Request{"Abort", mine.key, true}, func() error { delete(b.v.uploads, u); return nil })
					}})
				}
			}
			return nil
		})
		if err != nil {
			yield(object.Unfinished{}, err)
			return
		}
		for _, u := range all {
			if !yield(u, nil) {
				return
			}
		}
	}
}

// Limits implements object.Bucket.
func (b *bucket) Limits() object.Limits {
	return object.Limits{MinPart: 1, MaxPart: 5 << 30, MaxParts: 10_000, MaxDelete: 1000, MaxPut: 5 << 30}
}

// Name implements object.Bucket.
func (b *bucket) Name() string { return "sim://bucket" }

// ErrSlow and the others are what servers answer in place of a result.
var (
	ErrSlow     = object.ErrThrottled
	ErrConflict = object.ErrConflict
	ErrServer   = errors.Join(object.ErrUnknown, errors.New("500"))
)

package object_test

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/object"
	"github.com/bivouac-ml/bivouac/store/object/simulated"
)

// counted counts the calls of a bucket, also those that send nothing because their context has
// ended.
type counted struct {
	object.Bucket
	calls atomic.Int64
	keys  func(key string) // sees all keys; may be nil
}

func (c *counted) count(key string) {
	c.calls.Add(1)
	if c.keys != nil {
		c.keys(key)
	}
}

func (c *counted) Put(ctx context.Context, key string, p []byte, sum uint32, k object.Condition) (string, error) {
	c.count(key)
	return c.Bucket.Put(ctx, key, p, sum, k)
}

func (c *counted) Get(ctx context.Context, key string, off int64, tag string, into ...[]byte) error {
	c.count(key)
	return c.Bucket.Get(ctx, key, off, tag, into...)
}

func (c *counted) Read(ctx context.Context, key string, limit int64) ([]byte, object.Attrs, error) {
	c.count(key)
	return c.Bucket.Read(ctx, key, limit)
}

func (c *counted) Head(ctx context.Context, key string) (object.Attrs, error) {
	c.count(key)
	return c.Bucket.Head(ctx, key)
}

func (c *counted) List(ctx context.Context, prefix string, delimited bool) iter.Seq2[object.Attrs, error] {
	c.calls.Add(1)
	return c.Bucket.List(ctx, prefix, delimited)
}

func (c *counted) Delete(ctx context.Context, key string, k object.Condition) error {
	c.count(key)
	return c.Bucket.Delete(ctx, key, k)
}

func (c *counted) DeleteAll(ctx context.Context, keys []string) error {
	for _, key := range keys {
		c.count(key)
	}
	return c.Bucket.DeleteAll(ctx, keys)
}

// A call whose context has ended sends nothing. It says which name it was about.
func TestEndedContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		server, _ := fresh(t, saved("run/a"))
		b := &counted{Bucket: server.Bucket(nil)}
		st := object.New(b, "p/", quick)
		reason := errors.New("the reason")
		ended, cancel := context.WithCancelCause(ctx)
		cancel(reason)
		begin := func(name string) store.Txn {
			txn, err := st.Begin(ctx, name, store.TxnOptions{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { txn.Abort() }) //nolint:errcheck // of a test
			return txn
		}
		l, err := st.Lock(ctx, "run")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close() //nolint:errcheck // of a test
		p, root := pin(t, st, "run/a"), pin(t, st, "run")
		txn := begin("run/b")
		w, err := begin("run/d").Create(ctx, "x", 3)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.WriteAt(ctx, []byte("abc"), 0); err != nil {
			t.Fatal(err)
		}
		for what, c := range map[string]struct {
			subject string
			call    func() error
		}{
			"Open":         {"run/a/d/0", func() error { return second(st.Open(ended, "run/a/d/0")) }},
			"Stat":         {"run/a", func() error { return second(st.Stat(ended, "run/a")) }},
			"List":         {"run/a", func() error { return second(list(st.List(ended, "run/a"))) }},
			"Put":          {"run/n", func() error { return st.Put(ended, "run/n", nil, store.PutOptions{}) }},
			"Begin":        {"run/c", func() error { return second(st.Begin(ended, "run/c", store.TxnOptions{})) }},
			"RemoveTree":   {"run/a", func() error { return st.RemoveTree(ended, "run/a") }},
			"Rename":       {"run/a", func() error { return st.Rename(ended, "run/a", "run/z") }},
			"CleanStaging": {"run", func() error { return second(st.CleanStaging(ended, "run", nil)) }},
			"Settle":       {"run", func() error { return st.Settle(ended, "run") }},
			"Lock":         {"run", func() error { return second(st.Lock(ended, "run")) }},
			"Check": {"p/run/.bivouac.objects/lock", func() error {
				return l.(store.HeldLock).Check(ended) //nolint:forcetypeassert // the store's locks are held locks
			}},
			"Pin":         {"run/a", func() error { return second(st.Pin(ended, "run/a")) }},
			"Fate":        {"run/a", func() error { return p.Fate(ended, "run/a") }},
			"pinned Pin":  {"run/a", func() error { return second(p.(store.Pinner).Pin(ended, "run/a")) }}, //nolint:forcetypeassert // as above
			"named Fate":  {"run", func() error { return root.Fate(ended, "run") }},
			"Head":        {"p/run/loose", func() error { return second(st.Head(ended, "run/loose")) }},
			"txn Put":     {"run/b", func() error { return txn.Put(ended, "y", nil) }},
			"txn Link":    {"run/b", func() error { return txn.Link(ended, "l", "run/a/d/0") }},
			"Commit":      {"run/c", func() error { return begin("run/c").Commit(ended, store.Blob{Name: "manifest"}) }},
			"Seal (last)": {"run/d/x", func() error { return w.Seal(ended) }},
		} {
			before := b.calls.Load()
			err := c.call()
			e := (*errs.Error)(nil)
			if errs.KindOf(err) != errs.Canceled || !errors.Is(err, reason) || !errors.As(err, &e) || e.Subject != c.subject {
				t.Errorf("%s: %v, want a canceled call on %s", what, err, c.subject)
			}
			if sent := b.calls.Load() - before; sent > 0 && what != "Commit" {
				t.Errorf("%s sends %d requests", what, sent)
			}
		}
	})
}

// A context that ends at any request of a call ends the call: it is done, or says that it was
// canceled, and what it did before is whole.
func TestContextEndsAnywhere(t *testing.T) {
	for name, a := range acts {
		t.Run(name, func(t *testing.T) {
			for k := int64(1); ; k++ {
				met := false
				synctest.Test(t, func(t *testing.T) {
					server := simulated.NewServer(0, simulated.Lies{})
					if err := a.prepare(t.Context(), server); err != nil {
						t.Fatal(err)
					}
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					var n atomic.Int64
					st := object.New(server.Bucket(one(func(simulated.Request) simulated.Fate {
						if n.Add(1) == k {
							met = true
							return simulated.Fate{Then: cancel}
						}
						return simulated.Fate{}
					})), "p/", quick)
					if err := a.do(ctx, st); err != nil && !errors.Is(err, errs.Canceled) && !errors.Is(err, context.Canceled) {
						t.Errorf("at request %d: %v", k, err)
					}
					if what := found(t.Context(), server)["broken"]; what != "" {
						t.Errorf("at request %d: %s", k, what)
					}
				})
				if !met || t.Failed() {
					return
				}
			}
		})
	}
}

// garbled answers the nth read of a document with other bytes.
type garbled struct {
	object.Bucket
	nth  int64
	make func(b []byte) []byte
	n    atomic.Int64
	key  string // of the document
	same bool   // it was not changed
}

func (g *garbled) Read(ctx context.Context, key string, limit int64) ([]byte, object.Attrs, error) {
	b, a, err := g.Bucket.Read(ctx, key, limit)
	if err == nil && strings.Contains(key, "/.bivouac.objects/") && g.n.Add(1) == g.nth {
		other := g.make(b)
		g.key, g.same, b = key, bytes.Equal(b, other), other
	}
	return b, a, err
}

// A document that is damaged is told by its key: whichever document it is, and whichever call
// reads it. So is one of a later version.
func TestDamagedDocuments(t *testing.T) {
	changes := map[string]struct {
		make func(b []byte) []byte
		want errs.Kind
	}{
		"no document": {func(b []byte) []byte { return bytes.Repeat([]byte("?"), len(b)) }, errs.Corrupt},
		"later":       {func(b []byte) []byte { return []byte(strings.Replace(string(b), `"version":1`, `"version":2`, 1)) }, errs.Unsupported},
	}
	for name, a := range acts {
		for what, c := range changes {
			t.Run(name+"/"+what, func(t *testing.T) {
				for k := int64(1); ; k++ {
					met := ""
					synctest.Test(t, func(t *testing.T) {
						server := simulated.NewServer(0, simulated.Lies{})
						if err := a.prepare(t.Context(), server); err != nil {
							t.Fatal(err)
						}
						var published atomic.Bool
						b := &garbled{Bucket: server.Bucket(one(func(r simulated.Request) simulated.Fate {
							if r.Kind == "Put" && is(r.Key, "heads") {
								published.Store(true)
							}
							return simulated.Fate{}
						})), nth: k, make: c.make}
						err := a.do(t.Context(), object.New(b, "p/", quick))
						if met = b.key; met == "" {
							return
						}
						switch {
						case a.silent(simulated.Request{Kind: "Read", Key: b.key}, published.Load()):
							return
						case what == "later" && (b.same || is(b.key, "data") || is(b.key, "gone")):
							return // it has no version, or its head or lease has it
						}
						if !errors.Is(err, c.want) || !strings.Contains(err.Error(), b.key) {
							t.Errorf("read %d, of %s: %v", k, b.key, err)
						}
					})
					if met == "" || t.Failed() {
						return
					}
				}
			})
		}
	}
}

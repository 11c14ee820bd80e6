package object_test

import (
	"bytes"
	"context"
	"errors"
	"hash/crc32"
	"iter"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store/object"
)

// wrong is an implementation with one mistake, made of the right one: it changes what the requests
// say, when they are sent, or what is made of their replies.
type wrong struct {
	object.Bucket
	put    func(b object.Bucket, ctx context.Context, key string, p []byte, c object.Condition) (tag string, err error)
	remove func(b object.Bucket, ctx context.Context, key string, c object.Condition) error
	drop   func(b object.Bucket, ctx context.Context, keys []string) error
	attrs  func(key string, a object.Attrs) object.Attrs
	start  func(object.Upload) object.Upload
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// send has its parameters in the order of the methods of wrong.
func send(b object.Bucket, ctx context.Context, key string, p []byte, c object.Condition) (string, error) {
	return b.Put(ctx, key, p, sum(p), c)
}

func (w *wrong) Put(ctx context.Context, key string, p []byte, sum uint32, c object.Condition) (string, error) {
	if w.put == nil {
		return w.Bucket.Put(ctx, key, p, sum, c)
	}
	return w.put(w.Bucket, ctx, key, p, c)
}

func (w *wrong) Delete(ctx context.Context, key string, c object.Condition) error {
	if w.remove == nil {
		return w.Bucket.Delete(ctx, key, c)
	}
	return w.remove(w.Bucket, ctx, key, c)
}

func (w *wrong) DeleteAll(ctx context.Context, keys []string) error {
	if w.drop == nil {
		return w.Bucket.DeleteAll(ctx, keys)
	}
	return w.drop(w.Bucket, ctx, keys)
}

func (w *wrong) Read(ctx context.Context, key string, limit int64) ([]byte, object.Attrs, error) {
	b, a, err := w.Bucket.Read(ctx, key, limit)
	if w.attrs != nil {
		a = w.attrs(key, a)
	}
	return b, a, err
}

func (w *wrong) Head(ctx context.Context, key string) (object.Attrs, error) {
	a, err := w.Bucket.Head(ctx, key)
	if w.attrs != nil {
		a = w.attrs(key, a)
	}
	return a, err
}

func (w *wrong) Begin(ctx context.Context, key string) (object.Upload, error) {
	u, err := w.Bucket.Begin(ctx, key)
	if err == nil && w.start != nil {
		u = w.start(u)
	}
	return u, err
}

// is reports whether a key is one of a kind: "heads", "live", "users" and so on.
func is(key, kind string) bool { return strings.Contains(key, "/"+kind+"/") }

// without takes conditions from the puts of a kind of key.
func without(kind string, which func(c object.Condition) object.Condition) func(object.Bucket) object.Bucket {
	return func(b object.Bucket) object.Bucket {
		return &wrong{Bucket: b, put: func(
			b object.Bucket, ctx context.Context, key string, p []byte, c object.Condition,
		) (string, error) {
			if is(key, kind) || strings.HasSuffix(key, "/"+kind) {
				c = which(c)
			}
			return send(b, ctx, key, p, c)
		}}
	}
}

func noAbsent(c object.Condition) object.Condition { return object.Condition{Tag: c.Tag} }
func noTag(c object.Condition) object.Condition    { return object.Condition{Absent: c.Absent} }
func noCondition(object.Condition) object.Condition {
	return object.Condition{}
}

// unsent never sends the puts for which skip returns true, and says that they succeeded.
func unsent(skip func(key string, p []byte, c object.Condition) bool) func(object.Bucket) object.Bucket {
	return func(b object.Bucket) object.Bucket {
		return &wrong{Bucket: b, put: func(
			b object.Bucket, ctx context.Context, key string, p []byte, c object.Condition,
		) (string, error) {
			if skip(key, p, c) {
				return "never", nil
			}
			return send(b, ctx, key, p, c)
		}}
	}
}

// late sends the puts of a kind of key after the next put of another kind.
func late(kind, after string) func(object.Bucket) object.Bucket {
	return func(b object.Bucket) object.Bucket {
		var mu sync.Mutex
		held := map[string][]byte{}
		return &wrong{Bucket: b, put: func(
			b object.Bucket, ctx context.Context, key string, p []byte, c object.Condition,
		) (string, error) {
			if is(key, kind) || strings.HasSuffix(key, "/"+kind) {
				mu.Lock()
				held[key] = bytes.Clone(p)
				mu.Unlock()
				return "held", nil
			}
			tag, err := send(b, ctx, key, p, c)
			if err == nil && is(key, after) {
				mu.Lock()
				all := held
				held = map[string][]byte{}
				mu.Unlock()
				for key, p := range all {
					if _, err := send(b, ctx, key, p, object.Condition{}); err != nil {
						return tag, nil //nolint:nilerr // the mistake: nobody asks
					}
				}
			}
			return tag, err
		}}
	}
}

// answers makes something else of the results of puts of a kind of key.
func answers(kind string, change func(err error) error) func(object.Bucket) object.Bucket {
	return func(b object.Bucket) object.Bucket {
		return &wrong{Bucket: b, put: func(
			b object.Bucket, ctx context.Context, key string, p []byte, c object.Condition,
		) (string, error) {
			tag, err := send(b, ctx, key, p, c)
			if is(key, kind) {
				err = change(err)
			}
			return tag, err
		}}
	}
}

func failed(err error, why error) error {
	if errors.Is(err, why) {
		return &errs.Error{Kind: errs.IO, Got: "a failure"}
	}
	return err
}

func succeeded(err error, why error) error {
	if errors.Is(err, why) {
		return nil
	}
	return err
}

// wrongs are implementations that someone might write.
var wrongs = map[string]func(object.Bucket) object.Bucket{
	"a commit without condition":                 without("heads", noAbsent),
	"an overwrite without condition":             without("heads", noTag),
	"heads without any condition":                without("heads", noCondition),
	"a lease without condition":                  without("live", noCondition),
	"a lock without condition":                   without("lock", noCondition),
	"the head before the tree":                   late("tree", "heads"),
	"the head before the objects":                late("objects", "heads"),
	"a lost reply to a commit taken as failure":  answers("heads", func(err error) error { return failed(err, object.ErrUnknown) }),
	"a lost reply to a commit taken as success":  answers("heads", func(err error) error { return succeeded(err, object.ErrUnknown) }),
	"a lost reply to an object taken as success": answers("objects", func(err error) error { return succeeded(err, object.ErrUnknown) }),
	"a server that is busy taken as success":     answers("objects", func(err error) error { return succeeded(err, object.ErrThrottled) }),
	"a conflict of commits taken as success":     answers("heads", func(err error) error { return succeeded(err, object.ErrConflict) }),
	"a commit that lost taken as success":        answers("heads", func(err error) error { return succeeded(err, object.ErrCondition) }),
	"links without a note at their source": unsent(func(key string, _ []byte, _ object.Condition) bool {
		return is(key, "users") && !strings.Contains(key, "reader-")
	}),
	"leases of readers without a note":       unsent(func(key string, _ []byte, _ object.Condition) bool { return strings.Contains(key, "/users/reader-") }),
	"notes of links after the commit":        late("users", "heads"),
	"a move that does not note the new name": unsent(func(key string, _ []byte, _ object.Condition) bool { return is(key, "names") }),
	"a dead transaction whose commit is not prevented": unsent(func(key string, p []byte, c object.Condition) bool {
		return is(key, "heads") && c.Absent && bytes.Contains(p, []byte(`"removed"`))
	}),
	"a removal without condition": func(b object.Bucket) object.Bucket {
		return &wrong{Bucket: b, remove: func(b object.Bucket, ctx context.Context, key string, _ object.Condition) error {
			return b.Delete(ctx, key, object.Condition{})
		}}
	},
	"the data removed before the head": func(b object.Bucket) object.Bucket {
		return &wrong{Bucket: b, put: func(b object.Bucket, ctx context.Context, key string, p []byte, c object.Condition) (string, error) {
			if is(key, "gone") {
				for a, err := range b.List(ctx, strings.Replace(key, "/gone/", "/data/", 1)+"/objects/", false) {
					if err == nil {
						b.DeleteAll(ctx, []string{a.Key}) //nolint:errcheck // the mistake is to do it at all
					}
				}
			}
			return send(b, ctx, key, p, c)
		}}
	},
	"a head that is removed although a request may come late": func(b object.Bucket) object.Bucket {
		return &wrong{Bucket: b, put: func(b object.Bucket, ctx context.Context, key string, p []byte, c object.Condition) (string, error) {
			if is(key, "heads") && c.Tag != "" && bytes.Contains(p, []byte(`{"removed"`)) {
				err := b.Delete(ctx, key, c)
				if errs.KindOf(err) == errs.Unsupported {
					err = b.Delete(ctx, key, object.Condition{})
				}
				return "none", err
			}
			return send(b, ctx, key, p, c)
		}}
	},
	"the clock of the caller": func(b object.Bucket) object.Bucket {
		return &wrong{Bucket: b, attrs: func(_ string, a object.Attrs) object.Attrs {
			a.Now = time.Now()
			return a
		}}
	},
	"everybody is dead": func(b object.Bucket) object.Bucket {
		return &wrong{Bucket: b, attrs: func(key string, a object.Attrs) object.Attrs {
			if strings.HasSuffix(key, "/lock") || strings.Contains(key, "reader-") {
				a.Now = a.Now.Add(time.Hour)
			}
			return a
		}}
	},
	"uploads that are never aborted": func(b object.Bucket) object.Bucket {
		return &wrong{Bucket: &unabortable{b}}
	},
	"keys that are dropped one in two": func(b object.Bucket) object.Bucket {
		return &wrong{Bucket: b, drop: func(b object.Bucket, ctx context.Context, keys []string) error {
			return b.DeleteAll(ctx, keys[:(len(keys)+1)/2])
		}}
	},
}

// TestWrongImplementations: the histories find each mistake. All of these implementations pass the
// conformance suite, or nearly.
func TestWrongImplementations(t *testing.T) {
	if testing.Short() {
		t.Skip("takes minutes")
	}
	for name, change := range wrongs {
		t.Run(name, func(t *testing.T) {
			seed, broken := histories(t, 1, 2000, change)
			if len(broken) == 0 {
				t.Fatal("2,000 histories do not find it")
			}
			t.Logf("history %d: %s", seed, broken[0])
		})
	}
}

// unabortable does not abort uploads.
type unabortable struct{ object.Bucket }

type kept struct{ object.Upload }

func (kept) Abort(context.Context) error { return nil }

func (u *unabortable) Begin(ctx context.Context, key string) (object.Upload, error) {
	up, err := u.Bucket.Begin(ctx, key)
	if err != nil {
		return nil, err
	}
	return kept{up}, nil
}

func (u *unabortable) Uploads(context.Context, string) iter.Seq2[object.Unfinished, error] {
	return func(func(object.Unfinished, error) bool) {}
}

func sum(p []byte) uint32 { return crc32.Checksum(p, castagnoli) }

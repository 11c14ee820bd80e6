package object

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/bivouac-ml/bivouac/store"
)

// Bucket is what the store needs of an object store. Drivers implement it: store/object/s3 for
// example. All methods may be called concurrently. A driver does not retry: the store does, because
// only the store knows what a lost reply means.
//
// Errors are of type *errs.Error. Their kind is NotFound for a missing key or bucket, Permission
// for credentials that do not suffice, Invalid for a request that the server calls malformed. Err
// is one of the sentinels below where one fits. No error contains credentials or signatures.
type Bucket interface {
	// Put stores b under key, and returns its tag. sum is the CRC-32C of b; the server checks it if it
	// can. It fails with ErrCondition if c does not hold.
	Put(ctx context.Context, key string, b []byte, sum uint32, c Condition) (tag string, err error)
	// Get fills the pieces of memory, in their order, from offset off of an object. If they are longer
	// than what the object has from there, the error is of kind errs.Corrupt. If tag is not empty, it
	// fails with ErrCondition unless the object has this tag.
	Get(ctx context.Context, key string, off int64, tag string, into ...[]byte) error
	// Read returns a whole object of at most limit bytes, and describes it. If it has more, the error
	// is of kind errs.Exhausted.
	Read(ctx context.Context, key string, limit int64) ([]byte, Attrs, error)
	// Head describes an object.
	Head(ctx context.Context, key string) (Attrs, error)
	// List yields the objects whose key begins with prefix, in ascending byte order. With a delimiter,
	// keys that have "/" after the prefix are yielded once as Attrs with this common beginning, which
	// ends with "/", as the Key, and Prefix set.
	List(ctx context.Context, prefix string, delimited bool) iter.Seq2[Attrs, error]
	// Delete removes an object. It fails with ErrCondition if c does not hold. A missing key is no
	// error if c has no tag. If c has a tag and the server cannot compare it, the error is of kind
	// errs.Unsupported and nothing was removed.
	Delete(ctx context.Context, key string, c Condition) error
	// DeleteAll removes objects; missing ones are no error. Several may be gone after an error.
	DeleteAll(ctx context.Context, keys []string) error
	// Begin starts an upload in parts. It becomes visible when Complete has returned, as a whole.
	Begin(ctx context.Context, key string) (Upload, error)
	// Uploads yields the unfinished uploads whose key begins with prefix.
	Uploads(ctx context.Context, prefix string) iter.Seq2[Unfinished, error]
	// Limits returns what the server takes.
	Limits() Limits
	// Name returns the URL of the bucket for messages, without credentials.
	Name() string
}

// Upload is an object that is uploaded in parts. Part may be called concurrently.
type Upload interface {
	// Part uploads part n, counted from 1, whose CRC-32C is sum. A part that is sent again replaces
	// the earlier one.
	Part(ctx context.Context, n int, b []byte, sum uint32) error
	// Complete makes the object of the parts 1 to n. sum is the CRC-32C of the whole object, which the
	// server checks if it can. It fails with ErrCondition if c does not hold.
	Complete(ctx context.Context, n int, sum uint32, c Condition) (tag string, err error)
	// Abort drops the parts.
	Abort(ctx context.Context) error
}

// Condition says when a request may change a key. The zero Condition always holds.
type Condition struct {
	Absent bool   // the key must not exist
	Tag    string // if not empty, the object must have this tag
}

// Attrs describes an object. Server times are of the server's clock.
type Attrs struct {
	Key      string
	Size     int64
	Tag      string    // changes with each Put of other contents: the ETag or generation
	Modified time.Time // when it was put
	Now      time.Time // the server's time of the reply; zero in lists if it is not known
	Prefix   bool      // a common beginning of keys
}

// Unfinished is an upload in parts that was not completed.
type Unfinished struct {
	Key     string
	Started time.Time
	Abort   func(context.Context) error
}

// Limits of a server.
type Limits struct {
	MinPart, MaxPart int64 // bytes of a part; the last part may be smaller
	MaxParts         int   // parts of an object
	MaxDelete        int   // keys of DeleteAll
	MaxPut           int64 // bytes of Put
}

var (
	// ErrCondition says that the condition of a request does not hold, and that the request changed
	// nothing: 412.
	ErrCondition = errors.New("the condition does not hold")
	// ErrConflict says that another request for the same key was in the way, and that the request
	// changed nothing: 409.
	ErrConflict = errors.New("another request for the same key is going on")
	// ErrThrottled says that the server wants fewer requests, and that the request changed nothing:
	// 429 and 503.
	ErrThrottled = errors.New("the server wants fewer requests")
	// ErrNoBucket says that the bucket itself does not exist. The error's kind is errs.NotFound.
	// store.ErrNoStore is in its chain.
	ErrNoBucket error = noBucket{}
	// ErrUnknown says that the request may have been carried out: a lost reply, a time that ran out,
	// 500, 502, 504.
	ErrUnknown = errors.New("no reply says whether the request was carried out")
)

type noBucket struct{}

// Error implements error.
func (noBucket) Error() string { return "no such bucket" }

// Unwrap returns store.ErrNoStore.
func (noBucket) Unwrap() error { return store.ErrNoStore }

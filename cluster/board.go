package cluster

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

// Board is what a cluster needs: a small set of documents that all members read and write. A Board
// is linearizable: what a Put has acknowledged is found by the next Get and List of any process.
// Its methods may be called concurrently, and return soon after ctx ends.
//
// A version identifies the contents of a document. A version never comes back, not even after the
// document was removed and written again. Errors are of type *errs.Error. An error of kind IO,
// Busy or Canceled may mean that the request was carried out; members look, and try again.
type Board interface {
	// Get returns a document. The kind of the error is errs.NotFound if it does not exist.
	Get(ctx context.Context, key string) (Document, error)
	// Put writes a document, and returns its new version. It changes nothing and fails with ErrChanged
	// unless the document has this version now. The version "" means that there is no document.
	Put(ctx context.Context, key string, value []byte, version string) (string, error)
	// Delete removes a document that has this version, and fails with ErrChanged if it has another
	// one. The version "" stands for any. A missing document is no error.
	Delete(ctx context.Context, key, version string) error
	// List returns the documents whose key begins with prefix. Their Value may be nil.
	List(ctx context.Context, prefix string) ([]Document, error)
	// Properties describes the board.
	Properties() Properties
	// Close frees what the Board holds. The documents stay.
	Close() error
}

// Watcher is a Board that tells of changes, so that members need not ask all the time.
type Watcher interface {
	// Changes returns a channel that has an element soon after a document whose key begins with prefix
	// changes. Several changes may be one element. The channel is closed when ctx ends, or when the
	// board can tell no more.
	Changes(ctx context.Context, prefix string) (<-chan struct{}, error)
}

// Document is a document of a Board.
type Document struct {
	Key     string
	Value   []byte
	Version string
}

// Properties of a Board.
type Properties struct {
	// Name is the URL or path of the board for messages, without credentials.
	Name string
	// MaxValue is the largest number of bytes of a document.
	MaxValue int
	// Poll is the time between two questions of a member that waits: the shortest, and the longest.
	Poll, MaxPoll time.Duration
}

// ErrChanged says that a document has another version than the request wants, and that the request
// changed nothing.
var ErrChanged = errors.New("the document has another version")

// Opener opens the board of a URL.
type Opener func(ctx context.Context, url string) (Board, error)

var schemes sync.Map // scheme -> Opener

// Register makes OpenBoard and Open take URLs of a scheme, such as "etcd". Packages that do it are
// imported for this effect. The first call for a scheme counts.
func Register(scheme string, open Opener) { schemes.LoadOrStore(scheme, open) }

// OpenBoard opens the board of a URL, such as "etcd://host:2379/run", or of a path of a directory
// that all members share.
func OpenBoard(ctx context.Context, url string) (Board, error) {
	const op = "cluster.Open"
	if !store.IsURL(url) {
		return Directory(url)
	}
	scheme, rest, _ := strings.Cut(url, "://")
	scheme = strings.ToLower(scheme)
	if _, ok := schemes.Load(scheme); !ok && scheme == "file" {
		return Directory(rest)
	}
	host, _, _ := strings.Cut(rest, "/")
	host, _, _ = strings.Cut(host, "?")
	if _, after, ok := strings.Cut(host, "@"); ok {
		// The error must not repeat what may be a secret.
		return nil, &errs.Error{Kind: errs.Invalid, Op: op, Subject: scheme + "://" + after, Got: "credentials in the URL",
			Remedy: "give them by the environment: a URL is printed and logged"}
	}
	open, ok := schemes.Load(scheme)
	if !ok {
		return nil, &errs.Error{Kind: errs.Unsupported, Op: op, Subject: scheme + "://" + host,
			Want: "the path of a shared directory, or a URL whose scheme this program knows: " + known(), Got: scheme,
			Remedy: "a program knows a scheme once it imports the package for its effect: " +
				"github.com/bivouac-ml/bivouac/cluster/etcd or cluster/s3"}
	}
	return open.(Opener)(ctx, url) //nolint:forcetypeassert // only Register stores there
}

// known lists the schemes that this program knows.
func known() string {
	all := []string{"file"}
	schemes.Range(func(scheme, _ any) bool {
		all = append(all, scheme.(string)) //nolint:forcetypeassert // only Register stores there
		return true
	})
	slices.Sort(all)
	return strings.Join(slices.Compact(all), ", ")
}

// desk sends requests to a board: each attempt has a deadline, and attempts that fail for a reason
// that may go away are repeated.
type desk struct {
	Board
	attempt time.Duration // bounds one attempt
}

// Waits between attempts: the first, and the longest.
const (
	firstWait = 10 * time.Millisecond
	lastWait  = 2 * time.Second
)

// transient reports whether a request may succeed later.
func transient(err error) bool {
	if errors.Is(err, ErrChanged) {
		return false
	}
	switch errs.KindOf(err) {
	case errs.IO, errs.Busy, errs.Canceled, errs.Other:
		return true
	}
	return false
}

// once sends a request once.
func (d desk) once(ctx context.Context, request func(ctx context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, d.attempt)
	defer cancel()
	return request(limited)
}

// retry sends a request until it succeeds, fails for good, or ctx ends.
func (d desk) retry(ctx context.Context, op string, request func(ctx context.Context) error) error {
	var err error
	for wait := firstWait; ; wait = min(2*wait, lastWait) {
		if ctx.Err() != nil {
			return d.over(ctx, op, err)
		}
		if err = d.once(ctx, request); err == nil || !transient(err) {
			return err
		}
		if !sleep(ctx, wait) {
			return d.over(ctx, op, err)
		}
	}
}

// over is the error of a call whose context ended.
func (d desk) over(ctx context.Context, op string, last error) error {
	return &errs.Error{Kind: errs.Canceled, Op: op, Subject: d.Properties().Name,
		Err: errors.Join(context.Cause(ctx), last)}
}

// get reads a document.
func (d desk) get(ctx context.Context, op, key string) (doc Document, err error) {
	err = d.retry(ctx, op, func(ctx context.Context) (err error) {
		doc, err = d.Get(ctx, key)
		return err
	})
	return doc, err
}

// list lists documents, with the values that the board gives.
func (d desk) list(ctx context.Context, op, prefix string) (docs []Document, err error) {
	err = d.retry(ctx, op, func(ctx context.Context) (err error) {
		docs, err = d.List(ctx, prefix)
		return err
	})
	return docs, err
}

// drop removes a document that has this version. Whether it did is not told: another version stays.
func (d desk) drop(ctx context.Context, op, key, version string) error {
	err := d.retry(ctx, op, func(ctx context.Context) error { return d.Delete(ctx, key, version) })
	if errors.Is(err, ErrChanged) {
		return nil
	}
	return err
}

// put writes a document that is like no other, so that a lost reply is no question: if the document
// is there, this call wrote it.
func (d desk) put(ctx context.Context, op, key string, value []byte, version string) (got string, err error) {
	unsure := false
	err = d.retry(ctx, op, func(ctx context.Context) (err error) {
		got, err = d.Put(ctx, key, value, version)
		unsure = unsure || err != nil && transient(err)
		return err
	})
	if unsure && errors.Is(err, ErrChanged) {
		doc, readErr := d.get(ctx, op, key)
		if readErr == nil && string(doc.Value) == string(value) {
			return doc.Version, nil
		}
	}
	return got, err
}

// sleep waits, and reports whether ctx is still alive.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

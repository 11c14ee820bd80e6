// Package bucket keeps the board of a cluster in an object store, by conditional requests. Package
// cluster/s3 opens it by URL.
//
// A document is an object: a line with a nonce, then the bytes. So its tag is like no other, and
// stands for the version. A name that was removed keeps an object of about 40 bytes if the server
// cannot remove on a condition.
package bucket

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"
	"time"

	"github.com/bivouac-ml/bivouac/cluster"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/object"
)

// board is a board in a bucket.
type board struct {
	b      object.Bucket
	prefix string
}

var _ cluster.Board = (*board)(nil)

const (
	header  = "bivouac-cluster "
	removed = "bivouac-cluster-removed "
	// A document has at least this many bytes, and the object of a removed one less. So a list shows
	// which is which.
	headerBytes = 64
	maxValue    = 8 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// New returns the board of the keys of b below prefix. It asks the server first whether it keeps
// the laws of conditional puts, and refuses one that does not, by the name of the law.
func New(ctx context.Context, b object.Bucket, prefix string) (cluster.Board, error) {
	if prefix = strings.Trim(prefix, "/"); prefix != "" {
		prefix += "/"
	}
	o := &board{b, prefix}
	return o, o.probe(ctx)
}

// probe tries what the board depends on, with a key of its own.
func (o *board) probe(ctx context.Context) error {
	key := "probe/" + nonce()
	first, err := o.Put(ctx, key, nil, "")
	if err != nil {
		return err
	}
	defer o.b.Delete(context.WithoutCancel(ctx), o.prefix+key, object.Condition{}) //nolint:errcheck // about 64 bytes
	broken := func(law string) error {
		return &errs.Error{Kind: errs.Unsupported, Op: "cluster.Open", Subject: o.name(""),
			Want: "a server that keeps this law: " + law, Got: "one that does not",
			Remedy: "coordinate by etcd or a shared directory, or use another server"}
	}
	switch _, err := o.Put(ctx, key, nil, ""); {
	case err == nil:
		return broken("a put on the condition that a key is absent fails if it is there (If-None-Match)")
	case !errors.Is(err, cluster.ErrChanged):
		return err
	}
	second, err := o.Put(ctx, key, nil, first)
	if err != nil {
		return err
	}
	switch _, err := o.Put(ctx, key, nil, first); {
	case err == nil:
		return broken("a put on the condition of a tag fails if the object has another one (If-Match)")
	case !errors.Is(err, cluster.ErrChanged):
		return err
	}
	if doc, err := o.Get(ctx, key); err != nil || doc.Version != second {
		if err == nil {
			err = broken("what was acknowledged is found by the next read")
		}
		return err
	}
	return nil
}

func (o *board) name(key string) string { return store.JoinURL(o.b.Name(), o.prefix+key) }

// Properties implements cluster.Board.
func (o *board) Properties() cluster.Properties {
	return cluster.Properties{Name: store.JoinURL(o.b.Name(), strings.TrimSuffix(o.prefix, "/")), MaxValue: maxValue,
		Poll: 20 * time.Millisecond, MaxPoll: 500 * time.Millisecond}
}

// Close implements cluster.Board.
func (o *board) Close() error { return nil }

// Get implements cluster.Board.
func (o *board) Get(ctx context.Context, key string) (cluster.Document, error) {
	const op = "cluster.Get"
	all, a, err := o.b.Read(ctx, o.prefix+key, maxValue+headerBytes)
	if errors.Is(err, object.ErrNoBucket) {
		// NotFound would say that the bucket is there, and the document is not.
		return cluster.Document{}, &errs.Error{Kind: errs.Invalid, Op: op, Subject: o.b.Name(), Err: err}
	}
	if err != nil {
		return cluster.Document{}, err
	}
	if bytes.HasPrefix(all, []byte(removed)) {
		return cluster.Document{}, &errs.Error{Kind: errs.NotFound, Op: op, Subject: o.name(key)}
	}
	if len(all) < headerBytes || !bytes.HasPrefix(all, []byte(header)) || all[headerBytes-1] != '\n' {
		return cluster.Document{}, &errs.Error{Kind: errs.Corrupt, Op: op, Subject: o.name(key),
			Want: "a document of a cluster", Got: fmt.Sprintf("%q", all[:min(len(all), 60)]),
			Remedy: "see which other program writes there, and remove the object"}
	}
	return cluster.Document{Key: key, Value: all[headerBytes:], Version: a.Tag}, nil
}

// Put implements cluster.Board.
func (o *board) Put(ctx context.Context, key string, value []byte, version string) (string, error) {
	const op = "cluster.Put"
	if len(value) > maxValue {
		return "", &errs.Error{Kind: errs.Invalid, Op: op, Subject: o.name(key),
			Want: fmt.Sprintf("at most %d bytes", maxValue), Got: fmt.Sprint(len(value))}
	}
	line := header + nonce()
	all := append([]byte(line+strings.Repeat(" ", headerBytes-1-len(line))+"\n"), value...)
	tag, err := o.put(ctx, key, all, object.Condition{Absent: version == "", Tag: version})
	if version != "" || !errors.Is(err, object.ErrCondition) {
		return tag, o.changed(op, key, err)
	}
	// What is there may be what a removed document left.
	old, a, readErr := o.b.Read(ctx, o.prefix+key, maxValue+headerBytes)
	switch {
	case errs.KindOf(readErr) == errs.NotFound:
		return "", o.changed(op, key, err)
	case readErr != nil:
		return "", readErr
	case !bytes.HasPrefix(old, []byte(removed)):
		return "", o.changed(op, key, err)
	}
	tag, err = o.put(ctx, key, all, object.Condition{Tag: a.Tag})
	return tag, o.changed(op, key, err)
}

// put sends bytes. Bytes that were damaged on their way are sent again.
func (o *board) put(ctx context.Context, key string, all []byte, c object.Condition) (tag string, err error) {
	for range 3 {
		tag, err = o.b.Put(ctx, o.prefix+key, all, crc32.Checksum(all, castagnoli), c)
		if errs.KindOf(err) != errs.Corrupt {
			break
		}
	}
	return tag, err
}

// changed says by the error of this package that a condition does not hold.
func (o *board) changed(op, key string, err error) error {
	switch {
	case errors.Is(err, object.ErrCondition):
	case errs.KindOf(err) == errs.Exists:
		// A server that keeps objects as files may take a name for a directory for a moment, while it
		// removes empty directories. No key of a board is below another one.
		return &errs.Error{Kind: errs.Busy, Op: op, Subject: o.name(key), Err: err}
	default:
		return err
	}
	return &errs.Error{Kind: errs.Mismatch, Op: op, Subject: o.name(key), Err: errors.Join(cluster.ErrChanged, err)}
}

// Delete implements cluster.Board.
func (o *board) Delete(ctx context.Context, key, version string) error {
	const op = "cluster.Delete"
	err := o.b.Delete(ctx, o.prefix+key, object.Condition{Tag: version})
	if errs.KindOf(err) == errs.Unsupported && version != "" {
		line := []byte(removed + nonce() + "\n")
		_, err = o.put(ctx, key, line, object.Condition{Tag: version})
	}
	if err == nil || !errors.Is(err, object.ErrCondition) && errs.KindOf(err) != errs.NotFound {
		return err
	}
	if _, now := o.Get(ctx, key); errs.KindOf(now) == errs.NotFound {
		return nil
	} else if now != nil {
		return now
	}
	return o.changed(op, key, err)
}

// List implements cluster.Board.
func (o *board) List(ctx context.Context, prefix string) ([]cluster.Document, error) {
	var out []cluster.Document
	for a, err := range o.b.List(ctx, o.prefix+prefix, false) {
		if err != nil {
			return nil, err
		}
		if a.Size >= headerBytes {
			out = append(out, cluster.Document{Key: strings.TrimPrefix(a.Key, o.prefix), Version: a.Tag})
		}
	}
	return out, nil
}

func nonce() string {
	var b [8]byte
	rand.Read(b[:]) //nolint:errcheck // never fails
	return hex.EncodeToString(b[:])
}

package gcs

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store/object"
	"github.com/bivouac-ml/bivouac/store/object/internal/web"
)

// bucket implements object.Bucket.
type bucket struct {
	client
	bucket string
	name   string
}

// Limits of Google Cloud Storage.
const (
	minPart   = 256 << 10 // the server takes less, but small parts only cost
	maxPart   = 5 << 30
	maxParts  = 10_000
	maxPut    = 5 << 40
	maxKey    = 1024
	maxDelete = 1000
	deletes   = 32 // that DeleteAll has under way
)

// Limits implements object.Bucket.
func (b *bucket) Limits() object.Limits {
	return object.Limits{MinPart: minPart, MaxPart: maxPart, MaxParts: maxParts, MaxDelete: maxDelete, MaxPut: maxPut}
}

// Name implements object.Bucket. It names the endpoint if that is not Google's.
func (b *bucket) Name() string { return b.name }

func (b *bucket) subject(key string) string {
	if key == "" {
		return scheme + b.bucket
	}
	return scheme + b.bucket + "/" + key
}

// check returns an error for a key or condition that the server does not take.
func (b *bucket) check(op, key string, c object.Condition) error {
	e := &errs.Error{Kind: errs.Invalid, Op: op, Subject: b.Subject(key)}
	switch {
	case key == "":
		e.Want, e.Got = "a key", "an empty one"
	case len(key) > maxKey:
		e.Subject = scheme + b.bucket
		e.Want, e.Got = fmt.Sprintf("a key of at most %d bytes", maxKey), fmt.Sprint(len(key), " bytes")
	case !utf8.ValidString(key), strings.ContainsAny(key, "\r\n"), key == ".", key == "..":
		e.Subject = scheme + b.bucket
		e.Want, e.Got = "a key in UTF-8 without line breaks that is not \".\" or \"..\"", strconv.Quote(key)
	case strings.HasPrefix(key, partsRoot):
		e.Want, e.Got = "a key outside "+partsRoot, "one among the parts of unfinished uploads"
	case c.Absent && c.Tag != "":
		e.Want, e.Got = "one condition", "Absent and a Tag"
	default:
		return nil
	}
	return e
}

// resource is an object as the JSON API describes it.
type resource struct {
	Name        string    `json:"name"`
	Generation  string    `json:"generation"`
	Size        string    `json:"size"`
	CRC32C      string    `json:"crc32c"`
	TimeCreated time.Time `json:"timeCreated"`
}

const (
	kindObject = "storage#object"
	fields     = "name,generation,size,crc32c,timeCreated"
	// noStore keeps the caches of public objects from answering with what was.
	noStore = "no-store"
)

// attrs describes the object. ok is false if the description makes no sense.
func (o resource) attrs(now time.Time) (a object.Attrs, ok bool) {
	if o.Size == "" {
		o.Size = "0" // emulators leave it out
	}
	size, err := strconv.ParseInt(o.Size, 10, 64)
	if err != nil || size < 0 || !isGeneration(o.Generation) {
		return a, false
	}
	return object.Attrs{Key: o.Name, Size: size, Tag: o.Generation, Modified: o.TimeCreated, Now: now}, true
}

// described asks for the description of an object, which a request has made or which is there.
func (b *bucket) described(ctx context.Context, c call) (o resource, a object.Attrs, err error) {
	c.query.Set("fields", "kind,"+fields)
	answer, err := b.send(ctx, c)
	if err != nil {
		return o, a, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, web.MostError))
	if err != nil {
		return o, a, b.Broken(ctx, c.Op, c.Key, err)
	}
	if json.Unmarshal(text, &o) == nil {
		if a, ok := o.attrs(web.TimeOf(answer.Header.Get("Date"))); ok && o.Name == c.Key {
			return o, a, nil
		}
	}
	return o, a, b.garbage(c.request, answer, kindObject)
}

// Put implements object.Bucket.
func (b *bucket) Put(ctx context.Context, key string, p []byte, sum uint32, c object.Condition) (string, error) {
	const op = "gcs.Put"
	if err := b.check(op, key, c); err != nil {
		return "", err
	}
	a, err := b.insert(ctx, op, key, p, sum, c)
	return a.Tag, err
}

// insert puts an object in one request, whose body has a description with the checksum before the
// bytes.
func (b *bucket) insert(
	ctx context.Context, op, key string, p []byte, sum uint32, c object.Condition,
) (object.Attrs, error) {
	said, err := json.Marshal(map[string]string{
		"name": key, "crc32c": web.CRC(sum), "contentType": web.Octets, "cacheControl": noStore})
	if err != nil {
		return object.Attrs{}, b.Bad(errs.Invalid, op, key, "a key that JSON can have", b.Mask(err.Error()))
	}
	edge := "bivouac-" + rand.Text()
	put := on(http.MethodPost, op, key, c)
	put.root, put.path, put.noKey = pathUpload, []string{"o"}, true
	put.query.Set("uploadType", "multipart")
	put.contentType = "multipart/related; boundary=" + edge
	put.body = [][]byte{
		[]byte("--" + edge + "\r\nContent-Type: application/json; charset=UTF-8\r\n\r\n"), said,
		[]byte("\r\n--" + edge + "\r\nContent-Type: " + web.Octets + "\r\n\r\n"), p, []byte("\r\n--" + edge + "--\r\n")}
	o, a, err := b.described(ctx, put)
	if err == nil && (a.Size != int64(len(p)) || o.CRC32C != "" && o.CRC32C != web.CRC(sum)) {
		return a, b.Bad(errs.Corrupt, op, key, fmt.Sprintf("%d bytes with the CRC-32C %s", len(p), web.CRC(sum)),
			fmt.Sprintf("%d bytes with %s on the server", a.Size, o.CRC32C))
	}
	return a, err
}

// Get implements object.Bucket. It reads the answer straight into the pieces.
func (b *bucket) Get(ctx context.Context, key string, off int64, tag string, into ...[]byte) error {
	const op = "gcs.Get"
	n := object.Size(into)
	cond := object.Condition{Tag: tag}
	if err := b.check(op, key, cond); err != nil {
		return err
	}
	if off < 0 {
		return b.Bad(errs.Invalid, op, key, "an offset of at least 0", fmt.Sprint(off))
	}
	get := on(http.MethodGet, op, key, cond)
	if n == 0 { // a request for no bytes has no range
		_, a, err := b.described(ctx, get)
		if err != nil {
			return err
		}
		return b.Beyond(op, key, off, a.Size)
	}
	get.Want = web.Range(off, n)
	get.query.Set("alt", "media")
	get.header = map[string]string{"Accept-Encoding": stored,
		"Range": web.RangeHeader(off, n)}
	answer, err := b.send(ctx, get)
	if err != nil {
		return err
	}
	return b.Fill(ctx, get.Request, answer, off, into)
}

// readTurns limits how often Read asks anew for an object that changes meanwhile.
const readTurns = 20

// Read implements object.Bucket. It reads by the XML API, which says in one answer when the object
// was put. A server whose answer does not say it is asked again, for the description of the same
// generation.
func (b *bucket) Read(ctx context.Context, key string, limit int64) ([]byte, object.Attrs, error) {
	const op = "gcs.Read"
	if err := b.check(op, key, object.Condition{}); err != nil {
		return nil, object.Attrs{}, err
	}
	for range readTurns {
		p, a, err := b.readOnce(ctx, op, key, limit)
		if err != nil || !a.Modified.IsZero() {
			return p, a, err
		}
		_, described, err := b.described(ctx, on(http.MethodGet, op, key, object.Condition{Tag: a.Tag}))
		if err == nil {
			return p, described, nil
		}
		if !errors.Is(err, object.ErrCondition) {
			return nil, a, err
		}
	}
	e := b.Bad(errs.Busy, op, key, "an object that stays the same for two requests", fmt.Sprint(readTurns, " changes"))
	e.Err = object.ErrConflict
	return nil, object.Attrs{}, e
}

// readOnce reads a whole object.
func (b *bucket) readOnce(ctx context.Context, op, key string, limit int64) ([]byte, object.Attrs, error) {
	get := call{request: about(op, key, object.Condition{}), method: http.MethodGet, root: "/"}
	get.path, get.query = strings.Split(key, "/"), url.Values{}
	get.header = map[string]string{"Accept-Encoding": stored}
	answer, err := b.send(ctx, get)
	if err != nil {
		return nil, object.Attrs{}, err
	}
	h := answer.Header
	a := object.Attrs{Key: key, Size: answer.ContentLength, Tag: h.Get("X-Goog-Generation"),
		Modified: web.TimeOf(h.Get("Last-Modified")), Now: web.TimeOf(h.Get("Date"))}
	if !isGeneration(a.Tag) {
		_ = answer.Body.Close()
		return nil, a, b.garbage(get.request, answer, "x-goog-generation")
	}
	p, err := b.Whole(ctx, op, answer, &a, limit)
	return p, a, err
}

// Head implements object.Bucket.
func (b *bucket) Head(ctx context.Context, key string) (object.Attrs, error) {
	const op = "gcs.Head"
	if err := b.check(op, key, object.Condition{}); err != nil {
		return object.Attrs{}, err
	}
	_, a, err := b.described(ctx, on(http.MethodGet, op, key, object.Condition{}))
	return a, err
}

// Delete implements object.Bucket.
func (b *bucket) Delete(ctx context.Context, key string, c object.Condition) error {
	const op = "gcs.Delete"
	if err := b.check(op, key, c); err != nil {
		return err
	}
	if c.Absent {
		return b.Bad(errs.Invalid, op, key, "a condition with a tag, or none", "Absent")
	}
	return b.remove(ctx, op, key, c)
}

func (b *bucket) remove(ctx context.Context, op, key string, c object.Condition) error {
	answer, err := b.send(ctx, on(http.MethodDelete, op, key, c))
	switch {
	case err == nil:
		web.Finish(answer)
	case c.Tag == "" && errs.KindOf(err) == errs.NotFound && !errors.Is(err, object.ErrNoBucket):
		return nil
	}
	return err
}

// DeleteAll implements object.Bucket. It sends a request for each key, and has 32 under way.
func (b *bucket) DeleteAll(ctx context.Context, keys []string) error {
	const op = "gcs.DeleteAll"
	for _, key := range keys {
		if err := b.check(op, key, object.Condition{}); err != nil {
			return err
		}
	}
	return b.removeAll(ctx, op, keys)
}

// removeAll removes keys. It ends with the first error, once the requests that are under way have
// ended.
func (b *bucket) removeAll(ctx context.Context, op string, keys []string) error {
	return web.Each(len(keys), deletes, func(i int) error {
		return b.remove(ctx, op, keys[i], object.Condition{})
	})
}

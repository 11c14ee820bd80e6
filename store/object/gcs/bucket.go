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
	"sync"
	"time"
	"unicode/utf8"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store/object"
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

func (b *bucket) subject(key string) string { return scheme + b.bucket + "/" + key }

// check returns an error for a key or condition that the server does not take.
func (b *bucket) check(op, key string, c object.Condition) error {
	e := &errs.Error{Kind: errs.Invalid, Op: op, Subject: b.subject(key)}
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
	octets     = "application/octet-stream"
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
	text, err := io.ReadAll(io.LimitReader(answer.Body, mostError))
	if err != nil {
		return o, a, b.broken(ctx, c.op, c.key, err)
	}
	if json.Unmarshal(text, &o) == nil {
		if a, ok := o.attrs(timeOf(answer.Header.Get("Date"))); ok && o.Name == c.key {
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
		"name": key, "crc32c": encoded(sum), "contentType": octets, "cacheControl": noStore})
	if err != nil {
		return object.Attrs{}, b.bad(errs.Invalid, op, key, "a key that JSON can have", b.mask(err.Error()))
	}
	edge := "bivouac-" + rand.Text()
	put := on(http.MethodPost, op, key, c)
	put.root, put.path, put.noKey = pathUpload, []string{"o"}, true
	put.query.Set("uploadType", "multipart")
	put.contentType = "multipart/related; boundary=" + edge
	put.body = [][]byte{
		[]byte("--" + edge + "\r\nContent-Type: application/json; charset=UTF-8\r\n\r\n"), said,
		[]byte("\r\n--" + edge + "\r\nContent-Type: " + octets + "\r\n\r\n"), p, []byte("\r\n--" + edge + "--\r\n")}
	o, a, err := b.described(ctx, put)
	if err == nil && (a.Size != int64(len(p)) || o.CRC32C != "" && o.CRC32C != encoded(sum)) {
		return a, b.bad(errs.Corrupt, op, key, fmt.Sprintf("%d bytes with the CRC-32C %s", len(p), encoded(sum)),
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
		return b.bad(errs.Invalid, op, key, "an offset of at least 0", fmt.Sprint(off))
	}
	get := on(http.MethodGet, op, key, cond)
	if n == 0 { // a request for no bytes has no range
		_, a, err := b.described(ctx, get)
		if err == nil && off > a.Size {
			return b.bad(errs.Corrupt, op, key, fmt.Sprint("at least ", off, " bytes"), fmt.Sprint(a.Size))
		}
		return err
	}
	get.want = fmt.Sprintf("%d bytes from offset %d", n, off)
	get.query.Set("alt", "media")
	get.header = map[string]string{"Accept-Encoding": stored,
		"Range": fmt.Sprintf("bytes=%d-%d", off, off+n-1)}
	answer, err := b.send(ctx, get)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if err := b.checkRange(op, key, off, n, answer); err != nil {
		return err
	}
	if err := object.Fill(answer.Body, into); err != nil {
		return b.broken(ctx, op, key, err)
	}
	return nil
}

// checkRange returns an error unless the answer has the n bytes from off.
func (b *bucket) checkRange(op, key string, off, n int64, answer *http.Response) error {
	e := &errs.Error{Op: op, Subject: b.subject(key), Want: fmt.Sprintf("%d bytes from offset %d", n, off)}
	from, got := int64(0), answer.ContentLength
	if r := answer.Header.Get("Content-Range"); r != "" {
		if _, err := fmt.Sscanf(r, "bytes %d-", &from); err != nil {
			e.Kind, e.Got = errs.Unsupported, "an answer whose Content-Range does not parse"
			return e
		}
	} else if off > 0 || got > n {
		e.Kind, e.Got = errs.Unsupported, fmt.Sprintf("the whole object of %d bytes", got)
		e.Remedy = "the server ignores ranges: use another server"
		return e
	}
	if from != off || got >= 0 && got != n {
		e.Kind, e.Got = errs.Corrupt, fmt.Sprintf("%d bytes from offset %d", got, from)
		return e
	}
	return nil
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
	e := b.bad(errs.Busy, op, key, "an object that stays the same for two requests", fmt.Sprint(readTurns, " changes"))
	e.Err = object.ErrConflict
	return nil, object.Attrs{}, e
}

// readOnce reads a whole object.
func (b *bucket) readOnce(ctx context.Context, op, key string, limit int64) ([]byte, object.Attrs, error) {
	get := call{request: request{op: op, key: key}, method: http.MethodGet, root: "/"}
	get.path, get.query = strings.Split(key, "/"), url.Values{}
	get.header = map[string]string{"Accept-Encoding": stored}
	answer, err := b.send(ctx, get)
	if err != nil {
		return nil, object.Attrs{}, err
	}
	defer answer.Body.Close()
	h := answer.Header
	a := object.Attrs{Key: key, Size: answer.ContentLength, Tag: h.Get("X-Goog-Generation"),
		Modified: timeOf(h.Get("Last-Modified")), Now: timeOf(h.Get("Date"))}
	if !isGeneration(a.Tag) {
		return nil, a, b.garbage(get.request, answer, "x-goog-generation")
	}
	exhausted := b.bad(errs.Exhausted, op, key, fmt.Sprint("at most ", limit, " bytes"), fmt.Sprint(a.Size))
	if a.Size > limit {
		return nil, a, exhausted
	}
	if a.Size >= 0 {
		p := make([]byte, a.Size)
		if _, err := io.ReadFull(answer.Body, p); err != nil {
			return nil, a, b.broken(ctx, op, key, err)
		}
		return p, a, nil
	}
	p, err := io.ReadAll(io.LimitReader(answer.Body, limit+1))
	if err != nil {
		return nil, a, b.broken(ctx, op, key, err)
	}
	if int64(len(p)) > limit {
		exhausted.Got = "more"
		return nil, a, exhausted
	}
	a.Size = int64(len(p))
	return p, a, nil
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
		return b.bad(errs.Invalid, op, key, "a condition with a tag, or none", "Absent")
	}
	return b.remove(ctx, op, key, c)
}

func (b *bucket) remove(ctx context.Context, op, key string, c object.Condition) error {
	answer, err := b.send(ctx, on(http.MethodDelete, op, key, c))
	switch {
	case err == nil:
		finish(answer)
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
	return each(len(keys), deletes, func(i int) error {
		return b.remove(ctx, op, keys[i], object.Condition{})
	})
}

// each calls f for 0 to n-1, at most most at a time, and returns the first error. After an error
// it begins no more calls.
func each(n, most int, f func(i int) error) error {
	var mu sync.Mutex
	var first error
	next := 0
	var all sync.WaitGroup
	for range min(n, most) {
		all.Go(func() {
			for {
				mu.Lock()
				i := next
				next++
				stop := first != nil || i >= n
				mu.Unlock()
				if stop {
					return
				}
				if err := f(i); err != nil {
					mu.Lock()
					if first == nil {
						first = err
					}
					mu.Unlock()
				}
			}
		})
	}
	all.Wait()
	return first
}

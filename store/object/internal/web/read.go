package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store/object"
)

// Call is a request of a server that describes objects in headers, as S3 and Azure do.
type Call struct {
	Request
	Method string
	Query  url.Values
	Header map[string]string // empty values are left out
	Body   []byte            // nil: none
	Object bool              // it is about the object Key; else Key is what errors name
}

// On is a call about one object.
func On(method, op, key string) Call {
	return Call{Request: Request{Op: op, Key: key}, Method: method, Object: true}
}

// Set puts the headers of a call that have a value into a request.
func (c *Call) Set(r *http.Request) {
	for name, value := range c.Header {
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	if len(c.Body) > ContinueAbove {
		r.Header.Set("Expect", "100-continue")
	}
}

// Objects reads objects whose attributes are headers. It implements that part of object.Bucket.
type Objects struct {
	Server
	Driver string // its name, which stands before the operation in errors
	Check  func(op, key string, c object.Condition) error
	// Send sends a call. Answers with a status other than 200 to 299 become errors.
	Send func(ctx context.Context, c Call) (*http.Response, error)
}

// Get implements object.Bucket. It reads the answer straight into the pieces.
func (o *Objects) Get(ctx context.Context, key string, off int64, tag string, into ...[]byte) error {
	op := o.Driver + ".Get"
	n := object.Size(into)
	cond := object.Condition{Tag: tag}
	if err := o.Check(op, key, cond); err != nil {
		return err
	}
	if off < 0 {
		return o.Bad(errs.Invalid, op, key, "an offset of at least 0", fmt.Sprint(off))
	}
	if n == 0 {
		return o.getNothing(ctx, op, key, off, tag)
	}
	get := On(http.MethodGet, op, key)
	get.Cond, get.Want = cond, Range(off, n)
	get.Header = map[string]string{"Range": RangeHeader(off, n), "If-Match": tag}
	answer, err := o.Send(ctx, get)
	if err != nil {
		return err
	}
	return o.Fill(ctx, get.Request, answer, off, into)
}

// getNothing describes the object, as a request for no bytes has no range.
func (o *Objects) getNothing(ctx context.Context, op, key string, off int64, tag string) error {
	a, err := o.Head(ctx, key)
	switch {
	case err != nil:
		return err
	case tag != "" && a.Tag != tag:
		e := o.Bad(errs.Mismatch, op, key, "the tag "+tag, a.Tag)
		e.Err = object.ErrCondition
		return e
	}
	return o.Beyond(op, key, off, a.Size)
}

// Read implements object.Bucket.
func (o *Objects) Read(ctx context.Context, key string, limit int64) ([]byte, object.Attrs, error) {
	op := o.Driver + ".Read"
	if err := o.Check(op, key, object.Condition{}); err != nil {
		return nil, object.Attrs{}, err
	}
	answer, err := o.Send(ctx, On(http.MethodGet, op, key))
	if err != nil {
		return nil, object.Attrs{}, err
	}
	a := Attrs(key, answer)
	p, err := o.Whole(ctx, op, answer, &a, limit)
	return p, a, err
}

// Head implements object.Bucket.
func (o *Objects) Head(ctx context.Context, key string) (object.Attrs, error) {
	op := o.Driver + ".Head"
	if err := o.Check(op, key, object.Condition{}); err != nil {
		return object.Attrs{}, err
	}
	answer, err := o.Send(ctx, On(http.MethodHead, op, key))
	if err != nil {
		return object.Attrs{}, err
	}
	Finish(answer)
	return Attrs(key, answer), nil
}

// Attrs describes the object of an answer.
func Attrs(key string, answer *http.Response) object.Attrs {
	h := answer.Header
	return object.Attrs{Key: key, Size: answer.ContentLength, Tag: h.Get("ETag"),
		Modified: TimeOf(h.Get("Last-Modified")), Now: TimeOf(h.Get("Date"))}
}

// Range says in words which bytes a read wants.
func Range(off, n int64) string { return fmt.Sprintf("%d bytes from offset %d", n, off) }

// RangeHeader is the value of the header Range.
func RangeHeader(off, n int64) string { return fmt.Sprintf("bytes=%d-%d", off, off+n-1) }

// Beyond is an error if off lies beyond the size of an object.
func (s *Server) Beyond(op, key string, off, size int64) error {
	if off <= size {
		return nil
	}
	return s.Bad(errs.Corrupt, op, key, fmt.Sprint("at least ", off, " bytes"), fmt.Sprint(size))
}

// Fill reads the answer of a request for a range into the pieces, and closes it.
func (s *Server) Fill(ctx context.Context, r Request, answer *http.Response, off int64, into [][]byte) error {
	defer answer.Body.Close()
	if err := s.checkRange(r, off, object.Size(into), answer); err != nil {
		return err
	}
	if err := object.Fill(answer.Body, into); err != nil {
		return s.Broken(ctx, r.Op, r.Key, err)
	}
	return nil
}

// checkRange returns an error unless the answer has the n bytes from off.
func (s *Server) checkRange(r Request, off, n int64, answer *http.Response) error {
	e := s.Bad(errs.Unsupported, r.Op, r.Key, Range(off, n), "")
	from, got := int64(0), answer.ContentLength
	if at := answer.Header.Get("Content-Range"); at != "" {
		if _, err := fmt.Sscanf(at, "bytes %d-", &from); err != nil {
			e.Got = "an answer whose Content-Range does not parse"
			return e
		}
	} else if off > 0 || got > n {
		e.Got = fmt.Sprintf("the whole object of %d bytes", got)
		e.Remedy = "the server ignores ranges: use another server"
		return e
	}
	if from != off || got >= 0 && got != n {
		e.Kind, e.Got = errs.Corrupt, Range(from, got)
		return e
	}
	return nil
}

// Whole reads an object of at most limit bytes, and closes the answer. It sets the size in a if the
// server does not say it.
func (s *Server) Whole(
	ctx context.Context, op string, answer *http.Response, a *object.Attrs, limit int64,
) ([]byte, error) {
	defer answer.Body.Close()
	exhausted := s.Bad(errs.Exhausted, op, a.Key, fmt.Sprint("at most ", limit, " bytes"), fmt.Sprint(a.Size))
	if a.Size > limit {
		return nil, exhausted
	}
	if a.Size >= 0 {
		p := make([]byte, a.Size)
		if _, err := io.ReadFull(answer.Body, p); err != nil {
			return nil, s.Broken(ctx, op, a.Key, err)
		}
		return p, nil
	}
	p, err := io.ReadAll(io.LimitReader(answer.Body, limit+1))
	if err != nil {
		return nil, s.Broken(ctx, op, a.Key, err)
	}
	if int64(len(p)) > limit {
		exhausted.Got = "more"
		return nil, exhausted
	}
	a.Size = int64(len(p))
	return p, nil
}

// Each calls f for each of n numbers, at most most at a time, and returns the first error. After an
// error it begins no more calls.
func Each(n, most int, f func(i int) error) error {
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

// CodeOf returns the code that the server answered, or "".
func CodeOf(err error) string {
	var f *Failure
	if errors.As(err, &f) {
		return f.Code
	}
	return ""
}

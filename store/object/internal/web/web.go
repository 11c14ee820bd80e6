// Package web has what the drivers of object stores over HTTP have in common: what errors say about
// a request, the meaning of a status, the check of an answer, reads by the headers that S3 and
// Azure share, and the store that a URL opens. What a server says in its own way stays in its
// driver.
//
// No error has a secret: a driver gives a function that masks each text of a server or a library,
// and no error of the HTTP client is kept, as it may have the URL of the request.
package web

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/bivouac-ml/bivouac/store/object"
)

// Server is a bucket as its driver sees it. Its owner sets the fields once.
type Server struct {
	Subject      func(key string) string  // the name of a key, or of the bucket for ""
	Mask         func(text string) string // takes secrets out of a text
	Certificates string                   // the environment variable that names trusted certificates
	Unreached    string                   // the remedy if no connection can be made
	HTTP         Doer
}

// Doer sends a request once. *http.Client is one.
type Doer interface {
	Do(r *http.Request) (*http.Response, error)
}

// Limits of what a driver reads of an answer that is no object.
const (
	MostError    = 64 << 10
	MostDocument = 64 << 20
)

// ContinueAbove is the size of bodies that are sent only when the server has seen the headers: it
// may refuse a condition at once.
const ContinueAbove = 2 << 20

// Octets is the type of all objects.
const Octets = "application/octet-stream"

// Do sends a request. If the status of the answer is 200 to 299, refused is false, and the caller
// closes the body. Else refused is true, text has the beginning of the body, and the body is
// closed.
func (s *Server) Do(
	ctx context.Context, r Request, sent *http.Request,
) (answer *http.Response, text []byte, refused bool, err error) {
	answer, err = s.HTTP.Do(sent)
	if err != nil {
		return nil, nil, false, s.Unanswered(ctx, r, err)
	}
	if answer.StatusCode >= 200 && answer.StatusCode < 300 {
		return answer, nil, false, nil
	}
	defer answer.Body.Close()
	text, err = io.ReadAll(io.LimitReader(answer.Body, MostError))
	if err != nil && ctx.Err() != nil {
		return nil, nil, false, s.Unanswered(ctx, r, err)
	}
	return answer, text, true, nil
}

// Finish reads the rest of an answer that has no contents, so that its connection is used again.
func Finish(answer *http.Response) {
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, MostError))
	_ = answer.Body.Close()
}

// connections is how many idle connections to a server a driver keeps.
const connections = 256

// Transport makes connections: one for each request that is under way, with buffers that suit
// objects of megabytes. It speaks HTTP/1.1, as one connection of HTTP/2 would carry all parts.
func Transport() *http.Transport {
	dial := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	t := &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: dial.DialContext, IdleConnTimeout: 90 * time.Second,
		TLSHandshakeTimeout: 10 * time.Second, ExpectContinueTimeout: time.Second,
	}
	Tune(t)
	return t
}

// Tune gives a transport the connections and buffers of Transport.
func Tune(t *http.Transport) {
	t.MaxIdleConns, t.MaxIdleConnsPerHost = connections, connections
	t.WriteBufferSize, t.ReadBufferSize = 64<<10, 64<<10
	t.DisableCompression, t.Protocols = true, new(http.Protocols)
	t.Protocols.SetHTTP1(true)
}

// Client is a copy of own, or a client with Transport if own is nil. It follows no redirections,
// which would take a signature to another server.
func Client(own *http.Client) *http.Client {
	c := &http.Client{}
	if own != nil {
		*c = *own
	} else {
		c.Transport = Transport()
	}
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return c
}

// CRC is a CRC-32C as servers write it.
func CRC(sum uint32) string {
	return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, sum))
}

// Conditional returns the headers of a condition.
func Conditional(c object.Condition) map[string]string {
	h := map[string]string{"If-Match": c.Tag}
	if c.Absent {
		h["If-None-Match"] = "*"
	}
	return h
}

// TimeOf parses a time of a header. It is zero if the header is empty or makes no sense.
func TimeOf(header string) time.Time {
	t, _ := http.ParseTime(header)
	return t
}

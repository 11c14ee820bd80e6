package otlp

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
)

// client posts messages to a collector.
type client struct {
	config
	http *http.Client

	once    sync.Once
	closing chan struct{} // closed by close: nothing is tried again
}

func newClient(c config) *client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.TLSClientConfig = c.tls
	return &client{config: c, closing: make(chan struct{}), http: &http.Client{Transport: t,
		// A collector answers at its URL. A redirect would send headers with secrets elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// close makes later posts try once.
func (c *client) close() { c.once.Do(func() { close(c.closing) }) }

// Bounds of the protocol.
const (
	firstPause = time.Second // before a message is sent again
	longPause  = 15 * time.Second
	mostTries  = 5
	protobuf   = "application/x-protobuf"
	mostAnswer = 4 << 10 // bytes of an answer that are read
)

// post sends a message. It tries again while the collector is away or busy, until ctx ends or the
// client is closed.
func (c *client) post(ctx context.Context, body []byte) error {
	if c.gzip {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		w.Write(body) //nolint:errcheck // a buffer takes everything
		w.Close()     //nolint:errcheck // a buffer takes everything
		body = b.Bytes()
	}
	pause := firstPause
	for try := 1; ; try++ {
		again, after, err := c.send(ctx, body)
		if err == nil || !again || try == mostTries {
			return err
		}
		if after == 0 {
			after = pause/2 + rand.N(pause) // so that the processes of a job do not come back together
			pause = min(2*pause, longPause)
		}
		wait := time.NewTimer(min(after, longPause))
		select {
		case <-wait.C:
			continue
		case <-ctx.Done():
		case <-c.closing:
		}
		wait.Stop()
		return err
	}
}

// send sends a message once. again reports whether the same message may be accepted later, after
// the time that the collector asked for, if it did.
func (c *client) send(ctx context.Context, body []byte) (again bool, after time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	fail := func(got string, err error) error {
		return &errs.Error{Kind: errs.IO, Op: "telemetry", Subject: c.url, Want: "a collector that takes OTLP",
			Got: got, Err: err}
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return false, 0, fail("", err)
	}
	for key, values := range c.headers {
		r.Header[key] = values
	}
	r.Header.Set("Content-Type", protobuf)
	r.Header.Set("User-Agent", "bivouac")
	if c.gzip {
		r.Header.Set("Content-Encoding", "gzip")
	}
	answer, err := c.http.Do(r)
	if err != nil {
		return true, 0, fail("", err)
	}
	defer answer.Body.Close()                                      //nolint:errcheck // it was read
	text, _ := io.ReadAll(io.LimitReader(answer.Body, mostAnswer)) //nolint:errcheck // the status says enough
	switch answer.StatusCode {
	case http.StatusOK, http.StatusAccepted, http.StatusNoContent:
		if err := rejected(text); err != nil && answer.Header.Get("Content-Type") == protobuf {
			return false, 0, errs.Wrap("telemetry", c.url, err)
		}
		return false, 0, nil
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		again = true
		if s, err := strconv.ParseUint(answer.Header.Get("Retry-After"), 10, 20); err == nil {
			after = time.Duration(s) * time.Second
		}
	}
	return again, after, fail(answer.Status+printable(text), nil)
}

// printable returns the beginning of an answer as text for an error, if it is text.
func printable(answer []byte) string {
	const most = 200
	answer = bytes.TrimSpace(answer[:min(len(answer), most)])
	for _, b := range answer {
		if b < ' ' || b > '~' {
			return ""
		}
	}
	if len(answer) == 0 {
		return ""
	}
	return ": " + string(answer)
}

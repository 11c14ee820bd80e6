package peer

import (
	"context"
	"crypto/subtle"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
)

// The requests: GET prefix + name, with the headers.
const (
	prefix     = "/bivouac/peer/1/"
	rankHeader = "Bivouac-Rank"
	bearer     = "Bearer "
)

// offer is a stream that others may open.
type offer struct {
	send   func(ctx context.Context, rank int, w io.Writer) error
	ctx    context.Context // ends when the offer is withdrawn
	going  sync.WaitGroup
	closed bool
}

// Offer calls send for each process that opens the stream of this name. A Write fails if the
// process takes nothing for Options.Silence. w has a method Flush() error. withdraw ends the offer,
// and returns when no call of send goes on.
func (p *Peers) Offer(name string, send func(ctx context.Context, rank int, w io.Writer) error) (withdraw func()) {
	ctx, cancel := context.WithCancel(p.ctx)
	f := &offer{send: send, ctx: ctx}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.offers[name] = f
	close(p.changed)
	p.changed = make(chan struct{})
	return func() {
		p.mu.Lock()
		delete(p.offers, name)
		f.closed = true
		p.mu.Unlock()
		cancel()
		f.going.Wait()
	}
}

// find waits for an offer, and counts a call of it. The caller calls f.going.Done.
func (p *Peers) find(ctx context.Context, name string) *offer {
	limit := time.NewTimer(p.o.Silence)
	defer limit.Stop()
	for {
		p.mu.Lock()
		f, changed := p.offers[name], p.changed
		if f != nil && !f.closed {
			f.going.Add(1)
			p.mu.Unlock()
			return f
		}
		p.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		case <-limit.C:
			return nil
		}
	}
}

// serve answers a request.
func (p *Peers) serve(w http.ResponseWriter, r *http.Request) {
	given, ok := strings.CutPrefix(r.Header.Get("Authorization"), bearer)
	if !ok || subtle.ConstantTimeCompare([]byte(given), []byte(p.token)) != 1 {
		http.Error(w, "wrong token", http.StatusUnauthorized)
		return
	}
	name, ok := strings.CutPrefix(r.URL.Path, prefix)
	if !ok || r.Method != http.MethodGet {
		http.Error(w, "another protocol", http.StatusNotImplemented)
		return
	}
	rank, err := strconv.Atoi(r.Header.Get(rankHeader))
	if err != nil || rank < 0 || rank >= p.World() {
		http.Error(w, "a rank of the job is missing", http.StatusBadRequest)
		return
	}
	f := p.find(r.Context(), name)
	if f == nil {
		http.Error(w, "no such stream", http.StatusNotFound)
		return
	}
	defer f.going.Done()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(f.ctx, cancel)()
	out := &writer{w, http.NewResponseController(w), p.o.Silence}
	w.Header().Set("Content-Type", "application/octet-stream")
	err = out.Flush() // the receiver learns that the stream begins
	if err == nil {
		err = f.send(ctx, rank, out)
	}
	if err != nil {
		panic(http.ErrAbortHandler) // cuts the connection, so that the receiver sees no regular end
	}
}

// writer writes a response. Each write has a deadline.
type writer struct {
	w       io.Writer
	control *http.ResponseController
	silence time.Duration
}

// piece is how many bytes are written under one deadline.
const piece = 256 << 10

func (w *writer) Write(b []byte) (n int, err error) {
	for len(b) > 0 {
		part := b[:min(piece, len(b))]
		if err := w.control.SetWriteDeadline(time.Now().Add(w.silence)); err != nil {
			return n, err
		}
		k, err := w.w.Write(part)
		if n += k; err != nil {
			return n, err
		}
		b = b[len(part):]
	}
	return n, nil
}

// Flush sends what was written.
func (w *writer) Flush() error {
	if err := w.control.SetWriteDeadline(time.Now().Add(w.silence)); err != nil {
		return err
	}
	return w.control.Flush()
}

// Open opens a stream of another process. A Read fails if nothing comes for Options.Silence.
func (p *Peers) Open(ctx context.Context, from int, name string) (io.ReadCloser, error) {
	const op = "peer.Open"
	if from < 0 || from >= len(p.cards) {
		return nil, &errs.Error{Kind: errs.Invalid, Op: op, Subject: "from", Want: fmt.Sprintf("0 to %d",
			len(p.cards)-1),
			Got: strconv.Itoa(from)}
	}
	c := p.cards[from]
	// The host of the URL is a name for messages: the dialer knows the addresses.
	u := url.URL{Scheme: "https", Host: fmt.Sprintf("rank-%d", from), Path: prefix + name}
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(p.ctx, func() { cancel(&errs.Error{Kind: errs.Closed, Op: op}) })
	end := func() { stop(); cancel(nil) }
	s := &stream{ctx: ctx, cancel: cancel, end: end, silence: p.o.Silence, from: from}
	s.timer = time.AfterFunc(2*p.o.Silence, s.silent) // the server waits for the offer
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		s.close()
		return nil, &errs.Error{Kind: errs.Invalid, Op: op, Err: err}
	}
	r.Header.Set("Authorization", bearer+c.Token)
	r.Header.Set(rankHeader, strconv.Itoa(p.Rank()))
	resp, err := p.dialer(from).Do(r)
	if err != nil {
		err = s.why(err, "a connection by TLS")
		s.close()
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		err := refused(from, resp)
		_ = resp.Body.Close()
		s.close()
		return nil, err
	}
	s.body = resp.Body
	s.timer.Reset(s.silence)
	return s, nil
}

// refused is the error of a request that the server refused.
func refused(from int, resp *http.Response) error {
	e := &errs.Error{Kind: errs.Permission, Op: "peer.Open", Subject: "rank " + strconv.Itoa(from), Want: "a stream"}
	switch resp.StatusCode {
	case http.StatusUnauthorized:
		e.Got = "a refusal: wrong token"
		e.Remedy = "see whether another job uses the same board; tokens are drawn anew by peer.Open"
	case http.StatusNotFound:
		e.Kind, e.Got, e.Remedy = errs.NotFound, "no such stream", "that process may have given up; its own error says why"
	default:
		e.Kind, e.Got = errs.Mismatch, "the answer "+resp.Status
		e.Remedy = "run the same version of Bivouac in all processes"
	}
	return e
}

// stream is a response that is read.
type stream struct {
	ctx     context.Context
	cancel  context.CancelCauseFunc
	end     func()
	body    io.ReadCloser
	timer   *time.Timer
	silence time.Duration
	from    int
}

// silent ends a stream of which nothing comes.
func (s *stream) silent() {
	s.cancel(&errs.Error{Kind: errs.Canceled, Op: "peer", Subject: "rank " + strconv.Itoa(s.from),
		Want: "a sign of life within " + s.silence.String(), Got: "none",
		Remedy: "see whether that process hangs or was cut off; a longer Options.Silence waits longer"})
}

func (s *stream) Read(b []byte) (int, error) {
	n, err := s.body.Read(b)
	if n > 0 {
		s.timer.Reset(s.silence)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = s.why(err, "a stream to its end")
	}
	return n, err
}

// Close ends the stream. It does not wait for the rest of it.
func (s *stream) Close() error {
	s.close()
	if err := s.body.Close(); err != nil && s.ctx.Err() == nil {
		return &errs.Error{Kind: errs.IO, Op: "peer", Subject: "rank " + strconv.Itoa(s.from), Err: err}
	}
	return nil
}

func (s *stream) close() {
	s.timer.Stop()
	s.end()
}

// why returns the error of a stream: why its context ended, or what the connection says.
func (s *stream) why(err error, want string) error {
	var e *errs.Error
	if cause := context.Cause(s.ctx); cause != nil {
		if errors.As(cause, &e) {
			return cause
		}
		return &errs.Error{Kind: errs.Canceled, Op: "peer", Subject: "rank " + strconv.Itoa(s.from), Err: cause}
	}
	if errors.As(err, &e) {
		return e
	}
	return &errs.Error{Kind: errs.IO, Op: "peer", Subject: "rank " + strconv.Itoa(s.from), Want: want, Err: err,
		Remedy: "see whether that process has ended, and whether its port can be reached"}
}

// dialTime bounds the attempt to connect to one address.
const dialTime = 5 * time.Second

// dialer returns the client for the streams of a process.
func (p *Peers) dialer(rank int) *http.Client {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.dialers[rank]; c != nil {
		return c
	}
	t := &http.Transport{
		// Each stream has a connection, which ends with it.
		DisableKeepAlives: true, DisableCompression: true, ReadBufferSize: 64 << 10,
		DialTLSContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return p.dial(ctx, rank) },
	}
	p.dialers[rank] = &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
	return p.dialers[rank]
}

// dial connects to the first address of a process that has its certificate.
func (p *Peers) dial(ctx context.Context, rank int) (net.Conn, error) {
	c := p.cards[rank]
	var all []error
	foreign := false
	for _, address := range c.Addresses {
		host := c.Host
		if host == "" {
			host = "bivouac"
		}
		conn, err := p.connect(ctx, address, c.Print, host)
		if err == nil {
			return conn, nil
		}
		foreign = foreign || errors.Is(err, errFingerprint)
		all = append(all, fmt.Errorf("%s: %w", address, err))
		if ctx.Err() != nil {
			break
		}
	}
	e := &errs.Error{Kind: errs.IO, Op: "peer", Subject: "rank " + strconv.Itoa(rank),
		Want:   "a connection by TLS to one of its addresses",
		Err:    errors.Join(all...),
		Remedy: "see whether that process has ended; set Options.Host and Options.Listen if others reach it elsewhere"}
	if foreign {
		e.Kind, e.Got = errs.Permission, "another certificate than the certificate on the board"
		e.Remedy = "see which program listens there; nothing was sent to it"
	}
	return nil, e
}

func (p *Peers) connect(ctx context.Context, address, print, host string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, min(dialTime, p.o.Silence))
	defer cancel()
	raw, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	conn := tls.Client(raw, clientTLS(print, host, p.roots))
	if err := conn.HandshakeContext(ctx); err != nil {
		_ = raw.Close()
		return nil, err
	}
	return conn, nil
}

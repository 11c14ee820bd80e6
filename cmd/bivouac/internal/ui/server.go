package ui

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
)

// An Answer returns the document for one name of the API. It ends soon after ctx has ended, which
// happens when the browser goes away.
type Answer func(ctx context.Context, q url.Values) (any, error)

// Options say what a server answers, and whom.
type Options struct {
	// Answers are what the API has: /api/NAME.
	Answers map[string]Answer
	// Metrics returns the text of /metrics.
	Metrics func(ctx context.Context) ([]byte, error)
	// Failure returns the document of an error. nil has its message only.
	Failure func(error) any
	// Token, if it is not "", must come with each request except the one for the page.
	Token string
	// Hosts are names of this server beside localhost and IP addresses.
	Hosts []string
}

const (
	mostAtOnce = 64 // requests; a page has a few
	retryAfter = "2"
)

// NewToken returns a token that nobody can guess.
func NewToken() string { return rand.Text() }

// Handler returns the server of the page.
func Handler(o Options) http.Handler {
	h := &handler{Options: o, page: Page(), policy: policy("'self'") + "; frame-ancestors 'none'",
		token: sha256.Sum256([]byte(o.Token)), slots: make(chan struct{}, mostAtOnce)}
	return h
}

type handler struct {
	Options
	page   []byte
	policy string
	token  [sha256.Size]byte
	slots  chan struct{}
}

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Security-Policy", h.policy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Frame-Options", "DENY")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cache-Control", "no-store")
	switch {
	case !h.known(r.Host):
		h.fail(w, http.StatusMisdirectedRequest, &errs.Error{Kind: errs.Permission, Subject: "Host", Want: "localhost, " +
			"an IP address or a name of --host", Got: r.Host, Remedy: "start bivouac ui with --host and this name"})
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		header.Set("Allow", "GET, HEAD")
		h.fail(w, http.StatusMethodNotAllowed, &errs.Error{Kind: errs.Invalid, Want: "GET or HEAD", Got: r.Method})
	case r.URL.Path == "/":
		h.send(w, "text/html; charset=utf-8", h.page)
	case r.URL.Path == "/metrics" || strings.HasPrefix(r.URL.Path, "/api/"):
		h.answer(w, r)
	default:
		h.fail(w, http.StatusNotFound, &errs.Error{Kind: errs.NotFound, Subject: r.URL.Path, Want: "/, /api/ or /metrics"})
	}
}

// answer answers what needs the token.
func (h *handler) answer(w http.ResponseWriter, r *http.Request) {
	switch site := r.Header.Get("Sec-Fetch-Site"); {
	case site != "" && site != "same-origin" && site != "none":
		h.fail(w, http.StatusForbidden, &errs.Error{Kind: errs.Permission, Want: "a request of the page of this server",
			Got: "a request of another site"})
		return
	case !h.admitted(r):
		w.Header().Set("WWW-Authenticate", `Bearer realm="bivouac ui"`)
		h.fail(w, http.StatusUnauthorized, &errs.Error{Kind: errs.Permission, Want: "the token of this server",
			Got: "none, or another one", Remedy: "bivouac ui prints it when it starts; send it as Authorization: Bearer"})
		return
	}
	select {
	case h.slots <- struct{}{}:
		defer func() { <-h.slots }()
	default:
		w.Header().Set("Retry-After", retryAfter)
		h.fail(w, http.StatusServiceUnavailable, &errs.Error{Kind: errs.Busy, Got: "too many requests at once"})
		return
	}
	if r.URL.Path == "/metrics" {
		h.metrics(w, r)
		return
	}
	name := strings.TrimPrefix(r.URL.Path, "/api/")
	do := h.Answers[name]
	if do == nil {
		h.fail(w, http.StatusNotFound, &errs.Error{Kind: errs.NotFound, Subject: r.URL.Path, Want: "a name of the API"})
		return
	}
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		h.fail(w, http.StatusBadRequest, &errs.Error{Kind: errs.Invalid, Subject: "the parameters", Err: err})
		return
	}
	v, err := do(r.Context(), q)
	var b []byte
	if err == nil {
		b, err = json.Marshal(v)
	}
	if err != nil {
		h.fail(w, status(err), err)
		return
	}
	h.send(w, "application/json", b)
}

func (h *handler) metrics(w http.ResponseWriter, r *http.Request) {
	if h.Metrics == nil {
		h.fail(w, http.StatusNotFound, &errs.Error{Kind: errs.NotFound, Subject: r.URL.Path})
		return
	}
	b, err := h.Metrics(r.Context())
	if err != nil {
		h.fail(w, status(err), err)
		return
	}
	h.send(w, "application/openmetrics-text; version=1.0.0; charset=utf-8", b)
}

// known reports whether a request is meant for this server. A site that points its name here is
// not.
func (h *handler) known(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	_, err := netip.ParseAddr(host)
	return err == nil || host == "localhost" || slices.ContainsFunc(h.Hosts, func(name string) bool {
		return name != "" && strings.EqualFold(name, host)
	})
}

// admitted reports whether a request has the token. The time of the comparison tells nothing of it.
func (h *handler) admitted(r *http.Request) bool {
	if h.Token == "" {
		return true
	}
	given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	sum := sha256.Sum256([]byte(given))
	return ok && subtle.ConstantTimeCompare(sum[:], h.token[:]) == 1
}

// send sends a document.
func (h *handler) send(w http.ResponseWriter, kind string, b []byte) {
	w.Header().Set("Content-Type", kind)
	w.Write(b) //nolint:errcheck // the browser has gone
}

// fail sends an error.
func (h *handler) fail(w http.ResponseWriter, status int, err error) {
	var v any = map[string]string{"message": err.Error()}
	if h.Failure != nil {
		v = h.Failure(err)
	}
	b, failed := json.Marshal(map[string]any{"error": v})
	if failed != nil {
		b = []byte(`{"error":{"message":"an error that cannot be told"}}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(b) //nolint:errcheck // the browser has gone
}

// status returns the status of an error of an Answer.
func status(err error) int {
	switch errs.KindOf(err) {
	case errs.NotFound:
		return http.StatusNotFound
	case errs.Invalid:
		return http.StatusBadRequest
	case errs.Permission:
		return http.StatusForbidden
	case errs.Corrupt, errs.Mismatch, errs.Unsupported:
		return http.StatusUnprocessableEntity
	case errs.Busy, errs.Exhausted, errs.Canceled:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// Serve answers what comes in on ln until ctx ends. Then it ends the answers under way, and closes
// ln. Only a failure of ln is an error.
func Serve(ctx context.Context, ln net.Listener, h http.Handler) error {
	working, stop := context.WithCancel(ctx)
	defer stop()
	s := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, IdleTimeout: time.Minute,
		MaxHeaderBytes: 64 << 10, BaseContext: func(net.Listener) context.Context { return working }}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ln) }()
	select {
	case err := <-ended:
		return &errs.Error{Kind: errs.IO, Op: "ui", Subject: ln.Addr().String(), Err: err}
	case <-ctx.Done():
	}
	stop()
	patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := s.Shutdown(patience); err != nil {
		s.Close() //nolint:errcheck // nothing is lost: the server only reads
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return &errs.Error{Kind: errs.IO, Op: "ui", Subject: ln.Addr().String(), Err: err}
	}
	return nil
}

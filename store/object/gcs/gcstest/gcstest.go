// Package gcstest is a server for tests that answers like Google Cloud Storage: in memory, in the
// process of the test. It keeps what the documentation of the JSON API promises of the requests
// that store/object/gcs sends: generations and their conditions, checksums, compositions, pages of
// lists and ranges. It is no proof of what the real server does.
package gcstest

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// Server is a running server. Its methods may be called concurrently.
type Server struct {
	Endpoint string // http://127.0.0.1:port

	mu      sync.Mutex
	buckets map[string]map[string]*stored
	last    int64           // the last generation
	tokens  map[string]bool // who may do something, and whether that includes changes; nil: all may do all
}

// stored is an object.
type stored struct {
	b          []byte
	generation int64
	created    time.Time
}

// Start starts a server that ends with the test.
func Start(t testing.TB) *Server {
	t.Helper()
	s := &Server{buckets: map[string]map[string]*stored{}, last: time.Now().UnixMicro()}
	h := httptest.NewUnstartedServer(s)
	h.Config.ErrorLog = log.New(io.Discard, "", 0)
	h.Start()
	t.Cleanup(h.Close)
	s.Endpoint = h.URL
	return s
}

// Bucket makes a bucket and returns its URL for gcs.Open.
func (s *Server) Bucket(t testing.TB, name string) string {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.buckets[name] = map[string]*stored{}
	return "gs://" + name + "?endpoint=" + s.Endpoint
}

// Grant lets requests with a token read, and write if change is set. After the first call all other
// requests are refused.
func (s *Server) Grant(token string, change bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tokens == nil {
		s.tokens = map[string]bool{}
	}
	s.tokens[token] = change
}

// Keys returns the number of objects of a bucket, with the parts of unfinished uploads.
func (s *Server) Keys(bucket string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.buckets[bucket])
}

// refusal is an answer that is an error.
type refusal struct {
	status          int
	reason, message string
}

// Error implements error.
func (r *refusal) Error() string { return r.message }

func refuse(status int, reason, format string, args ...any) *refusal {
	return &refusal{status, reason, fmt.Sprintf(format, args...)}
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the caller has gone
	}
	inXML, err := s.answer(w, r, body)
	no, ok := err.(*refusal)
	if !ok {
		return
	}
	if inXML {
		w.Header().Set("Content-Type", "application/xml; charset=UTF-8")
		w.WriteHeader(no.status)
		_ = xml.NewEncoder(w).Encode(struct {
			XMLName       xml.Name `xml:"Error"`
			Code, Message string
		}{Code: no.reason, Message: no.message})
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	w.WriteHeader(no.status)
	reason := map[string]string{"message": no.message, "domain": "global", "reason": no.reason}
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{
		"code": no.status, "message": no.message, "errors": []any{reason}}})
}

// answer carries out a request, under the mutex. Its error is a *refusal.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, body []byte) (inXML bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	path := strings.TrimPrefix(r.URL.EscapedPath(), "/")
	upload := strings.HasPrefix(path, "upload/")
	below, ok := strings.CutPrefix(strings.TrimPrefix(path, "upload/"), "storage/v1/b/")
	if err := s.allowed(r); err != nil {
		return !ok, err
	}
	if !ok {
		bucket, key, _ := strings.Cut(path, "/")
		if key, err = url.PathUnescape(key); err != nil {
			return true, refuse(400, "InvalidURI", "Couldn't parse the specified URI.")
		}
		return true, s.readXML(w, r, bucket, key)
	}
	elements := strings.Split(below, "/")
	for i := range elements {
		if elements[i], err = url.PathUnescape(elements[i]); err != nil {
			return false, refuse(400, "invalid", "Malformed URL.")
		}
	}
	objects, ok := s.buckets[elements[0]]
	if !ok {
		return false, refuse(404, "notFound", "The specified bucket does not exist.")
	}
	q := r.URL.Query()
	switch n := len(elements); {
	case n < 2 || elements[1] != "o" || n > 4:
		return false, refuse(404, "notFound", "Not Found")
	case n == 2 && upload && r.Method == http.MethodPost:
		return false, s.insert(w, r, objects, body)
	case n == 2 && r.Method == http.MethodGet:
		return false, list(w, q, objects)
	case n == 4 && elements[3] == "compose" && r.Method == http.MethodPost:
		return false, s.compose(w, q, objects, elements[2], body)
	case n == 3 && r.Method == http.MethodGet:
		return false, get(w, r, elements[0], objects, elements[2])
	case n == 3 && r.Method == http.MethodDelete:
		return false, remove(w, q, elements[0], objects, elements[2])
	}
	return false, refuse(405, "methodNotAllowed", "Method Not Allowed")
}

// allowed returns an error unless a request may be carried out.
func (s *Server) allowed(r *http.Request) error {
	if s.tokens == nil {
		return nil
	}
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	change, ok := s.tokens[token]
	switch {
	case token == "":
		return refuse(401, "required", "Anonymous caller does not have storage.objects access to the "+
			"Google Cloud Storage bucket.")
	case !ok:
		return refuse(401, "authError", "Invalid Credentials")
	case !change && r.Method != http.MethodGet:
		return refuse(403, "forbidden", "caller@example.org does not have storage.objects.create access to the "+
			"Google Cloud Storage object. Permission 'storage.objects.create' denied on resource (or it may not exist).")
	}
	return nil
}

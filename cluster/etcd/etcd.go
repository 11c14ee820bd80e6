// Package etcd opens the board of a cluster in etcd:
//
//	etcd://host:2379/run
//	etcd://host1:2379,host2:2379,host3:2379/run?tls=true
//
// It registers the scheme etcd with cluster.Register, and is imported for this effect. It speaks
// etcd's JSON over HTTP (version 3.4 and newer), because the client of etcd would add 10 MB to a
// program. A program that does not import the package does not link it.
//
// # Credentials
//
// The environment has them, under the names that etcdctl uses: ETCDCTL_USER ("name:password", or
// "name" with ETCDCTL_PASSWORD), ETCDCTL_CACERT, ETCDCTL_CERT and ETCDCTL_KEY. A certificate, or
// tls=true in the URL, means TLS. No error contains a password or a token.
//
// # Growth
//
// etcd keeps old versions of a key until it is told to compact. Start it with
// --auto-compaction-retention.
package etcd

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/bivouac-ml/bivouac/cluster"
	"github.com/bivouac-ml/bivouac/errs"
)

func init() { cluster.Register("etcd", open) }

const opOpen = "etcd.Open"

// board is a board in etcd.
type board struct {
	http      *http.Client
	scheme    string
	endpoints []string // host:port
	prefix    string
	name      string
	user      string
	password  string

	mu    sync.Mutex
	first int // the endpoint that answered last
	token string
}

var (
	_ cluster.Board   = (*board)(nil)
	_ cluster.Watcher = (*board)(nil)
)

// open opens the board of a URL. It asks for a key, so that a wrong address or password fails here.
func open(ctx context.Context, rawURL string) (cluster.Board, error) {
	b, err := parse(rawURL, os.Getenv)
	if err != nil {
		return nil, err
	}
	if _, err := b.Get(ctx, "job"); err != nil && errs.KindOf(err) != errs.NotFound {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// parse reads the URL and the environment.
func parse(rawURL string, getenv func(string) string) (*board, error) {
	_, rest, _ := strings.Cut(rawURL, "://")
	rest, query, _ := strings.Cut(rest, "?")
	hosts, prefix, _ := strings.Cut(rest, "/")
	bad := func(want, got string) error {
		return &errs.Error{Kind: errs.Invalid, Op: opOpen, Subject: "etcd://" + hosts, Want: want, Got: got}
	}
	if strings.Contains(hosts, "@") {
		hosts = "" // it may be a secret
		return nil, bad("hosts and ports alone", "credentials in the URL")
	}
	b := &board{scheme: "http", prefix: strings.Trim(prefix, "/"), name: "etcd://" + strings.Trim(rest, "/")}
	if b.prefix != "" {
		b.prefix += "/"
	}
	for _, host := range strings.Split(hosts, ",") {
		if _, port, err := net.SplitHostPort(host); err != nil || port == "" {
			return nil, bad("host:port, or several with commas", strconv.Quote(host))
		}
		b.endpoints = append(b.endpoints, host)
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, bad("parameters like tls=true", "parameters that do not parse")
	}
	for name, v := range values {
		switch {
		case name != "tls":
			return nil, bad("the parameter tls", strconv.Quote(name))
		case v[0] == "true" || v[0] == "1":
			b.scheme = "https"
		case v[0] != "false" && v[0] != "0":
			return nil, bad("tls=true or tls=false", strconv.Quote(v[0]))
		}
	}
	b.user, b.password = getenv("ETCDCTL_USER"), getenv("ETCDCTL_PASSWORD")
	if user, password, ok := strings.Cut(b.user, ":"); ok {
		b.user, b.password = user, password
	}
	config, err := certificates(getenv)
	if err != nil {
		return nil, err
	}
	if config != nil {
		b.scheme = "https"
	}
	b.http = &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: config,
		MaxIdleConnsPerHost: 32, IdleConnTimeout: time.Minute}}
	return b, nil
}

// certificates reads the files that the environment names. It returns nil if it names no file.
func certificates(getenv func(string) string) (*tls.Config, error) {
	ca, cert, key := getenv("ETCDCTL_CACERT"), getenv("ETCDCTL_CERT"), getenv("ETCDCTL_KEY")
	if ca == "" && cert == "" && key == "" {
		return nil, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if ca != "" {
		pem, err := os.ReadFile(ca)
		if err != nil {
			return nil, &errs.Error{Kind: errs.Invalid, Op: opOpen, Subject: "ETCDCTL_CACERT", Err: err}
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, &errs.Error{Kind: errs.Invalid, Op: opOpen, Subject: "ETCDCTL_CACERT: " + ca,
				Want: "certificates in PEM"}
		}
	}
	if cert != "" || key != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, &errs.Error{Kind: errs.Invalid, Op: opOpen, Subject: "ETCDCTL_CERT and ETCDCTL_KEY", Err: err}
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// Properties implements cluster.Board. etcd takes requests of up to 1.5 MiB.
func (b *board) Properties() cluster.Properties {
	return cluster.Properties{Name: b.name, MaxValue: 1 << 20, Poll: 10 * time.Millisecond,
		MaxPoll: 250 * time.Millisecond}
}

// Close implements cluster.Board.
func (b *board) Close() error {
	b.http.CloseIdleConnections()
	return nil
}

// The messages of etcd. Bytes are base64 in its JSON, and numbers of 64 bits are text.
type (
	rangeRequest struct {
		Key      []byte `json:"key"`
		RangeEnd []byte `json:"range_end,omitempty"`
		KeysOnly bool   `json:"keys_only,omitempty"`
	}
	rangeAnswer struct {
		Header *answerHeader `json:"header"`
		KVs    []keyValue    `json:"kvs"`
	}
	keyValue struct {
		Key     []byte `json:"key"`
		Value   []byte `json:"value"`
		Changed string `json:"mod_revision"`
	}
	answerHeader struct {
		Revision string `json:"revision"`
	}
	compare struct {
		Key     []byte `json:"key"`
		Target  string `json:"target"`
		Result  string `json:"result"`
		Changed string `json:"mod_revision"`
	}
	keyRequest struct {
		Put    *keyPut       `json:"request_put,omitempty"`
		Delete *rangeRequest `json:"request_delete_range,omitempty"`
		Range  *rangeRequest `json:"request_range,omitempty"`
	}
	keyPut struct {
		Key   []byte `json:"key"`
		Value []byte `json:"value"`
	}
	txnRequest struct {
		Compare []compare    `json:"compare"`
		Success []keyRequest `json:"success"`
		Failure []keyRequest `json:"failure,omitempty"`
	}
	txnAnswer struct {
		Header    *answerHeader `json:"header"`
		Succeeded bool          `json:"succeeded"`
		Responses []struct {
			Range *rangeAnswer `json:"response_range"`
		} `json:"responses"`
	}
)

// Get implements cluster.Board.
func (b *board) Get(ctx context.Context, key string) (cluster.Document, error) {
	const op = "etcd.Get"
	var answer rangeAnswer
	if err := b.call(ctx, op, key, "/v3/kv/range", rangeRequest{Key: b.key(key)}, &answer); err != nil {
		return cluster.Document{}, err
	}
	if answer.Header == nil {
		return cluster.Document{}, b.garbage(op, key, "an answer without a header")
	}
	if len(answer.KVs) == 0 {
		return cluster.Document{}, &errs.Error{Kind: errs.NotFound, Op: op, Subject: b.name + ": " + key}
	}
	return b.document(answer.KVs[0]), nil
}

func (b *board) key(key string) []byte { return []byte(b.prefix + key) }

func (b *board) document(kv keyValue) cluster.Document {
	if kv.Value == nil {
		kv.Value = []byte{}
	}
	return cluster.Document{Key: strings.TrimPrefix(string(kv.Key), b.prefix), Value: kv.Value, Version: kv.Changed}
}

// Put implements cluster.Board. The version is the revision of the change.
func (b *board) Put(ctx context.Context, key string, value []byte, version string) (string, error) {
	const op = "etcd.Put"
	was := version
	if was == "" {
		was = "0" // a key that is not there
	} else if !isRevision(version) {
		return "", b.changed(op, key)
	}
	var answer txnAnswer
	err := b.call(ctx, op, key, "/v3/kv/txn", txnRequest{
		Compare: []compare{{b.key(key), "MOD", "EQUAL", was}},
		Success: []keyRequest{{Put: &keyPut{b.key(key), value}}},
	}, &answer)
	switch {
	case err != nil:
		return "", err
	case answer.Header == nil || answer.Header.Revision == "":
		return "", b.garbage(op, key, "an answer without a revision")
	case !answer.Succeeded:
		return "", b.changed(op, key)
	}
	return answer.Header.Revision, nil
}

// Delete implements cluster.Board.
func (b *board) Delete(ctx context.Context, key, version string) error {
	const op = "etcd.Delete"
	t := txnRequest{
		Success: []keyRequest{{Delete: &rangeRequest{Key: b.key(key)}}},
		Failure: []keyRequest{{Range: &rangeRequest{Key: b.key(key), KeysOnly: true}}},
	}
	if version != "" && !isRevision(version) {
		return b.changed(op, key)
	}
	if version != "" {
		t.Compare = []compare{{b.key(key), "MOD", "EQUAL", version}}
	}
	var answer txnAnswer
	err := b.call(ctx, op, key, "/v3/kv/txn", t, &answer)
	switch {
	case err != nil:
		return err
	case answer.Header == nil:
		return b.garbage(op, key, "an answer without a header")
	case answer.Succeeded:
		return nil
	case len(answer.Responses) == 1 && answer.Responses[0].Range != nil && len(answer.Responses[0].Range.KVs) == 0:
		return nil
	}
	return b.changed(op, key)
}

// isRevision reports whether a version may be one of etcd.
func isRevision(version string) bool {
	n, err := strconv.ParseInt(version, 10, 64)
	return err == nil && n > 0
}

func (b *board) changed(op, key string) error {
	return &errs.Error{Kind: errs.Mismatch, Op: op, Subject: b.name + ": " + key, Err: cluster.ErrChanged}
}

// partPrefix begins the keys of large documents, which a list names without their bytes.
const partPrefix = "part/"

// List implements cluster.Board.
func (b *board) List(ctx context.Context, prefix string) ([]cluster.Document, error) {
	const op = "etcd.List"
	r := b.all(prefix)
	r.KeysOnly = strings.HasPrefix(prefix, partPrefix)
	var answer rangeAnswer
	if err := b.call(ctx, op, prefix, "/v3/kv/range", r, &answer); err != nil {
		return nil, err
	}
	if answer.Header == nil {
		return nil, b.garbage(op, prefix, "an answer without a header")
	}
	var out []cluster.Document
	for _, kv := range answer.KVs {
		d := b.document(kv)
		if r.KeysOnly {
			d.Value = nil
		}
		out = append(out, d)
	}
	return out, nil
}

// all is the range of the keys that begin with prefix.
func (b *board) all(prefix string) rangeRequest {
	key := b.key(prefix)
	if len(key) == 0 {
		return rangeRequest{Key: []byte{0}, RangeEnd: []byte{0}}
	}
	return rangeRequest{Key: key, RangeEnd: end(key)}
}

// end returns the first key behind all that begin with prefix. A zero byte stands for all keys.
func end(prefix []byte) []byte {
	out := bytes.Clone(prefix)
	for i := len(out) - 1; i >= 0; i-- {
		if out[i] < 0xff {
			out[i]++
			return out[:i+1]
		}
	}
	return []byte{0}
}

// Changes implements cluster.Watcher.
func (b *board) Changes(ctx context.Context, prefix string) (<-chan struct{}, error) {
	const op = "etcd.Watch"
	body, err := json.Marshal(map[string]any{"create_request": b.all(prefix)})
	if err != nil {
		return nil, err
	}
	answer, err := b.send(ctx, op, prefix, "/v3/watch", body)
	if err != nil {
		return nil, err
	}
	c := make(chan struct{}, 1)
	c <- struct{}{} // what changed before the watch began
	go func() {
		defer close(c)
		defer answer.Body.Close()
		lines := bufio.NewReader(answer.Body)
		for { // one message a line
			if _, err := lines.ReadSlice('\n'); err != nil && !errors.Is(err, bufio.ErrBufferFull) {
				return
			}
			select {
			case c <- struct{}{}:
			default:
			}
		}
	}()
	return c, nil
}

// maxAnswer bounds what is read of an answer.
const maxAnswer = 256 << 20

// call sends a request and reads the answer.
func (b *board) call(ctx context.Context, op, key, path string, request, answer any) error {
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	got, err := b.send(ctx, op, key, path, body)
	if err != nil {
		return err
	}
	defer got.Body.Close()
	all, err := io.ReadAll(io.LimitReader(got.Body, maxAnswer))
	if err != nil {
		return b.unanswered(ctx, op, key, err)
	}
	if err := json.Unmarshal(all, answer); err != nil {
		return b.garbage(op, key, fmt.Sprintf("%q", all[:min(len(all), 60)]))
	}
	return nil
}

func (b *board) garbage(op, key, got string) error {
	return &errs.Error{Kind: errs.Corrupt, Op: op, Subject: b.name + ": " + key, Want: "an answer of etcd", Got: got,
		Remedy: "see what listens at this address"}
}

// unanswered is the error of a request without an answer. It may have been carried out.
func (b *board) unanswered(ctx context.Context, op, key string, err error) error {
	e := &errs.Error{Kind: errs.IO, Op: op, Subject: b.name + ": " + key}
	var at *url.Error // its text repeats the URL
	if errors.As(err, &at) {
		err = at.Err
	}
	e.Err = err
	var unknown x509.UnknownAuthorityError
	var plain tls.RecordHeaderError
	switch {
	case ctx.Err() != nil:
		e.Kind, e.Err = errs.Canceled, context.Cause(ctx)
	case errors.As(err, &unknown):
		e.Kind, e.Want, e.Remedy = errs.Invalid, "a certificate that this machine trusts", "set ETCDCTL_CACERT"
	case errors.As(err, &plain), strings.Contains(err.Error(), "gave HTTP response to HTTPS client"):
		e.Kind, e.Want, e.Remedy = errs.Invalid, "a server that speaks TLS", "leave tls=true out, and unset ETCDCTL_CACERT"
	case b.scheme == "https" && (errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, syscall.EPIPE)):
		e.Remedy = "see whether the server speaks TLS: etcd without it closes the connection"
	}
	return e
}

// send sends a request to the endpoint that answered last, and to the others if it cannot be
// reached. The caller closes the body.
func (b *board) send(ctx context.Context, op, key, path string, body []byte) (*http.Response, error) {
	b.mu.Lock()
	first := b.first
	b.mu.Unlock()
	var err error
	for i := range b.endpoints {
		n := (first + i) % len(b.endpoints)
		var answer *http.Response
		if answer, err = b.authorized(ctx, op, key, b.endpoints[n], path, body); err == nil {
			b.mu.Lock()
			b.first = n
			b.mu.Unlock()
			return answer, nil
		}
		if k := errs.KindOf(err); k != errs.IO || ctx.Err() != nil {
			return nil, err
		}
	}
	return nil, err
}

// authorized sends a request with a token, which it gets first if there are user and password.
func (b *board) authorized(ctx context.Context, op, key, host, path string, body []byte) (*http.Response, error) {
	b.mu.Lock()
	token := b.token
	b.mu.Unlock()
	for attempt := 0; ; attempt++ {
		if b.user != "" && token == "" {
			var err error
			if token, err = b.authenticate(ctx, host); err != nil {
				return nil, err
			}
			b.mu.Lock()
			b.token = token
			b.mu.Unlock()
		}
		answer, err := b.post(ctx, op, key, host, path, token, body)
		if attempt == 0 && token != "" && errs.KindOf(err) == errs.Permission {
			token = "" // it was good for a time
			continue
		}
		return answer, err
	}
}

func (b *board) authenticate(ctx context.Context, host string) (string, error) {
	const op = "etcd.Authenticate"
	body, err := json.Marshal(map[string]string{"name": b.user, "password": b.password})
	if err != nil {
		return "", err
	}
	answer, err := b.post(ctx, op, "the user of ETCDCTL_USER", host, "/v3/auth/authenticate", "", body)
	if err != nil {
		if k := errs.KindOf(err); k == errs.Invalid || k == errs.Permission {
			err = &errs.Error{Kind: errs.Permission, Op: op, Subject: b.name, Err: err,
				Remedy: "set ETCDCTL_USER and ETCDCTL_PASSWORD"}
		}
		return "", err
	}
	defer answer.Body.Close()
	var got struct {
		Token string `json:"token"`
	}
	if err := json.NewDecoder(io.LimitReader(answer.Body, 1<<20)).Decode(&got); err != nil || got.Token == "" {
		return "", b.garbage(op, "token", "an answer without a token")
	}
	return got.Token, nil
}

// post sends a request to one endpoint.
func (b *board) post(ctx context.Context, op, key, host, path, token string, body []byte) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, b.scheme+"://"+host+path, bytes.NewReader(body))
	if err != nil {
		return nil, &errs.Error{Kind: errs.Invalid, Op: op, Subject: b.name, Want: "host:port", Got: host}
	}
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", token)
	}
	answer, err := b.http.Do(r)
	if err != nil {
		return nil, b.unanswered(ctx, op, key, err)
	}
	if answer.StatusCode == http.StatusOK {
		return answer, nil
	}
	defer answer.Body.Close()
	all, _ := io.ReadAll(io.LimitReader(answer.Body, 4096)) //nolint:errcheck // the status says enough
	return nil, b.refused(op, key, host, answer.StatusCode, all)
}

// refused is the error of an answer with another status than success.
func (b *board) refused(op, key, host string, status int, body []byte) error {
	var said struct {
		Message string `json:"message"`
		Error   string `json:"error"`
		Code    int    `json:"code"`
	}
	e := &errs.Error{Kind: errs.IO, Op: op, Subject: b.name + ": " + key}
	if json.Unmarshal(body, &said) != nil || said.Message == "" && said.Error == "" {
		if status < 500 {
			e.Kind = errs.Corrupt
		}
		e.Want, e.Got = "an answer of etcd from "+host, fmt.Sprintf("status %d, %q", status, body[:min(len(body), 60)])
		e.Remedy = "see what listens at this address"
		return e
	}
	message := said.Message
	if message == "" {
		message = said.Error
	}
	e.Got = fmt.Sprintf("status %d from %s, %q", status, host, message[:min(len(message), 200)])
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden,
		strings.Contains(message, "user name is empty"), strings.Contains(message, "invalid auth token"):
		e.Kind, e.Remedy = errs.Permission, "set ETCDCTL_USER and ETCDCTL_PASSWORD; see the roles of the user"
	case strings.Contains(message, "space exceeded"):
		e.Kind, e.Remedy = errs.Exhausted, "compact and defragment etcd, then clear its alarm"
	case status == http.StatusTooManyRequests:
		e.Kind = errs.Busy
	case status >= 400 && status < 500:
		e.Kind = errs.Invalid
	}
	return e
}

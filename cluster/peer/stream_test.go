package peer

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac/cluster"
	"github.com/bivouac-ml/bivouac/errs"
)

// pair is two processes, as goroutines.
func pair(t *testing.T, o Options) (a, b *Peers) {
	t.Helper()
	board := cluster.InProcess()
	var peers [2]*Peers
	var wait sync.WaitGroup
	for rank := range peers {
		wait.Go(func() {
			m, err := cluster.Join(t.Context(), board, cluster.Options{Rank: rank, World: 2, Lease: time.Second,
				Deadline: 10 * time.Second})
			if err != nil {
				t.Error(err)
				return
			}
			if peers[rank], err = Open(t.Context(), m, o); err != nil {
				t.Error(err)
			}
			t.Cleanup(func() {
				if err := errors.Join(peers[rank].Close(), m.Close()); err != nil {
					t.Error(err)
				}
			})
		})
	}
	wait.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return peers[0], peers[1]
}

func write(text string) func(context.Context, int, io.Writer) error {
	return func(_ context.Context, _ int, w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
}

// read opens a stream and reads it to its end.
func read(ctx context.Context, p *Peers, name string) (string, error) {
	in, err := p.Open(ctx, 0, name)
	if err != nil {
		return "", err
	}
	b, err := io.ReadAll(in)
	return string(b), errors.Join(err, in.Close())
}

// A stream is what its sender writes, once it is offered, for each that opens it.
func TestStream(t *testing.T) {
	a, b := pair(t, Options{Silence: 5 * time.Second})
	text := strings.Repeat("0123456789abcdef", 1<<17) // 2 MiB
	wait := make(chan struct{})
	var got string
	var err error
	go func() {
		defer close(wait)
		got, err = read(t.Context(), b, "x") // before it is offered
	}()
	time.Sleep(50 * time.Millisecond)
	withdraw := a.Offer("x", write(text))
	<-wait
	if err != nil || got != text {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if got, err := read(t.Context(), b, "x"); err != nil || got != text {
				t.Errorf("%d bytes, %v", len(got), err)
			}
		})
	}
	all.Wait()
	withdraw()
	silence, deadline := b.Limits()
	if silence != 5*time.Second || deadline != defaultDeadline || b.Rank() != 1 || b.World() != 2 {
		t.Error(silence, deadline, b.Rank(), b.World())
	}
	if _, err := b.Open(t.Context(), 2, "x"); errs.KindOf(err) != errs.Invalid {
		t.Error(err)
	}
}

// must checks an error: its kind, its text, and that no secret is in it.
func must(t *testing.T, a *Peers, err error, kind errs.Kind, words ...string) {
	t.Helper()
	text := fmt.Sprint(err)
	if errs.KindOf(err) != kind {
		t.Errorf("kind %v, want %v: %v", errs.KindOf(err), kind, err)
	}
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("no %q in: %v", w, err)
		}
	}
	if strings.Contains(text, a.token) {
		t.Error("the error has the token")
	}
}

// A client without a token, or with a wrong one, gets nothing.
func TestWrongToken(t *testing.T) {
	a, b := pair(t, Options{Silence: time.Second})
	defer a.Offer("x", func(context.Context, int, io.Writer) error { t.Error("it was sent"); return nil })()
	for _, token := range []string{"", "wrong", a.token[:len(a.token)-1], a.token + "x", strings.ToLower(a.token)} {
		b.cards[0].Token = token
		_, err := read(t.Context(), b, "x")
		must(t, a, err, errs.Permission, "rank 0", "wrong token", "board")
	}
}

// A server with another certificate gets no token, and its bytes are not used.
func TestWrongFingerprint(t *testing.T) {
	a, b := pair(t, Options{Silence: time.Second})
	var heads []string
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		heads = append(heads, r.Header.Get("Authorization"))
		_, _ = io.WriteString(w, "garbage")
	}))
	defer s.Close()
	s.Config.ErrorLog = a.server.ErrorLog
	right := b.cards[0].Addresses
	b.cards[0].Addresses = []string{s.Listener.Addr().String()}
	_, err := read(t.Context(), b, "x")
	must(t, a, err, errs.Permission, "rank 0", "another certificate", "nothing was sent")
	if len(heads) > 0 {
		t.Errorf("the stranger was told %q", heads)
	}
	// An address of another program does not keep a client from the right one.
	b.cards[0].Addresses = append(b.cards[0].Addresses, right...)
	defer a.Offer("x", write("right"))()
	if got, err := read(t.Context(), b, "x"); err != nil || got != "right" {
		t.Errorf("%q, %v", got, err)
	}
}

// A program that does not speak TLS is an error in time, if it answers and if it does not.
func TestNoTLS(t *testing.T) {
	a, b := pair(t, Options{Silence: time.Second})
	for name, answer := range map[string]func(c net.Conn){
		"http":    func(c net.Conn) { _, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n"); _ = c.Close() },
		"nothing": func(c net.Conn) { _, _ = io.Copy(io.Discard, c); _ = c.Close() },
		"close":   func(c net.Conn) { _ = c.Close() },
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		var wait sync.WaitGroup
		wait.Go(func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				wait.Go(func() { answer(c) })
			}
		})
		b.cards[0].Addresses = []string{l.Addr().String()}
		began := time.Now()
		_, err = read(t.Context(), b, "x")
		must(t, a, err, errs.IO, "rank 0", l.Addr().String(), "Options.Host")
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("%s: it took %v", name, took)
		}
		_ = l.Close()
		wait.Wait()
	}
	b.cards[0].Addresses = []string{"127.0.0.1:1"}
	_, err := read(t.Context(), b, "x")
	must(t, a, err, errs.IO, "127.0.0.1:1")
}

// A client without TLS gets nothing of a server.
func TestClientWithoutTLS(t *testing.T) {
	a, _ := pair(t, Options{Silence: time.Second})
	defer a.Offer("x", func(context.Context, int, io.Writer) error { t.Error("it was sent"); return nil })()
	c, err := net.Dial("tcp", a.cards[0].Addresses[len(a.cards[0].Addresses)-1])
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close() //nolint:errcheck // a test
	fmt.Fprintf(c, "GET %sx HTTP/1.1\r\nHost: h\r\nAuthorization: %s%s\r\n%s: 1\r\n\r\n", prefix, bearer, a.token,
		rankHeader)
	if err := c.SetReadDeadline(time.Now().Add(5 * time.Second)); err != nil {
		t.Fatal(err)
	}
	b, _ := io.ReadAll(c)
	if !bytes.Contains(b, []byte("400")) && len(b) > 0 {
		t.Errorf("%q", b)
	}
}

// Requests that are no requests of this protocol are refused.
func TestOtherRequests(t *testing.T) {
	a, b := pair(t, Options{Silence: 300 * time.Millisecond})
	_, err := read(t.Context(), b, "nothing")
	must(t, a, err, errs.NotFound, "rank 0", "no such stream")
	c := b.dialer(0)
	for _, r := range []struct {
		method, path, rank string
		want               int
	}{
		{"POST", prefix + "x", "1", http.StatusNotImplemented}, {"GET", "/bivouac/peer/2/x", "1",
			http.StatusNotImplemented},
		{"GET", prefix + "x", "2", http.StatusBadRequest}, {"GET", prefix + "x", "-1", http.StatusBadRequest},
		{"GET", prefix + "x", "", http.StatusBadRequest},
	} {
		q, err := http.NewRequestWithContext(t.Context(), r.method, "https://rank-0"+r.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("Authorization", bearer+a.token)
		q.Header.Set(rankHeader, r.rank)
		resp, err := c.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != r.want {
			t.Errorf("%+v: %s", r, resp.Status)
		}
	}
	if err := refused(0, &http.Response{StatusCode: 501,
		Status: "501 Not Implemented"}); errs.KindOf(err) != errs.Mismatch {
		t.Error(err)
	}
}

// A sender that says nothing is an error after the silence, and so is one that ends too early.
func TestSilence(t *testing.T) {
	a, b := pair(t, Options{Silence: 300 * time.Millisecond})
	defer a.Offer("hang", func(ctx context.Context, _ int, w io.Writer) error {
		_, _ = io.WriteString(w, "some")
		<-ctx.Done()
		return ctx.Err()
	})()
	began := time.Now()
	_, err := read(t.Context(), b, "hang")
	must(t, a, err, errs.Canceled, "rank 0", "sign of life", "Silence")
	if took := time.Since(began); took < 300*time.Millisecond || took > 3*time.Second {
		t.Errorf("it took %v", took)
	}
	defer a.Offer("fail", func(_ context.Context, _ int, w io.Writer) error {
		_, _ = io.WriteString(w, "some")
		return errors.New("broken")
	})()
	_, err = read(t.Context(), b, "fail")
	must(t, a, err, errs.IO, "rank 0")
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	_, err = read(ctx, b, "hang")
	must(t, a, err, errs.Canceled)
}

// A receiver that does not read ends its stream, and not the sender.
func TestReceiverDoesNotRead(t *testing.T) {
	a, b := pair(t, Options{Silence: 300 * time.Millisecond})
	end := make(chan error, 1)
	withdraw := a.Offer("x", func(_ context.Context, _ int, w io.Writer) error {
		block := make([]byte, 1<<20)
		for range 1000 { // more than any buffer of the system
			if _, err := w.Write(block); err != nil {
				end <- err
				return err
			}
		}
		end <- nil
		return nil
	})
	in, err := b.Open(t.Context(), 0, "x")
	if err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-end:
		if err == nil {
			t.Error("1 GB went somewhere")
		}
	case <-time.After(20 * time.Second):
		t.Error("the sender hangs")
	}
	withdraw()
	_ = in.Close()
}

// Close ends streams and calls that wait.
func TestCloseEndsAll(t *testing.T) {
	a, b := pair(t, Options{Silence: 10 * time.Second})
	began := make(chan struct{})
	a.Offer("x", func(ctx context.Context, _ int, w io.Writer) error {
		_, _ = io.WriteString(w, "some")
		_ = w.(interface{ Flush() error }).Flush()
		close(began)
		<-ctx.Done()
		return ctx.Err()
	})
	errors := make(chan error, 2)
	go func() { _, err := read(t.Context(), b, "x"); errors <- err }()
	go func() { _, err := read(t.Context(), b, "never"); errors <- err }()
	<-began
	release, err := b.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, err := b.Acquire(t.Context()); errors <- err }()
	_ = b.Close()
	for range 3 {
		select {
		case err := <-errors:
			if errs.KindOf(err) != errs.Closed && errs.KindOf(err) != errs.Canceled {
				t.Error(err)
			}
		case <-time.After(5 * time.Second):
			t.Fatal("it hangs")
		}
	}
	release()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	hold, err := a.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Acquire(ctx); errs.KindOf(err) != errs.Canceled {
		t.Error(err)
	}
	hold()
}

// Members of other versions or with other options are named when they open.
func TestOpenDiffers(t *testing.T) {
	for want, other := range map[string]card{
		"rank 1: version of the protocol": {Protocol: 2, Silence: time.Second},
		"rank 1: Options.Silence":         {Protocol: 1, Silence: 2 * time.Second},
		"rank 1: corrupt":                 {},
	} {
		board := cluster.InProcess()
		var wait sync.WaitGroup
		for rank := range 2 {
			wait.Go(func() {
				m, err := cluster.Join(t.Context(), board, cluster.Options{Rank: rank, World: 2, Lease: time.Second,
					Deadline: 5 * time.Second})
				if err != nil {
					t.Error(err)
					return
				}
				defer m.Close() //nolint:errcheck // a test
				if rank == 1 {
					b, _ := json.Marshal(other)
					if other.Protocol == 0 {
						b = []byte("garbage")
					}
					_, _ = m.Gather(t.Context(), "peers/open", b)
					return
				}
				p, err := Open(t.Context(), m, Options{Silence: time.Second})
				if p != nil || !strings.Contains(fmt.Sprint(err), want) {
					t.Errorf("want %s, got %v", want, err)
				}
			})
		}
		wait.Wait()
	}
}

// Options that cannot be are refused before anybody waits.
func TestOptions(t *testing.T) {
	m, err := cluster.Join(t.Context(), cluster.InProcess(), cluster.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close() //nolint:errcheck // a test
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for want, o := range map[string]Options{
		"Options.CertFile": {CertFile: "nowhere",
			KeyFile: "nowhere"}, "Options.CAFile": {CAFile: empty}, "no such file": {CAFile: "nowhere"},
		"Options.Silence": {Silence: -1}, "Options.Listen": {Listen: "256.0.0.1:x"},
	} {
		if p, err := Open(t.Context(), m, o); p != nil || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	p, err := Open(t.Context(), m, Options{}) // a job of one process
	if err != nil {
		t.Fatal(err)
	}
	if all, err := p.Exchange(t.Context(), []byte("x")); err != nil || len(all) != 1 || string(all[0]) != "x" {
		t.Errorf("%q, %v", all, err)
	}
	if err := errors.Join(p.Close(), p.Close()); err != nil {
		t.Error(err)
	}
}

// Certificates of files are used, and an authority must have signed them for the host.
func TestCertificateFiles(t *testing.T) {
	dir := t.TempDir()
	store := func(name, kind string, der []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	sign := func(name string, host string, authority *tls.Certificate) tls.Certificate {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
			NotBefore: time.Now().Add(-time.Hour),
			NotAfter:  time.Now().Add(time.Hour), BasicConstraintsValid: true, IsCA: authority == nil,
			KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, DNSNames: []string{host}}
		parent, by := c, key
		if authority != nil {
			if parent, err = x509.ParseCertificate(authority.Certificate[0]); err != nil {
				t.Fatal(err)
			}
			by = authority.PrivateKey.(*ecdsa.PrivateKey)
		}
		der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, by)
		if err != nil {
			t.Fatal(err)
		}
		secret, err := x509.MarshalECPrivateKey(key)
		if err != nil {
			t.Fatal(err)
		}
		store(name+".crt", "CERTIFICATE", der)
		store(name+".key", "EC PRIVATE KEY", secret)
		return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
	}
	ca := sign("ca", "ca", nil)
	sign("good", "localhost", &ca)
	sign("elsewhere", "elsewhere", &ca)
	other := sign("other", "other", nil)
	sign("stranger", "localhost", &other)
	for name, fine := range map[string]bool{"good": true, "elsewhere": false, "stranger": false} {
		a, b := pair(t, Options{Silence: 2 * time.Second, Host: "localhost", Listen: "127.0.0.1:0",
			CAFile:   dir + "/ca.crt",
			CertFile: dir + "/" + name + ".crt", KeyFile: dir + "/" + name + ".key"})
		withdraw := a.Offer("x", write("text"))
		got, err := read(t.Context(), b, "x")
		if fine && (err != nil || got != "text") || !fine && err == nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		withdraw()
	}
}

package web_test

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/bivouac-ml/bivouac/store/object/internal/web"
)

// Requests are of HTTP/1.1, also to a server that offers HTTP/2, as Google does, and in a program
// that speaks HTTP/2 with others.
func TestConnectionsCarryOneRequest(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Proto)
	}))
	server.EnableHTTP2 = true
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	if answer, err := http.Get(server.URL); err == nil { // it gets to know HTTP/2, and then no certificate
		answer.Body.Close()
		t.Fatal("the certificate of the test is trusted")
	}
	own := web.Transport()
	defer own.CloseIdleConnections()
	pool := x509.NewCertPool()
	pool.AddCert(server.Certificate())
	if own.TLSClientConfig == nil {
		own.TLSClientConfig = &tls.Config{}
	}
	own.TLSClientConfig.RootCAs = pool
	answer, err := (&http.Client{Transport: own}).Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if text, err := io.ReadAll(answer.Body); err != nil || string(text) != "HTTP/1.1" {
		t.Errorf("the request was of %s, %v", text, err)
	}
}

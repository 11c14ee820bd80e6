// Package s3test starts a real S3 server for tests: versitygw, over a temporary directory.
package s3test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/credentials"
)

// Require is the environment variable that makes a test fail, not skip, if the server cannot be
// built.
const Require = "BIVOUAC_REQUIRE_VERSITYGW"

// Server is a running server.
type Server struct {
	Endpoint string // http://127.0.0.1:port
	Access   string // the access key
	Secret   string // the secret key
	Dir      string // where the buckets are, as directories
}

// Start starts a server that ends with the test. It builds the server first, once for all programs:
// this takes a minute or more. Without a network, it skips the test; see Require.
func Start(t testing.TB) *Server {
	t.Helper()
	program, err := build()
	if err != nil {
		if os.Getenv(Require) != "" {
			t.Fatalf("%s is set, but versitygw cannot be built: %v", Require, err)
		}
		t.Skipf("versitygw cannot be built: %v", err)
	}
	for range 5 { // another process may take the port first
		var s *Server
		if s, err = start(t, program); err == nil {
			return s
		}
	}
	t.Fatal(err)
	return nil
}

// Credentials returns the keys of the server for package s3.
func (s *Server) Credentials() aws.CredentialsProvider {
	return credentials.NewStaticCredentialsProvider(s.Access, s.Secret, "")
}

// Bucket makes a bucket and returns its URL for s3.Open.
func (s *Server) Bucket(t testing.TB, name string) string {
	t.Helper()
	const nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" // SHA-256 of no bytes
	r, err := http.NewRequest(http.MethodPut, s.Endpoint+"/"+name, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Amz-Content-Sha256", nothing)
	keys := aws.Credentials{AccessKeyID: s.Access, SecretAccessKey: s.Secret}
	if err := v4.NewSigner().SignHTTP(context.Background(), keys, r, nothing, "s3", "us-east-1", time.Now()); err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(answer.Body, 1000))
		t.Fatalf("making the bucket %s: %s: %s", name, answer.Status, text)
	}
	return "s3://" + name + "?endpoint=" + s.Endpoint
}

func start(t testing.TB, program string) (*Server, error) {
	dir := t.TempDir()
	s := &Server{Dir: filepath.Join(dir, "buckets"), Access: "testaccesskey", Secret: "test/secret+key/of=no+use"}
	side := filepath.Join(dir, "notes")
	for _, d := range []string{s.Dir, side} {
		if err := os.Mkdir(d, 0o755); err != nil {
			return nil, err
		}
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	addr := free.Addr().String()
	if err := free.Close(); err != nil {
		return nil, err
	}
	s.Endpoint = "http://" + addr
	var out bytes.Buffer
	c := exec.Command(program, "-dir", s.Dir, "-side", side, "-addr", addr)
	c.Env = append(os.Environ(), "ROOT_ACCESS_KEY_ID="+s.Access, "ROOT_SECRET_ACCESS_KEY="+s.Secret)
	c.Stdout, c.Stderr = &out, &out
	alive, err := c.StdinPipe() // the server ends when this closes, however the test ends
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	stop := sync.OnceFunc(func() {
		_ = alive.Close()
		select {
		case <-ended:
		case <-time.After(5 * time.Second):
			_ = c.Process.Kill()
			<-ended
		}
	})
	for limit := time.Now().Add(30 * time.Second); time.Now().Before(limit); time.Sleep(20 * time.Millisecond) {
		select {
		case err := <-ended:
			ended <- err
			return nil, fmt.Errorf("versitygw ended at once: %w: %s", err, out.String())
		default:
		}
		if conn, err := net.DialTimeout("tcp", addr, time.Second); err == nil {
			_ = conn.Close()
			t.Cleanup(stop)
			return s, nil
		}
	}
	stop()
	return nil, fmt.Errorf("versitygw does not listen on %s: %s", addr, out.String())
}

// build returns the path of the server, which it builds unless an earlier program did.
var build = sync.OnceValues(func() (string, error) {
	source, err := source()
	if err != nil {
		return "", err
	}
	hash := sha256.New()
	for _, name := range []string{"main.go", "go.mod", "go.sum"} {
		b, err := os.ReadFile(filepath.Join(source, name))
		if err != nil {
			return "", err
		}
		hash.Write(b)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "bivouac")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	program := filepath.Join(dir, fmt.Sprintf("versitygw-%x", hash.Sum(nil)[:8]))
	unlock, err := lock(program + ".lock")
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	made := fmt.Sprintf("%s.%d", program, os.Getpid())
	defer os.Remove(made)
	limited, stop := context.WithTimeout(context.Background(), 8*time.Minute)
	defer stop()
	c := exec.CommandContext(limited, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", made, ".")
	c.Dir = source
	// Some proxies stall many downloads over one connection of HTTP/2.
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false", "GOWORK=off", "GODEBUG=http2client=0")
	if out, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build in tools/versitygw: %w: %s", err, tail(string(out)))
	}
	return program, os.Rename(made, program)
})

// tail returns the end of a text.
func tail(s string) string {
	if s = strings.TrimSpace(s); len(s) > 800 {
		return "…" + s[len(s)-800:]
	}
	return s
}

// source finds tools/versitygw in the folders above.
func source() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		found := filepath.Join(dir, "tools", "versitygw")
		if _, err := os.Stat(filepath.Join(found, "go.mod")); err == nil {
			return found, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errors.New("tools/versitygw is in no folder above: run the tests in the repository")
		}
		dir = up
	}
}

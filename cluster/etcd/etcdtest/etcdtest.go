// Package etcdtest starts a real etcd for tests.
package etcdtest

import (
	"bytes"
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
)

// Require is the environment variable that makes a test fail, not skip, if there is no etcd.
const Require = "BIVOUAC_REQUIRE_ETCD"

// Server is a running server.
type Server struct {
	Address string // 127.0.0.1:port
}

// URL returns the URL of a board.
func (s *Server) URL(prefix string) string { return "etcd://" + s.Address + "/" + prefix }

// Start starts a server that ends with the test. Without the program etcd, it skips the test; see
// Require. Debian and Ubuntu have the program in the package etcd-server.
func Start(t testing.TB) *Server {
	t.Helper()
	program, err := exec.LookPath("etcd")
	if err != nil {
		if os.Getenv(Require) != "" {
			t.Fatalf("%s is set, but there is no etcd", Require)
		}
		t.Skip("there is no etcd (the package etcd-server)")
	}
	for range 5 { // another process may take the ports first
		var s *Server
		if s, err = start(t, program); err == nil {
			return s
		}
	}
	t.Fatal(err)
	return nil
}

func start(t testing.TB, program string) (*Server, error) {
	client, err := free()
	if err != nil {
		return nil, err
	}
	peer, err := free()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(t.TempDir(), "data")
	if memory, err := os.MkdirTemp("/dev/shm", "etcd"); err == nil { // its log is synced at each change
		t.Cleanup(func() { os.RemoveAll(memory) })
		dir = filepath.Join(memory, "data")
	}
	var out bytes.Buffer
	// The shell ends etcd when its input closes, however the test ends.
	c := exec.Command("sh", "-c", `"$@" </dev/null & pid=$!; cat >/dev/null; kill -9 $pid; wait $pid`, "sh", program,
		"--name=test", "--data-dir="+dir, "--log-level=error",
		"--listen-client-urls=http://"+client, "--advertise-client-urls=http://"+client,
		"--listen-peer-urls=http://"+peer, "--initial-advertise-peer-urls=http://"+peer,
		"--initial-cluster=test=http://"+peer)
	c.Stdout, c.Stderr = &out, &out
	alive, err := c.StdinPipe()
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
		<-ended
	})
	request := func() error {
		answer, err := http.Get("http://" + client + "/health")
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(io.LimitReader(answer.Body, 1000))
		if err == nil && !strings.Contains(string(text), "true") {
			err = fmt.Errorf("etcd says %s", text)
		}
		return err
	}
	for limit := time.Now().Add(30 * time.Second); time.Now().Before(limit); time.Sleep(20 * time.Millisecond) {
		if err = request(); err == nil {
			http.DefaultClient.CloseIdleConnections()
			t.Cleanup(stop)
			return &Server{client}, nil
		}
	}
	stop()
	return nil, fmt.Errorf("etcd does not answer at %s: %w: %s", client, err, out.String())
}

// free returns an address that nobody listens on.
func free() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

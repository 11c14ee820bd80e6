// Package azuretest starts a real server of the blob service for tests: Azurite, the emulator of
// Azure, over a temporary directory.
package azuretest

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// Require is the environment variable that makes a test fail, not skip, if the server cannot be
// installed.
const Require = "BIVOUAC_REQUIRE_AZURITE"

// version is the version of Azurite.
const version = "3.35.0"

// Server is a running server.
type Server struct {
	Endpoint string // http://127.0.0.1:port/devstoreaccount1
	Account  string // the name of the account
	Key      string // its key, in base64
}

// Start starts a server that ends with the test. It installs the server first, once for all
// programs: this takes half a minute. Without npm or a network, it skips the test; see Require.
func Start(t testing.TB) *Server {
	t.Helper()
	program, err := install()
	if err != nil {
		if os.Getenv(Require) != "" {
			t.Fatalf("%s is set, but Azurite cannot be installed: %v", Require, err)
		}
		t.Skipf("Azurite cannot be installed: %v", err)
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

// Container makes a container and returns its URL for azure.Open.
func (s *Server) Container(t testing.TB, name string) string {
	t.Helper()
	q := s.SAS("rwdlac", time.Hour)
	r, err := http.NewRequest(http.MethodPut, s.Endpoint+"/"+name+"?restype=container&"+q, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Ms-Version", protocol)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusCreated {
		text, _ := io.ReadAll(io.LimitReader(answer.Body, 1000))
		t.Fatalf("making the container %s: %s: %s", name, answer.Status, text)
	}
	return "az://" + s.Account + "/" + name + "?endpoint=" + s.Endpoint
}

// protocol is the version of the protocol for which the SAS is.
const protocol = "2022-11-02"

// SAS returns a shared access signature of the account with some permissions, such as "rl". It ends
// after a time, which may be negative.
func (s *Server) SAS(permissions string, lasts time.Duration) string {
	key, _ := base64.StdEncoding.DecodeString(s.Key)
	ends := time.Now().Add(lasts).UTC().Format("2006-01-02T15:04:05Z")
	h := hmac.New(sha256.New, key)
	// account, permissions, services, resource types, start, end, addresses, protocols, version, scope
	fmt.Fprintf(h, "%s\n%s\nb\nsco\n\n%s\n\n\n%s\n\n", s.Account, permissions, ends, protocol)
	q := url.Values{"sv": {protocol}, "ss": {"b"}, "srt": {"sco"}, "sp": {permissions}, "se": {ends},
		"sig": {base64.StdEncoding.EncodeToString(h.Sum(nil))}}
	return q.Encode()
}

// run loads the server into Node. It ends with its standard input, however the test ends.
const run = "process.stdin.resume().on('end', () => process.exit(0)); require(process.env.AZURITE_MAIN)"

func start(t testing.TB, program string) (*Server, error) {
	dir := t.TempDir()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	addr := free.Addr().String()
	if err := free.Close(); err != nil {
		return nil, err
	}
	key := []byte("a key that opens nothing but this server of a test; 64 bytes....")
	s := &Server{Account: "trainaccount", Key: base64.StdEncoding.EncodeToString(key)}
	s.Endpoint = "http://" + addr + "/" + s.Account
	_, port, _ := strings.Cut(addr, ":")
	var out bytes.Buffer
	c := exec.Command("node", "-e", run, "--", "azurite-blob", "--blobHost", "127.0.0.1", "--blobPort", port,
		"--location", dir, "--silent", "--skipApiVersionCheck", "--disableTelemetry")
	c.Env = append(os.Environ(), "AZURITE_MAIN="+program, "AZURITE_ACCOUNTS="+s.Account+":"+s.Key)
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
		select {
		case <-ended:
		case <-time.After(5 * time.Second):
			_ = c.Process.Kill()
			<-ended
		}
	})
	for limit := time.Now().Add(60 * time.Second); time.Now().Before(limit); time.Sleep(50 * time.Millisecond) {
		select {
		case err := <-ended:
			ended <- err
			return nil, fmt.Errorf("Azurite ended at once: %w: %s", err, tail(out.String()))
		default:
		}
		if conn, err := net.DialTimeout("tcp", addr, time.Second); err == nil {
			_ = conn.Close()
			t.Cleanup(stop)
			return s, nil
		}
	}
	stop()
	return nil, fmt.Errorf("Azurite does not listen on %s: %s", addr, tail(out.String()))
}

// install returns the main program of Azurite, which it installs unless an earlier program did.
var install = sync.OnceValues(func() (string, error) {
	for _, name := range []string{"node", "npm"} {
		if _, err := exec.LookPath(name); err != nil {
			return "", err
		}
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "bivouac", "azurite-"+version)
	program := filepath.Join(dir, "node_modules", "azurite", "dist", "src", "blob", "main.js")
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", err
	}
	unlock, err := lock(dir + ".lock")
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	made := fmt.Sprintf("%s.%d", dir, os.Getpid())
	defer os.RemoveAll(made)
	if err := os.MkdirAll(made, 0o755); err != nil {
		return "", err
	}
	limited, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	c := exec.CommandContext(limited, "npm", "install", "--ignore-scripts", "--no-audit", "--no-fund",
		"--fetch-retries", "1", "--fetch-retry-mintimeout", "1000", "--prefix", made, "azurite@"+version)
	c.Dir = made
	c.WaitDelay = 5 * time.Second
	if out, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm install azurite@%s: %w: %s", version, err, tail(string(out)))
	}
	if err := os.RemoveAll(dir); err != nil { // of an installation that was cut off
		return "", err
	}
	if err := os.Rename(made, dir); err != nil {
		return "", err
	}
	return program, nil
})

// tail returns the end of a text.
func tail(s string) string {
	if s = strings.TrimSpace(s); len(s) > 800 {
		return "…" + s[len(s)-800:]
	}
	return s
}

package etcd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bivouac-ml/bivouac/cluster"
	"github.com/bivouac-ml/bivouac/cluster/clustertest"
	"github.com/bivouac-ml/bivouac/cluster/etcd/etcdtest"
	"github.com/bivouac-ml/bivouac/errs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A real server keeps the laws.
func TestEtcd(t *testing.T) {
	server := etcdtest.Start(t)
	var runs atomic.Int64
	clustertest.Run(t, clustertest.Suite{Barriers: 200, Open: func(t *testing.T) func() cluster.Board {
		run := server.URL(fmt.Sprint("runs/", runs.Add(1), "/"))
		return func() cluster.Board {
			b, err := cluster.OpenBoard(context.Background(), run)
			if err != nil {
				t.Fatal(err)
			}
			return b
		}
	}})
}

// Two runs whose names begin alike do not see each other, and neither sees the keys of others.
func TestPrefixes(t *testing.T) {
	server := etcdtest.Start(t)
	var all []cluster.Board
	for _, prefix := range []string{"run", "run1", "", "run/x"} {
		b, err := cluster.OpenBoard(t.Context(), server.URL(prefix))
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		if _, err := b.Put(t.Context(), "job", []byte(prefix), ""); err != nil {
			t.Fatal(err)
		}
		all = append(all, b)
	}
	for i, n := range []int{2, 1, 4, 1} { // "run" has "x/job", and "" has all
		if docs, err := all[i].List(t.Context(), ""); err != nil || len(docs) != n {
			t.Errorf("%s: %v, %v", all[i].Properties().Name, docs, err)
		}
	}
}

// A URL or an environment that makes no sense is refused before a request.
func TestMistakes(t *testing.T) {
	for url, want := range map[string]string{
		"etcd://":                         "host:port",
		"etcd://host":                     "host:port",
		"etcd://host:":                    "host:port",
		"etcd://host:1,other/run":         `"other"`,
		"etcd://user:secret@host:1/run":   "credentials in the URL",
		"etcd://host:1/run?tls=maybe":     "tls=true or tls=false",
		"etcd://host:1/run?timeout=1":     `"timeout"`,
		"etcd://host:1/run?tls=%zz":       "do not parse",
		"etcd://host:1,user:secret@h:2/x": "credentials in the URL",
	} {
		_, err := cluster.OpenBoard(t.Context(), url)
		if errs.KindOf(err) != errs.Invalid || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", url, err)
		}
	}
	for name, value := range map[string]string{"ETCDCTL_CACERT": "/no/such/file", "ETCDCTL_CERT": "/no/such/file"} {
		_, err := parse("etcd://host:1/run", func(n string) string {
			if n == name {
				return value
			}
			return ""
		})
		if errs.KindOf(err) != errs.Invalid || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// answering returns the board of a server that answers all requests alike.
func answering(t *testing.T, status int, text string) *board {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		fmt.Fprint(w, text)
	}))
	t.Cleanup(s.Close)
	b, err := parse("etcd://"+strings.TrimPrefix(s.URL, "http://")+"/run", func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

// Each answer has one meaning.
func TestAnswers(t *testing.T) {
	for _, c := range []struct {
		status int
		text   string
		kind   errs.Kind
	}{
		{200, "<html>It works!</html>", errs.Corrupt},
		{200, "", errs.Corrupt},
		{200, "{}", errs.Corrupt},
		{200, "null", errs.Corrupt},
		{200, `{"header":17}`, errs.Corrupt},
		{200, `{"kvs":[{"key":"%%%"}]}`, errs.Corrupt},
		{404, "<html>not here</html>", errs.Corrupt},
		{404, "", errs.Corrupt},
		{503, `{"error":"etcdserver: request timed out","code":14}`, errs.IO},
		{503, "upstream is away", errs.IO},
		{429, `{"error":"etcdserver: too many requests","code":8}`, errs.Busy},
		{500, `{"error":"etcdserver: mvcc: database space exceeded","code":8}`, errs.Exhausted},
		{401, `{"error":"etcdserver: invalid auth token","code":16}`, errs.Permission},
		{403, `{"error":"etcdserver: permission denied","code":7}`, errs.Permission},
		{400, `{"error":"etcdserver: user name is empty","code":3}`, errs.Permission},
		{400, `{"error":"etcdserver: request is too large","code":3}`, errs.Invalid},
	} {
		b := answering(t, c.status, c.text)
		_, getErr := b.Get(t.Context(), "job")
		_, putErr := b.Put(t.Context(), "job", nil, "")
		_, listErr := b.List(t.Context(), "")
		for what, err := range map[string]error{"Get": getErr, "Put": putErr, "List": listErr,
			"Delete": b.Delete(t.Context(), "job", "")} {
			if errs.KindOf(err) != c.kind || !strings.Contains(err.Error(), b.endpoints[0]) {
				t.Errorf("%d %s: %s: want %v, got %v", c.status, c.text, what, c.kind, err)
			}
		}
		if c.kind == errs.Corrupt { // time does not mend it: nobody waits for the deadline
			began := time.Now()
			if _, err := cluster.Join(t.Context(), b, cluster.Options{}); errs.KindOf(err) != errs.Corrupt ||
				time.Since(began) > time.Minute {
				t.Errorf("%d %s: %v", c.status, c.text, err)
			}
		}
	}
}

// A server that is away is asked through the other endpoints.
func TestEndpoints(t *testing.T) {
	server := etcdtest.Start(t)
	nobody := httptest.NewServer(nil)
	nobody.Close()
	away := strings.TrimPrefix(nobody.URL, "http://")
	b, err := cluster.OpenBoard(t.Context(), "etcd://"+away+","+server.Address+"/run")
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if _, err := b.Put(t.Context(), "job", nil, ""); err != nil {
		t.Error(err)
	}
	_, err = cluster.OpenBoard(t.Context(), "etcd://"+away+"/run")
	if errs.KindOf(err) != errs.IO || !strings.Contains(err.Error(), away) {
		t.Errorf("nobody listens: %v", err)
	}
	_, err = cluster.OpenBoard(t.Context(), "etcd://"+server.Address+"/run?tls=true")
	if err == nil || !strings.Contains(err.Error(), "TLS") {
		t.Errorf("TLS with a server that has none: %v", err)
	}
	_, err = cluster.OpenBoard(t.Context(), "etcd://"+resetting(t)+"/run?tls=true")
	if err == nil || !strings.Contains(err.Error(), "TLS") {
		t.Errorf("TLS with a server that resets the connection: %v", err)
	}
}

// resetting is the address of a server that resets each connection when it has read something.
// A server without TLS does so when it closes before it has read all.
func resetting(t *testing.T) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var served sync.WaitGroup
	t.Cleanup(func() { listener.Close(); served.Wait() })
	served.Go(func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			c.Read(make([]byte, 1))
			c.(*net.TCPConn).SetLinger(0)
			c.Close()
		}
	})
	return listener.Addr().String()
}

// User and password come from the environment, and are in no error.
func TestPassword(t *testing.T) {
	server := etcdtest.Start(t)
	admin := answeringAt(t, server.Address, nil)
	for _, c := range [][2]string{
		{"/v3/auth/user/add", `{"name":"root","password":"s3cret"}`}, {"/v3/auth/role/add", `{"name":"root"}`},
		{"/v3/auth/user/grant", `{"user":"root","role":"root"}`}, {"/v3/auth/enable", `{}`},
	} {
		answer, err := admin.send(t.Context(), "test", "", c[0], []byte(c[1]))
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
	}
	environment := map[string]string{}
	get := func() error {
		_, err := answeringAt(t, server.Address, environment).Get(t.Context(), "job")
		return err
	}
	if err := get(); errs.KindOf(err) != errs.Permission || !strings.Contains(err.Error(), "ETCDCTL_USER") {
		t.Errorf("no user: %v", err)
	}
	environment["ETCDCTL_USER"] = "root:wrong0ne"
	if err := get(); errs.KindOf(err) != errs.Permission || strings.Contains(err.Error(), "wrong0ne") {
		t.Errorf("a wrong password: %v", err)
	}
	environment["ETCDCTL_USER"], environment["ETCDCTL_PASSWORD"] = "root", "s3cret"
	if err := get(); errs.KindOf(err) != errs.NotFound {
		t.Errorf("the right password: %v", err)
	}
	b := answeringAt(t, server.Address, environment)
	b.token = "a token that is not good any more"
	if _, err := b.Get(t.Context(), "job"); errs.KindOf(err) != errs.NotFound {
		t.Errorf("an old token: %v", err)
	}
	m, err := cluster.Join(t.Context(), b, cluster.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(m.Barrier(t.Context(), "k"), m.Close()); err != nil {
		t.Error(err)
	}
}

func answeringAt(t *testing.T, address string, environment map[string]string) *board {
	b, err := parse("etcd://"+address+"/run", func(n string) string { return environment[n] })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

func BenchmarkBarrier(b *testing.B) {
	server := etcdtest.Start(b)
	clustertest.Bench(b, func() cluster.Board {
		board, err := cluster.OpenBoard(context.Background(), server.URL("bench"))
		if err != nil {
			b.Fatal(err)
		}
		return board
	})
}

package ui

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/bivouac-ml/bivouac/errs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server is a server with an answer of each kind.
func server(token string) http.Handler {
	failing := func(kind errs.Kind) Answer {
		return func(context.Context, url.Values) (any, error) { return nil, &errs.Error{Kind: kind, Subject: "it"} }
	}
	return Handler(Options{Token: token, Hosts: []string{"", "Trainer.example"},
		Answers: map[string]Answer{
			"echo":    func(_ context.Context, q url.Values) (any, error) { return q, nil },
			"missing": failing(errs.NotFound),
			"bad":     failing(errs.Invalid),
			"damaged": failing(errs.Corrupt),
			"disk":    failing(errs.IO),
			"number":  func(context.Context, url.Values) (any, error) { return func() {}, nil },
		},
		Metrics: func(context.Context) ([]byte, error) { return []byte("# EOF\n"), nil },
	})
}

// TestWhoMayAsk sends requests of the page, of strangers, and malformed ones.
func TestWhoMayAsk(t *testing.T) {
	const token = "0123456789abcdef"
	for _, c := range []struct {
		name, method, path, host string
		header                   map[string]string
		token                    string // of the server
		want                     int
	}{
		{name: "the page", path: "/", want: 200},
		{name: "the page by HEAD", method: "HEAD", path: "/", want: 200},
		{name: "an answer", path: "/api/echo?a=b", want: 200},
		{name: "the metrics", path: "/metrics", want: 200},
		{name: "an address of IPv6", path: "/", host: "[::1]:8080", want: 200},
		{name: "localhost", path: "/", host: "localhost:8080", want: 200},
		{name: "a name of --host in capitals", path: "/api/echo", host: "TRAINER.example", want: 200},
		{name: "a foreign name", path: "/api/echo", host: "evil.example:8080", want: 421},
		{name: "a foreign name for the page", path: "/", host: "evil.example", want: 421},
		{name: "no name", path: "/", host: " ", want: 421},
		{name: "only a port", path: "/", host: ":8080", want: 421},
		{name: "a name that begins like an address", path: "/", host: "127.0.0.1.evil.example", want: 421},
		{name: "a post", method: "POST", path: "/api/echo", want: 405},
		{name: "a deletion", method: "DELETE", path: "/", want: 405},
		{name: "a foreign page", path: "/api/echo", header: map[string]string{"Sec-Fetch-Site": "cross-site"}, want: 403},
		{name: "a neighbour", path: "/metrics", header: map[string]string{"Sec-Fetch-Site": "same-site"}, want: 403},
		{name: "the page itself", path: "/api/echo", header: map[string]string{"Sec-Fetch-Site": "same-origin"}, want: 200},
		{name: "no such answer", path: "/api/nosuch", want: 404},
		{name: "a path of the disk", path: "/etc/passwd", want: 404},
		{name: "a path that goes up", path: "/api/../../etc/passwd", want: 404},
		{name: "malformed parameters", path: "/api/echo?%zz", want: 400},
		{name: "not found", path: "/api/missing", want: 404},
		{name: "invalid", path: "/api/bad", want: 400},
		{name: "damage", path: "/api/damaged", want: 422},
		{name: "a failing disk", path: "/api/disk", want: 500},
		{name: "no JSON", path: "/api/number", want: 500},
		{name: "the page without the token", path: "/", token: token, want: 200},
		{name: "an answer without the token", path: "/api/echo", token: token, want: 401},
		{name: "an unknown answer without the token", path: "/api/nosuch", token: token, want: 401},
		{name: "the metrics without the token", path: "/metrics", token: token, want: 401},
		{name: "another token", path: "/api/echo", token: token, header: map[string]string{"Authorization": "Bearer 0123"}, want: 401},
		{name: "the token in another scheme", path: "/api/echo", token: token,
			header: map[string]string{"Authorization": "Basic " + token}, want: 401},
		{name: "an empty token", path: "/api/echo", token: token, header: map[string]string{"Authorization": "Bearer "}, want: 401},
		{name: "the token in the address", path: "/api/echo?token=" + token, token: token, want: 401},
		{name: "the token", path: "/api/echo", token: token, header: map[string]string{"Authorization": "Bearer " + token}, want: 200},
		{name: "the token for the metrics", path: "/metrics", token: token,
			header: map[string]string{"Authorization": "Bearer " + token}, want: 200},
	} {
		t.Run(c.name, func(t *testing.T) {
			method := c.method
			if method == "" {
				method = "GET"
			}
			r := &http.Request{Method: method, Host: c.host, Header: http.Header{}, ProtoMajor: 1, ProtoMinor: 1}
			var err error
			if r.URL, err = url.ParseRequestURI(c.path); err != nil {
				t.Fatal(err)
			}
			if c.host == "" {
				r.Host = "127.0.0.1:8080"
			}
			for name, value := range c.header {
				r.Header.Set(name, value)
			}
			w := httptest.NewRecorder()
			server(c.token).ServeHTTP(w, r)
			if w.Code != c.want {
				t.Errorf("status %d, want %d: %s", w.Code, c.want, w.Body)
			}
			for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store",
				"Referrer-Policy": "no-referrer", "Cross-Origin-Resource-Policy": "same-origin"} {
				if got := w.Header().Get(name); got != want {
					t.Errorf("%s is %q, want %q", name, got, want)
				}
			}
			if policy := w.Header().Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none';") ||
				strings.Contains(policy, "unsafe") {
				t.Errorf("the policy is %q", policy)
			}
			if c.want >= 400 {
				var told struct {
					Error struct{ Message string }
				}
				if err := json.Unmarshal(w.Body.Bytes(), &told); err != nil || told.Error.Message == "" {
					t.Errorf("the error is no document: %v: %s", err, w.Body)
				}
				if strings.Contains(w.Body.String(), token) && !strings.Contains(c.path, token) {
					t.Errorf("the error tells the token: %s", w.Body)
				}
			}
		})
	}
}

// TestPolicyFits checks that the policy names the style and the script that the page has, and that
// the page has no others.
func TestPolicyFits(t *testing.T) {
	w := httptest.NewRecorder()
	r := httptest.NewRequest("GET", "http://127.0.0.1/", nil)
	server("").ServeHTTP(w, r)
	report, err := Report([]byte(`{"runs":{}}`))
	if err != nil {
		t.Fatal(err)
	}
	inside := regexp.MustCompile(`(?s)content="(default-src[^"]*)"`).FindSubmatch(report)
	if inside == nil {
		t.Fatal("a report has no policy")
	}
	for name, c := range map[string]struct{ page, policy string }{
		"page":   {w.Body.String(), w.Header().Get("Content-Security-Policy")},
		"report": {string(report), string(inside[1])},
	} {
		for tag, directive := range map[string]string{"style": "style-src", "script": "script-src"} {
			found := regexp.MustCompile(`(?s)<`+tag+`>(.*?)</`+tag+`>`).FindAllStringSubmatch(c.page, -1)
			if len(found) != 1 {
				t.Errorf("%s: %d elements <%s>, want 1", name, len(found), tag)
				continue
			}
			sum := sha256.Sum256([]byte(found[0][1]))
			want := directive + " 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
			if !strings.Contains(c.policy, want) {
				t.Errorf("%s: the policy %q lacks %q", name, c.policy, want)
			}
		}
		for _, bad := range []string{"http://", "https://", " style=", " onclick=", "src=", "@import", "<!--meta", "/*data*/",
			"/*style*/", "/*script*/"} {
			if text := strings.ReplaceAll(c.page, "http://www.w3.org/2000/svg", ""); strings.Contains(text, bad) {
				t.Errorf("%s: it has %q", name, bad)
			}
		}
	}
}

// TestReportKeepsItsData puts data into a page that would end the element, and reads them back.
func TestReportKeepsItsData(t *testing.T) {
	for _, text := range []string{"", "</script><script>alert(1)</script>", "<!-- <script>",
		"/*script*/ /*data*/ <!--meta-->", "\u2028 \x00 \"'&"} {
		data, err := json.Marshal(map[string]string{"name": text})
		if err != nil {
			t.Fatal(err)
		}
		page, err := Report(data)
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := bytes.Cut(page, []byte(`<script type="application/json" id="data">`))
		inside, _, _ := bytes.Cut(rest, []byte("</script>"))
		var got map[string]string
		if err := json.Unmarshal(inside, &got); err != nil || got["name"] != text {
			t.Errorf("%q is read back as %q: %v", text, got["name"], err)
		}
		if n := bytes.Count(page, []byte("</script>")); n != 2 {
			t.Errorf("%q: %d ends of scripts, want 2", text, n)
		}
		if !bytes.Contains(page, []byte("function start()")) {
			t.Errorf("%q: the script is gone", text)
		}
	}
	if _, err := Report(make([]byte, MostReport+1)); errs.KindOf(err) != errs.Exhausted {
		t.Errorf("too much data: %v", err)
	}
}

// TestServeEnds checks that the end of the server, and a browser that goes away, end the answers
// under way.
func TestServeEnds(t *testing.T) {
	for _, who := range []string{"server", "browser"} {
		t.Run(who, func(t *testing.T) {
			began, ended := make(chan struct{}), make(chan error, 1)
			h := Handler(Options{Answers: map[string]Answer{"long": func(ctx context.Context, _ url.Values) (any, error) {
				close(began)
				<-ctx.Done()
				ended <- ctx.Err()
				return nil, ctx.Err()
			}}})
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			served := make(chan error, 1)
			go func() { served <- Serve(ctx, ln, h) }()
			browser, leave := context.WithCancel(t.Context())
			defer leave()
			answered := make(chan struct{})
			client := &http.Client{Transport: &http.Transport{}}
			go func() {
				defer close(answered)
				r, err := http.NewRequestWithContext(browser, "GET", "http://"+ln.Addr().String()+"/api/long", nil)
				if err != nil {
					t.Error(err)
					return
				}
				if got, err := client.Do(r); err == nil {
					io.Copy(io.Discard, got.Body) //nolint:errcheck // only until its end
					got.Body.Close()              //nolint:errcheck // only read
				}
			}()
			<-began
			if who == "browser" {
				leave()
				if err := <-ended; err != context.Canceled {
					t.Errorf("the answer ended with %v", err)
				}
			}
			stop()
			if err := <-served; err != nil {
				t.Errorf("the server ended with %v", err)
			}
			<-answered
			client.CloseIdleConnections()
			if who == "server" {
				if err := <-ended; err != context.Canceled {
					t.Errorf("the answer ended with %v", err)
				}
			}
			if _, err := net.Dial("tcp", ln.Addr().String()); err == nil {
				t.Error("the server still listens")
			}
		})
	}
}

// TestTokensDiffer checks that tokens are long, differ, and need no escape in an address.
func TestTokensDiffer(t *testing.T) {
	a, b := NewToken(), NewToken()
	if a == b || len(a) < 26 || url.QueryEscape(a) != a {
		t.Errorf("tokens %q and %q", a, b)
	}
}

// TestTooManyAtOnce fills the slots of the server: the next request is refused, and one after the
// others have ended is answered.
func TestTooManyAtOnce(t *testing.T) {
	began, leave := make(chan struct{}), make(chan struct{})
	h := Handler(Options{Answers: map[string]Answer{
		"wait":  func(context.Context, url.Values) (any, error) { began <- struct{}{}; <-leave; return 1, nil },
		"quick": func(context.Context, url.Values) (any, error) { return 1, nil },
	}})
	ask := func(name string) int {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "http://127.0.0.1/api/"+name, nil))
		return w.Code
	}
	ended := make(chan int)
	for range mostAtOnce {
		go func() { ended <- ask("wait") }()
		<-began
	}
	if got := ask("quick"); got != http.StatusServiceUnavailable {
		t.Errorf("status %d with all slots taken", got)
	}
	close(leave)
	for range mostAtOnce {
		if got := <-ended; got != http.StatusOK {
			t.Errorf("status %d", got)
		}
	}
	if got := ask("quick"); got != http.StatusOK {
		t.Errorf("status %d with free slots", got)
	}
}

package ui

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// patience bounds each wait. It is long, so that a busy machine fails no test.
const patience = time.Minute

// built builds the command once.
var built = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "bivouac-ui-")
	if err != nil {
		return "", err
	}
	out := filepath.Join(dir, "bivouac")
	build := exec.Command("go", "build", "-o", out, "./cmd/bivouac")
	build.Dir = "../.."
	if b, err := build.CombinedOutput(); err != nil {
		return "", errors.New(string(b))
	}
	return out, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if out, err := built(); err == nil {
		os.RemoveAll(filepath.Dir(out)) //nolint:errcheck // a temporary directory
	}
	os.Exit(code)
}

// command returns the command, built.
func command(t testing.TB) string {
	t.Helper()
	out, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// bivouac runs the command and returns its standard output.
func bivouac(t testing.TB, args ...string) []byte {
	t.Helper()
	c := exec.CommandContext(t.Context(), command(t), args...)
	var failed strings.Builder
	c.Stderr = &failed
	out, err := c.Output()
	if code := c.ProcessState.ExitCode(); err != nil && code != 4 { // 4: damage or a difference was found
		t.Fatalf("bivouac %q: %v: %s", args, err, failed.String())
	}
	return out
}

// chromium returns the path of Chromium, or skips the test.
func chromium(t testing.TB) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if os.Getenv("BIVOUAC_REQUIRE_CHROMIUM") != "" {
		t.Fatal("BIVOUAC_REQUIRE_CHROMIUM is set, and there is no chromium")
	}
	t.Skip("there is no chromium")
	return ""
}

// serve starts bivouac ui, and returns its address.
func serve(t testing.TB, args ...string) string {
	t.Helper()
	c := exec.Command(command(t), append([]string{"ui", "--json"}, args...)...)
	var failed strings.Builder
	c.Stderr = &failed
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Process.Signal(os.Interrupt); err != nil {
			t.Error(err)
		}
		io.Copy(io.Discard, out) //nolint:errcheck // until its end
		if err := c.Wait(); err != nil {
			t.Errorf("bivouac ui ended with %v: %s", err, failed.String())
		}
	})
	var told struct{ URL string }
	if err := json.NewDecoder(bufio.NewReader(out)).Decode(&told); err != nil {
		t.Fatalf("%v: %s", err, failed.String())
	}
	return told.URL
}

// page is a page in the browser. It hears what the page asks for, and what the console says.
type page struct {
	t   testing.TB
	ctx context.Context

	mu    sync.Mutex
	asked []string
	said  []string
}

// open opens an address in a new browser of a width, which asks for light or dark colours.
func open(t testing.TB, address, scheme string, width, height int64) *page {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium(t)),
		chromedp.WSURLReadTimeout(patience))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	ctx, end := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(end)
	ctx, end = chromedp.NewContext(ctx)
	t.Cleanup(end)
	p := &page{t: t, ctx: ctx}
	p.do(chromedp.EmulateViewport(width, height))
	if err := chromedp.Listen(ctx, p.hear); err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(ctx, network.Enable, network.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}); err != nil {
		t.Fatal(err)
	}
	p.do(chromedp.Navigate(address))
	return p
}

func (p *page) do(actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	if err := chromedp.Do(p.ctx, actions...); err != nil {
		p.t.Fatal(err)
	}
}

// hear notes what the page does.
func (p *page) hear(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		p.asked = append(p.asked, e.Request.URL)
	case *runtime.EventExceptionThrown:
		p.said = append(p.said, "exception: "+e.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		p.said = append(p.said, "console: "+string(e.Type))
	case *log.EventEntryAdded:
		p.said = append(p.said, "log: "+e.Entry.Text+" "+e.Entry.URL)
	}
}

// quiet fails the test if the console said something, or the page asked another server.
func (p *page) quiet(address string) {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.said {
		p.t.Errorf("the console says: %s", s)
	}
	own, err := url.Parse(address)
	if err != nil {
		p.t.Fatal(err)
	}
	if len(p.asked) == 0 {
		p.t.Error("no request was heard")
	}
	for _, s := range p.asked {
		if u, err := url.Parse(s); err != nil || u.Scheme != "data" && (u.Scheme != own.Scheme || u.Host != own.Host) {
			p.t.Errorf("a request to elsewhere: %s", s)
		}
	}
}

// eval returns the value of an expression.
func eval[T any](p *page, expression string) T {
	p.t.Helper()
	v, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		p.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// until waits until an expression is true.
func (p *page) until(expression string) {
	p.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		if eval[bool](p, "!!("+expression+")") {
			return
		}
		if time.Now().After(end) {
			p.t.Fatalf("never: %s; the page says: %s", expression, eval[string](p, "document.body.innerText"))
		}
	}
}

// text returns the text that people see of the element with an id.
func (p *page) text(id string) string {
	p.t.Helper()
	return eval[string](p, "document.getElementById('"+id+"').innerText")
}

// listed waits until all runs were looked at, and the page shows n of them.
func (p *page) listed(n string) {
	p.t.Helper()
	p.until("document.getElementById('shown').textContent.startsWith('" + n + " of ') && " +
		"!document.getElementById('summary').textContent.includes('not looked at')")
}

//go:build !bivouac_wheel

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/journal"
	"github.com/bivouac-ml/bivouac/store/local"
)

// saveStep saves a step of a run.
func saveStep(t *testing.T, dir string, step int64) {
	t.Helper()
	c, err := training.Open(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, err = c.Save(t.Context(), step, map[string]any{"w": []float32{1}}, &training.SaveOptions{Force: true})
	if err != nil {
		t.Fatal(err)
	}
}

// watching returns a watch of a directory whose clock is now, and its output.
func watching(now *time.Time, dir string, o WatchOptions) (*watch, *bytes.Buffer) {
	var out bytes.Buffer
	g := &global{stdout: &out, stderr: &out, json: true}
	o.Deadline, o.Since, o.Factor = time.Minute, age(7*24*time.Hour), 10
	return &watch{args: []string{dir}, o: o, g: g, now: func() time.Time { return *now }, runs: map[string]*watchedRun{},
		channels: o.channels(g), memory: watchMemory{Version: watchVersion, Runs: map[string]*runMemory{}}}, &out
}

// states returns the alerts of an output.
func states(t *testing.T, out *bytes.Buffer) (list []string) {
	t.Helper()
	for line := range strings.Lines(out.String()) {
		var a alert
		if err := json.Unmarshal([]byte(line), &a); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		list = append(list, string(a.Cause)+" "+a.State)
	}
	out.Reset()
	return list
}

func poll(t *testing.T, w *watch) {
	t.Helper()
	if err := w.poll(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func same(t *testing.T, got []string, want ...string) {
	t.Helper()
	if strings.Join(got, ", ") != strings.Join(want, ", ") {
		t.Fatalf("%q, want %q", got, want)
	}
}

// A run appears, goes on, stalls, goes on, loses its newest step and is removed.
func TestWatchALife(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "run")
	now := time.Now()
	w, out := watching(&now, top, WatchOptions{Verify: true})
	poll(t, w)
	same(t, states(t, out)) // no run yet

	st, err := local.Open(top, nil)
	if err != nil {
		t.Fatal(err)
	}
	log := journal.New(st, "run", journal.Start{Steps: 99},
		&journal.WriterOptions{Every: -1, Now: func() time.Time { return now }})
	step := int64(0)
	goOn := func() {
		t.Helper()
		step++
		now = now.Add(time.Second)
		var s journal.Scalars
		log.Step(step, &s)
		if err := log.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	goOn()
	saveStep(t, dir, 1)
	poll(t, w)
	same(t, states(t, out))
	opened := w.runs[dir].steps
	goOn()
	poll(t, w)
	same(t, states(t, out))
	if w.runs[dir].steps != opened {
		t.Error("the steps were opened again, although the names are the same")
	}
	now = now.Add(2 * time.Minute)
	poll(t, w)
	same(t, states(t, out), "stall begun")
	now = now.Add(2 * time.Minute)
	poll(t, w)
	same(t, states(t, out))
	goOn()
	saveStep(t, dir, 3)
	poll(t, w)
	same(t, states(t, out), "stall over")

	if err := os.RemoveAll(filepath.Join(dir, "3")); err != nil {
		t.Fatal(err)
	}
	poll(t, w)
	same(t, states(t, out), "lost begun")
	saveStep(t, dir, 4)
	goOn()
	poll(t, w)
	same(t, states(t, out), "lost over")

	damage(t, filepath.Join(dir, "5"), func() { saveStep(t, dir, 5) })
	poll(t, w)
	same(t, states(t, out), "damaged begun")
	poll(t, w)
	same(t, states(t, out))
	if err := os.RemoveAll(filepath.Join(dir, "5")); err != nil {
		t.Fatal(err)
	}
	saveStep(t, dir, 6)
	poll(t, w)
	same(t, states(t, out), "damaged over")

	if err := log.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	poll(t, w)
	same(t, states(t, out), "lost begun")
	poll(t, w)
	same(t, states(t, out))
	if len(w.memory.Runs)+len(w.runs) != 0 {
		t.Errorf("a run that is gone is remembered: %v", w.memory.Runs)
	}
}

// damage makes a step and changes a bit of its largest file.
func damage(t *testing.T, step string, save func()) {
	t.Helper()
	save()
	var name string
	var size int64
	err := filepath.Walk(step, func(path string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() && info.Size() > size && strings.Contains(path, "/d/") {
			name, size = path, info.Size()
		}
		return err
	})
	if err != nil || name == "" {
		t.Fatalf("%q, %v", name, err)
	}
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 1
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// A webhook is tried again until it takes the alert, and nothing says its URL.
func TestWebhook(t *testing.T) {
	var (
		mu      sync.Mutex
		answers []int
		bodies  [][]byte
		other   atomic.Int64
	)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { other.Add(1) }))
	defer elsewhere.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		var b bytes.Buffer
		b.ReadFrom(r.Body) //nolint:errcheck // the test compares it
		bodies = append(bodies, b.Bytes())
		code := answers[min(len(bodies), len(answers))-1]
		if code == http.StatusFound {
			w.Header().Set("Location", elsewhere.URL)
		}
		w.WriteHeader(code)
	}))
	defer server.Close()
	const secret = "TOKEN-7F"
	client := (&WatchOptions{}).client()
	post := func(ctx context.Context, codes ...int) (int, error) {
		mu.Lock()
		answers, bodies = codes, nil
		mu.Unlock()
		err := tellWebhook(ctx, client, server.URL+"/"+secret+"?key="+secret,
			alert{Version: 1, Text: "t", Run: "r"}, time.Millisecond)
		mu.Lock()
		defer mu.Unlock()
		return len(bodies), err
	}
	if n, err := post(t.Context(), 503, 429, 204); n != 3 || err != nil {
		t.Errorf("%d requests, %v", n, err)
	}
	var got alert
	if err := json.Unmarshal(bodies[2], &got); err != nil || got.Run != "r" || got.Text != "t" {
		t.Errorf("%v: %s", err, bodies[2])
	}
	for _, code := range []int{404, 302, 400} {
		if n, err := post(t.Context(), code); n != 1 || err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("status %d: %d requests, %v", code, n, err)
		}
	}
	if other.Load() != 0 {
		t.Error("a redirection was followed")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := post(ended, 500); err == nil || strings.Contains(err.Error(), secret) {
		t.Errorf("%v", err)
	}
	server.Close()
	closed, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	if _, err := post(closed, 200); err == nil || strings.Contains(err.Error(), secret) {
		t.Errorf("%v", err)
	}
}

// A wrong URL of a webhook is refused without repeating it.
func TestWebhookIsNotRepeated(t *testing.T) {
	for _, args := range [][]string{
		{"watch", t.TempDir(), "--once", "--webhook", "TOKEN-7F"},
		{"watch", t.TempDir(), "--once", "--webhook", "ftp://host/TOKEN-7F"},
		{"watch", t.TempDir(), "--once", "--webhook", "http://a b/TOKEN-7F"},
	} {
		var out bytes.Buffer
		if code := run(t.Context(), args, &out, &out); code != exitUsage || strings.Contains(out.String(), "TOKEN") {
			t.Errorf("%d: %s", code, &out)
		}
	}
}

// A command gets the alert, its failure is told, and it ends with all that it started.
func TestAlertCommand(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs a shell")
	}
	file := filepath.Join(t.TempDir(), "told")
	t.Setenv("TOLD", file)
	a := alert{Version: 1, Cause: causeStall, State: "begun", Run: "runs/a\n$(touch x)", Step: 7,
		Text: "runs/a: no new step"}
	var out bytes.Buffer
	err := tellCommand(t.Context(),
		`printf '%s\n' "$BIVOUAC_ALERT_CAUSE $BIVOUAC_ALERT_STATE $BIVOUAC_ALERT_STEP $BIVOUAC_ALERT_RUN" > "$TOLD"
		cat >> "$TOLD"`, a, &out)
	b, _ := os.ReadFile(file)
	line, rest, _ := strings.Cut(string(b), "\n")
	var got alert
	unread := json.Unmarshal([]byte(rest), &got)
	if err != nil || line != `stall begun 7 runs/a\n$(touch x)` || unread != nil || got.Run != a.Run {
		t.Errorf("%v: %q", err, b)
	}
	if err := tellCommand(t.Context(), "echo why; exit 3", a, &out); err == nil || !strings.Contains(out.String(), "why") {
		t.Errorf("%v: %s", err, &out)
	}
	ctx, stop := context.WithTimeoutCause(t.Context(), 100*time.Millisecond, errNoRun)
	defer stop()
	if err := tellCommand(ctx, "sleep 600 & sleep 600", a, &out); err != errNoRun { //nolint:errorlint // it is the cause
		t.Errorf("%v", err)
	}
}

// An alert that a channel does not take is given again after the next look.
func TestAlertsAreNotLost(t *testing.T) {
	top := t.TempDir()
	saveStep(t, filepath.Join(top, "run"), 1)
	if err := os.Mkdir(filepath.Join(top, "run", "2"), 0o700); err != nil { // not a whole step
		t.Fatal(err)
	}
	now := time.Now()
	w, out := watching(&now, top, WatchOptions{})
	var gave []string
	fails := true
	w.channels = append(w.channels, channel{"flaky", func(_ context.Context, a alert) error {
		if fails {
			return errNoRun
		}
		gave = append(gave, a.State)
		return nil
	}})
	w.g.stderr = &bytes.Buffer{}
	poll(t, w)
	poll(t, w)
	same(t, states(t, out), "damaged begun")
	same(t, gave)
	fails = false
	poll(t, w)
	poll(t, w)
	same(t, gave, "begun")
	same(t, states(t, out))
}

//go:build !bivouac_wheel

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/journal"
	"github.com/bivouac-ml/bivouac/store/local"
)

// pagedRun makes a run that was killed at step 15 and resumed at step 10, with steps 10 and 20.
func pagedRun(t testing.TB, dir string) {
	t.Helper()
	ctx := t.Context()
	c, err := training.Open(ctx, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []int64{10, 20} {
		w := []float32{0, float32(step), -1, float32(math.NaN())}
		if _, err := c.Save(ctx, step, map[string]any{"w": w, "same": []float64{1, 2}}, &training.SaveOptions{Force: true,
			Metrics: map[string]float64{"loss": 1 / float64(step)}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Tag(ctx, 20, "paper"); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	st, err := local.Open(filepath.Dir(dir), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range []struct{ from, to int64 }{{0, 15}, {10, 20}} {
		w := journal.New(st, filepath.Base(dir), journal.Start{From: a.from, Steps: 40, SaveEvery: 10},
			&journal.WriterOptions{Every: -1, Now: func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }})
		for step := a.from + 1; step <= a.to; step++ {
			var s journal.Scalars
			v := 1 / float64(step)
			if step == 12 {
				v = math.NaN()
			}
			if err := s.Set("loss", v); err != nil {
				t.Fatal(err)
			}
			w.Step(step, &s)
			if step%10 == 0 {
				w.Save(step, journal.Save{Bytes: 100, Took: 0.5, Blocked: 0.25})
			}
		}
		if a.to == 20 {
			w.End(journal.End{Outcome: journal.Stopped})
		}
		if err := w.Close(ctx); err != nil {
			t.Fatal(err)
		}
	}
}

// commanded runs a command and returns what it prints.
func commanded(t *testing.T, args ...string) string {
	t.Helper()
	var out, failed bytes.Buffer
	if code := run(t.Context(), args, &out, &failed); code != exitOK && code != exitCorrupt {
		t.Fatalf("%q: exit status %d: %s", args, code, failed.String())
	}
	return out.String()
}

// document reads JSON for a comparison.
func document(t *testing.T, text []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}

// answered returns an answer of the API as a document.
func answered(t *testing.T, s *site, name string, q url.Values) any {
	t.Helper()
	v, err := s.answers()[name](t.Context(), q)
	if err != nil {
		t.Fatalf("%s %v: %v", name, q, err)
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return document(t, b)
}

func memberOf(v any, path ...string) any {
	for _, name := range path {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	return v
}

// TestPageSaysWhatCommandsSay compares the answers of the API with what the commands print.
func TestPageSaysWhatCommandsSay(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "run")
	pagedRun(t, dir)
	if err := os.CopyFS(filepath.Join(top, "copy"), os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(top, "copy", "20", "bivouac.manifest"), 10); err != nil {
		t.Fatal(err)
	}
	s := newSite(t.Context(), []string{top}, &global{})
	defer s.close()
	if n, err := s.find(t.Context()); n != 2 || err != nil {
		t.Fatalf("%d runs, %v", n, err)
	}
	for _, d := range []string{dir, filepath.Join(top, "copy")} {
		q := url.Values{"run": {d}}
		told := answered(t, s, "run", q)
		if want := document(t, []byte(commanded(t, "show", "--json", d))); !reflect.DeepEqual(memberOf(told, "show"), want) {
			t.Errorf("%s: show is\n%v\nwant\n%v", d, memberOf(told, "show"), want)
		}
		if want := document(t, []byte(commanded(t, "ls", "--json", d))); !reflect.DeepEqual(memberOf(told, "ls"), want) {
			t.Errorf("%s: ls is\n%v\nwant\n%v", d, memberOf(told, "ls"), want)
		}
		if want := commanded(t, "show", d); memberOf(told, "text") != want {
			t.Errorf("%s: the text is\n%v\nwant\n%s", d, memberOf(told, "text"), want)
		}
	}
	q := url.Values{"run": {dir}, "step": {"20"}}
	info := document(t, []byte(commanded(t, "info", "--json", dir, "--step", "20")))
	var leaves []any
	for _, l := range memberOf(answered(t, s, "step", q), "leaves").([]any) {
		m := l.(map[string]any)
		if m["item"] == "state" {
			delete(m, "item")
			leaves = append(leaves, m)
		}
	}
	if want := memberOf(info, "items", "state", "leaves"); !reflect.DeepEqual(any(leaves), want) {
		t.Errorf("leaves are\n%v\nwant\n%v", leaves, want)
	}
	q.Set("against", "10")
	if got, want := memberOf(answered(t, s, "diff", q), "changes"), document(t, []byte(commanded(t, "diff", "--json",
		filepath.Join(dir, "10"), filepath.Join(dir, "20")))); !reflect.DeepEqual(got, want) {
		t.Errorf("changes are\n%v\nwant\n%v", got, want)
	}
	metrics, err := s.metrics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "ls.prom")
	commanded(t, "ls", top, "--openmetrics", file)
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	clock := func(b []byte) string {
		before, _, found := strings.Cut(string(b), "bivouac_ls_time_seconds ")
		if !found {
			t.Errorf("no time in %s", b)
		}
		return before
	}
	if clock(metrics) != clock(want) {
		t.Errorf("the metrics are\n%s\nwant\n%s", metrics, want)
	}
}

// TestListOfRuns checks the rows of the list, the search and the order.
func TestListOfRuns(t *testing.T) {
	top := t.TempDir()
	pagedRun(t, filepath.Join(top, "b"))
	pagedRun(t, filepath.Join(top, "a"))
	if err := checkpoint.Save(t.Context(), filepath.Join(top, "c"), map[string]any{"w": []float32{1}}, nil); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(top, "b", "20", "bivouac.manifest"), 10); err != nil {
		t.Fatal(err)
	}
	s := newSite(t.Context(), []string{top}, &global{})
	defer s.close()
	<-s.begin()
	all, err := s.answerRuns(t.Context(), url.Values{})
	if err != nil {
		t.Fatal(err)
	}
	if all.Total != 3 || all.Pending != 0 || all.Counts.Killed != 2 || all.Counts.Damaged != 1 ||
		all.Counts.States["stopped"] != 2 {
		t.Errorf("counts: %+v", all)
	}
	a := all.Runs[0]
	if a.Name != "a" || a.State != "stopped" || a.Step != 20 || a.Total != 40 || a.Attempts != 2 || a.Killed != 1 ||
		a.Superseded != 5 || a.Kept != 2 || a.Latest != 20 || !slices.Equal(a.Tags, []string{"paper@20"}) {
		t.Errorf("row: %+v", a)
	}
	if v, ok := a.scalar("loss"); !ok || v != 0.05 {
		t.Errorf("the last loss is %v, %v", v, ok)
	}
	if c := all.Runs[2]; c.Kind != "checkpoint" || c.Kept != 1 || c.Error != nil {
		t.Errorf("a checkpoint: %+v", c)
	}
	for _, c := range []struct {
		q    url.Values
		want string
	}{
		{url.Values{"search": {"DAMAGED"}}, "b"},
		{url.Values{"search": {"paper"}}, "a"},
		{url.Values{"search": {"nothing"}}, ""},
		{url.Values{"sort": {"-name"}}, "c b a"},
		{url.Values{"sort": {"-kept"}}, "a b c"},
		{url.Values{"sort": {"damaged"}}, "a c b"},
		{url.Values{"sort": {"-scalar:loss"}}, "a b c"},
		{url.Values{"sort": {"name"}, "offset": {"1"}, "limit": {"1"}}, "b"},
		{url.Values{"offset": {"9"}}, ""},
	} {
		got, err := s.answerRuns(t.Context(), c.q)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, r := range got.Runs {
			names = append(names, r.Name)
		}
		if strings.Join(names, " ") != c.want {
			t.Errorf("%v: %q, want %q", c.q, names, c.want)
		}
	}
}

// TestBadQuestions asks for what is not there, for paths, and with malformed parameters.
func TestBadQuestions(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "run")
	pagedRun(t, dir)
	pagedRun(t, filepath.Join(top, "other"))
	s := newSite(t.Context(), []string{dir}, &global{})
	defer s.close()
	if _, err := s.find(t.Context()); err != nil {
		t.Fatal(err)
	}
	many := url.Values{"run": {dir}, "scalar": slices.Repeat([]string{"loss"}, mostCurves+1)}
	for _, c := range []struct {
		name string
		q    url.Values
		want errs.Kind
	}{
		{"run", url.Values{}, errs.NotFound},
		{"run", url.Values{"run": {filepath.Join(top, "other")}}, errs.NotFound},
		{"run", url.Values{"run": {dir + "/../other"}}, errs.NotFound},
		{"run", url.Values{"run": {dir + "/10"}}, errs.NotFound},
		{"step", url.Values{"run": {"/"}}, errs.NotFound},
		{"step", url.Values{"run": {dir}, "step": {"11"}}, errs.NotFound},
		{"step", url.Values{"run": {dir}, "step": {"../other/10"}}, errs.Invalid},
		{"step", url.Values{"run": {dir}, "step": {"-1"}}, errs.Invalid},
		{"step", url.Values{"run": {dir}, "limit": {"5001"}}, errs.Invalid},
		{"runs", url.Values{"limit": {"x"}}, errs.Invalid},
		{"runs", url.Values{"offset": {"-1"}}, errs.Invalid},
		{"runs", url.Values{"sort": {"nothing"}}, errs.Invalid},
		{"curves", url.Values{"run": {dir}, "smooth": {"1"}}, errs.Invalid},
		{"curves", url.Values{"run": {dir}, "smooth": {"NaN"}}, errs.Invalid},
		{"curves", url.Values{"run": {dir}, "scalar": {"los"}}, errs.NotFound},
		{"curves", many, errs.Invalid},
		{"diff", url.Values{"run": {dir}, "step": {"20"}}, errs.Invalid},
		{"diff", url.Values{"run": {dir}, "step": {"20"}, "against": {"7"}}, errs.NotFound},
		{"histogram", url.Values{"run": {dir}, "leaf": {"nothing"}}, errs.NotFound},
		{"histogram", url.Values{"run": {dir}, "leaf": {"w"}, "item": {"../20/state"}}, errs.Invalid},
		{"histogram", url.Values{"run": {dir}, "leaf": {"w"}, "bins": {"1000000"}}, errs.Invalid},
	} {
		v, err := s.answers()[c.name](t.Context(), c.q)
		kind := errs.KindOf(err)
		if err == nil || kind != c.want && !(c.name == "histogram" && kind == errs.NotFound) {
			t.Errorf("%s %v: %v, %v; want %v", c.name, c.q, v, err, c.want)
		}
	}
}

// TestCurvesOfThePage checks what is drawn: gaps, marks, the moving average, no journal.
func TestCurvesOfThePage(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "run")
	pagedRun(t, dir)
	s := newSite(t.Context(), []string{top}, &global{})
	defer s.close()
	if _, err := s.find(t.Context()); err != nil {
		t.Fatal(err)
	}
	c, err := s.curvesOf(t.Context(), dir, 0, nil)
	if err != nil || len(c.Lines) != 1 || c.Lines[0].Steps != 20 || c.Lines[0].Nonfinite != 1 ||
		!slices.Equal(c.Marks, []float64{10}) {
		t.Fatalf("%+v, %v", c, err)
	}
	gaps := 0
	for i, p := range c.Lines[0].Points {
		if p[1] == nil {
			gaps++
			continue
		}
		if *p[1] != 1 / *p[0] {
			t.Errorf("point %d is %v, %v", i, *p[0], *p[1])
		}
	}
	if gaps != 1 || c.Lines[0].Means != nil {
		t.Errorf("%d gaps, means %v", gaps, c.Lines[0].Means)
	}
	if c, err = s.curvesOf(t.Context(), dir, 0.5, nil); err != nil || len(c.Lines[0].Means) == 0 {
		t.Errorf("%+v, %v", c, err)
	}
	if err := os.RemoveAll(filepath.Join(dir, journal.Folder)); err != nil {
		t.Fatal(err)
	}
	if c, err = s.curvesOf(t.Context(), dir, 0.25, nil); err != nil || len(c.Lines) != 0 {
		t.Errorf("without a journal: %+v, %v", c, err)
	}
}

// TestNewestRows checks how much of a journal is read: as many of the newest files as fit.
func TestNewestRows(t *testing.T) {
	attempt := func(sizes ...int64) *journal.Attempt {
		a := &journal.Attempt{}
		for i, n := range sizes {
			a.Files = append(a.Files, journal.File{Number: i + 1, Size: n})
		}
		return a
	}
	list := []*journal.Attempt{attempt(50, 50, 50), attempt(40, 60), attempt(30)}
	for _, c := range []struct {
		budget   int64
		first    int
		segments []int
	}{
		{1, 2, []int{0, 0, 1}}, // at least the newest file
		{30, 2, []int{0, 0, 1}},
		{89, 2, []int{0, 0, 1}},
		{90, 1, []int{0, 2, 1}},
		{130, 1, []int{0, 1, 1}},
		{179, 1, []int{0, 1, 1}},
		{180, 0, []int{3, 1, 1}},
		{1000, 0, []int{1, 1, 1}},
	} {
		from, first := newestRows(list, c.budget)
		var segments []int
		for _, p := range from {
			segments = append(segments, p.Segment)
		}
		if first != c.first || !slices.Equal(segments, c.segments) {
			t.Errorf("budget %d: from attempt %d, segments %d; want %d, %d", c.budget, first, segments, c.first, c.segments)
		}
	}
}

// TestReachable checks which address a person is told.
func TestReachable(t *testing.T) {
	for _, c := range []struct {
		hosts         []string
		address, want string
	}{
		{nil, "127.0.0.1:80", "127.0.0.1:80"},
		{nil, "[::]:80", "localhost:80"},
		{nil, "0.0.0.0:80", "localhost:80"},
		{[]string{"trainer", "other"}, "0.0.0.0:80", "trainer:80"},
		{nil, "[::1]:80", "[::1]:80"},
	} {
		if got := (&UIOptions{Hosts: c.hosts}).reachable(c.address); got != c.want {
			t.Errorf("%q on %s: %s, want %s", c.hosts, c.address, got, c.want)
		}
	}
}

// TestShortened checks that long text is cut between lines.
func TestShortened(t *testing.T) {
	line := strings.Repeat("x", 99) + "\n"
	if text := strings.Repeat(line, mostText/100); shortened(text) != text {
		t.Error("short text is cut")
	}
	got := shortened(strings.Repeat(line, mostText))
	if body, note, _ := strings.Cut(got, "…"); len(body) > mostText || len(body)%100 != 0 || note == "" {
		t.Errorf("%d bytes, then %q", len(body), note)
	}
}

// TestServesAndEnds starts the command, asks it, and interrupts it.
func TestServesAndEnds(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	pagedRun(t, dir)
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("0123456789abcdef\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	out, in := io.Pipe()
	ended := make(chan int, 1)
	var failed bytes.Buffer
	go func() { ended <- run(ctx, []string{"ui", dir, "--json", "--token-file", file}, in, &failed) }()
	var s served
	if err := json.NewDecoder(out).Decode(&s); err != nil {
		t.Fatal(err)
	}
	if s.Token != "0123456789abcdef" || !strings.HasPrefix(s.URL, "http://127.0.0.1:") ||
		!strings.HasSuffix(s.URL, "/#token="+s.Token) || s.Runs != 1 {
		t.Errorf("%+v", s)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for token, want := range map[string]int{s.Token: 200, "another": 401} {
		at := "http://" + s.Address + "/api/run?run=" + url.QueryEscape(dir)
		r, err := http.NewRequestWithContext(t.Context(), "GET", at, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		got, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		got.Body.Close() //nolint:errcheck // only read
		if got.StatusCode != want {
			t.Errorf("status %d, want %d", got.StatusCode, want)
		}
	}
	stop()
	if code := <-ended; code != exitOK {
		t.Errorf("exit status %d: %s", code, failed.String())
	}
}

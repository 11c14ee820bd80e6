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
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/journal"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/tensor"
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

// TestHistogramLaw draws arrays: all finite values are counted, each in the bin that has it.
func TestHistogramLaw(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		value := rapid.OneOf(rapid.Float64(), rapid.Float64Range(-1, 1), rapid.SampledFrom([]float64{0, 1, math.NaN(),
			math.Inf(1), math.Inf(-1), math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64, math.Nextafter(1, 2)}))
		list := rapid.SliceOfN(value, 0, 40).Draw(rt, "values")
		h := &histogram{}
		if err := h.fill(rapid.IntRange(1, mostBins).Draw(rt, "bins"), func(do func(float64)) error {
			for _, v := range list {
				do(v)
			}
			return nil
		}); err != nil {
			rt.Fatal(err)
		}
		var finite []float64
		for _, v := range list {
			if !math.IsNaN(v) && !math.IsInf(v, 0) {
				finite = append(finite, v)
			}
		}
		if h.Elements != int64(len(list)) || h.Finite != int64(len(finite)) || h.Elements != h.Finite+h.NaN+h.Infinite {
			rt.Fatalf("%+v", h)
		}
		if len(finite) == 0 {
			if len(h.Bins) != 0 || h.Min != nil {
				rt.Fatalf("%+v", h)
			}
			return
		}
		if *h.Min != slices.Min(finite) || *h.Max != slices.Max(finite) {
			rt.Fatalf("from %v to %v", *h.Min, *h.Max)
		}
		last := len(h.Bins) - 1
		if h.Bins[0].From != *h.Min || h.Bins[last].To != *h.Max {
			rt.Fatalf("ends of %+v", h.Bins)
		}
		for i, b := range h.Bins {
			want := int64(0)
			for _, v := range finite {
				if v >= b.From && (v < b.To || i == last && v <= b.To) {
					want++
				}
			}
			if b.Count != want {
				rt.Fatalf("bin %d, %v to %v, has %d, want %d", i, b.From, b.To, b.Count, want)
			}
			if i > 0 && b.From != h.Bins[i-1].To || i < last && b.From >= b.To {
				rt.Fatalf("bin %d does not continue: %+v", i, h.Bins)
			}
		}
	})
}

// histogramOf returns the histogram of the leaf w.
func histogramOf(t rapid.TB, path string, bins int) *histogram {
	r, err := checkpoint.OpenReader(context.Background(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close() //nolint:errcheck // only read
	l, err := r.Leaf("w")
	if err != nil {
		t.Fatal(err)
	}
	h, err := newHistogram(context.Background(), r, l, bins)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// TestHistogramOfLargeArrays reads arrays of several pieces and types, and checks the numbers.
func TestHistogramOfLargeArrays(t *testing.T) {
	const n = 3 << 20
	big := tensor.New(tensor.Float32, n/4, 4)
	for i := range n {
		v := math.Float32bits(float32(i))
		copy(big.Data[4*i:], []byte{byte(v), byte(v >> 8), byte(v >> 16), byte(v >> 24)})
	}
	path := filepath.Join(t.TempDir(), "c")
	if err := checkpoint.Save(t.Context(), path, map[string]any{"w": big}, nil); err != nil {
		t.Fatal(err)
	}
	h := histogramOf(t, path, 32)
	mean, std := float64(n-1)/2, math.Sqrt((float64(n)*float64(n)-1)/12)
	if h.Elements != n || *h.Min != 0 || *h.Max != n-1 || math.Abs(*h.Mean-mean) > 1e-6 || math.Abs(*h.Std-std) > 1e-6 {
		t.Errorf("%+v, mean %v, std %v; want %v, %v", h, *h.Mean, *h.Std, mean, std)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	r, err := checkpoint.OpenReader(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close() //nolint:errcheck // only read
	l, _ := r.Leaf("w")
	if _, err := newHistogram(ctx, r, l, 32); err == nil {
		t.Error("a browser that has gone does not end the histogram")
	}
	l.DType = tensor.Complex64
	if _, err := newHistogram(t.Context(), r, l, 32); errs.KindOf(err) != errs.Unsupported {
		t.Errorf("complex numbers: %v", err)
	}
}

// TestKept checks that a value is made once, again when it is old, and again after a failure.
func TestKept(t *testing.T) {
	now := time.Unix(1000, 0)
	var mu sync.Mutex
	k := kept[int]{most: 2, now: func() time.Time { mu.Lock(); defer mu.Unlock(); return now }}
	var made atomic.Int64
	find := func(context.Context) (int, error) { return int(made.Add(1)), nil }
	get := func(key string) int {
		v, err := k.get(t.Context(), key, find)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	if get("a") != 1 || get("a") != 1 || get("b") != 2 {
		t.Error("a value is made twice")
	}
	mu.Lock()
	now = now.Add(leastKept + 1)
	mu.Unlock()
	if get("a") != 3 || get("b") != 4 {
		t.Error("an old value is used")
	}
	if get("c") != 5 || len(k.list) != 2 || get("c") != 5 {
		t.Errorf("%d values are kept, want 2", len(k.list))
	}
	failing := func(context.Context) (int, error) { return 0, &errs.Error{Kind: errs.IO} }
	if _, err := k.get(t.Context(), "d", failing); err == nil {
		t.Error("a failure is no error")
	}
	if get("d") != 6 {
		t.Error("a failure is kept")
	}

	// One makes it, and goes away; another one that waits makes it itself.
	began, canceled := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		_, err := k.get(t.Context(), "e", func(context.Context) (int, error) {
			close(began)
			<-canceled
			return 0, context.Canceled
		})
		if err != context.Canceled {
			t.Errorf("the first one got %v", err)
		}
	})
	<-began
	all.Go(func() {
		if v, err := k.get(t.Context(), "e", find); err != nil || v != 7 {
			t.Errorf("the second one got %v, %v", v, err)
		}
	})
	gone, stop := context.WithCancel(t.Context())
	stop()
	if _, err := k.get(gone, "e", find); err != context.Canceled {
		t.Errorf("one that has gone got %v", err)
	}
	close(canceled)
	all.Wait()
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

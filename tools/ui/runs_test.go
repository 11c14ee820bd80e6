package ui

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/journal"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/tensor"
)

// fact is what is known of a run, because the test has made it.
type fact struct {
	name     string
	outcome  journal.Outcome // of the last attempt; "" if it was killed
	froms    []int64         // from which step each attempt continued
	reached  []int64         // the last step of each attempt
	loss     float64         // of the last step
	damaged  bool
	large    bool
	tag      string // of step 50
	wasteful int64  // steps that were done again
}

const runs = 200

// facts describes the runs. The rules are such that each question has one answer.
func facts() (list []fact) {
	for i := range runs {
		f := fact{name: fmt.Sprintf("run-%03d", i), outcome: journal.Done, froms: []int64{0}, reached: []int64{100},
			loss: 1 + float64((37*i+11)%runs)/1000}
		switch {
		case i == 137:
			f.froms, f.reached = []int64{0, 50, 50, 50, 50}, []int64{60, 55, 58, 52, 100}
		case i == 61:
			f.froms, f.reached = []int64{0, 50}, []int64{73, 100}
		case i%25 == 3:
			f.outcome, f.reached = journal.Failed, []int64{80}
		case i%40 == 9:
			f.outcome, f.reached = "", []int64{90}
		}
		for k := 1; k < len(f.froms); k++ {
			f.wasteful += f.reached[k-1] - f.froms[k]
		}
		f.damaged = i == 5 || i == 42 || i == 199
		f.large = i == 123
		if i == 77 {
			f.tag = "paper"
		}
		list = append(list, f)
	}
	return list
}

// makeRuns makes the runs in a new directory.
func makeRuns(t testing.TB, list []fact) string {
	t.Helper()
	top := t.TempDir()
	ctx := t.Context()
	templates := map[bool]string{}
	for _, large := range []bool{false, true} {
		templates[large] = filepath.Join(t.TempDir(), "run")
		trainTemplate(t, templates[large], large)
	}
	for _, f := range list {
		dir := filepath.Join(top, f.name)
		if err := os.CopyFS(dir, os.DirFS(templates[f.large])); err != nil {
			t.Fatal(err)
		}
		if f.tag != "" {
			tag(t, dir, f.tag)
		}
		if f.damaged {
			if err := os.Truncate(filepath.Join(dir, "100", "bivouac.manifest"), 10); err != nil {
				t.Fatal(err)
			}
		}
		record(ctx, t, dir, f)
	}
	return top
}

// trainTemplate saves the steps 50 and 100 of a run.
func trainTemplate(t testing.TB, dir string, large bool) {
	t.Helper()
	c, err := training.Open(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	rows := 8
	if large {
		rows = 640
	}
	for _, step := range []int64{50, 100} {
		kernel := tensor.New(tensor.Float32, rows, 4)
		for i := range rows {
			binary.LittleEndian.PutUint32(kernel.Data[16*i:], math.Float32bits(float32(step)+float32(i)))
		}
		state := map[string]any{"layer": map[string]any{"kernel": kernel, "bias": []float64{1, 2, 3}}}
		if _, err := c.Save(t.Context(), step, state, &training.SaveOptions{Force: true}); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}

func tag(t testing.TB, dir, tag string) {
	t.Helper()
	c, err := training.Open(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Tag(t.Context(), 50, tag); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}

// record writes the journal of a run.
func record(ctx context.Context, t testing.TB, dir string, f fact) {
	t.Helper()
	st, err := local.Open(filepath.Dir(dir), nil)
	if err != nil {
		t.Fatal(err)
	}
	for k, from := range f.froms {
		w := journal.New(st, f.name, journal.Start{From: from, Steps: 100, SaveEvery: 50}, &journal.WriterOptions{Every: -1,
			Now: func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Add(time.Duration(k) * time.Hour) }})
		last := k == len(f.froms)-1
		for step := from + 1; step <= f.reached[k]; step++ {
			var s journal.Scalars
			loss := 1 + 9/float64(step)
			if last && step == f.reached[k] {
				loss = f.loss
			}
			if err := s.Set("loss", loss); err != nil {
				t.Fatal(err)
			}
			w.Step(step, &s)
			if step%50 == 0 {
				w.Save(step, journal.Save{Bytes: 100, Took: 0.5, Blocked: 0.25})
			}
		}
		if last && f.outcome != "" {
			end := journal.End{Outcome: f.outcome}
			if f.outcome == journal.Failed {
				end.Error = "out of memory at step " + strconv.FormatInt(f.reached[k], 10)
			}
			w.End(end)
		}
		if err := w.Close(ctx); err != nil {
			t.Fatal(err)
		}
	}
}

//go:build !bivouac_wheel

package main

import (
	"cmp"
	"context"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bivouac-ml/bivouac/cmd/bivouac/internal/ui"
	"github.com/bivouac-ml/bivouac/errs"
)

// answers are the names of the API. docs/guide/looking.md lists them.
func (s *site) answers() map[string]ui.Answer {
	return map[string]ui.Answer{
		"runs":      func(ctx context.Context, q url.Values) (any, error) { return s.answerRuns(ctx, q) },
		"run":       func(ctx context.Context, q url.Values) (any, error) { return s.answerRun(ctx, q) },
		"curves":    func(ctx context.Context, q url.Values) (any, error) { return s.answerCurves(ctx, q) },
		"step":      func(ctx context.Context, q url.Values) (any, error) { return s.answerStep(ctx, q) },
		"histogram": func(ctx context.Context, q url.Values) (any, error) { return s.answerHistogram(ctx, q) },
		"sheet":     func(ctx context.Context, q url.Values) (any, error) { return s.answerSheet(ctx, q) },
		"operators": func(ctx context.Context, q url.Values) (any, error) { return s.answerOperators(ctx, q) },
		"diff":      func(ctx context.Context, q url.Values) (any, error) { return s.answerDiff(ctx, q) },
	}
}

// uiRuns is the list of runs.
type uiRuns struct {
	Version string   `json:"version"`
	Paths   []string `json:"paths"`            // the arguments
	Looked  int64    `json:"looked,omitempty"` // when all runs were looked at last, in milliseconds since 1970
	Pending int      `json:"pending"`          // runs that nobody has looked at yet
	Problem string   `json:"problem,omitempty"`
	Total   int      `json:"total"`   // runs
	Matched int      `json:"matched"` // runs that have the text of the search
	Offset  int      `json:"offset"`
	Runs    []uiRow  `json:"runs"`
	Bytes   int64    `json:"bytes"` // of all runs
	Kept    int      `json:"kept"`  // steps of all runs
	Counts  uiCounts `json:"counts"`
}

// uiCounts says how many of all runs are in each state.
type uiCounts struct {
	States  map[string]int `json:"states"`
	Failed  int            `json:"failed"`  // could not be looked at
	Damaged int            `json:"damaged"` // with damage, missing steps, or steps that are not whole or set aside
	Killed  int            `json:"killed"`  // with attempts that were killed
}

const (
	usualRuns = 200
	mostRuns  = 1000 // in one answer
	firstScan = 2 * time.Second
)

func (s *site) answerRuns(ctx context.Context, q url.Values) (*uiRuns, error) {
	limit, err := count(q, "limit", usualRuns, mostRuns)
	if err != nil {
		return nil, err
	}
	offset, err := count(q, "offset", 0, math.MaxInt)
	if err != nil {
		return nil, err
	}
	less, err := rowOrder(q.Get("sort"))
	if err != nil {
		return nil, err
	}
	if err := s.wait(ctx, firstScan); err != nil {
		return nil, err
	}
	all, out := s.all()
	matched := all
	if text := strings.ToLower(q.Get("search")); text != "" {
		matched = nil
		for _, r := range all {
			if strings.Contains(strings.ToLower(r.words()), text) {
				matched = append(matched, r)
			}
		}
	}
	if less != nil {
		slices.SortStableFunc(matched, func(a, b uiRow) int { return less(&a, &b) })
	}
	out.Matched, out.Offset, out.Runs = len(matched), min(offset, len(matched)), []uiRow{}
	out.Runs = append(out.Runs, matched[out.Offset:min(len(matched), out.Offset+limit)]...)
	return out, nil
}

// wait begins a scan, and waits for it as long as runs are there that nobody has looked at.
func (s *site) wait(ctx context.Context, patience time.Duration) error {
	done := s.begin()
	s.mu.Lock()
	first := s.looked.IsZero()
	s.mu.Unlock()
	if done == nil || !first {
		return nil
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-done:
	case <-late.C:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// all returns the rows of all runs in the order of the arguments, and what is said of all.
func (s *site) all() ([]uiRow, *uiRuns) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := &uiRuns{Version: currentVersion().Version, Paths: s.args, Total: len(s.order),
		Counts: uiCounts{States: map[string]int{}}}
	if !s.looked.IsZero() {
		out.Looked = s.looked.UnixMilli()
	}
	if s.problem != nil {
		out.Problem = oneLine(s.problem)
	}
	var all []uiRow
	for _, name := range s.order {
		r := *s.rows[name]
		all = append(all, r)
		out.Bytes += r.Bytes
		out.Kept += r.Kept
		switch {
		case r.Pending:
			out.Pending++
		case r.Error != nil:
			out.Counts.Failed++
		default:
			out.Counts.States[cmp.Or(r.State, "no journal")]++
		}
		if r.faults() > 0 {
			out.Counts.Damaged++
		}
		if r.Killed > 0 {
			out.Counts.Killed++
		}
	}
	return all, out
}

// faults returns how much of a run is not whole.
func (r *uiRow) faults() int { return r.NotWhole + r.SetAside + r.Missing + r.Damaged }

// words is the text in which the search looks.
func (r *uiRow) words() string {
	text := r.Run + " " + r.State + " " + strings.Join(r.Tags, " ")
	if r.Error != nil {
		text += " failed " + r.Error.Message
	}
	if r.faults() > 0 {
		text += " damaged"
	}
	if r.Killed > 0 {
		text += " killed"
	}
	return text
}

// rowOrder returns how to compare rows, or nil for the order of the arguments. A name that begins
// with - sorts downwards. Rows without the scalar of the name scalar:NAME are last.
func rowOrder(name string) (func(a, b *uiRow) int, error) {
	if name == "" {
		return nil, nil
	}
	name, down := strings.CutPrefix(name, "-")
	sign := 1
	if down {
		sign = -1
	}
	if scalar, ok := strings.CutPrefix(name, "scalar:"); ok {
		return func(a, b *uiRow) int {
			x, okX := a.scalar(scalar)
			y, okY := b.scalar(scalar)
			if okX != okY {
				if okX {
					return -1
				}
				return 1
			}
			return sign * cmp.Compare(x, y)
		}, nil
	}
	columns := map[string]func(a, b *uiRow) int{
		"name":       func(a, b *uiRow) int { return strings.Compare(a.Run, b.Run) },
		"state":      func(a, b *uiRow) int { return strings.Compare(a.State, b.State) },
		"step":       func(a, b *uiRow) int { return cmp.Compare(a.Step, b.Step) },
		"attempts":   func(a, b *uiRow) int { return cmp.Compare(a.Attempts, b.Attempts) },
		"killed":     func(a, b *uiRow) int { return cmp.Compare(a.Killed, b.Killed) },
		"superseded": func(a, b *uiRow) int { return cmp.Compare(a.Superseded, b.Superseded) },
		"kept":       func(a, b *uiRow) int { return cmp.Compare(a.Kept, b.Kept) },
		"committed":  func(a, b *uiRow) int { return at(a.Committed).Compare(at(b.Committed)) },
		"bytes":      func(a, b *uiRow) int { return cmp.Compare(a.Bytes, b.Bytes) },
		"damaged":    func(a, b *uiRow) int { return cmp.Compare(a.faults(), b.faults()) },
	}
	compare := columns[name]
	if compare == nil {
		return nil, &errs.Error{Kind: errs.Invalid, Op: "ui", Subject: "sort", Want: "a column of the list, or scalar:NAME",
			Got: strconv.Quote(name)}
	}
	return func(a, b *uiRow) int { return sign * compare(a, b) }, nil
}

func at(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

// scalar returns the last value of a scalar, if it is a number.
func (r *uiRow) scalar(name string) (float64, bool) {
	for _, s := range r.Scalars {
		if v, ok := s.Value.(float64); ok && s.Name == name {
			return v, true
		}
	}
	return 0, false
}

// count reads a number of a request.
func count(q url.Values, name string, usual, most int) (int, error) {
	text := q.Get(name)
	if text == "" {
		return usual, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > most {
		return 0, &errs.Error{Kind: errs.Invalid, Op: "ui", Subject: name, Want: "a number from 0 to " + strconv.Itoa(most),
			Got: strconv.Quote(text)}
	}
	return n, nil
}

// metrics returns the numbers that ls --openmetrics writes, of the last look at all runs.
func (s *site) metrics(ctx context.Context) ([]byte, error) {
	if err := s.wait(ctx, time.Hour); err != nil {
		return nil, err
	}
	all, out := s.all()
	var m gauges
	for _, r := range all {
		if !r.Pending && r.Error == nil {
			m.addRun(r.Run, r.numbers)
		}
	}
	if out.Looked != 0 {
		m.ended("ls", time.UnixMilli(out.Looked))
	}
	return m.document(), nil
}

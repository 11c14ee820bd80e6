//go:build !bivouac_wheel

package main

import (
	"context"
	"maps"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/diff"
	"github.com/bivouac-ml/bivouac/errs"
)

// uiStep is a checkpoint whose leaves the page lists.
type uiStep struct {
	description description
	items       []uiItem
	leaves      []uiLeaf
}

// uiLeaves is what the page says of a step: what info says, with a part of the leaves.
type uiLeaves struct {
	Run       string   `json:"run"`
	Step      *int64   `json:"step,omitempty"`
	Path      string   `json:"path"`
	Layout    string   `json:"layout"`
	Committed string   `json:"committed,omitempty"`
	Manifest  bool     `json:"manifest"` // checksums cover every byte
	Storage   storage  `json:"storage"`
	Items     []uiItem `json:"items"`
	Total     int      `json:"total"`   // leaves
	Matched   int      `json:"matched"` // leaves that have the text of the search
	Offset    int      `json:"offset"`
	Leaves    []uiLeaf `json:"leaves"`
}

type uiItem struct {
	Name    string `json:"name"`
	Kind    string `json:"kind"`
	Handler string `json:"handler,omitempty"`
	Bytes   int64  `json:"bytes"`
	Leaves  int    `json:"leaves"`
}

type uiLeaf struct {
	Item string `json:"item"`
	leafJSON
}

const (
	usualLeaves = 500
	mostLeaves  = 5000 // in one answer
)

// stepAsked finds the step that a request names: step and run, or the run alone if that is a
// checkpoint.
func (s *site) stepAsked(ctx context.Context, q url.Values, name string) (string, resolved, error) {
	dir, err := s.ask(q.Get("run"))
	if err != nil {
		return "", resolved{}, err
	}
	step := int64(anyStep)
	if text := q.Get(name); text != "" {
		if step, err = strconv.ParseInt(text, 10, 64); err != nil || step < 0 {
			return "", resolved{}, &errs.Error{Kind: errs.Invalid, Op: "ui", Subject: name, Want: "a number of at least 0",
				Got: strconv.Quote(text)}
		}
	}
	g, _ := s.listens()
	found, err := resolve(ctx, dir, step, g)
	return dir, found, err
}

func (s *site) answerStep(ctx context.Context, q url.Values) (*uiLeaves, error) {
	limit, err := count(q, "limit", usualLeaves, mostLeaves)
	if err != nil {
		return nil, err
	}
	offset, err := count(q, "offset", 0, math.MaxInt)
	if err != nil {
		return nil, err
	}
	dir, found, err := s.stepAsked(ctx, q, "step")
	if err != nil {
		return nil, err
	}
	return s.leaves(ctx, dir, found, q.Get("search"), offset, limit)
}

// leaves lists leaves of a step.
func (s *site) leaves(ctx context.Context, dir string, found resolved, search string,
	offset, limit int) (*uiLeaves, error) {
	read, err := s.steps.get(ctx, found.path,
		func(ctx context.Context) (*uiStep, error) { return readStep(ctx, found) })
	if err != nil {
		return nil, err
	}
	d := read.description
	out := &uiLeaves{Run: dir, Step: found.step, Path: found.path, Layout: d.Layout, Manifest: d.Manifest,
		Storage: d.Storage, Items: read.items, Total: len(read.leaves), Leaves: []uiLeaf{}}
	if d.Committed != nil {
		out.Committed = d.Committed.Format("2006-01-02T15:04:05Z07:00")
	}
	matched := read.leaves
	if search = strings.ToLower(search); search != "" {
		matched = nil
		for _, l := range read.leaves {
			if strings.Contains(strings.ToLower(l.Item+" "+l.Path+" "+l.DType), search) {
				matched = append(matched, l)
			}
		}
	}
	out.Matched, out.Offset = len(matched), min(offset, len(matched))
	out.Leaves = append(out.Leaves, matched[out.Offset:out.Offset+min(limit, len(matched)-out.Offset)]...)
	return out, nil
}

// readStep describes a step. It reads no array.
func readStep(ctx context.Context, found resolved) (*uiStep, error) {
	d, _, err := describeFound(ctx, found)
	if err != nil {
		return nil, err
	}
	files, err := place(found.path).files(ctx)
	if err != nil {
		return nil, err
	}
	d.Storage = sum(files)
	out := &uiStep{description: d, items: []uiItem{}}
	for _, name := range slices.Sorted(maps.Keys(d.Items)) {
		it := d.Items[name]
		out.items = append(out.items, uiItem{name, it.Kind, it.Handler, it.Bytes, len(it.Leaves)})
		for _, l := range it.Leaves {
			out.leaves = append(out.leaves, uiLeaf{name, l})
		}
	}
	out.description.Items = nil
	return out, nil
}

// uiDiff is what changed from one step to another: what bivouac diff prints.
type uiDiff struct {
	Run     string       `json:"run"`
	Step    *int64       `json:"step,omitempty"`
	Against *int64       `json:"against,omitempty"`
	Leaves  int          `json:"leaves"`
	Differ  int          `json:"differ"`
	Changes []difference `json:"changes"` // the first ones
}

// mostChanges is how many leaves that differ are told.
const mostChanges = 5000

func (s *site) answerDiff(ctx context.Context, q url.Values) (*uiDiff, error) {
	dir, is, err := s.stepAsked(ctx, q, "step")
	if err != nil {
		return nil, err
	}
	if q.Get("against") == "" {
		return nil, &errs.Error{Kind: errs.Invalid, Op: "ui", Subject: "against", Want: "a step", Got: "none"}
	}
	_, was, err := s.stepAsked(ctx, q, "against")
	if err != nil {
		return nil, err
	}
	leave, err := enter(ctx, s.reading)
	if err != nil {
		return nil, err
	}
	defer leave()
	out := &uiDiff{Run: dir, Step: is.step, Against: was.step, Changes: []difference{}}
	for l, err := range diff.Leaves(ctx, was.path, is.path, nil) {
		if err != nil {
			return nil, err
		}
		if out.Leaves++; l.Status == diff.Same {
			continue
		}
		if out.Differ++; len(out.Changes) < mostChanges {
			out.Changes = append(out.Changes, newDifference(l))
		}
	}
	return out, nil
}

// enter waits for one of few slots, so that few answers work at a time. The caller must call leave.
func enter(ctx context.Context, slots chan struct{}) (leave func(), err error) {
	select {
	case slots <- struct{}{}:
		return func() { <-slots }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (s *site) answerHistogram(ctx context.Context, q url.Values) (*histogram, error) {
	bins, err := count(q, "bins", usualBins, mostBins)
	if err != nil {
		return nil, err
	}
	_, found, err := s.stepAsked(ctx, q, "step")
	if err != nil {
		return nil, err
	}
	leave, err := enter(ctx, s.reading)
	if err != nil {
		return nil, err
	}
	defer leave()
	r, err := checkpoint.OpenReader(ctx, found.path, &checkpoint.LoadOptions{Name: q.Get("item")})
	if err != nil {
		return nil, err
	}
	defer r.Close() //nolint:errcheck // only read
	l, err := r.Leaf(q.Get("leaf"))
	if err != nil {
		return nil, err
	}
	return newHistogram(ctx, r, l, max(bins, 1))
}

// report collects what a page in a file has.
func (s *site) report(ctx context.Context, sheets bool) (*uiReport, error) {
	if err := s.wait(ctx, math.MaxInt64); err != nil {
		return nil, err
	}
	all, runs := s.all()
	if len(all) > mostReported {
		return nil, &errs.Error{Kind: errs.Exhausted, Op: "ui", Subject: "--export", Want: "at most " +
			strconv.Itoa(mostReported) + " runs", Got: strconv.Itoa(len(all)), Remedy: "name fewer runs"}
	}
	runs.Runs, runs.Matched = all, len(all)
	out := &uiReport{Runs: runs, Details: map[string]*uiRun{}, Curves: map[string]*uiCurves{},
		Steps: map[string]*uiLeaves{}, Operators: map[string]*uiOperators{}}
	if sheets && len(all) <= fewReported {
		out.Sheets = map[string]uiLastSheet{}
	}
	for _, row := range all {
		if row.Error != nil {
			continue
		}
		if err := out.add(ctx, s, row, len(all) <= fewReported); err != nil {
			return nil, err
		}
	}
	return out, nil
}

const (
	mostReported = 5000
	fewReported  = 20 // runs with all their curves, and with sheets if they are asked for
)

// uiReport is the data of a page in a file. Steps are the newest ones of their runs.
type uiReport struct {
	Runs      *uiRuns                 `json:"runs"`
	Details   map[string]*uiRun       `json:"details"`
	Curves    map[string]*uiCurves    `json:"curves"`
	Steps     map[string]*uiLeaves    `json:"steps"`
	Operators map[string]*uiOperators `json:"operators"`
	Sheets    map[string]uiLastSheet  `json:"sheets,omitempty"` // only if they were asked for
}

// add adds a run. Of few runs all scalars are drawn, of many the one that plot draws.
func (r *uiReport) add(ctx context.Context, s *site, row uiRow, few bool) (err error) {
	name := row.Run
	if r.Details[name], err = s.detail(ctx, name); err != nil {
		return errs.Wrap("ui", name, err)
	}
	curves, err := s.curvesOf(ctx, name, 0, nil)
	if err == nil && few && len(curves.Names) > 0 {
		curves, err = s.curvesOf(ctx, name, 0, drawnByThemselves(curves.Names))
	}
	if err != nil {
		return errs.Wrap("ui", name, err)
	}
	r.Curves[name] = curves
	if r.Operators[name], err = s.operators(ctx, name); err != nil {
		return errs.Wrap("ui", name, err)
	}
	if r.Sheets != nil {
		if err := r.addSheet(ctx, s, name); err != nil {
			return errs.Wrap("ui", name, err)
		}
	}
	if row.Kept == 0 {
		return nil
	}
	g, _ := s.listens()
	found, err := resolve(ctx, name, anyStep, g)
	if err == nil {
		r.Steps[name], err = s.leaves(ctx, name, found, "", 0, usualLeaves)
	}
	return errs.Wrap("ui", name, err)
}

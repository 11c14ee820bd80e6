//go:build !bivouac_wheel

package main

import (
	"bytes"
	"context"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/chart"
	"github.com/bivouac-ml/bivouac/journal"
)

// uiRun is what the page says of one run: what show and ls say, and its history.
type uiRun struct {
	Run      string     `json:"run"`
	Kind     string     `json:"kind"` // run or checkpoint
	Text     string     `json:"text"` // what show prints, or ls without a journal and steps
	Show     *shownRun  `json:"show,omitempty"`
	List     *listing   `json:"ls,omitempty"`
	History  *uiHistory `json:"history,omitempty"`
	Warnings []string   `json:"warnings"`
}

// uiHistory is what the journal says of saves and events.
type uiHistory struct {
	Saves  []uiSave  `json:"saves"` // the newest ones
	Events []uiEvent `json:"events"`
	Left   int       `json:"left"` // saves and events before them
}

type uiSave struct {
	Attempt int        `json:"attempt"`
	Step    int64      `json:"step"`
	Time    *time.Time `json:"time,omitempty"`
	Bytes   int64      `json:"bytes"`
	Took    float64    `json:"took"`    // seconds
	Blocked float64    `json:"blocked"` // seconds
	Error   string     `json:"error,omitempty"`
}

type uiEvent struct {
	Attempt int        `json:"attempt"`
	Time    *time.Time `json:"time,omitempty"`
	shownEvent
}

// mostHistory is how many saves, and how many events, are told.
const mostHistory = 2000

func (s *site) answerRun(ctx context.Context, q url.Values) (*uiRun, error) {
	dir, err := s.ask(q.Get("run"))
	if err != nil {
		return nil, err
	}
	return s.details.get(ctx, dir, func(ctx context.Context) (*uiRun, error) { return s.detail(ctx, dir) })
}

// detail looks at one run.
func (s *site) detail(ctx context.Context, dir string) (*uiRun, error) {
	g, warnings := s.listens()
	var words bytes.Buffer
	g.stdout = &words
	r := &uiRun{Run: dir, Kind: "run"}
	var err error
	if checkpoint.IsCheckpoint(ctx, dir, nil) {
		r.Kind = "checkpoint"
		if err = runInfo(ctx, dir, InfoOptions{Step: anyStep}, g); err == nil {
			r.List, err = listOne(ctx, dir)
		}
	} else {
		err = r.look(ctx, dir, g)
	}
	if err != nil {
		return nil, err
	}
	r.Text, r.Warnings = shortened(words.String()), warnings()
	if r.Kind == "run" {
		r.History, err = s.histories.get(ctx, dir, func(ctx context.Context) (*uiHistory, error) { return history(ctx, dir) })
	}
	return r, err
}

// mostText is how many bytes of text the page gets: a checkpoint may have a million leaves.
const mostText = 64 << 10

// shortened returns the first lines of a text.
func shortened(text string) string {
	if len(text) <= mostText {
		return text
	}
	return text[:strings.LastIndexByte(text[:mostText], '\n')+1] + "… bivouac info prints all of it\n"
}

func (r *uiRun) look(ctx context.Context, dir string, g *global) error {
	t := teller{dir: dir, g: g}
	told, err := t.look(ctx)
	if err != nil {
		return err
	}
	r.Show = told
	told.print(g)
	if r.List, err = listRun(ctx, dir, g); errs.KindOf(err) == errs.NotFound {
		r.List, err = nil, nil // it has not saved yet
	}
	return err
}

// history reads the saves and events of all attempts.
func history(ctx context.Context, dir string) (*uiHistory, error) {
	st, name, err := place(dir).open(ctx)
	if err != nil {
		return nil, err
	}
	j, err := journal.Open(ctx, st, name)
	if err != nil {
		return nil, err
	}
	h := &uiHistory{Saves: []uiSave{}, Events: []uiEvent{}}
	for _, a := range j.Attempts() {
		for row, err := range j.Rows(ctx, a, journal.Position{}) {
			if errs.KindOf(err) == errs.Corrupt && ctx.Err() == nil {
				continue // show says it
			}
			if err != nil {
				return nil, err
			}
			var when *time.Time
			if a.Known {
				t := a.Start.Time.Add(row.At.Duration())
				when = &t
			}
			switch {
			case row.Save != nil:
				h.Saves = append(h.Saves, uiSave{a.Number, row.Step, when, row.Save.Bytes, float64(row.Save.Took),
					float64(row.Save.Blocked), printable(row.Save.Error)})
			case row.Event != nil:
				h.Events = append(h.Events, uiEvent{a.Number, when, shownEvent{row.Step, *row.Event}})
			default:
				continue
			}
			h.cut(2 * mostHistory)
		}
	}
	h.cut(mostHistory)
	return h, nil
}

// cut drops the oldest saves and events if there are more than most of a kind.
func (h *uiHistory) cut(most int) {
	if n := len(h.Saves) - mostHistory; len(h.Saves) > most {
		h.Saves, h.Left = slices.Delete(h.Saves, 0, n), h.Left+n
	}
	if n := len(h.Events) - mostHistory; len(h.Events) > most {
		h.Events, h.Left = slices.Delete(h.Events, 0, n), h.Left+n
	}
}

// uiLines are the scalars of a run, as plot draws them.
type uiLines struct {
	lines    *runLines // nil without a journal
	warnings []string
}

// uiCurves is what the page draws.
type uiCurves struct {
	Run      string    `json:"run"`
	Names    []string  `json:"names"` // of all scalars
	Marks    []float64 `json:"marks"` // steps from which attempts continued
	Smooth   float64   `json:"smooth"`
	Lines    []uiLine  `json:"lines"`
	Warnings []string  `json:"warnings"`
}

type uiLine struct {
	Scalar    string    `json:"scalar"`
	Steps     int64     `json:"steps"`
	Nonfinite int64     `json:"nonfinite"`
	Points    []uiPoint `json:"points"`
	Means     []uiPoint `json:"means,omitempty"` // the moving average, with smooth
}

// uiPoint is a step and a value. A nil value is a gap.
type uiPoint [2]*float64

// mostCurves is how many scalars one answer may have.
const mostCurves = 16

func (s *site) answerCurves(ctx context.Context, q url.Values) (*uiCurves, error) {
	dir, err := s.ask(q.Get("run"))
	if err != nil {
		return nil, err
	}
	smooth := 0.0
	if text := q.Get("smooth"); text != "" {
		smooth, err = strconv.ParseFloat(text, 64)
		if err != nil || !(smooth >= 0 && smooth < 1) {
			return nil, &errs.Error{Kind: errs.Invalid, Op: "ui", Subject: "smooth", Want: "0 to below 1",
				Got: strconv.Quote(text)}
		}
	}
	if n := len(q["scalar"]); n > mostCurves {
		return nil, &errs.Error{Kind: errs.Invalid, Op: "ui", Subject: "scalar", Want: "at most " + strconv.Itoa(mostCurves),
			Got: strconv.Itoa(n)}
	}
	return s.curvesOf(ctx, dir, smooth, q["scalar"])
}

// curvesOf returns curves of a run: the scalars asked for, or those that plot draws by itself.
func (s *site) curvesOf(ctx context.Context, dir string, smooth float64, asked []string) (*uiCurves, error) {
	read, err := s.curves.get(ctx, strconv.FormatFloat(smooth, 'g', -1, 64)+" "+dir,
		func(ctx context.Context) (*uiLines, error) {
			g, warnings := s.listens()
			lines, err := readLines(ctx, dir, smooth, g)
			if errs.KindOf(err) == errs.NotFound || checkpoint.IsCheckpoint(ctx, dir, nil) {
				lines, err = nil, nil // without a journal there are no curves
			}
			return &uiLines{lines, warnings()}, err
		})
	if err != nil {
		return nil, err
	}
	out := &uiCurves{Run: dir, Names: []string{}, Marks: []float64{}, Smooth: smooth, Lines: []uiLine{},
		Warnings: read.warnings}
	l := read.lines
	if l == nil || len(l.names) == 0 {
		return out, nil
	}
	names, err := chosenScalars([]*runLines{l}, asked)
	if err != nil {
		return nil, err
	}
	out.Names, out.Marks = append(out.Names, l.names...), append(out.Marks, l.marks...)
	for _, name := range names {
		series := l.series[name]
		line := uiLine{Scalar: name, Steps: l.steps[name], Nonfinite: series.Gaps, Points: points(series.Points())}
		if smooth > 0 {
			line.Means = points(series.Means())
		}
		out.Lines = append(out.Lines, line)
	}
	return out, nil
}

// points returns points as JSON has them.
func points(list []chart.Point) []uiPoint {
	out := make([]uiPoint, 0, len(list))
	for _, p := range list {
		if math.IsNaN(p.Y) || math.IsInf(p.Y, 0) {
			out = append(out, uiPoint{nil, nil})
			continue
		}
		x, y := p.X, p.Y
		out = append(out, uiPoint{&x, &y})
	}
	return out
}

// drawnByThemselves returns the scalars of a run that a report has. The job records the others.
func drawnByThemselves(names []string) (out []string) {
	for _, name := range names {
		if !strings.HasPrefix(name, "job/") && len(out) < mostCurves {
			out = append(out, name)
		}
	}
	return out
}

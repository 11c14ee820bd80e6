//go:build !bivouac_wheel

package main

import (
	"cmp"
	"context"
	"math"
	"net/url"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/bivouac-ml/bivouac/errs"
)

// uiSheet is the contact sheet of a step: what `bivouac data peek --job-step` lists, and what its
// --sheet draws.
type uiSheet struct {
	Run       string     `json:"run"`
	Step      int64      `json:"step"` // as the journal counts: the step that trained on the samples
	Epoch     int64      `json:"epoch"`
	Delivered bool       `json:"delivered"` // or to come, after the newest saved step
	Total     int64      `json:"total"`     // samples of the step, on all ranks
	Offset    int64      `json:"offset"`    // of the first one here
	Pictures  int        `json:"pictures"`  // samples here that have a picture
	Samples   []uiSample `json:"samples"`
	Warnings  []string   `json:"warnings"`
}

type uiSample struct {
	Title   string   `json:"title"`
	Lines   []string `json:"lines"`             // the name of the sample, and its fields other than the picture
	Picture string   `json:"picture,omitempty"` // as an address with its bytes
}

const (
	usualSamples = 64
	mostSamples  = 256 // in one answer
	sheetSide    = 128 // pixels
)

func (s *site) answerSheet(ctx context.Context, q url.Values) (*uiSheet, error) {
	limit, err := count(q, "limit", usualSamples, mostSamples)
	if err != nil {
		return nil, err
	}
	offset, err := count(q, "offset", 0, math.MaxInt)
	if err != nil {
		return nil, err
	}
	dir, err := s.ask(q.Get("run"))
	if err != nil {
		return nil, err
	}
	step, err := strconv.ParseInt(q.Get("step"), 10, 64)
	if err != nil || step < 1 {
		return nil, &errs.Error{Kind: errs.Invalid, Op: "ui", Subject: "step", Want: "a step, from 1",
			Got: strconv.Quote(q.Get("step"))}
	}
	return s.sheet(ctx, dir, step, int64(offset), int64(limit))
}

// sheet draws samples of a step. Only one call at a time draws; the others wait.
func (s *site) sheet(ctx context.Context, dir string, step, offset, limit int64) (*uiSheet, error) {
	leave, err := enter(ctx, s.drawing)
	if err != nil {
		return nil, err
	}
	defer leave()
	g, warnings := s.listens()
	var o PeekOptions
	o.addFlags(&cobra.Command{}) // sets the options to their usual values
	o.JobStep, o.Sheet = step, "sheet.html"
	f, err := o.find(ctx, dir, g)
	if err != nil {
		return nil, err
	}
	defer f.close()
	if err := f.needData(dir); err != nil {
		return nil, err
	}
	first := f.steps[0]
	out := &uiSheet{Run: dir, Step: step, Epoch: first.Epoch, Delivered: first.Delivered, Total: samplesOf(f.steps),
		Offset: offset, Samples: []uiSample{}}
	err = eachDrawn(ctx, f.data, f.steps, offset, limit, func(d drawnSample) error {
		sample := uiSample{Title: d.title}
		for _, line := range d.lines {
			sample.Lines = append(sample.Lines, printable(line))
		}
		sample.Picture, err = d.address(sheetSide)
		if sample.Picture != "" {
			out.Pictures++
		}
		out.Samples = append(out.Samples, sample)
		return err
	})
	out.Warnings = warnings()
	return out, err
}

// uiLastSheet is what a report says of the samples of the last step of a run.
type uiLastSheet struct {
	Sheet *uiSheet     `json:"sheet,omitempty"`
	Error *failureText `json:"error,omitempty"` // why there is no sheet
}

// addSheet draws the samples of the last step of a run. A sheet that cannot be drawn is no reason
// not to write the report: the report says why.
func (r *uiReport) addSheet(ctx context.Context, s *site, name string) error {
	show := r.Details[name].Show
	if show == nil || show.Step < 1 {
		return nil
	}
	sheet, err := s.sheet(ctx, name, show.Step, 0, usualSamples)
	if ctx.Err() != nil {
		return cmp.Or(err, context.Cause(ctx))
	}
	if err != nil {
		failed := newFailureText(err)
		r.Sheets[name] = uiLastSheet{Error: &failed}
		return nil
	}
	r.Sheets[name] = uiLastSheet{Sheet: sheet}
	return nil
}

package tensorboard

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/journal"
)

// Exported is an event file that Export wrote.
type Exported struct {
	File    string `json:"file"`
	Attempt int    `json:"attempt"`
	Steps   int64  `json:"steps"` // with scalars
	Bytes   int64  `json:"bytes"`
}

// Export writes the event files of all attempts of a journal into dir, which it makes if it does
// not exist. They have the rows that count; see journal.Spans. Files of an earlier Export of the
// same run are replaced, each in one step. The error is of kind errs.Exists if dir has other event
// files: TensorBoard would show both as one run.
//
// warn is called for damage in the journal. The other rows are exported.
func Export(ctx context.Context, r *journal.Reader, dir string, warn func(error)) ([]Exported, error) {
	const op = "tensorboard.Export"
	if err := checkDirectory(op, dir); err != nil {
		return nil, err
	}
	if err := checkForeign(op, r, dir); err != nil {
		return nil, err
	}
	out := []Exported{}
	moment := 0.0 // the last known one, in seconds since 1970
	for _, span := range journal.Spans(r.Attempts()) {
		a := span.Attempt
		e := &exporter{attempt: a, span: span, moment: moment, warn: warn}
		done, err := e.file(ctx, r, dir)
		if err != nil {
			return out, errs.Wrap(op, filepath.Join(dir, fileName(a.Start, byExport)), err)
		}
		moment = e.moment
		out = append(out, done)
	}
	return out, nil
}

// checkForeign returns an error if a directory has event files that are not exports of the run.
func checkForeign(op string, r *journal.Reader, dir string) error {
	names, err := os.ReadDir(dir)
	if err != nil {
		return &errs.Error{Kind: errs.Invalid, Op: op, Subject: dir, Want: "a directory", Err: err}
	}
	ids := map[string]bool{}
	for _, a := range r.Attempts() {
		ids[a.ID] = true
	}
	for _, n := range names {
		id, exported := exportOf(n.Name())
		if !isEventFile(n.Name()) || exported && ids[id] {
			continue
		}
		got := "an event file of another program"
		switch {
		case exported:
			got = "an export of another run"
		case strings.HasSuffix(n.Name(), byJob):
			got = "an event file that a job writes itself"
		}
		return &errs.Error{Kind: errs.Exists, Op: op, Subject: filepath.Join(dir, n.Name()),
			Want: "a directory without event files, or with exports of this run", Got: got,
			Remedy: "choose another directory: TensorBoard shows all event files of one as one run"}
	}
	return nil
}

// exporter writes the event file of an attempt.
type exporter struct {
	attempt *journal.Attempt
	span    journal.Span
	moment  float64
	warn    func(error)
}

// file makes the event file, which appears when it is complete.
func (e *exporter) file(ctx context.Context, r *journal.Reader, dir string) (out Exported, err error) {
	name := filepath.Join(dir, fileName(e.attempt.Start, byExport))
	f, err := os.CreateTemp(dir, ".bivouac-export-*") // a name that TensorBoard passes over
	if err != nil {
		return out, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, ignoreClosed(f.Close()), os.Remove(f.Name()))
		}
	}()
	out = Exported{File: name, Attempt: e.attempt.Number}
	b := bufio.NewWriterSize(f, 1<<20)
	if err := e.rows(ctx, r, b, &out); err != nil {
		return out, err
	}
	for _, step := range []func() error{b.Flush, f.Sync, func() error { return f.Chmod(0o644) }, f.Close} {
		if err := step(); err != nil {
			return out, err
		}
	}
	return out, os.Rename(f.Name(), name)
}

func ignoreClosed(err error) error {
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}

// rows writes the records of the attempt. Times of an attempt whose start is not known follow the
// last moment that is.
func (e *exporter) rows(ctx context.Context, r *journal.Reader, to io.Writer, out *Exported) error {
	if !e.attempt.Start.Time.IsZero() {
		e.moment = wall(e.attempt.Start.Time)
	}
	begin := e.moment
	record := appendHead(nil, e.attempt.Start, begin, e.attempt.Known)
	put := func() error {
		n, err := to.Write(record)
		out.Bytes += int64(n)
		return err
	}
	if err := put(); err != nil {
		return err
	}
	for row, err := range r.Rows(ctx, e.attempt, journal.Position{}) {
		if errs.KindOf(err) == errs.Corrupt && ctx.Err() == nil {
			e.warn(err)
			continue
		}
		if err != nil {
			return err
		}
		e.moment = begin + float64(row.At)
		if row.Kind != journal.StepRow || len(row.Scalars) == 0 || !e.span.Has(row.Step) {
			continue
		}
		out.Steps++
		record = appendStep(record[:0], begin, row.At, row.Step, each(row.Scalars))
		if err := put(); err != nil {
			return err
		}
	}
	return nil
}

// each yields scalars in their order.
func each(scalars []journal.Scalar) func(func(string, float64) bool) {
	return func(yield func(string, float64) bool) {
		for _, s := range scalars {
			if !yield(s.Name, s.Value) {
				return
			}
		}
	}
}

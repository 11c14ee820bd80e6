package journal

import (
	"bytes"
	"context"
	"iter"
	"slices"
	"strconv"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

// Rows yields the rows of an attempt from a position on, in the order in which they were written,
// superseded rows included. Of all start rows only the one of the first segment is yielded.
//
// Damage is yielded as an error of kind errs.Corrupt, and the rows after it follow: a damaged line,
// a missing segment, missing rows. Any other error, such as one of the store, is the last.
//
// Row.Next of the last row is where a later call continues if the attempt is running.
func (r *Reader) Rows(ctx context.Context, a *Attempt, from Position) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		w := walk{r: r, yield: yield, step: -1}
		if from != (Position{}) {
			w.rows = -1
		}
		for _, f := range a.Files {
			switch {
			case f.Number < from.Segment:
				continue
			case f.Number == from.Segment && !w.segment(ctx, f, from.Offset):
				return
			case f.Number > from.Segment && !w.segment(ctx, f, 0):
				return
			}
		}
	}
}

// walk yields the rows of one attempt.
type walk struct {
	r     *Reader
	yield func(Row, error) bool
	file  File
	step  int64 // of the last StepRow, or -1
	rows  int64 // so far, damaged ones included and start rows not, or -1 if it is not known
}

// damaged yields damage. It returns false when the walk has ended.
func (w *walk) damaged(line int, next Position, why *errs.Error) bool {
	why.Kind = errs.Corrupt
	return w.yield(Row{Next: next}, w.r.damaged(w.file, line, why))
}

// segment yields the rows of a file from an offset on. It returns false when the walk has ended.
func (w *walk) segment(ctx context.Context, f File, off int64) bool {
	w.file = f
	b, err := store.ReadAll(ctx, w.r.st, join(w.r.dir, f.Name))
	if err != nil {
		w.yield(Row{}, errs.Wrap("journal.Rows", join(w.r.dir, f.Name), err))
		return false
	}
	at := Position{f.Number, off}
	switch {
	case off > int64(len(b)):
		return w.damaged(0, at, &errs.Error{Want: "at least " + strconv.FormatInt(off, 10) + " bytes, as before",
			Got: strconv.Itoa(len(b))})
	case len(b) == 0:
		return w.damaged(0, at, &errs.Error{Want: "a start row", Got: "an empty file"})
	}
	line := 1 + bytes.Count(b[:off], []byte("\n"))
	for b = b[off:]; len(b) > 0; line++ {
		i := bytes.IndexByte(b, '\n')
		if i < 0 {
			return w.yield(Row{Next: at}, w.r.torn(f, b))
		}
		text := b[:i]
		b = b[i+1:]
		at.Offset += int64(i) + 1
		row, err := ParseLine(text)
		if row.Next = at; err != nil {
			if line > 1 && w.rows >= 0 {
				w.rows++
			}
			w.step = -1
			if !w.yield(Row{Next: at}, w.r.damaged(f, line, err)) {
				return false
			}
			continue
		}
		if !w.row(line, &row) {
			return false
		}
	}
	return true
}

// row yields a row, and before it what is missing.
func (w *walk) row(line int, row *Row) bool {
	if (row.Start != nil) != (line == 1) {
		return w.damaged(line, row.Next, &errs.Error{Want: "a start row in the first line only",
			Got: "a row of kind " + string(row.Kind)})
	}
	if row.Start != nil {
		before := w.rows
		w.rows = row.Start.Rows
		if before >= 0 && before != row.Start.Rows {
			w.step = -1 // the gap is told once
			if !w.damaged(0, row.Next, &errs.Error{
				Want: strconv.FormatInt(row.Start.Rows, 10) + " rows in the segments before it",
				Got:  strconv.FormatInt(before, 10)}) {
				return false
			}
		}
		return row.Start.Segment > 1 || w.yield(*row, nil)
	}
	if w.rows >= 0 {
		w.rows++
	}
	return w.gap(line, row) && w.yield(*row, nil)
}

// gap yields an error for steps that are missing before a row.
func (w *walk) gap(line int, row *Row) bool {
	switch row.Kind {
	case LostRow:
		w.step = -1
	case StepRow:
		before := w.step
		w.step = row.Step
		if before >= 0 && row.Step != before+1 {
			return w.damaged(line, row.Next, &errs.Error{
				Want: "the row of step " + strconv.FormatInt(before+1, 10),
				Got:  "the row of step " + strconv.FormatInt(row.Step, 10)})
		}
	}
	return true
}

// Span is the part of an attempt that counts: its steps above From, up to and including To.
type Span struct {
	Attempt  *Attempt
	From, To int64 // To is -1 if nothing supersedes the attempt
}

// Empty reports whether no step of the attempt counts.
func (s Span) Empty() bool { return s.To >= 0 && s.To <= s.From }

// Has reports whether the rows of a step count.
func (s Span) Has(step int64) bool { return step > s.From && (s.To < 0 || step <= s.To) }

// Spans returns which steps of each attempt count. What an attempt did beyond the step from which a
// later attempt began is superseded: it was done again, or dropped. Only steps above From count. So
// no step counts twice, and the spans ascend.
//
// An attempt whose start is not known supersedes nothing, and has a From of -1.
func Spans(attempts []*Attempt) []Span {
	out := make([]Span, len(attempts))
	limit := int64(-1)
	for i, a := range slices.Backward(attempts) {
		out[i] = Span{Attempt: a, From: -1, To: limit}
		if !a.Known {
			continue
		}
		out[i].From = a.Start.From
		if limit < 0 || a.Start.From < limit {
			limit = a.Start.From
		}
	}
	return out
}

// Current yields the rows of steps that count, ascending by step. Errors are as in Rows.
func (r *Reader) Current(ctx context.Context) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		for _, s := range Spans(r.attempts) {
			if s.Empty() {
				continue
			}
			for row, err := range r.Rows(ctx, s.Attempt, Position{}) {
				if err == nil && (row.Kind != StepRow || !s.Has(row.Step)) {
					if row.Kind == StepRow && row.Step > s.From {
						break // the rest is superseded
					}
					continue
				}
				if !yield(row, err) {
					return
				}
			}
		}
	}
}

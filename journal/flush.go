package journal

import (
	"context"
	"errors"
	"fmt"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

// Flush gives the store all rows that were added before the call. It returns nil once they are
// durable. After an error the rows are kept, and the next flush tries again. Rows are never written
// twice: a segment is replaced by itself with more rows.
func (w *Writer) Flush(ctx context.Context) error {
	const op = "journal.Flush"
	select {
	case <-w.turn:
	case <-ctx.Done():
		return &errs.Error{Kind: errs.Canceled, Op: op, Subject: w.dir, Err: context.Cause(ctx)}
	}
	defer func() { w.turn <- struct{}{} }()
	for {
		next, more := w.next()
		if next.number == 0 {
			return nil
		}
		if w.number == 0 {
			number, err := nextAttempt(ctx, w.st, w.dir)
			if err != nil {
				return errs.Wrap(op, w.dir, err)
			}
			w.number = number
			w.mu.Lock()
			w.start.Attempt = number
			w.mu.Unlock()
		}
		start := w.Start()
		start.Segment, start.Rows = next.number, next.before
		whole := appendRow(make([]byte, 0, len(next.bytes)+1024), &Row{Kind: StartRow, Step: start.From, Start: &start})
		whole = append(whole, next.bytes...)
		name := segmentName(w.number, w.start.ID, next.number)
		if err := w.st.Put(ctx, join(w.dir, name), whole, store.PutOptions{}); err != nil {
			return errs.Wrap(op, join(w.dir, name), err)
		}
		w.wrote(next)
		if !more {
			return nil
		}
	}
}

// next returns the first segment that the store lacks, or the tail if it has rows that the store
// lacks, or no segment. more reports whether another segment follows.
func (w *Writer) next() (next segment, more bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case len(w.sealed) > 0:
		return w.sealed[0], true
	case !w.begun, w.flushed == len(w.tail.bytes), len(w.tail.bytes) == 0 && w.tail.number > 1:
		return segment{}, false
	}
	return w.tail, false
}

// wrote notes that the store has a segment.
func (w *Writer) wrote(s segment) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case len(w.sealed) > 0 && w.sealed[0].number == s.number && len(w.sealed[0].bytes) == len(s.bytes):
		w.sealed[0] = segment{} // frees its memory
		w.sealed = w.sealed[1:]
		w.waiting -= len(s.bytes)
	case w.tail.number == s.number:
		w.flushed = len(s.bytes)
	}
}

// Close ends the flushes in the background and writes what is left, until ctx ends. It returns an
// error unless the store has all rows. Rows that are added later are dropped. Close may be called
// twice.
func (w *Writer) Close(ctx context.Context) error {
	w.mu.Lock()
	w.over = true
	lost := w.lost
	w.mu.Unlock()
	w.quit()
	w.done.Wait()
	err := w.Flush(ctx)
	if lost.Rows > 0 {
		err = errors.Join(err, &errs.Error{Kind: errs.Exhausted, Op: "journal.Close", Subject: w.dir,
			Want:   "all rows in the store",
			Got:    fmt.Sprintf("%d rows of steps %d to %d were dropped, because the store took none for too long", lost.Rows, lost.First, lost.Last),
			Remedy: "look for the reason in the warnings of the run"})
	}
	return err
}

// nextAttempt returns the number after the highest in the folder.
func nextAttempt(ctx context.Context, st store.Store, folder string) (int, error) {
	highest := 0
	for info, err := range st.List(ctx, folder) {
		if err != nil {
			if errs.KindOf(err) == errs.NotFound && !errors.Is(err, store.ErrNoStore) {
				break
			}
			return 0, err
		}
		if n, _, _, ok := parseName(info.Name); ok {
			highest = max(highest, n)
		}
	}
	return highest + 1, nil
}

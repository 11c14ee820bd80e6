package tensorboard

import (
	"errors"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/journal"
	"github.com/bivouac-ml/bivouac/store"
)

// PendingBytes is how much a Writer keeps of what the file system has not taken.
const PendingBytes = 64 << 20

// Writer writes the event file of an attempt while it runs. Its methods may be called concurrently.
// Step never waits for the file system.
type Writer struct {
	dir     string
	attempt *journal.Writer
	begin   float64 // of the attempt, in seconds since 1970

	mu      sync.Mutex
	pending []byte // records that no flush has taken
	behind  int    // bytes that the last flush left in rest
	dropped int64  // steps

	turn    sync.Mutex    // held by the flush under way, which owns what follows
	start   journal.Start // its Attempt may be 0
	rest    []byte        // records that the file lacks
	file    *os.File      // nil before the first flush
	size    int64
	damaged error // why the file cannot be continued
	closed  bool
}

// Open returns a Writer for the attempt that w records. It makes the directory if it does not
// exist. The event file appears with the first flush after the first one of w. The error is of kind
// errs.Unsupported for the URL of a bucket.
func Open(dir string, w *journal.Writer) (*Writer, error) {
	const op = "tensorboard.Open"
	if err := checkDirectory(op, dir); err != nil {
		return nil, err
	}
	start := w.Start()
	return &Writer{dir: dir, attempt: w, begin: wall(start.Time), start: start}, nil
}

// checkDirectory makes the directory if it does not exist.
func checkDirectory(op, dir string) error {
	if store.IsURL(dir) {
		return &errs.Error{Kind: errs.Unsupported, Op: op, Subject: dir, Want: "a directory of this machine",
			Got:    "the URL of a bucket",
			Remedy: "event files grow in place, which buckets do not have: name a local directory, and copy it afterwards"}
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return &errs.Error{Kind: errs.Invalid, Op: op, Subject: dir, Want: "a directory, or a name for a new one", Err: err}
	}
	return nil
}

// Step adds the scalars of a step, at a time after the start of the attempt.
func (w *Writer) Step(step int64, at journal.Seconds, scalars iter.Seq2[string, float64]) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.pending)+w.behind >= PendingBytes {
		w.dropped++
		return
	}
	w.pending = appendStep(w.pending, w.begin, at, step, scalars)
}

// Flush writes what was added before the call. After an error the records are kept, and the next
// flush tries again. Before the journal has given the attempt a number, Flush does nothing.
func (w *Writer) Flush() error {
	w.turn.Lock()
	defer w.turn.Unlock()
	if w.start.Attempt == 0 {
		number := w.attempt.Start().Attempt
		if number == 0 {
			return nil
		}
		w.start.Attempt = number
	}
	w.take()
	err := w.write()
	w.mu.Lock()
	w.behind = len(w.rest)
	w.mu.Unlock()
	return errs.Wrap("tensorboard.Flush", w.path(), err)
}

// take moves what was added to the rest.
func (w *Writer) take() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.rest) == 0 {
		w.rest, w.pending = w.pending, w.rest[:0]
		return
	}
	w.rest = append(w.rest, w.pending...)
	w.pending = w.pending[:0]
}

func (w *Writer) path() string { return filepath.Join(w.dir, fileName(w.start, byJob)) }

// write appends the rest to the file. A part of a record is taken back.
func (w *Writer) write() error {
	if w.damaged != nil {
		return w.damaged
	}
	if err := w.open(); err != nil || len(w.rest) == 0 {
		return err
	}
	n, err := w.file.Write(w.rest)
	if err == nil {
		w.size += int64(n)
		w.rest = w.rest[:0]
		return nil
	}
	if back := w.file.Truncate(w.size); back != nil && n > 0 {
		w.damaged = &errs.Error{Kind: errs.Corrupt, Want: "whole records", Got: "a part of one, which stays",
			Err: errors.Join(err, back), Remedy: "bivouac export --tensorboard writes the files anew from the journal"}
		return w.damaged
	}
	return err
}

// open makes the file, and makes it anew if it was deleted.
func (w *Writer) open() error {
	if w.file != nil {
		here, err := w.file.Stat()
		there, lost := os.Lstat(w.path())
		switch {
		case err == nil && lost == nil && os.SameFile(here, there):
			return nil
		case lost != nil && !errors.Is(lost, fs.ErrNotExist):
			return lost
		}
		w.file.Close() //nolint:errcheck // nobody can read it any more
		w.file = nil
	}
	if err := os.MkdirAll(w.dir, 0o777); err != nil {
		return err
	}
	f, err := os.OpenFile(w.path(), os.O_WRONLY|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	w.file, w.size = f, 0
	w.rest = append(appendHead(nil, w.start, w.begin, true), w.rest...)
	return nil
}

// Close writes what is left and closes the file. It returns an error unless the file has all steps.
// Steps that are added later are dropped. Close may be called twice.
func (w *Writer) Close() error {
	err := w.Flush()
	w.turn.Lock()
	defer w.turn.Unlock()
	if w.closed {
		return nil
	}
	w.closed = true
	if w.file != nil {
		err = errors.Join(err, w.file.Close())
		w.file = nil
	}
	w.damaged = &errs.Error{Kind: errs.Closed}
	w.mu.Lock()
	dropped := w.dropped
	w.mu.Unlock()
	if dropped > 0 {
		err = errors.Join(err, &errs.Error{Kind: errs.Exhausted, Op: "tensorboard.Close", Subject: w.path(),
			Want:   "all steps in the event file",
			Got:    strconv.FormatInt(dropped, 10) + " steps were dropped, because it took none for too long",
			Remedy: "bivouac export --tensorboard writes the files anew from the journal"})
	}
	return err
}

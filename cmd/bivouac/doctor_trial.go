package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
)

// trialName begins the name of what a trial makes.
const trialName = "bivouac-doctor-"

// examineDir commits a small save in a directory of its own below dir, and removes it.
func examineDir(ctx context.Context, dir string) (d dirFacts) {
	ctx, stop := context.WithTimeoutCause(ctx, patience, late(dir))
	defer stop()
	d = dirFacts{Path: dir}
	d.System, d.Free, d.FreeNames = fileSystem(dir)
	own, err := os.MkdirTemp(dir, "."+trialName)
	if err != nil {
		d.Err = &errs.Error{Kind: errs.Permission, Subject: dir, Want: "a directory that takes new names", Err: err,
			Remedy: "choose a directory that you may write to"}
		return d
	}
	defer func() {
		if err := os.RemoveAll(own); err != nil {
			d.Left = &errs.Error{Kind: errs.IO, Subject: own, Err: err, Remedy: "rm -r " + own}
		}
	}()
	st, err := local.Open(own, &local.Options{DirectFrom: 1})
	if err != nil {
		d.Err = err
		return d
	}
	began := time.Now()
	d.Direct, d.CommitErr = trialSave(ctx, st)
	d.Commit = time.Since(began)
	from := filepath.Join(own, "link")
	if err := os.WriteFile(from, []byte("x"), 0o600); err != nil {
		d.CommitErr = cmpErr(d.CommitErr, err)
		return d
	}
	d.Links = os.Link(from, from+"ed")
	lock, err := st.Lock(ctx, "locked")
	if err != nil {
		d.Lock = err
		return d
	}
	second, err := st.Lock(ctx, "locked")
	d.Exclusive = errs.KindOf(err) == errs.Busy
	if err == nil {
		second.Close() //nolint:errcheck // it was a trial
	}
	d.Lock = lock.Close()
	return d
}

// cmpErr returns the first error that is not nil.
func cmpErr(list ...error) error {
	for _, err := range list {
		if err != nil {
			return err
		}
	}
	return nil
}

// late returns the error of a trial that takes too long.
func late(where string) error {
	return &errs.Error{Kind: errs.IO, Op: "doctor", Subject: where, Want: "an answer within " + patience.String(),
		Got: "none"}
}

// trialSave commits a directory with a file and reads it back. direct says that the bytes went past
// the cache.
func trialSave(ctx context.Context, st store.Store) (direct bool, err error) {
	const final, name = "1", "data"
	content := bytes.Repeat([]byte("bivouac "), 1024)
	txn, err := st.Begin(ctx, final, store.TxnOptions{})
	if err != nil {
		return false, err
	}
	defer txn.Abort() //nolint:errcheck // the whole directory goes away
	w, err := txn.Create(ctx, name, int64(len(content)))
	if err != nil {
		return false, err
	}
	if err := cmpErr(w.WriteAt(ctx, content, 0), w.Seal(ctx)); err != nil {
		return false, err
	}
	direct = txn.Stats().Direct > 0
	if err := txn.Commit(ctx, store.Blob{Name: "manifest", Data: []byte("trial")}); err != nil {
		return direct, err
	}
	got, err := store.ReadAll(ctx, st, final+"/"+name)
	if err == nil && !bytes.Equal(got, content) {
		err = &errs.Error{Kind: errs.Corrupt, Subject: name, Want: "the bytes that were written", Got: "others"}
	}
	return direct, err
}

// examineStore puts, reads and removes a small object.
func examineStore(ctx context.Context, url string) (s storeFacts) {
	ctx, stop := context.WithTimeoutCause(ctx, patience, late(errs.WithoutSecrets(url)))
	defer stop()
	s = storeFacts{URL: errs.WithoutSecrets(url)}
	st, below, err := place(url).open(ctx)
	if err != nil {
		s.Err = err
		return s
	}
	name := path.Join(below, trialName+random())
	content := []byte("a trial of bivouac doctor; it may be removed\n")
	// The store asks the server for its laws before the first put.
	if s.Err = st.Put(ctx, name, content, store.PutOptions{IfAbsent: true}); s.Err != nil {
		if !errors.Is(s.Err, store.ErrUncertain) {
			s.Err = causeOf(ctx, s.Err)
			return s
		}
	}
	put := time.Now()
	defer func() {
		// Also after the end of the patience or an interruption: the object is ours.
		ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer stop()
		if err := st.RemoveTree(ctx, name); err != nil && errs.KindOf(err) != errs.NotFound {
			s.Left = err
		}
	}()
	err = st.Put(ctx, name, []byte("another"), store.PutOptions{IfAbsent: true})
	switch {
	case err == nil:
		s.Replaced = true
		return s
	case errs.KindOf(err) != errs.Exists:
		s.Err = causeOf(ctx, err)
		return s
	}
	began := time.Now()
	info, err := st.Stat(ctx, name)
	s.Trip = time.Since(began)
	if err != nil {
		s.Err = causeOf(ctx, err)
		return s
	}
	if !info.ModTime.IsZero() { // in whole seconds
		s.Skew, s.SkewKnown = put.Sub(info.ModTime), true
	}
	got, err := store.ReadAll(ctx, st, name)
	s.Err, s.Differs = causeOf(ctx, err), !bytes.Equal(got, content)
	return s
}

// causeOf returns err, or why its context ended.
func causeOf(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// random returns a name that nobody else has.
func random() string {
	var b [8]byte
	rand.Read(b[:]) //nolint:errcheck // it never fails
	return hex.EncodeToString(b[:])
}

// stopwatch compares the wall clock with the monotonic clock.
type stopwatch struct {
	began     time.Time
	backwards bool
}

// startClock reads the clocks.
func startClock() *stopwatch {
	w := &stopwatch{began: time.Now()}
	last := w.began
	for range 1000 {
		now := time.Now()
		w.backwards = w.backwards || now.Sub(last) < 0
		last = now
	}
	return w
}

// facts reads the clocks again. Sub of two times uses the monotonic clock unless one of them has
// none.
func (w *stopwatch) facts() clockFacts {
	now := time.Now()
	c := clockFacts{Wall: now, Backwards: w.backwards || now.Before(w.began), Built: builtTime(),
		Jump: now.Round(0).Sub(w.began.Round(0)) - now.Sub(w.began)}
	c.Synchronised, c.SyncKnown = synchronised()
	return c
}

package transfer_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint/transfer"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
)

var errFault = errors.New("a fault of the test")

// fault makes one call of a store fail.
type fault struct {
	mu   sync.Mutex
	left int // calls until then; below 0 it has happened
	what string
}

func (f *fault) hit(what string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.left--; f.left != 0 {
		return nil
	}
	f.what = what
	return &errs.Error{Kind: errs.IO, Op: what, Err: errFault}
}

func (f *fault) happened() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.what
}

// faulty is a store one of whose calls fails.
type faulty struct {
	store.Store
	f *fault
}

func (s faulty) Open(ctx context.Context, name string) (store.Reader, error) {
	if err := s.f.hit("Open"); err != nil {
		return nil, err
	}
	r, err := s.Store.Open(ctx, name)
	return faultyReader{r, s.f}, err
}

func (s faulty) List(ctx context.Context, dir string) iter.Seq2[store.Info, error] {
	return func(yield func(store.Info, error) bool) {
		for info, err := range s.Store.List(ctx, dir) {
			if !yield(info, err) {
				return
			}
		}
		if err := s.f.hit("List"); err != nil {
			yield(store.Info{}, err)
		}
	}
}

func (s faulty) Begin(ctx context.Context, final string, o store.TxnOptions) (store.Txn, error) {
	if err := s.f.hit("Begin"); err != nil {
		return nil, err
	}
	t, err := s.Store.Begin(ctx, final, o)
	return faultyTxn{t, s.f}, err
}

type faultyReader struct {
	store.Reader
	f *fault
}

func (r faultyReader) ReadAt(ctx context.Context, p []byte, off int64) error {
	if err := r.f.hit("ReadAt"); err != nil {
		return err
	}
	return r.Reader.ReadAt(ctx, p, off)
}

type faultyTxn struct {
	store.Txn
	f *fault
}

func (t faultyTxn) Create(ctx context.Context, name string, size int64) (store.Writer, error) {
	if err := t.f.hit("Create"); err != nil {
		return nil, err
	}
	w, err := t.Txn.Create(ctx, name, size)
	return faultyWriter{w, t.f}, err
}

func (t faultyTxn) Reread(ctx context.Context, name string) (store.Reader, error) {
	if err := t.f.hit("Reread"); err != nil {
		return nil, err
	}
	r, err := store.Reread(ctx, t.Txn, name)
	return faultyReader{r, t.f}, err
}

func (t faultyTxn) Commit(ctx context.Context, manifest store.Blob, markers ...store.Blob) error {
	if err := t.f.hit("Commit"); err != nil {
		return err
	}
	return t.Txn.Commit(ctx, manifest, markers...)
}

type faultyWriter struct {
	store.Writer
	f *fault
}

func (w faultyWriter) WriteAt(ctx context.Context, p []byte, off int64) error {
	if err := w.f.hit("WriteAt"); err != nil {
		return err
	}
	return w.Writer.WriteAt(ctx, p, off)
}

func (w faultyWriter) Seal(ctx context.Context) error {
	if err := w.f.hit("Seal"); err != nil {
		return err
	}
	return w.Writer.Seal(ctx)
}

// Every call of both stores fails in turn. The method that it belongs to says so, and a copy that
// has a name is whole.
func TestEveryCallFails(t *testing.T) {
	near := local.New(vfstest.NewMem(), "/a", nil)
	whole, _ := saved(t, near, "src", 40_000)
	seen := map[string]bool{}
	for n := 1; ; n++ {
		f := &fault{left: n}
		far := local.New(vfstest.NewMem(), "/b", nil)
		src := transfer.Place{Store: faulty{near, f}, Name: whole.Name, Text: "src"}
		dst := transfer.Place{Store: faulty{far, f}, Name: "dst", Text: "dst"}
		var made *transfer.Transfer
		var files []transfer.File
		for _, call := range []struct {
			name string
			do   func() error
		}{
			{"Files", func() (err error) { files, err = transfer.Files(t.Context(), src); return err }},
			{"New", func() (err error) {
				made, err = transfer.New(t.Context(), src, dst, files,
					&transfer.Options{Check: true, Budget: transfer.NewBudget(0, 1)})
				return err
			}},
			{"Run", func() error { return made.Run(t.Context()) }},
			{"Compare", func() error { return made.Compare(t.Context()) }},
			{"Present", func() error {
				same, err := made.Present(t.Context())
				if err == nil && !same {
					err = fmt.Errorf("the copy is not there")
				}
				return err
			}},
		} {
			err := call.do()
			what := f.happened()
			if (what == "") != (err == nil) || err != nil && !errors.Is(err, errFault) {
				t.Fatalf("call %d, %s failed: %s returned %v", n, what, call.name, err)
			}
			if err != nil {
				seen[call.name+" "+what] = true
				break
			}
		}
		if _, err := far.Stat(t.Context(), "dst"); err == nil {
			clean, err := transfer.New(t.Context(), whole, transfer.Place{Store: far, Name: "dst"}, must(t, whole), nil)
			if err != nil {
				t.Fatal(err)
			}
			if same, err := clean.Present(t.Context()); err != nil || !same {
				t.Fatalf("call %d, %s failed: a copy is there, and not whole: %v", n, f.what, err)
			}
		}
		if f.happened() == "" {
			break
		}
	}
	for _, want := range []string{"Files List", "New Open", "New ReadAt", "Run Begin", "Run Open", "Run ReadAt",
		"Run Create", "Run WriteAt", "Run Seal", "Run Reread", "Run Commit", "Compare Open", "Compare ReadAt", "Present List",
		"Present Open", "Present ReadAt"} {
		if !seen[want] {
			t.Errorf("never failed: %s; only %v", want, seen)
		}
	}
}

func must(t *testing.T, p transfer.Place) []transfer.File {
	t.Helper()
	files, err := transfer.Files(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// stuck is a store that removes nothing.
type stuck struct{ store.Store }

func (stuck) RemoveTree(context.Context, string) error { return errFault }

// A wrong copy that cannot be removed is told as both.
func TestWrongCopyThatStays(t *testing.T) {
	st := local.New(vfstest.NewMem(), "/a", nil)
	src, files := saved(t, st, "src", 1000)
	to := &bending{Store: stuck{local.New(vfstest.NewMem(), "/b", nil)}, file: "bivouac.manifest"}
	_, err := run(t, src, transfer.Place{Store: to, Name: "dst", Text: "dst"}, files, &transfer.Options{Check: true})
	if errs.KindOf(err) != errs.Corrupt || !errors.Is(err, errFault) {
		t.Errorf("%v", err)
	}
}

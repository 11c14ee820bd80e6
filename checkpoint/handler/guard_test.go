package handler_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint/handler"
	"github.com/bivouac-ml/bivouac/errs"
)

// of is a handler of strings whose Commit is given.
type of struct{ commit handler.Commit }

func (of) TypeString() string                                  { return "test.of" }
func (of) Handles(any) bool                                    { return true }
func (of) HandlesAbstract(any) handler.Verdict                 { return handler.No }
func (h of) Save(context.Context, any) (handler.Commit, error) { return h.commit, nil }
func (of) Load(context.Context, handler.Reader, any) (any, error) {
	return nil, nil
}
func (of) Metadata(context.Context, handler.Reader) (any, error) { return nil, nil }

// commit runs a Commit as engines do.
func commit(ctx context.Context, dir handler.Writer, c handler.Commit) error {
	protected, err := handler.Save(ctx, of{c}, "v")
	if err != nil {
		return err
	}
	return handler.Run(ctx, protected, dir)
}

// A Commit that ignores its context is left behind, named, and can write no more.
func TestCommitIsLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		enough, late := make(chan struct{}), make(chan error, 3)
		began := time.Now()
		var dir handler.Memory
		err := commit(ctx, &dir, func(ctx context.Context, w handler.Writer) error {
			f, err := w.Create(ctx, "open")
			if err != nil {
				return err
			}
			<-enough
			late <- w.Put(ctx, "late", nil)
			_, err = f.Write([]byte("late"))
			late <- err
			late <- f.Close()
			return nil
		})
		if !errors.Is(err, errs.Canceled) || !errors.Is(err, context.DeadlineExceeded) ||
			!strings.Contains(err.Error(), "handler test.of.Commit") {
			t.Errorf("%v", err)
		}
		if took := time.Since(began); took < time.Minute || took > 2*time.Minute {
			t.Errorf("after %v", took)
		}
		close(enough)
		for range 3 {
			if err := <-late; !errors.Is(err, errs.Closed) {
				t.Errorf("a late write: %v", err)
			}
		}
		if list, err := dir.List(ctx); err != nil || len(list) > 0 {
			t.Errorf("%v, %v", list, err)
		}
	})
}

// A Commit that returns when its context ends has its own error.
func TestCommitMinds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	own := errors.New("stopped")
	err := commit(ctx, &handler.Memory{}, func(ctx context.Context, _ handler.Writer) error {
		cancel()
		<-ctx.Done()
		return own
	})
	if !errors.Is(err, own) {
		t.Error(err)
	}
}

// full is a directory on a disk without room.
type full struct{ handler.Memory }

func (*full) Put(context.Context, string, []byte) error { return syscall.ENOSPC }

func (f *full) Create(ctx context.Context, name string) (io.WriteCloser, error) {
	if name == "none" {
		return nil, syscall.ENOSPC
	}
	return fullFile{}, nil
}

type fullFile struct{}

func (fullFile) Write(b []byte) (int, error) { return 0, syscall.ENOSPC }
func (fullFile) Close() error                { return nil }

// An error of the directory that a handler swallows fails the save.
func TestSwallowedErrors(t *testing.T) {
	for name, c := range map[string]struct {
		commit handler.Commit
		want   error
	}{
		"put":    {func(ctx context.Context, w handler.Writer) error { w.Put(ctx, "a", nil); return nil }, syscall.ENOSPC},
		"create": {func(ctx context.Context, w handler.Writer) error { w.Create(ctx, "none"); return nil }, syscall.ENOSPC},
		"write": {func(ctx context.Context, w handler.Writer) error {
			f, err := w.Create(ctx, "b")
			if err != nil {
				return err
			}
			f.Write([]byte("x"))
			return f.Close()
		}, syscall.ENOSPC},
		"a name": {func(ctx context.Context, w handler.Writer) error { w.Put(ctx, "../a", nil); return nil }, errs.Invalid},
	} {
		if err := commit(t.Context(), &full{}, c.commit); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Names that differ in case only are refused.
func TestCaseOfNames(t *testing.T) {
	for _, c := range []struct {
		names []string
		fits  bool
	}{
		{[]string{"a", "b", "d/a"}, true},
		{[]string{"weights", "Weights"}, false},
		{[]string{"d/a", "D/A"}, false},
		{[]string{"straße", "STRAßE"}, false},
		{[]string{"K", "\u212a"}, false}, // the sign of kelvin
	} {
		err := commit(t.Context(), &handler.Memory{}, func(ctx context.Context, w handler.Writer) error {
			for _, n := range c.names {
				if err := w.Put(ctx, n, nil); err != nil {
					return err
				}
			}
			return nil
		})
		if c.fits != (err == nil) || err != nil && !errors.Is(err, errs.Invalid) {
			t.Errorf("%q: %v", c.names, err)
		}
	}
}

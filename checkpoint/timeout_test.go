package checkpoint_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/handler"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
)

// endless is a store whose commits take as long as they may; those without a bound
// are quick.
type endless struct{ store.Store }

type endlessTxn struct{ store.Txn }

func (s endless) Begin(ctx context.Context, final string, o store.TxnOptions) (store.Txn, error) {
	txn, err := s.Store.Begin(ctx, final, o)
	return endlessTxn{txn}, err
}

func (t endlessTxn) Commit(ctx context.Context, last store.Blob, markers ...store.Blob) error {
	if _, bounded := ctx.Deadline(); bounded {
		<-ctx.Done()
	}
	return t.Txn.Commit(ctx, last, markers...)
}

// names lists the root of a store.
func names(t *testing.T, st store.Store) (out []string) {
	t.Helper()
	for e, err := range st.List(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, e.Name)
	}
	return out
}

func TestSaveTimeouts(t *testing.T) {
	const none, short = options.Unlimited, time.Millisecond
	for _, c := range []struct {
		background    bool
		timeout, save time.Duration
		late          bool
	}{
		{false, none, 0, false},
		{true, none, 0, false},
		{false, none, none, false},
		{true, none, none, false},
		{false, none, short, true},
		{true, none, short, true},
		{false, short, none, false}, // Timeout is of saves in the background
		{true, short, none, true},
		{true, short, time.Hour, true},
		{true, time.Hour, short, true},
	} {
		st := endless{local.New(vfstest.NewMem(), "/", nil)}
		o := &checkpoint.SaveOptions{Store: st}
		o.Asynchronous = options.Asynchronous{Timeout: c.timeout, SaveTimeout: c.save}
		state := map[string]any{"a": grid(30, 30)}
		var err error
		if c.background {
			r, begun := checkpoint.SaveAsync(t.Context(), "c", state, o)
			if begun != nil {
				t.Fatal(begun)
			}
			_, err = r.Result(t.Context())
		} else {
			err = checkpoint.Save(t.Context(), "c", state, o)
		}
		switch left := names(t, st); {
		case !c.late && err != nil:
			t.Errorf("%+v: %v", c, err)
		case c.late && (!errors.Is(err, errs.Canceled) || !errors.Is(err, context.DeadlineExceeded)):
			t.Errorf("%+v: %v, want a save that took too long", c, err)
		case c.late && len(left) > 0:
			t.Errorf("%+v: it left %q", c, left)
		}
	}
}

// patient is a value whose handler waits until the save is given up.
type patient struct {
	began chan struct{}
	fail  func(ctx context.Context) error
}

func (p patient) Save(context.Context) (handler.Commit, error) {
	return func(ctx context.Context, _ handler.Writer) error {
		close(p.began)
		<-ctx.Done()
		return p.fail(ctx)
	}, nil
}

func (patient) Load(context.Context, handler.Reader) (any, error)     { return nil, nil }
func (patient) Metadata(context.Context, handler.Reader) (any, error) { return nil, nil }

// Whatever handlers return when a save is given up, it was given up, and why is said;
// a failure of their own is one.
func TestHandlersAreGivenUp(t *testing.T) {
	own := errors.New("of its own")
	for name, c := range map[string]struct {
		fail func(context.Context) error
		kind errs.Kind
	}{
		"the end of the context":  {context.Context.Err, errs.Canceled},
		"the cause of that":       {context.Cause, errs.Canceled},
		"an error of the package": {func(context.Context) error { return &errs.Error{Kind: errs.Canceled} }, errs.Canceled},
		"a failure of its own":    {func(context.Context) error { return own }, errs.Other},
	} {
		for _, late := range []bool{false, true} {
			if late && c.kind == errs.Other {
				continue // who is slow gets there too late, which is not a failure of its own
			}
			st := local.New(vfstest.NewMem(), "/", nil)
			o := &checkpoint.SaveOptions{Store: st}
			why := context.Canceled
			if late {
				o.Asynchronous.Timeout, why = 20*time.Millisecond, context.DeadlineExceeded
			}
			w := patient{make(chan struct{}), c.fail}
			r, err := checkpoint.SaveCheckpointablesAsync(t.Context(), "c", map[string]any{"w": w}, o)
			if err != nil {
				t.Fatal(err)
			}
			if !late {
				<-w.began
				r.Cancel()
			}
			_, err = r.Result(t.Context())
			if errs.KindOf(err) != c.kind || c.kind == errs.Canceled && !errors.Is(err, why) || c.kind == errs.Other &&
				!errors.Is(err, own) {
				t.Errorf("%s, too late %v: %v", name, late, err)
			}
			if left := names(t, st); len(left) > 0 {
				t.Errorf("%s: it left %q", name, left)
			}
		}
	}
}

func TestPostFinalizationCallback(t *testing.T) {
	st := local.New(vfstest.NewMem(), "/", nil)
	var calls atomic.Int64
	o := &checkpoint.SaveOptions{Store: st}
	o.Asynchronous.PostFinalizationCallback = func() {
		calls.Add(1)
		if _, err := checkpoint.Load(context.Background(), "c", &checkpoint.LoadOptions{Store: st}); err != nil {
			t.Errorf("what was saved is not there: %v", err)
		}
	}
	save := func(o *checkpoint.SaveOptions) error {
		r, err := checkpoint.SaveAsync(t.Context(), "c", map[string]any{"a": grid(3, 3)}, o)
		if err != nil {
			return err
		}
		_, err = r.Result(t.Context())
		return err
	}
	late := *o
	late.Asynchronous.SaveTimeout = time.Nanosecond
	if err := save(&late); !errors.Is(err, errs.Canceled) || calls.Load() != 0 {
		t.Errorf("a save that failed: %v, %d calls", err, calls.Load())
	}
	if err := save(o); err != nil || calls.Load() != 1 {
		t.Errorf("a save: %v, %d calls", err, calls.Load())
	}
	if err := save(o); !errors.Is(err, errs.Exists) || calls.Load() != 1 {
		t.Errorf("a save that was refused: %v, %d calls", err, calls.Load())
	}
	o.Overwrite = true
	if err := checkpoint.Save(t.Context(), "c", map[string]any{"a": grid(3, 3)}, o); err != nil || calls.Load() != 1 {
		t.Errorf("a save that the caller waits for: %v, %d calls", err, calls.Load())
	}
}

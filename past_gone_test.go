package bivouac_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/bivouac-ml/bivouac"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/stream"
)

// removing removes a directory before the read of number left, as a save of another process does
// that keeps few steps.
type removing struct {
	store.Store
	dir string

	mu   sync.Mutex
	left int
}

func (r *removing) read() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.left == 0 {
		os.RemoveAll(r.dir) //nolint:errcheck // the test looks whether it is there
	}
	r.left--
}

func (r *removing) Open(ctx context.Context, name string) (store.Reader, error) {
	r.read()
	return r.Store.Open(ctx, name)
}

func (r *removing) Stat(ctx context.Context, name string) (store.Info, error) {
	r.read()
	return r.Store.Stat(ctx, name)
}

// gone returns a copy of a run of 12 steps with the saved steps 5, 10 and 12, in a store that
// removes step 10 before read number n.
func gone(t *testing.T, template string, n int) *removing {
	t.Helper()
	top := t.TempDir()
	if err := os.CopyFS(filepath.Join(top, "run"), os.DirFS(template)); err != nil {
		t.Fatal(err)
	}
	st, err := local.Open(top, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &removing{Store: st, dir: filepath.Join(top, "run", "10"), left: n}
}

// Whenever a step is removed while At reads it, stream and state are both of that step, or neither
// has changed. Without a state, the place of the step is found from another saved step.
func TestAtOfAStepThatIsRemoved(t *testing.T) {
	template := filepath.Join(t.TempDir(), "run")
	m := newModel()
	var kept model
	trainTo(t, template, &m, 12, bivouac.Options{}, func(step int64) {
		if step == 10 {
			kept = model{m.Sum, m.Hash, slices.Clone(m.Seen)}
		}
	})
	fresh := func() *closable {
		s, err := openLoader(18, 0)
		if err != nil {
			t.Fatal(err)
		}
		return &closable{s, t}
	}
	first := fresh()
	defer first.close()
	want := batchesOf(t, first, 13)
	for _, filled := range []bool{false, true} {
		t.Run(fmt.Sprint("with a state: ", filled), func(t *testing.T) {
			failed, other, whole := 0, 0, 0
			for n := 0; whole < 2; n++ { // until it is removed after all reads
				st := gone(t, template, n)
				data, back := fresh(), newModel()
				o := &bivouac.AtOptions{Store: st}
				if filled {
					o.State = &back
				}
				moved, err := bivouac.At(t.Context(), "run", 10, data, o)
				at := int64(10)
				switch {
				case err != nil && filled && errs.KindOf(err) == errs.NotFound:
					failed++
					at = 0 // where it stood
				case err != nil:
					t.Errorf("removed before read %d: %v", n, err)
				case moved.Saved != 10:
					other++
				case st.left >= 0:
					whole++
				}
				if filled && !same(back, kept) && (err == nil || !same(back, newModel())) {
					t.Errorf("removed before read %d: the state is %+v after %v", n, back, err)
				}
				if got := batchesOf(t, data, 1)[0]; got != want[at] {
					t.Errorf("removed before read %d: the next batch is %s after %v, want %s", n, got, err, want[at])
				}
				data.close()
				if n > 1000 {
					t.Fatal("the reads have no end")
				}
			}
			if filled && failed == 0 || !filled && other == 0 {
				t.Errorf("%d failed, %d from another step: the step never went", failed, other)
			}
		})
	}
}

// closable is a stream that is closed by hand in a loop.
type closable struct {
	stream.Stream[[]int64]
	t *testing.T
}

func (c *closable) close() {
	if err := c.Close(); err != nil {
		c.t.Error(err)
	}
}

// A state of another shape leaves the stream where it stood.
func TestAtWithAStateOfAnotherShape(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	m := newModel()
	trainTo(t, dir, &m, 12, bivouac.Options{}, func(int64) {})
	data, err := openLoader(18, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer data.Close() //nolint:errcheck // only read
	want := batchesOf(t, data, 3)
	state := map[string]any{"another": []float32{1}}
	_, err = bivouac.At(t.Context(), dir, 10, data, &bivouac.AtOptions{State: state})
	if errs.KindOf(err) != errs.Mismatch {
		t.Errorf("another shape: %v", err)
	}
	whole, err := openLoader(18, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer whole.Close() //nolint:errcheck // only read
	all := batchesOf(t, whole, 4)
	if got := batchesOf(t, data, 1)[0]; got != all[3] || strings.Join(want, "") != strings.Join(all[:3], "") {
		t.Errorf("the next batch is %s, want %s", got, all[3])
	}
}

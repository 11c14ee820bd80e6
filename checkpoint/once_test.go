package checkpoint_test

import (
	"context"
	"crypto/ed25519"
	"errors"
	"iter"
	"maps"
	"strconv"
	"sync"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/integrity"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/tensor"
)

// readCounter is a store that counts what is asked of it.
type readCounter struct {
	store.Store
	parallel int // as if the store were far

	mu       sync.Mutex
	requests int
	bytes    map[string]int64 // by file
	lists    map[string]int   // by directory
	stats    map[string]int   // by name
	opens    map[string]int   // by name
	closes   map[string]int   // by name
}

func newReadCounter(st store.Store, parallel int) *readCounter {
	return &readCounter{Store: st, parallel: parallel, bytes: map[string]int64{}, lists: map[string]int{},
		stats: map[string]int{}, opens: map[string]int{}, closes: map[string]int{}}
}

func (c *readCounter) Properties() store.Properties {
	p := c.Store.Properties()
	p.Parallel = c.parallel
	return p
}

func (c *readCounter) List(ctx context.Context, dir string) iter.Seq2[store.Info, error] {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lists[dir]++
	return c.Store.List(ctx, dir)
}

func (c *readCounter) Stat(ctx context.Context, name string) (store.Info, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stats[name]++
	return c.Store.Stat(ctx, name)
}

func (c *readCounter) Open(ctx context.Context, name string) (store.Reader, error) {
	r, err := c.Store.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.opens[name]++
	c.mu.Unlock()
	return countedReader{r, c, name}, nil
}

type countedReader struct {
	store.Reader
	c    *readCounter
	name string
}

func (r countedReader) Close() error {
	r.c.mu.Lock()
	r.c.closes[r.name]++
	r.c.mu.Unlock()
	return r.Reader.Close()
}

func (r countedReader) ReadAt(ctx context.Context, p []byte, off int64) error {
	r.c.mu.Lock()
	r.c.requests++
	r.c.bytes[r.name] += int64(len(p))
	r.c.mu.Unlock()
	return r.Reader.ReadAt(ctx, p, off)
}

// manySizes is a state with arrays of a few bytes, of some KiB and of several slabs.
func manySizes() map[string]any {
	state := map[string]any{"name": "text"}
	for i, n := range []int{3, 700, 5 << 10, 20 << 10, 21 << 10, 70 << 10, 300 << 10, 1 << 20, 9<<20 + 5} {
		a := tensor.New(tensor.Uint8, n)
		for k := range a.Data {
			a.Data[k] = byte(k>>9 ^ k*i)
		}
		state["a"+strconv.Itoa(i)] = a
	}
	return state
}

// In any layout, near and far, signed or not, Verify opens and reads each file once, and asks once
// for each list and each name. It closes what it opens. A signed checkpoint is compared in runs of
// a MiB, and a run that arrays share may be read twice. Over a network, small ranges are read again
// rather than read around.
func TestVerifyReadsOnce(t *testing.T) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, layout := range []options.Layout{options.DefaultLayout, options.OCDBTZarr2, options.PlainZarr3,
		options.PlainZarr2, options.SafetensorsLayout} {
		for _, signed := range []bool{false, true} {
			mem := local.New(vfstest.NewMem(), "/", nil)
			save := &checkpoint.SaveOptions{Store: mem}
			save.Bivouac.Layout = layout
			verify := integrity.VerifyOptions{}
			if signed {
				save.Signing, verify.Key = private, public
			}
			if err := checkpoint.Save(t.Context(), "c", manySizes(), save); err != nil {
				t.Fatal(err)
			}
			for _, parallel := range []int{0, 8} {
				st := newReadCounter(mem, parallel)
				verify.Store = st
				r, err := integrity.Verify(t.Context(), "c", &verify)
				if err != nil || !r.OK() {
					t.Fatalf("%v: %v, %v", layout, err, r)
				}
				var read int64
				for _, n := range st.bytes {
					read += n
				}
				most := 1.1
				if !signed && parallel == 0 {
					most = 1.005
				}
				if float64(read) > most*float64(r.Bytes) {
					t.Errorf("%v, signed %v, parallel %d: %d bytes read of %d", layout, signed, parallel, read, r.Bytes)
				}
				if !maps.Equal(st.opens, st.closes) {
					t.Errorf("%v, signed %v: opened %v, closed %v", layout, signed, st.opens, st.closes)
				}
				for _, asked := range []map[string]int{st.lists, st.stats, st.opens} {
					for name, n := range asked {
						if n > 1 && !signed {
							t.Errorf("%v: %q was asked for %d times", layout, name, n)
						}
					}
				}
			}
		}
	}
}

// Progress never goes back, and ends with all bytes of all files.
func TestVerifyTellsProgress(t *testing.T) {
	for _, compressed := range []bool{false, true} {
		mem := local.New(vfstest.NewMem(), "/", nil)
		save := &checkpoint.SaveOptions{Store: mem}
		if compressed {
			save.Bivouac.Compression = options.Zstd
		}
		if err := checkpoint.Save(t.Context(), "c", manySizes(), save); err != nil {
			t.Fatal(err)
		}
		var last, all int64
		calls := 0
		r, err := integrity.Verify(t.Context(), "c", &integrity.VerifyOptions{Store: mem, Progress: func(done, total int64) {
			if done < last || done > total || all != 0 && total != all {
				t.Errorf("%d of %d after %d of %d", done, total, last, all)
			}
			last, all = done, total
			calls++
		}})
		if err != nil || !r.OK() {
			t.Fatal(err, r)
		}
		manifest, err := mem.Stat(t.Context(), "c/bivouac.manifest")
		if err != nil {
			t.Fatal(err)
		}
		if want := r.Bytes - manifest.Size; last != want || all != want || calls < 5 {
			t.Errorf("%d of %d at the end of %d calls, want %d", last, all, calls, want)
		}
	}
}

// A verification that is cancelled at any time says so, and never that the checkpoint is sound.
func TestVerifyCancelledIsNotSound(t *testing.T) {
	mem := local.New(vfstest.NewMem(), "/", nil)
	if err := checkpoint.Save(t.Context(), "c", manySizes(), &checkpoint.SaveOptions{Store: mem}); err != nil {
		t.Fatal(err)
	}
	reason := errors.New("the caller has enough")
	for at := 1; ; at++ {
		ctx, cancel := context.WithCancelCause(t.Context())
		calls, ended := 0, false
		r, err := integrity.Verify(ctx, "c", &integrity.VerifyOptions{Store: mem, Progress: func(done, total int64) {
			if calls++; calls == at {
				ended = done == total
				cancel(reason)
			}
		}})
		cancel(nil)
		if err == nil && (calls < at || ended) {
			if !r.OK() {
				t.Fatal(r.Problems)
			}
			return
		}
		if errs.KindOf(err) != errs.Canceled || !errors.Is(err, reason) || r != nil {
			t.Errorf("cancelled at call %d: %v, %v", at, r, err)
		}
	}
}

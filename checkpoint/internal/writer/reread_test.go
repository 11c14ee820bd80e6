package writer

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/zarr"
	"github.com/bivouac-ml/bivouac/internal/arena"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// halfRead is a store of one file of zeros, of which the first half can be read.
type halfRead struct {
	store.Store // the rest is not called
	size        int64
	err         error
}

func (s halfRead) Open(context.Context, string) (store.Reader, error) { return s, nil }
func (s halfRead) Size() int64                                        { return s.size }
func (s halfRead) Close() error                                       { return nil }

func (s halfRead) ReadAt(_ context.Context, p []byte, off int64) error {
	if off >= s.size/2 {
		return s.err
	}
	clear(p)
	return nil
}

// A file of the base is not taken for whole where half of it cannot be read, though
// both halves are the same.
func TestRereadOfHalf(t *testing.T) {
	const size = 2 * rereadBytes
	f := &file{size: size, hashed: true, units: []*unit{{size: size, hash: manifest.HashOf(make([]byte, size))}}}
	at := content{size, f.hash()}
	for _, c := range []struct {
		err  error
		want errs.Kind // of link
	}{
		{&errs.Error{Kind: errs.IO, Err: syscall.EIO}, errs.Other},
		{&errs.Error{Kind: errs.Canceled, Err: context.Canceled}, errs.Canceled},
	} {
		b := &base{st: halfRead{size: size, err: c.err}, every: 1, files: map[content]twin{at: {name: "a/f"}}}
		linked, err := b.link(t.Context(), nil, "f", f)
		if linked || errs.KindOf(err) != c.want || c.want == errs.Other && (err != nil || b.damaged.Load() != 1) {
			t.Errorf("%v: linked %v, %v, %d damaged", c.err, linked, err, b.damaged.Load())
		}
	}
}

// savedBeside saves an array of zeros, and then beside it one that is read by the
// function given.
func savedBeside(t *testing.T, read func(p []byte) error) error {
	t.Helper()
	ctx, st := t.Context(), local.New(vfstest.NewMem(), "/", nil)
	save := func(name string, read func(p []byte) error) error {
		lazy := Lazy{DType: tensor.Float32, Shape: tensor.Shape{1 << 15},
			Read: func(_ context.Context, _ zarr.Box, dst []byte) error { return read(dst) }}
		items, err := testItems(map[string]any{"state": tree.NewDict().Set("x", tree.NewLeaf(lazy))})
		if err != nil {
			return err
		}
		memory, err := arena.Open(0, arena.Options{})
		if err != nil {
			return err
		}
		defer memory.Close() //nolint:errcheck // nothing is lost
		w, err := snapshot(items, InPlace, Options{Memory: memory, Dedup: &Dedup{Store: st, Bases: []string{"a"}}})
		if err != nil {
			return err
		}
		defer w.Close()
		txn, err := st.Begin(ctx, name, store.TxnOptions{LinksOnly: true})
		if err == nil {
			_, err = w.Write(ctx, txn)
		}
		return err
	}
	zeros := func(p []byte) error { clear(p); return nil }
	if err := save("a", zeros); err != nil {
		t.Fatal(err)
	}
	return save("b", read)
}

// A source that cannot be read once fails the save in which it is compared first.
func TestUnreadableBesideBase(t *testing.T) {
	own := errors.New("of the source")
	var tried atomic.Bool
	err := savedBeside(t, func(p []byte) error {
		clear(p)
		if !tried.Swap(true) {
			return own
		}
		return nil
	})
	if !errors.Is(err, own) {
		t.Error(err)
	}
}

// stingy gives bytes as long as it has some.
type stingy struct{ left int }

var errNoBytes = errors.New("no bytes any more")

func (s *stingy) Read(p []byte) (int, error) {
	if s.left -= len(p); s.left < 0 {
		return 0, errNoBytes
	}
	for i := range p {
		p[i] = byte(s.left + i)
	}
	return len(p), nil
}

// A save that cannot draw a name fails, whatever the name is for.
func TestNamesRunOut(t *testing.T) {
	for _, compression := range []options.Compression{options.Uncompressed, options.Zstd} {
		for n := 0; ; n += 4 {
			err := saveDrawing(t, compression, &stingy{n})
			if err == nil && n > 16 {
				break
			}
			if !errors.Is(err, errNoBytes) {
				t.Fatalf("compression %v, %d bytes: %v", compression, n, err)
			}
		}
	}
}

// saveDrawing saves an array, and draws names from random.
func saveDrawing(t *testing.T, compression options.Compression, random io.Reader) error {
	t.Helper()
	items, err := testItems(map[string]any{"state": tree.NewDict().Set("x",
		tree.NewLeaf(tensor.New(tensor.Float32, 1<<15)))})
	if err != nil {
		return err
	}
	memory, err := arena.Open(0, arena.Options{})
	if err != nil {
		return err
	}
	defer memory.Close() //nolint:errcheck // nothing is lost
	w, err := snapshot(items, InPlace, Options{Memory: memory, Storage: Storage{Compression: compression}, Random: random})
	if err != nil {
		return err
	}
	defer w.Close()
	txn, err := local.New(vfstest.NewMem(), "/", nil).Begin(t.Context(), "c", store.TxnOptions{})
	if err == nil {
		_, err = w.Write(t.Context(), txn)
	}
	return err
}

// Keys without the name of an implementation, or of other elements than words, are
// refused.
func TestKeysRefused(t *testing.T) {
	words := tensor.New(tensor.Uint32, 2)
	for what, k := range map[string]Key{"no name": {Data: words},
		"no words": {Impl: "fry", Data: tensor.New(tensor.Int8, 2)},
		"one word": {Impl: "fry", Data: tensor.New(tensor.Uint32)}} {
		if _, _, err := newSource(k); errs.KindOf(err) != errs.Invalid {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, ok, err := newSource(Key{Impl: "fry", Data: words}); !ok || err != nil {
		t.Error(err)
	}
}

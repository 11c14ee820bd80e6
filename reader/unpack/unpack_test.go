package unpack

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/seekable"
	"github.com/bivouac-ml/bivouac/reader/shards"
)

// contents are 3 MiB of lines.
var contents = sync.OnceValue(func() []byte {
	var b []byte
	r := rand.New(rand.NewPCG(1, 2))
	for len(b) < 3<<20 {
		b = fmt.Appendf(b, "line %d of text %d\n", len(b), r.IntN(1_000_000))
	}
	return b
})

// compressed returns the contents as gzip with two members, or as frames of zstd.
func compressed(k seekable.Kind) []byte {
	b := contents()
	if k == seekable.Zstd {
		e, _ := zstd.NewWriter(nil)
		var out []byte
		for len(b) > 0 {
			n := min(len(b), 300_000)
			out, b = e.EncodeAll(b[:n], out), b[n:]
		}
		return out
	}
	var out bytes.Buffer
	for _, part := range [][]byte{b[:1<<20+5], b[1<<20+5:]} {
		w := gzip.NewWriter(&out)
		w.Write(part) //nolint:errcheck // a Buffer takes everything
		w.Close()     //nolint:errcheck // a Buffer takes everything
	}
	return out.Bytes()
}

// open makes a file and shows its contents.
func open(t testing.TB, k seekable.Kind, budget int64) (*shards.Set, *View) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x."+k.String())
	if err := os.WriteFile(path, compressed(k), 0o666); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	set, err := shards.Open(ctx, "test", []string{path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { set.Close() })
	got, err := Detect(ctx, set, 0)
	if err != nil || got != k {
		t.Fatalf("%s, %v", got, err)
	}
	var list []seekable.Block
	size, err := seekable.Scan(k, set.Stored(ctx, 0), set.File(0).Size,
		func(b seekable.Block) error { list = append(list, b); return nil })
	if err != nil {
		t.Fatal(err)
	}
	v := New(set, 0, k, size, Of(list), NewCache(budget))
	set.Show(0, v)
	return set, v
}

// Any range equals the same range of the contents, from many goroutines, within any budget of the
// cache.
func TestAnyRange(t *testing.T) {
	ctx, want := context.Background(), contents()
	for _, k := range []seekable.Kind{seekable.Gzip, seekable.Zstd} {
		for _, budget := range []int64{0, 2 << 20, DefaultBudget} {
			set, v := open(t, k, budget)
			if set.Size(0) != int64(len(want)) {
				t.Fatalf("%d bytes, want %d", set.Size(0), len(want))
			}
			r := rand.New(rand.NewPCG(7, uint64(budget)))
			for range 40 {
				off := r.IntN(len(want) + 1)
				n := r.IntN(min(len(want)-off, 1200<<10) + 1)
				p := make([]byte, n)
				if err := set.ReadAt(ctx, 0, p, int64(off)); err != nil || !bytes.Equal(p, want[off:off+n]) {
					t.Fatalf("%d bytes at %d: %v", n, off, err)
				}
				if err := set.ReadAt(ctx, 0, p, int64(len(want)-n+1)); !errors.Is(err, errs.Corrupt) {
					t.Fatalf("beyond the end: %v", err)
				}
			}
			var group sync.WaitGroup
			for g := range 4 {
				group.Go(func() {
					r := rand.New(rand.NewPCG(uint64(g), 3))
					p := make([]byte, 1000)
					for range 20 {
						off := r.IntN(len(want) - len(p))
						if err := v.ReadAt(ctx, p, int64(off)); err != nil || !bytes.Equal(p, want[off:off+len(p)]) {
							t.Errorf("offset %d: %v", off, err)
						}
					}
				})
			}
			group.Wait()
			if v.cache.blocks.Bytes() > max(budget, 2<<20) {
				t.Errorf("%d bytes in a cache of %d", v.cache.blocks.Bytes(), budget)
			}
		}
	}
}

// Blocks that do not fit the file are errors.
func TestDamagedBlocks(t *testing.T) {
	ctx := context.Background()
	set, v := open(t, seekable.Gzip, DefaultBudget)
	p := make([]byte, 10)
	failed := &errs.Error{Kind: errs.Corrupt, Want: "a sound column"}
	good := v.blocks
	for name, blocks := range map[string]Blocks{
		"none":        Of(nil),
		"a gap":       {Len: 1, Out: func(int64) (int64, error) { return 100, nil }, Block: good.Block},
		"shifted":     {Len: good.Len, Out: func(i int64) (int64, error) { return i * 2_500_000, nil }, Block: good.Block},
		"an error":    {Len: good.Len, Out: func(int64) (int64, error) { return 0, failed }, Block: good.Block},
		"another one": {Len: good.Len, Out: good.Out, Block: func(int64) (seekable.Block, error) { return seekable.Block{}, failed }},
		"outside": {Len: good.Len, Out: good.Out, Block: func(i int64) (seekable.Block, error) {
			b, err := good.Block(i)
			b.In += 8 * set.File(0).Size
			return b, err
		}},
		"other bytes": {Len: good.Len, Out: good.Out, Block: func(i int64) (seekable.Block, error) {
			b, err := good.Block(i)
			b.Sum++
			return b, err
		}},
	} {
		w := New(set, 0, seekable.Gzip, v.size, blocks, NewCache(0))
		off := int64(0)
		if name == "shifted" {
			off = 2_499_990
		}
		if err := w.ReadAt(ctx, p, off); !errors.Is(err, errs.Corrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := v.ReadAt(ctx, nil, 0); err != nil {
		t.Errorf("nothing: %v", err)
	}
}

// BenchmarkRandom reads 1 KiB at random places without a cache. BenchmarkSequential reads on.
func BenchmarkRandom(b *testing.B) {
	_, v := open(b, seekable.Gzip, 0)
	p := make([]byte, 1024)
	r := rand.New(rand.NewPCG(1, 2))
	for b.Loop() {
		if err := v.ReadAt(b.Context(), p, int64(r.IntN(3<<20-1024))); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSequential(b *testing.B) {
	_, v := open(b, seekable.Gzip, DefaultBudget)
	p := make([]byte, 1024)
	b.SetBytes(1024)
	off := int64(0)
	for b.Loop() {
		if off = (off + 1024) % (3<<20 - 1024); v.ReadAt(b.Context(), p, off) != nil {
			b.Fatal("not read")
		}
	}
}

package writer

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/internal/crc"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// Whatever the shape: sub-chunks tile the chunk, the chunk covers the array with
// less than one row a sub-chunk of padding, and every sub-chunk is one run of
// the source of about the size that was asked for.
func TestCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.SampledFrom([]tensor.DType{tensor.Uint8, tensor.Float32, tensor.Complex128}).Draw(t, "dtype")
		shape := tensor.Shape{}
		for range rapid.IntRange(0, 4).Draw(t, "rank") {
			shape = append(shape, rapid.OneOf(rapid.IntRange(1, 9), rapid.IntRange(1, 20_000),
				rapid.IntRange(1, 40_000_000)).Draw(t, "extent"))
			if shape.Len() > 1<<32 {
				shape = shape[:len(shape)-1]
			}
		}
		l := cut(d, shape, nil, Storage{})
		if shape.Len()*d.Size() <= subChunkBytes {
			if l.Chunk != nil || l.SubChunk != nil {
				t.Fatalf("%v%v is small and was cut: %+v", d, shape, l)
			}
			return
		}
		if sub := tensor.Shape(l.SubChunk).Len() * d.Size(); sub > 2*subChunkBytes {
			t.Fatalf("%v%v: sub-chunks of %d bytes", d, shape, sub)
		}
		last := -1 // axis that is cut last: those before it are cut into single rows
		for i, n := range shape {
			c, s := l.Chunk[i], l.SubChunk[i]
			if c%s != 0 || c < n || c-n >= c/s {
				t.Fatalf("%v%v: axis %d: chunk %d, sub-chunk %d", d, shape, i, c, s)
			}
			if s != n || c != n {
				last = i
			}
		}
		for i := range max(last, 0) {
			if l.SubChunk[i] != 1 {
				t.Fatalf("%v%v: sub-chunks %v are not runs of the source: axis %d and axis %d are cut", d, shape, l.SubChunk, i,
					last)
			}
		}
		if _, err := newForm(d, shape, l); err != nil {
			t.Fatal(err)
		}
	})
}

// The checksums of the manifest, combined by arithmetic, equal the checksums of the bytes. Small
// arrays, which lie in the nodes, have only the checksums of the nodes.
func TestSumsAreThoseOfTheBytes(t *testing.T) {
	ctx := context.Background()
	r := rand.New(rand.NewPCG(1, 2))
	root, plain := tree.NewDict(), map[string]tensor.Tensor{}
	for name, shape := range map[string][]int{
		"prime": {3, 1_500_007}, "wide": {2, 3 << 20}, "even": {4096, 1024}, "small": {7}, "inline": {3}, "none": {0, 4}, "rank0": {},
	} {
		x := tensor.New(tensor.Float32, shape...)
		for i := range x.Data {
			x.Data[i] = byte(r.Uint32())
		}
		plain[name] = x
		root.Set(name, tree.NewLeaf(x))
	}
	items, err := testItems(map[string]any{"state": root})
	if err != nil {
		t.Fatal(err)
	}
	w, err := snapshot(items, Copy, Options{Memory: dirty{}, Now: func() time.Time { return time.Unix(5, 0) }})
	if err != nil {
		t.Fatal(err)
	}
	fsys := vfstest.NewMem()
	st := local.New(fsys, "/", nil)
	txn, err := st.Begin(ctx, "c", store.TxnOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(ctx, txn); err != nil {
		t.Fatal(err)
	}
	b, err := store.ReadAll(ctx, st, "c/"+manifest.Name)
	if err != nil {
		t.Fatal(err)
	}
	m, err := manifest.Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range m.Files {
		b, err := store.ReadAll(ctx, st, "c/"+f.Name)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.CheckFile(f.Name, b); err != nil {
			t.Error(err)
		}
		if end, ok := m.NodesOf(f.Name); ok && manifest.HashOf(b[len(b)-int(end.Size):]) != end.Hash {
			t.Errorf("%s ends in other nodes than the manifest says", f.Name)
		}
	}
	if len(m.Nodes) != 1 {
		t.Errorf("%d records of nodes", len(m.Nodes))
	}
	for name, x := range plain {
		l, ok := m.Leaf("state", name)
		if small := name == "small" || name == "inline" || name == "rank0"; small == ok {
			t.Errorf("%s: a record: %v", name, ok)
		}
		if ok && (l.Size != int64(len(x.Data)) || l.CRC != crc.Sum(x.Data)) {
			t.Errorf("%s: manifest says %+v, the bytes have %08x", name, l, crc.Sum(x.Data))
		}
	}
}

// dirty is memory that was used before.
type dirty struct{}

func (dirty) Alloc(n, _ int) ([]byte, error) {
	b := make([]byte, n)
	for i := range b {
		b[i] = 0xa5
	}
	return b, nil
}

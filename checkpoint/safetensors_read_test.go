package checkpoint_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/format/safetensors"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/tensor"
)

// listingStore remembers the sizes of reads.
type listingStore struct {
	store.Store
	mu    *sync.Mutex
	sizes *[]int
}

func (s listingStore) Open(ctx context.Context, name string) (store.Reader, error) {
	r, err := s.Store.Open(ctx, name)
	return listingReader{r, s}, err
}

type listingReader struct {
	store.Reader
	st listingStore
}

func (r listingReader) ReadAt(ctx context.Context, p []byte, off int64) error {
	r.st.mu.Lock()
	*r.st.sizes = append(*r.st.sizes, len(p))
	r.st.mu.Unlock()
	return r.Reader.ReadAt(ctx, p, off)
}

// How reads of a safetensors file are put together and cut follows the options.
func TestSafetensorsReads(t *testing.T) {
	const rows, columns = 256, 40_000 // of 160 kB a row
	dir := t.TempDir()
	var b bytes.Buffer
	x := grid(rows, columns)
	if err := safetensors.Write(&b, map[string]tensor.Tensor{"x": x}, nil); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "x.safetensors"), b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	disk, err := local.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	column := func(checkpoint.LeafInfo) checkpoint.Want {
		return checkpoint.Want{Boxes: []checkpoint.Box{{Origin: []int{0, 8}, Shape: []int{rows, 100}}}}
	}
	for name, c := range map[string]struct {
		how         options.Safetensors
		want        func(checkpoint.LeafInfo) checkpoint.Want
		reads, most int // of the array
		bytes       int
	}{
		"columns":               {options.Safetensors{}, column, rows, 400, rows * 400},
		"columns, in vain":      {options.Safetensors{MaxOverReadRatio: 1000}, column, 44, 1 << 20, 2 * rows * columns * 4},
		"columns, little":       {options.Safetensors{MaxOverReadRatio: 10}, column, rows, 400, rows * 400},
		"whole":                 {options.Safetensors{}, nil, 11, 4 << 20, rows * columns * 4},
		"whole, large reads":    {options.Safetensors{ReadChunkBytes: 16 << 20}, nil, 3, 16 << 20, rows * columns * 4},
		"whole, small reads":    {options.Safetensors{ReadChunkBytes: 100_000}, nil, 2 * rows * columns * 4 / 100_000, 100_000, rows * columns * 4},
		"columns, cut":          {options.Safetensors{MaxOverReadRatio: 1000, ReadChunkBytes: 50_000}, column, 2 * rows * columns * 4 / 50_000, 50_000, 2 * rows * columns * 4},
		"columns, nothing else": {options.Safetensors{MaxOverReadRatio: 1}, column, rows, 400, rows * 400},
	} {
		var sizes []int
		o := checkpoint.LoadOptions{Store: listingStore{disk, new(sync.Mutex), &sizes}, Want: c.want}
		o.Safetensors = c.how
		got, err := checkpoint.Load(t.Context(), "x.safetensors", &o)
		if err != nil {
			t.Fatal(name, err)
		}
		if v := got.Get("x").Value.(tensor.Tensor); c.want == nil && !bytes.Equal(v.Data, x.Data) {
			t.Errorf("%s: other elements", name)
		} else if c.want != nil {
			for i := range rows {
				from := (i*columns + 8) * 4
				if !bytes.Equal(v.Data[i*400:(i+1)*400], x.Data[from:from+400]) {
					t.Fatalf("%s: row %d", name, i)
				}
			}
		}
		sizes = slices.DeleteFunc(sizes, func(n int) bool { return n < 400 && n != 400 }) // of the header
		total := 0
		for _, n := range sizes {
			total += n
		}
		if len(sizes) > c.reads || slices.Max(sizes) > c.most || total > c.bytes {
			t.Errorf("%s: %d reads of up to %d, %d bytes; want %d, %d, %d", name, len(sizes), slices.Max(sizes), total, c.reads,
				c.most, c.bytes)
		}
		if slices.Max(sizes)*2 < c.most && c.most > 400 {
			t.Errorf("%s: reads of up to %d only", name, slices.Max(sizes))
		}
	}
}

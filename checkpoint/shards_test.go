package checkpoint_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/integrity"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/layout"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/zarr"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// divide cuts a tensor at the given places of each axis.
func divide(x tensor.Tensor, cuts [][]int) checkpoint.Shards {
	s := checkpoint.Shards{DType: x.DType, Shape: x.Shape}
	var walk func(axis int, box zarr.Box)
	walk = func(axis int, box zarr.Box) {
		if axis == len(x.Shape) {
			part := tensor.New(x.DType, box.Shape...)
			zarr.CopyBox(box, part.Data, zarr.WholeBox(x.Shape), x.Data, x.DType.Size())
			s.Parts = append(s.Parts, checkpoint.Shard{Origin: box.Origin, Data: part})
			return
		}
		from := 0
		for _, to := range append(append([]int{}, cuts[axis]...), x.Shape[axis]) {
			if to > from {
				walk(axis+1, zarr.Box{Origin: append(append([]int{}, box.Origin...), from),
					Shape: append(append([]int{}, box.Shape...), to-from)})
			}
			from = max(from, to)
		}
	}
	walk(0, zarr.Box{})
	return s
}

// Shards, on a regular grid or not, are the array that they make up.
func TestShardsAreOneArray(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := rapid.SliceOfN(rapid.IntRange(1, 40), 1, 3).Draw(t, "shape")
		d := rapid.SampledFrom([]tensor.DType{tensor.Float32, tensor.Uint8, tensor.Float8E4M3FN}).Draw(t, "dtype")
		x := noise(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1)), d, shape...)
		regular := rapid.Bool().Draw(t, "regular")
		cuts := make([][]int, len(shape))
		for k, n := range shape {
			step := rapid.IntRange(1, n).Draw(t, "step")
			for at := step; at < n; at += step {
				cuts[k] = append(cuts[k], at)
				if !regular {
					step = rapid.IntRange(1, n).Draw(t, "step")
				}
			}
		}
		o := rapid.SampledFrom(storages()).Draw(t, "storage")
		if o.Layout != options.SafetensorsLayout {
			o.Array.Saving.Storage.ShardAxes = drawAxes(t, len(shape))
		}
		o.Store = local.New(vfstest.NewMem(), "/", nil)
		m := manner(rapid.SampledFrom([]manner{waiting, copying, handingOver}).Draw(t, "manner"))
		node, err := tree.Options{KeepUnknown: true}.From(map[string]any{"x": divide(x, cuts)})
		if err == nil {
			err = saveIn(context.Background(), m, node, o)
		}
		if err != nil {
			t.Fatal(err)
		}
		got, err := checkpoint.Load(context.Background(), "c", &checkpoint.LoadOptions{Store: o.Store})
		if err != nil {
			t.Fatal(err)
		}
		if d := tree.Diff(tree.NewDict().Set("x", tree.NewLeaf(x)), got); len(d) > 0 {
			t.Fatalf("loaded differs:\n%s", tree.FormatDiff(d))
		}
		report, err := integrity.Verify(context.Background(), "c", &integrity.VerifyOptions{Store: o.Store})
		if err != nil || !report.OK() {
			t.Fatalf("%+v, %v", report, err)
		}
	})
}

// Shards that do not tile the shape are refused: the error names leaf and place.
func TestShardsMustTile(t *testing.T) {
	x := noise(rand.New(rand.NewPCG(1, 1)), tensor.Float32, 6, 4)
	for want, spoil := range map[string]func(*checkpoint.Shards){
		"gap at [3:6,2:4]": func(s *checkpoint.Shards) { s.Parts = s.Parts[:3] },
		"overlap":          func(s *checkpoint.Shards) { s.Parts[1].Origin = []int{0, 1} },
		"inside of [6,4]":  func(s *checkpoint.Shards) { s.Parts[3].Origin = []int{4, 2} },
		"float32":          func(s *checkpoint.Shards) { s.Parts[0].Data.DType = tensor.Int32 },
	} {
		s := divide(x, [][]int{{3}, {2}})
		spoil(&s)
		err := checkpoint.Save(context.Background(), "c", map[string]any{"leaf": s},
			&checkpoint.SaveOptions{Store: local.New(vfstest.NewMem(), "/", nil)})
		if text := fmt.Sprint(err); errs.KindOf(err) != errs.Invalid || !strings.Contains(text, want) ||
			!strings.Contains(text, "leaf") {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// tallying counts the bytes that are read from data files.
type tallying struct {
	store.Store
	bytes *atomic.Int64
}

func (c tallying) Open(ctx context.Context, name string) (store.Reader, error) {
	r, err := c.Store.Open(ctx, name)
	if err != nil || !strings.Contains(name, "/d/") {
		return r, err
	}
	return tallied{r, c.bytes}, nil
}

type tallied struct {
	store.Reader
	bytes *atomic.Int64
}

func (r tallied) ReadAt(ctx context.Context, p []byte, off int64) error {
	r.bytes.Add(int64(len(p)))
	return r.Reader.ReadAt(ctx, p, off)
}

// All boxes of a reshard together read little more than their bytes, and so does
// one box along an axis that was named, or that shards lie along.
func TestReshardReadsItsBytes(t *testing.T) {
	ctx := context.Background()
	x := noise(rand.New(rand.NewPCG(3, 1)), tensor.Float32, 1536, 2048)
	for name, c := range map[string]struct {
		value any
		axes  []int
	}{
		"named":          {x, []int{1}},
		"both":           {x, []int{0, 1}},
		"rows":           {divide(x, [][]int{{384, 768, 1152}, nil}), []int{1}},
		"columns":        {divide(x, [][]int{nil, {256, 512, 768, 1024, 1280, 1536, 1792}}), nil},
		"plain columns":  {x, []int{1}},
		"columns to six": {divide(x, [][]int{nil, {512, 1024, 1536}}), []int{1}},
	} {
		var n atomic.Int64
		st := tallying{local.New(vfstest.NewMem(), "/", nil), &n}
		if err := checkpoint.Save(ctx, "c", map[string]any{"x": c.value},
			&checkpoint.SaveOptions{Options: options.Options{Array: options.Array{Saving: options.ArraySaving{Storage: options.Storage{ShardAxes: c.axes}}}}, Store: st}); err != nil {
			t.Fatal(err)
		}
		total := int64(0)
		const columns = 8
		for i := range columns {
			ck, err := layout.Open(ctx, st, "c")
			if err != nil {
				t.Fatal(err)
			}
			tr, err := ck.Tree(ctx, "state")
			if err != nil {
				t.Fatal(err)
			}
			box := zarr.Box{Origin: []int{0, i * 2048 / columns}, Shape: []int{1536, 2048 / columns}}
			got, want := make([]byte, box.Len()*4), make([]byte, box.Len()*4)
			n.Store(0)
			if err := tr.Leaves[0].ReadBox(ctx, box, got); err != nil {
				t.Fatal(err)
			}
			zarr.CopyBox(box, want, zarr.WholeBox(x.Shape), x.Data, 4)
			if string(got) != string(want) {
				t.Fatalf("%s: other values in %v", name, box)
			}
			if read := n.Load(); float64(read) > 1.3*float64(len(want)) {
				t.Errorf("%s: %v of %d bytes reads %d", name, box, len(want), read)
			}
			total += n.Load()
			if err := tr.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if float64(total) > 1.05*float64(len(x.Data)) {
			t.Errorf("%s: all boxes read %d of %d bytes", name, total, len(x.Data))
		}
	}
}

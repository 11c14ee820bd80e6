package reader

import (
	"context"
	"sync/atomic"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/npy"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/reader/internal/cache"
	"github.com/bivouac-ml/bivouac/reader/shards"
	"github.com/bivouac-ml/bivouac/tensor"
)

var npzArrays = arrayFormat{name: "readers.npz", open: openNpz}

func init() {
	Register(op.Schema{
		Name: "npz", Module: []string{"readers"},
		Doc: "Reads rows of the arrays in npz files: sample i has row i of each array. The arrays of a file have equal numbers of rows, " +
			"and the rows of one name are equal in dtype and shape in all files. An array that is compressed, big-endian or in Fortran " +
			"order is read as a whole.",
		Outputs: []op.Port{{Name: "columns", Doc: "one output for each of columns, in their order: a row of the array"}},
		Params: arrayParams(
			op.Parameter{Name: "verify", Type: op.Bool, Default: true, Tuning: true,
				Doc: "Whether the checksum of an array is compared, once, before its first row is read. That reads the whole array."},
			op.Parameter{Name: "cache_bytes", Type: op.Int, Default: 256 << 20, Tuning: true, Doc: "Memory for arrays that are read as a whole."},
		),
		OutputCount: countColumns(npzArrays),
	}, Opener{Outputs: specsOfColumns(npzArrays), Open: openNpzFiles})
}

func openNpzFiles(ctx context.Context, c *op.Config) (Source, error) {
	s, err := openArrays(ctx, c, npzArrays)
	if err != nil {
		return nil, err
	}
	type array struct{ file, column int }
	whole := cache.New[array, []byte](int64(max(0, op.Get[int](c, "cache_bytes"))))
	s.elements = func(ctx context.Context, file, column int) ([]byte, error) {
		return whole.Get(ctx, array{file, column}, func(ctx context.Context) ([]byte, int64, error) {
			b, err := s.files[file].contents.load(ctx, s.columns[column].name)
			return b, int64(len(b)), err
		})
	}
	if op.Get[bool](c, "verify") {
		verified := make([]atomic.Bool, len(s.files)*len(s.columns))
		s.verify = func(ctx context.Context, file, column int) error {
			done := &verified[file*len(s.columns)+column]
			if done.Load() {
				return nil
			}
			err := s.files[file].contents.check(ctx, s.columns[column].name)
			if err == nil {
				done.Store(true)
			}
			return err
		}
	}
	return s, nil
}

// openNpz reads the directory of a file.
func openNpz(ctx context.Context, set *shards.Set, i int) (a arrayContents, err error) {
	// Arrays are read long after the context of Open ended.
	r := set.Reader(context.WithoutCancel(ctx), i)
	archive, err := npy.OpenArchive(r, r.Size(), npy.Options{})
	if err != nil {
		return a, errs.Wrap("", set.Path(i), err)
	}
	named := func(err error) error { return errs.Wrap("", set.Path(i), err) }
	return arrayContents{
		names: archive.Names(),
		find: func(name string) (p arrayPlace, err error) {
			stored, ok, err := archive.Stored(name)
			if err != nil {
				return p, err
			}
			p = arrayPlace{name: name, spec: tensor.Spec{DType: stored.DType, Shape: stored.Shape}, offset: stored.Offset}
			if !ok {
				p.offset = -1
			}
			return p, nil
		},
		check: func(_ context.Context, name string) error { return named(archive.Check(name)) },
		load: func(_ context.Context, name string) ([]byte, error) {
			x, err := archive.Read(name)
			return x.Data, named(err)
		},
	}, nil
}

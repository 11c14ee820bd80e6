package reader

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"sync/atomic"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/litdata"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/reader/datafs"
	"github.com/bivouac-ml/bivouac/reader/internal/cache"
	"github.com/bivouac-ml/bivouac/reader/internal/columns"
	"github.com/bivouac-ml/bivouac/reader/internal/loaderargs"
	"github.com/bivouac-ml/bivouac/reader/shards"
	"github.com/bivouac-ml/bivouac/state"
	"github.com/bivouac-ml/bivouac/tensor"
)

const litdataName = "readers.litdata"

func init() {
	Register(op.Schema{
		Name: "litdata", Module: []string{"readers"},
		Doc: "Reads data sets that litdata writes: a folder with an index.json and chunks. Each leaf of a sample is an output. " +
			"Numbers are scalars, arrays keep their type, and texts, bytes, JSON and encoded images are bytes. " +
			"Data of tokens are read in blocks. Compressed chunks are expanded once and kept, within cache_bytes.",
		Outputs: []op.Port{{Name: "column", Doc: "the value of a leaf"}},
		Params: loaderargs.With(
			op.Parameter{Name: "path", Type: op.String, Required: true, Tuning: true, Doc: "The folder with the index.json."},
			op.Parameter{Name: "columns", Type: op.Strings,
				Doc: "Names of the leaves, an output each, such as label or meta.id; by default all."},
			op.Parameter{Name: "block_size", Type: op.Int,
				Doc: "Tokens of a sample, of data that litdata's TokensLoader reads. What is left at the end of a chunk is left out, as there."},
			loaderargs.CacheBytes,
		),
		OutputCount: func(c *op.Config) (int, error) {
			specs, err := litdataOutputs(c)
			return len(specs), err
		},
	}, Opener{Outputs: litdataOutputs, Open: func(ctx context.Context, c *op.Config) (Source, error) {
		return openLitdata(ctx, c)
	}})
}

// litdataSet is the samples of the chunks of litdata.
type litdataSet struct {
	info     Info
	set      *shards.Set
	index    *litdata.Index
	first    []int64 // the first sample of each chunk, and the number of samples
	tables   []atomic.Pointer[litdata.Table]
	chosen   []int // the leaves that are outputs
	specs    []tensor.Spec
	block    int64 // tokens of a sample, of tokens
	expanded *cache.Cache[int, []byte]
	scratch  cache.Buffers
}

func litdataOutputs(c *op.Config) ([]tensor.Spec, error) {
	l, err := openLitdata(context.Background(), c)
	if err != nil {
		return nil, err
	}
	return l.specs, l.Close()
}

func openLitdata(ctx context.Context, c *op.Config) (_ *litdataSet, err error) {
	if err := loaderargs.Check(c); err != nil {
		return nil, err
	}
	dir := op.Get[string](c, "path")
	if datafs.Base(dir) == litdata.IndexName {
		dir = datafs.Dir(dir)
	}
	l := &litdataSet{expanded: cache.New[int, []byte](int64(op.Get[int](c, "cache_bytes")))}
	if l.index, err = litdataIndex(ctx, dir); err != nil {
		return nil, err
	}
	l.block = int64(op.Get[int](c, "block_size"))
	switch given := c.Given("block_size"); {
	case l.index.Tokens && !given:
		return nil, c.Invalid("block_size", "the number of tokens of a sample: the data do not say it", "no number", "")
	case !l.index.Tokens && given:
		return nil, c.Invalid("block_size", "no number: these samples are not tokens", fmt.Sprint(l.block), "")
	case l.index.Tokens && l.block < 1:
		return nil, c.Invalid("block_size", "at least 1", fmt.Sprint(l.block), "")
	}
	var paths []string
	h := state.NewHasher("bivouac.readers.litdata.v1")
	for i, chunk := range l.index.Chunks {
		n := chunk.Samples
		if l.index.Tokens {
			n = chunk.Dim / l.block
		}
		paths = append(paths, datafs.Join(dir, chunk.Filename))
		l.first = append(l.first, l.info.Samples)
		l.info.Samples += n
		l.info.Files = append(l.info.Files, n)
		h.Int(n)
		h.Int(l.index.Chunks[i].Bytes)
	}
	l.first = append(l.first, l.info.Samples)
	if l.info.Samples == 0 {
		return nil, &errs.Error{Kind: errs.Invalid, Op: litdataName, Subject: dir, Want: "at least one sample",
			Got: fmt.Sprintf("no sample in %d chunks", len(paths))}
	}
	for _, f := range l.index.Fields {
		h.String(fmt.Sprintf("%q %s %d", f.Name, f.Kind, f.Type))
	}
	h.Int(l.block)
	l.info.Format, l.info.Fingerprint = litdataName, h.Sum()
	l.tables = make([]atomic.Pointer[litdata.Table], len(paths))
	if l.set, err = shards.Open(ctx, litdataName, paths); err != nil {
		return nil, err
	}
	for i, chunk := range l.index.Chunks {
		if got := l.set.Size(i); !l.index.Zstd && got != chunk.Bytes {
			err = &errs.Error{Kind: errs.Corrupt, Op: litdataName, Subject: l.set.Path(i),
				Want: fmt.Sprintf("%d bytes, as index.json says", chunk.Bytes), Got: fmt.Sprint(got),
				Remedy: "the chunk was cut or replaced; copy it again"}
			return nil, errors.Join(err, l.set.Close())
		}
	}
	if err := l.choose(ctx, c); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// litdataIndex reads the index of a folder.
func litdataIndex(ctx context.Context, dir string) (*litdata.Index, error) {
	if err := datafs.Check(dir); err != nil {
		return nil, errs.Wrap(litdataName, "", err)
	}
	path := datafs.Join(dir, litdata.IndexName)
	set, err := shards.Open(ctx, litdataName, []string{path})
	if err != nil {
		return nil, err
	}
	defer set.Close() //nolint:errcheck // only read
	text, err := set.ReadFile(ctx, 0, mostIndex)
	if err != nil {
		return nil, errs.Wrap(litdataName, "", err)
	}
	x, err := litdata.ParseIndex(text)
	return x, errs.Wrap(litdataName, path, err)
}

// choose finds the leaves that are outputs, and what they will be.
func (l *litdataSet) choose(ctx context.Context, c *op.Config) (err error) {
	names := make([]string, len(l.index.Fields))
	for i, f := range l.index.Fields {
		names[i] = f.Name
	}
	if l.chosen, err = columns.Choose(c, "columns", names); err != nil {
		return err
	}
	for _, at := range l.chosen {
		f := &l.index.Fields[at]
		spec, err := f.Spec()
		if err != nil {
			return errs.Wrap(litdataName, "leaf "+f.Name, err)
		}
		if l.index.Tokens {
			spec.Shape = tensor.Shape{int(l.block)}
		}
		if spec.Shape == nil { // the first sample tells
			err := l.read(ctx, 0, func(sample []byte) error {
				leaves, err := litdata.Split(nil, sample, len(l.index.Fields))
				if err != nil {
					return err
				}
				v, err := f.Decode(leaves[at])
				spec = tensor.Spec{DType: v.DType, Shape: tensor.Shape{}}
				for range v.Shape {
					spec.Shape = append(spec.Shape, -1)
				}
				return errs.Wrap("", "leaf "+f.Name, err)
			})
			if err != nil {
				return errs.Wrap(litdataName, l.Describe(0), err)
			}
		}
		l.specs = append(l.specs, spec)
	}
	return nil
}

// Info implements Source.
func (l *litdataSet) Info() Info { return l.info }

// Fields implements Fielded: the names of the leaves.
func (l *litdataSet) Fields() []string {
	names := make([]string, len(l.chosen))
	for i, at := range l.chosen {
		names[i] = l.index.Fields[at].Name
	}
	return names
}

// Close implements Source.
func (l *litdataSet) Close() error {
	l.expanded.Clear()
	return l.set.Close()
}

// find returns the chunk of a sample.
func (l *litdataSet) find(id int64) int {
	return sort.Search(len(l.first), func(i int) bool { return l.first[i] > id }) - 1
}

// Size implements Source.
func (l *litdataSet) Size(id int64) int64 {
	i := l.find(id)
	if t := l.tables[i].Load(); t != nil && !l.index.Tokens {
		at := id - l.first[i]
		return int64((*t)[at+1]) - int64((*t)[at])
	}
	return l.index.Chunks[i].Bytes / (l.first[i+1] - l.first[i])
}

// Describe implements Source.
func (l *litdataSet) Describe(id int64) string {
	i := l.find(id)
	return fmt.Sprintf("sample %d of chunk %s", id-l.first[i], l.set.Path(i))
}

// chunk returns the bytes of a compressed chunk.
func (l *litdataSet) chunk(ctx context.Context, i int) ([]byte, error) {
	return l.expanded.Get(ctx, i, func(ctx context.Context) ([]byte, int64, error) {
		raw := make([]byte, l.set.Size(i))
		if err := l.set.ReadAt(ctx, i, raw, 0); err != nil {
			return nil, 0, err
		}
		b, err := litdata.Expand(raw, l.index.Chunks[i].Bytes)
		return b, int64(len(b)), err
	})
}

// table returns where the samples of a chunk begin. whole is the chunk if it is compressed.
func (l *litdataSet) table(ctx context.Context, i int, whole []byte) (litdata.Table, error) {
	if t := l.tables[i].Load(); t != nil {
		return *t, nil
	}
	chunk := l.index.Chunks[i]
	b := whole
	if !l.index.Zstd {
		b = make([]byte, min(litdata.TableSize(chunk.Samples), chunk.Bytes))
		if err := l.set.ReadAt(ctx, i, b, 0); err != nil {
			return nil, err
		}
	}
	t, err := litdata.ParseTable(b, chunk.Samples, chunk.Bytes)
	if err == nil && l.index.Tokens {
		size := int64(l.tokens().DType.Size())
		if got := chunk.Bytes - int64(t[0]); got != chunk.Dim*size {
			err = &errs.Error{Kind: errs.Corrupt, Want: fmt.Sprintf("%d tokens of %d bytes, as index.json says", chunk.Dim,
				size),
				Got: fmt.Sprintf("%d bytes", got)}
		}
	}
	if err != nil {
		return nil, err
	}
	l.tables[i].Store(&t)
	return t, nil
}

// tokens describes the tokens.
func (l *litdataSet) tokens() tensor.Spec {
	spec, _ := l.index.Fields[0].Spec() // choose checked it
	return spec
}

// read calls f with the bytes of a sample, which f must not keep nor change.
func (l *litdataSet) read(ctx context.Context, id int64, f func(sample []byte) error) error {
	i := l.find(id)
	var whole []byte
	var err error
	if l.index.Zstd {
		if whole, err = l.chunk(ctx, i); err != nil {
			return err
		}
	}
	t, err := l.table(ctx, i, whole)
	if err != nil {
		return err
	}
	at := id - l.first[i]
	var from, to int64
	if l.index.Tokens {
		n := l.block * int64(l.tokens().DType.Size())
		from = int64(t[0]) + at*n
		to = from + n
	} else {
		from, to = int64(t[at]), int64(t[at+1])
	}
	if whole != nil {
		return f(whole[from:to])
	}
	b := l.scratch.Get(int(to - from))
	defer l.scratch.Put(b)
	if err := l.set.ReadAt(ctx, i, *b, from); err != nil {
		return err
	}
	return f(*b)
}

// Fetch implements Source.
func (l *litdataSet) Fetch(ctx context.Context, ids []int64, dst *op.Block) error {
	return Each(ctx, ids, dst, func(id int64, s int) error {
		return l.read(ctx, id, func(sample []byte) error { return l.decode(sample, s, dst) })
	})
}

// decode puts a sample into the outputs.
func (l *litdataSet) decode(sample []byte, s int, dst *op.Block) error {
	var room [16][]byte
	leaves := append(room[:0], sample)
	if !l.index.Tokens {
		var err error
		if leaves, err = litdata.Split(room[:0], sample, len(l.index.Fields)); err != nil {
			return err
		}
	}
	for i, at := range l.chosen {
		f := &l.index.Fields[at]
		v, err := f.Decode(leaves[at])
		if err != nil {
			return errs.Wrap("", "leaf "+f.Name, err)
		}
		if v.DType != l.specs[i].DType || len(v.Shape) != len(l.specs[i].Shape) {
			return &errs.Error{Kind: errs.Mismatch, Subject: "leaf " + f.Name,
				Want:   fmt.Sprintf("%s with %d axes, as in the first sample", l.specs[i].DType, len(l.specs[i].Shape)),
				Got:    fmt.Sprintf("%s%v", v.DType, v.Shape),
				Remedy: "write the leaf with one type and number of axes"}
		}
		copy(dst.Out(i, s, v.Shape...).Data, v.Data)
	}
	return nil
}

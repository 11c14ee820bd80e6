// Package parquet registers readers.parquet, which reads Parquet files.
//
//	import _ "github.com/bivouac-ml/bivouac/reader/parquet"
package parquet

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sort"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/reader"
	"github.com/bivouac-ml/bivouac/reader/internal/cache"
	"github.com/bivouac-ml/bivouac/reader/internal/columns"
	"github.com/bivouac-ml/bivouac/reader/internal/loaderargs"
	"github.com/bivouac-ml/bivouac/reader/shards"
	"github.com/bivouac-ml/bivouac/state"
	"github.com/bivouac-ml/bivouac/tensor"
)

const name = "readers.parquet"

func init() {
	reader.Register(op.Schema{
		Name: "parquet", Module: []string{"readers"},
		Doc: "Reads the rows of Parquet files. Each column is an output: numbers are scalars, strings and binaries are bytes, and lists of " +
			"numbers are arrays. A part of a struct is a column with a dot in its name. Pages are decoded once, their checksums are " +
			"verified, and they are kept within cache_bytes; a file with an offset index costs one page a row in any order.",
		Outputs: []op.Port{{Name: "column", Doc: "the value of a column"}},
		Params:  loaderargs.With(columns.Params("Paths of the files, in this order.")...),
		OutputCount: func(c *op.Config) (int, error) {
			specs, err := outputs(c)
			return len(specs), err
		},
	}, reader.Opener{Outputs: outputs, Open: func(ctx context.Context, c *op.Config) (reader.Source,
		error) {
		return open(ctx, c)
	}})
}

// source is the rows of the files.
type source struct {
	info   reader.Info
	set    *shards.Set
	files  []*file
	groups []group
	specs  []tensor.Spec
	fill   *columns.Fill // what nulls become; nil if they are refused
	chunks *cache.Cache[chunkKey, *chunk]
	parts  *cache.Cache[partKey, *values]

	dictionaries *cache.Cache[chunkKey, *dictionary]
}

// group is a row group with rows.
type group struct {
	file, number int
	first, rows  int64
	bytes        int64 // of the columns that are read
}

// chunkKey is a column of a row group.
type chunkKey struct{ file, group, column int }

type partKey struct {
	chunkKey
	part int
}

func outputs(c *op.Config) ([]tensor.Spec, error) {
	s, err := open(context.Background(), c)
	if err != nil {
		return nil, err
	}
	return s.specs, s.Close()
}

func open(ctx context.Context, c *op.Config) (_ *source, err error) {
	if err := loaderargs.CheckPaths(c, "paths"); err != nil {
		return nil, err
	}
	budget := int64(op.Get[int](c, "cache_bytes"))
	s := &source{chunks: cache.New[chunkKey, *chunk](budget / 16),
		dictionaries: cache.New[chunkKey, *dictionary](budget / 16), parts: cache.New[partKey, *values](budget - budget/8)}
	if s.fill, err = columns.NewFill(c); err != nil {
		return nil, err
	}
	if s.set, err = shards.Open(ctx, name, op.Get[[]string](c, "paths")); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			s.set.Close() //nolint:errcheck // the other error says more
		}
	}()
	s.set.AheadEnds(footer)
	h := state.NewHasher("bivouac.readers.parquet.v1")
	for i := range s.set.Len() {
		if err := s.add(ctx, c, i, h); err != nil {
			return nil, err
		}
	}
	if s.info.Samples == 0 {
		return nil, &errs.Error{Kind: errs.Invalid, Op: name, Subject: s.set.Path(0), Want: "at least one row",
			Got: fmt.Sprintf("no row in %d files", s.set.Len())}
	}
	s.info.Format, s.info.Fingerprint = name, h.Sum()
	return s, nil
}

// add adds the row groups of a file.
func (s *source) add(ctx context.Context, c *op.Config, i int, h *state.Hasher) error {
	// The library keeps the ReaderAt, and the context with it: reads of pages have a reader of
	// their own.
	f, err := openFile(s.set.Reader(ctx, i), s.set.Size(i))
	if err != nil {
		return errs.Wrap(name, s.set.Path(i), err)
	}
	names := make([]string, len(f.columns))
	for j := range f.columns {
		names[j] = f.columns[j].name
	}
	if i == 0 {
		at, err := columns.Choose(c, "columns", names)
		if err != nil {
			return err
		}
		for _, j := range at {
			f.chosen, s.specs = append(f.chosen, f.columns[j]), append(s.specs, f.columns[j].spec)
			if err := s.fill.Check(c, f.columns[j].spec.DType); err != nil {
				return err
			}
		}
	} else {
		for j, first := range s.files[0].chosen {
			at, err := columns.Same(name, s.set.Path(i), first.name, names,
				func(k int) tensor.Spec { return f.columns[k].spec }, s.specs[j])
			if err != nil {
				return err
			}
			f.chosen = append(f.chosen, f.columns[at])
		}
	}
	for _, column := range f.chosen {
		if column.err != nil {
			return errs.Wrap(name, s.set.Path(i), column.err)
		}
	}
	s.files = append(s.files, f)
	h.Int(s.set.Size(i))
	for j := range f.Metadata().RowGroups {
		m := &f.Metadata().RowGroups[j]
		h.Int(m.NumRows)
		if m.NumRows == 0 {
			continue
		}
		g := group{file: i, number: j, first: s.info.Samples, rows: m.NumRows}
		for _, column := range f.chosen {
			if _, _, err := f.place(j, column); err != nil {
				return errs.Wrap(name, fmt.Sprintf("%s: column %q of row group %d", s.set.Path(i), column.name, j),
					err)
			}
			g.bytes += m.Columns[column.index].MetaData.TotalUncompressedSize
		}
		for k := range m.Columns {
			h.Int(m.Columns[k].MetaData.DataPageOffset)
		}
		s.groups = append(s.groups, g)
		s.info.Samples += m.NumRows
	}
	for _, column := range f.columns {
		h.String(column.name)
		h.String(column.spec.DType.String() + column.spec.Shape.String())
	}
	return nil
}

const (
	footer      = 64 << 10 // bytes at the end of a file that are read first
	smallColumn = 4 << 20  // a column of a row group that is read ahead as a whole
)

// Files implements reader.Placed.
func (s *source) Files() *shards.Set { return s.set }

// Spans implements reader.Placed: the columns of the row group, except large ones, whose pages are
// requested when a row of them is read.
func (s *source) Spans(list []shards.Span, id int64) []shards.Span {
	g := s.find(id)
	f := s.files[g.file]
	for _, c := range f.chosen {
		from, to, err := f.place(g.number, c)
		if span := (shards.Span{File: g.file, Offset: from, Length: to - from}); err == nil &&
			span.Length <= smallColumn && !slices.Contains(list, span) {
			list = append(list, span)
		}
	}
	return list
}

// Fields implements reader.Fielded: the names of the columns.
func (s *source) Fields() []string {
	var names []string
	for _, column := range s.files[0].chosen {
		names = append(names, column.name)
	}
	return names
}

// Info implements reader.Source.
func (s *source) Info() reader.Info { return s.info }

// Close implements reader.Source.
func (s *source) Close() error {
	s.chunks.Clear()
	s.dictionaries.Clear()
	s.parts.Clear()
	return s.set.Close()
}

// find returns the row group of a row.
func (s *source) find(id int64) *group {
	return &s.groups[sort.Search(len(s.groups), func(i int) bool { return s.groups[i].first > id })-1]
}

// Size implements reader.Source.
func (s *source) Size(id int64) int64 {
	g := s.find(id)
	return max(0, g.bytes) / g.rows
}

// Describe implements reader.Source.
func (s *source) Describe(id int64) string {
	g := s.find(id)
	return fmt.Sprintf("row %d of row group %d of file %s", id-g.first, g.number, s.set.Path(g.file))
}

// Fetch implements reader.Source.
func (s *source) Fetch(ctx context.Context, ids []int64, dst *op.Block) error {
	return reader.Each(ctx, ids, dst, func(id int64, i int) error {
		g := s.find(id)
		for j, c := range s.files[g.file].chosen {
			if err := s.fetch(ctx, g, j, c, id-g.first, i, dst); err != nil {
				return err
			}
		}
		return nil
	})
}

// fetch reads the value of a column in a row of a row group.
func (s *source) fetch(ctx context.Context, g *group, output int, c *column, row int64, i int, dst *op.Block) error {
	limit := dst.Limits().MaxBytes
	v, at, err := s.values(ctx, g, c, row, limit)
	if err != nil {
		return errs.Wrap("", fmt.Sprintf("column %q", c.name), err)
	}
	switch {
	case len(c.lists) > 0:
		return s.list(v, c, at, output, i, dst)
	case v.null != nil && v.null[at]:
		return s.null(c, "null", output, i, dst)
	case c.isBytes():
		b := v.data[v.from[at]:v.to[at]]
		copy(dst.Out(output, i, len(b)).Data, b)
		return nil
	}
	w := c.width()
	copy(dst.Out(output, i, c.spec.Shape...).Data, v.data[at*w:(at+1)*w])
	return nil
}

// null puts what stands for a missing value into an output.
func (s *source) null(c *column, what string, output, i int, dst *op.Block) error {
	if s.fill == nil {
		return &errs.Error{Kind: errs.Mismatch, Subject: fmt.Sprintf("column %q", c.name), Want: "a value", Got: what,
			Remedy: "set nulls to the number that stands for null, or leave the column out"}
	}
	shape := make([]int, len(c.spec.Shape))
	for k, n := range c.spec.Shape {
		shape[k] = max(n, 0)
	}
	s.fill.Set(c.spec.DType, dst.Out(output, i, shape...).Data, nil)
	return nil
}

// list puts the array of a row into an output.
func (s *source) list(v *values, c *column, at, output, i int, dst *op.Block) error {
	depth, width := len(c.lists), c.width()
	from, to := int(v.rows[at]), int(v.rows[at+1])
	switch v.faults[at] {
	case missing:
		return s.null(c, "null", output, i, dst)
	case innerNull:
		if s.fill == nil {
			return s.null(c, "a list that is null", output, i, dst)
		}
	}
	shape, elements := make([]int, 0, 8), 1
	for _, n := range v.dims[at*depth : (at+1)*depth] {
		shape = append(shape, int(max(n, 0)))
		elements *= int(max(n, 0))
	}
	if v.faults[at] == ragged || elements != to-from {
		return &errs.Error{Kind: errs.Mismatch, Subject: fmt.Sprintf("column %q", c.name),
			Want: "inner lists of one length", Got: "lists of different lengths",
			Remedy: "a row must be an array; pad the inner lists when the file is written"}
	}
	var null []bool
	if v.null != nil {
		null = v.null[from:to]
		for _, is := range null {
			if is && s.fill == nil {
				return s.null(c, "a list with a null", output, i, dst)
			}
		}
	}
	out := dst.Out(output, i, append(shape, c.spec.Shape[depth:]...)...).Data
	copy(out, v.data[from*width:to*width])
	if s.fill != nil && null != nil {
		s.fill.Set(c.spec.DType, out, null)
	}
	return nil
}

// values returns the decoded values that have a row, and the place of the row in them.
func (s *source) values(ctx context.Context, g *group, c *column, row, limit int64) (*values, int, error) {
	f, key := s.files[g.file], chunkKey{g.file, g.number, c.index}
	x, err := s.chunks.Get(ctx, key, func(ctx context.Context) (*chunk, int64, error) {
		x, err := f.readChunk(s.reader(ctx, g.file), g.number, c, limit)
		if err != nil {
			return nil, 0, err
		}
		return x, 64 + 32*int64(len(x.parts)), nil
	})
	if err != nil {
		return nil, 0, err
	}
	k := sort.Search(len(x.parts), func(i int) bool { return x.parts[i].first > row }) - 1
	if k < 0 || row >= x.parts[k].first+x.parts[k].rows {
		return nil, 0, corrupt(fmt.Sprintf("a page with row %d", row), "none")
	}
	v, err := s.parts.Get(ctx, partKey{key, k}, func(ctx context.Context) (*values, int64, error) {
		d, err := s.dictionary(ctx, key, c, x, limit)
		if err != nil {
			return nil, 0, err
		}
		v, err := f.readPart(s.reader(ctx, g.file), g.number, c, d, x.parts[k], limit)
		if err != nil {
			return nil, 0, err
		}
		return v, v.size(), nil
	})
	return v, int(row - x.parts[k].first), err
}

// dictionary returns the dictionary of a chunk, which is empty if the chunk has none.
func (s *source) dictionary(ctx context.Context, key chunkKey, c *column, x *chunk, limit int64) (*dictionary, error) {
	if x.dictionary[0] == x.dictionary[1] {
		return &dictionary{}, nil
	}
	return s.dictionaries.Get(ctx, key, func(ctx context.Context) (*dictionary, int64, error) {
		d, err := s.files[key.file].readDictionary(s.reader(ctx, key.file), key.group, c, x, limit)
		if err != nil {
			return nil, 0, err
		}
		return d, d.size(), nil
	})
}

func (s *source) reader(ctx context.Context, file int) io.ReaderAt { return s.set.Reader(ctx, file) }

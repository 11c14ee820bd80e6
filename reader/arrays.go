package reader

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/reader/internal/loaderargs"
	"github.com/bivouac-ml/bivouac/reader/shards"
	"github.com/bivouac-ml/bivouac/state"
	"github.com/bivouac-ml/bivouac/tensor"
)

// arrayParams are the arguments of readers of named arrays, and more.
func arrayParams(more ...op.Parameter) []op.Parameter {
	return loaderargs.With(append([]op.Parameter{pathParam,
		{Name: "columns", Type: op.Strings,
			Doc: "Names of the arrays to read; by default all of the first file, sorted by name."}}, more...)...)
}

// arrayPlace is an array of a file.
type arrayPlace struct {
	name   string
	spec   tensor.Spec
	offset int64 // of its first element in the file, or < 0 if the elements do not lie there as in a tensor
}

// arrayFormat reads the headers of files of one format.
type arrayFormat struct {
	name string // of the reader
	// open returns the arrays of file i.
	open func(ctx context.Context, set *shards.Set, i int) (arrayContents, error)
}

// arrayContents are the arrays of a file.
type arrayContents struct {
	names []string // in any order
	find  func(name string) (arrayPlace, error)
	// check verifies the checksum of an array that lies in the file. It is nil if there is no
	// checksum.
	check func(ctx context.Context, name string) error
	// load returns all elements of an array. It is only called for arrays that do not lie in the file.
	load func(ctx context.Context, name string) ([]byte, error)
}

// arrayColumn is an array that becomes an output: row i belongs to sample i.
type arrayColumn struct {
	name  string
	dtype tensor.DType
	shape tensor.Shape // of a row
	bytes int64        // of a row
}

// arrayFile is a file of arrays.
type arrayFile struct {
	contents arrayContents
	places   []arrayPlace // of the columns
}

// arraySource is a data set of files with named arrays.
type arraySource struct {
	format  arrayFormat
	info    Info
	set     *shards.Set
	columns []arrayColumn
	files   []arrayFile
	starts  []int64 // the first sample of each file, and the number of samples
	// elements returns the elements of column c of a file, which do not lie there as in a tensor.
	elements func(ctx context.Context, file, c int) ([]byte, error)
	// verify is called before column c of a file is read.
	verify func(ctx context.Context, file, c int) error
}

// arrayColumns returns the columns that the arguments name, as they are in the first file.
func arrayColumns(ctx context.Context, c *op.Config, f arrayFormat) ([]arrayColumn, error) {
	if err := loaderargs.Check(c); err != nil {
		return nil, err
	}
	paths, err := pathsOf(ctx, c)
	if err != nil {
		return nil, err
	}
	set, err := shards.Open(ctx, f.name, paths[:1])
	if err != nil {
		return nil, err
	}
	defer set.Close()
	contents, err := f.open(ctx, set, 0)
	if err != nil {
		return nil, errs.Wrap(f.name, "", err)
	}
	names := op.Get[[]string](c, "columns")
	if len(names) == 0 {
		names = slices.Sorted(slices.Values(contents.names))
	}
	if len(names) == 0 {
		return nil, &errs.Error{Kind: errs.Invalid, Op: f.name, Subject: paths[0], Want: "at least one array", Got: "none"}
	}
	columns := make([]arrayColumn, len(names))
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return nil, c.Invalid("columns", "each array once", name+" twice", "")
		}
		p, err := contents.place(name)
		if err != nil {
			return nil, errs.Wrap(f.name, paths[0], err)
		}
		row := p.spec.Shape[1:]
		n, err := row.Bytes(p.spec.DType)
		if err != nil {
			return nil, errs.Wrap(f.name, paths[0], err)
		}
		columns[i] = arrayColumn{name, p.spec.DType, row, int64(n)}
	}
	return columns, nil
}

// place returns an array with at least one axis.
func (a *arrayContents) place(name string) (arrayPlace, error) {
	if !slices.Contains(a.names, name) {
		remedy := errs.DidYouMean(name, a.names)
		if remedy == "" {
			list := slices.Sorted(slices.Values(a.names))
			remedy = "the arrays are " + strings.Join(list[:min(len(list), 20)], ", ")
		}
		return arrayPlace{}, &errs.Error{Kind: errs.NotFound, Want: "array " + name,
			Got: fmt.Sprintf("%d other arrays", len(a.names)), Remedy: remedy}
	}
	p, err := a.find(name)
	if err != nil {
		return p, err
	}
	if len(p.spec.Shape) == 0 {
		return p, &errs.Error{Kind: errs.Unsupported, Subject: "array " + name,
			Want: "an array of at least one axis, whose rows are samples", Got: "a scalar",
			Remedy: "leave it out of columns"}
	}
	return p, nil
}

// openArrays opens all files.
func openArrays(ctx context.Context, c *op.Config, f arrayFormat) (*arraySource, error) {
	columns, err := arrayColumns(ctx, c, f)
	if err != nil {
		return nil, err
	}
	paths, err := pathsOf(ctx, c)
	if err != nil {
		return nil, err
	}
	set, err := shards.Open(ctx, f.name, paths)
	if err != nil {
		return nil, err
	}
	s := &arraySource{format: f, set: set, columns: columns, starts: []int64{0}}
	hash := state.NewHasher("bivouac." + f.name + ".v1")
	for _, c := range columns {
		hash.String(c.name)
		hash.String(c.dtype.String() + c.shape.String())
	}
	for i := range paths {
		if err := s.add(ctx, i, hash); err != nil {
			set.Close() //nolint:errcheck // the other error says more
			return nil, errs.Wrap(f.name, "", err)
		}
	}
	total := s.starts[len(paths)]
	if total == 0 {
		set.Close() //nolint:errcheck // the other error says more
		return nil, &errs.Error{Kind: errs.Invalid, Op: f.name, Subject: paths[0], Want: "at least one row",
			Got: fmt.Sprintf("no row in %d files", len(paths))}
	}
	s.info = Info{Format: f.name, Samples: total, Files: counts(s.starts[:len(paths)], total), Fingerprint: hash.Sum()}
	return s, nil
}

// add opens file i.
func (s *arraySource) add(ctx context.Context, i int, hash *state.Hasher) error {
	contents, err := s.format.open(ctx, s.set, i)
	if err != nil {
		return err
	}
	file := arrayFile{contents: contents}
	rows := int64(-1)
	for _, c := range s.columns {
		p, err := contents.place(c.name)
		if err != nil {
			return errs.Wrap("", s.set.Path(i), err)
		}
		if p.spec.DType != c.dtype || !p.spec.Shape[1:].Equal(c.shape) {
			return &errs.Error{Kind: errs.Mismatch, Subject: s.set.Path(i) + ", array " + c.name,
				Want: fmt.Sprintf("rows of %s%s, as in %s", c.dtype, c.shape, s.set.Path(0)),
				Got:  fmt.Sprintf("%s%s", p.spec.DType, p.spec.Shape[1:])}
		}
		n := int64(p.spec.Shape[0])
		if rows >= 0 && n != rows {
			return &errs.Error{Kind: errs.Mismatch, Subject: s.set.Path(i) + ", array " + c.name,
				Want: fmt.Sprintf("%d rows, as array %s has", rows, s.columns[0].name),
				Got:  fmt.Sprint(n), Remedy: "name arrays of equal length in columns"}
		}
		rows = n
		file.places = append(file.places, p)
	}
	s.files = append(s.files, file)
	s.starts = append(s.starts, s.starts[i]+rows)
	hash.Int(rows)
	if rows == 0 {
		return nil
	}
	b := make([]byte, 4096)
	for o, c := range s.columns { // the first and the last row tell other contents
		if p := file.places[o]; p.offset >= 0 {
			part := b[:min(int64(len(b)), c.bytes)]
			for _, row := range []int64{0, rows - 1} {
				if err := s.set.ReadAt(ctx, i, part, p.offset+row*c.bytes); err != nil {
					return err
				}
				hash.Bytes(part)
			}
		}
	}
	return nil
}

// Fields implements Fielded: the names of the arrays.
func (s *arraySource) Fields() []string {
	names := make([]string, len(s.columns))
	for i, c := range s.columns {
		names[i] = c.name
	}
	return names
}

func (s *arraySource) Info() Info { return s.info }

func (s *arraySource) Size(int64) (n int64) {
	for _, c := range s.columns {
		n += c.bytes
	}
	return n
}

func (s *arraySource) Describe(id int64) string {
	file := findRun(s.starts, id)
	return fmt.Sprintf("file %s, row %d", s.set.Path(file), id-s.starts[file])
}

func (s *arraySource) Close() error { return s.set.Close() }

func (s *arraySource) Fetch(ctx context.Context, ids []int64, dst *op.Block) error {
	return Each(ctx, ids, dst, func(id int64, i int) error {
		file := findRun(s.starts, id)
		for o := range s.columns {
			if err := s.fetch(ctx, file, id-s.starts[file], o, i, dst); err != nil {
				return errs.Wrap("", "array "+s.columns[o].name, err)
			}
		}
		return nil
	})
}

// fetch reads a row of a column.
func (s *arraySource) fetch(ctx context.Context, file int, row int64, o, i int, dst *op.Block) error {
	c, p := &s.columns[o], &s.files[file].places[o]
	if p.offset < 0 {
		all, err := s.elements(ctx, file, o)
		if err != nil {
			return err
		}
		copy(dst.Out(o, i, c.shape...).Data, all[row*c.bytes:(row+1)*c.bytes])
		return nil
	}
	if s.verify != nil {
		if err := s.verify(ctx, file, o); err != nil {
			return err
		}
	}
	return s.set.ReadAt(ctx, file, dst.Out(o, i, c.shape...).Data, p.offset+row*c.bytes)
}

// columnSpecs returns the specs of the outputs.
func columnSpecs(columns []arrayColumn) []tensor.Spec {
	specs := make([]tensor.Spec, len(columns))
	for i, c := range columns {
		specs[i] = tensor.Spec{DType: c.dtype, Shape: c.shape}
		if c.shape == nil {
			specs[i].Shape = tensor.Shape{}
		}
	}
	return specs
}

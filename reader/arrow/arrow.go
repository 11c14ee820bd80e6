// Package arrow registers readers.arrow, which reads Arrow IPC files and streams, such as the
// shards of Hugging Face data sets.
//
//	import _ "github.com/bivouac-ml/bivouac/reader/arrow"
package arrow

import (
	"context"
	"fmt"
	"sort"
	"sync"
	"sync/atomic"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/arrowipc"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/reader"
	"github.com/bivouac-ml/bivouac/reader/internal/cache"
	"github.com/bivouac-ml/bivouac/reader/internal/columns"
	"github.com/bivouac-ml/bivouac/reader/internal/loaderargs"
	"github.com/bivouac-ml/bivouac/reader/shards"
	"github.com/bivouac-ml/bivouac/state"
	"github.com/bivouac-ml/bivouac/tensor"
)

const name = "readers.arrow"

func init() {
	reader.Register(op.Schema{
		Name: "arrow", Module: []string{"readers"},
		Doc: "Reads the rows of Arrow IPC files and streams. Each column is an output: numbers are scalars, strings and binaries are bytes, " +
			"and lists of numbers are arrays. A part of a struct is a column with a dot in its name. A row is read alone where buffers are " +
			"not compressed; compressed buffers are expanded once and kept, within cache_bytes.",
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
	info    reader.Info
	set     *shards.Set
	batches []batch
	chosen  [][]*column // for each file
	specs   []tensor.Spec
	fill    *columns.Fill // what nulls become; nil if they are refused
	buffers *cache.Cache[place, []byte]
	values  sync.Map // what each part of a dictionary has for the field of its values
}

// place is where a buffer begins.
type place struct {
	file   int
	offset int64
}

// batch is a record batch with rows.
type batch struct {
	*arrowipc.Batch
	file, number int
	first        int64 // its first row
	fields       []*arrowipc.Field
	dictionaries map[int64][]*arrowipc.Batch
	places       *atomic.Pointer[map[*arrowipc.Field]arrowipc.Place]
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
	s := &source{buffers: cache.New[place, []byte](int64(op.Get[int](c, "cache_bytes")))}
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
	s.set.AheadEnds(64 << 10) // the footers
	h := state.NewHasher("bivouac.readers.arrow.v1")
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

// add adds the batches of a file.
func (s *source) add(ctx context.Context, c *op.Config, i int, h *state.Hasher) error {
	f, err := arrowipc.Open(s.set.Reader(ctx, i), s.set.Size(i))
	if err != nil {
		return errs.Wrap(name, s.set.Path(i), err)
	}
	list := columnsOf(f.Schema.Fields, "", nil)
	names := make([]string, len(list))
	for j := range list {
		names[j] = list[j].name
	}
	chosen := make([]*column, len(s.specs))
	if i == 0 {
		at, err := columns.Choose(c, "columns", names)
		if err != nil {
			return err
		}
		for _, j := range at {
			chosen = append(chosen, list[j])
			s.specs = append(s.specs, list[j].spec)
			if list[j].err != nil {
				return errs.Wrap(name, s.set.Path(i), list[j].err)
			}
			if err := s.fill.Check(c, list[j].spec.DType); err != nil {
				return err
			}
		}
	} else {
		for j, first := range s.chosen[0] {
			at, err := columns.Same(name, s.set.Path(i), first.name, names,
				func(k int) tensor.Spec { return list[k].spec }, s.specs[j])
			if err != nil {
				return err
			}
			if list[at].err != nil {
				return errs.Wrap(name, s.set.Path(i), list[at].err)
			}
			chosen[j] = list[at]
		}
	}
	s.chosen = append(s.chosen, chosen)
	h.Int(s.set.Size(i))
	for j, b := range f.Batches {
		h.Int(b.Rows)
		if b.Rows == 0 {
			if _, err := b.Places(f.Schema.Fields); err != nil {
				return errs.Wrap(name, fmt.Sprintf("%s: record batch %d", s.set.Path(i), j), err)
			}
			continue
		}
		s.batches = append(s.batches, batch{Batch: b, file: i, number: j, first: s.info.Samples,
			fields:       f.Schema.Fields,
			dictionaries: f.Dictionaries[j], places: &atomic.Pointer[map[*arrowipc.Field]arrowipc.Place]{}})
		s.info.Samples += b.Rows
	}
	for _, column := range list {
		h.String(column.name)
		h.String(column.spec.DType.String() + column.spec.Shape.String())
	}
	return nil
}

// Fields implements reader.Fielded: the names of the columns.
func (s *source) Fields() []string {
	var names []string
	for _, column := range s.chosen[0] {
		names = append(names, column.name)
	}
	return names
}

// Info implements reader.Source.
func (s *source) Info() reader.Info { return s.info }

// Close implements reader.Source.
func (s *source) Close() error {
	s.buffers.Clear()
	return s.set.Close()
}

// find returns the batch of a row.
func (s *source) find(id int64) *batch {
	return &s.batches[sort.Search(len(s.batches), func(i int) bool { return s.batches[i].first > id })-1]
}

// Size implements reader.Source.
func (s *source) Size(id int64) int64 {
	b := s.find(id)
	return b.Bytes() / b.Rows
}

// Describe implements reader.Source.
func (s *source) Describe(id int64) string {
	b := s.find(id)
	return fmt.Sprintf("row %d of record batch %d of file %s", id-b.first, b.number, s.set.Path(b.file))
}

// Fetch implements reader.Source.
func (s *source) Fetch(ctx context.Context, ids []int64, dst *op.Block) error {
	return reader.Each(ctx, ids, dst, func(id int64, i int) error { return s.fetch(ctx, id, i, dst) })
}

func (s *source) fetch(ctx context.Context, id int64, i int, dst *op.Block) error {
	b := s.find(id)
	places := b.places.Load()
	if places == nil {
		p, err := b.Places(b.fields)
		if err != nil {
			return err
		}
		places = &p
		b.places.Store(places)
	}
	v := &view{ctx: ctx, s: s, file: b.file, batch: b.Batch, places: *places, parts: b.dictionaries,
		limit: dst.Limits().MaxBytes}
	for j, c := range s.chosen[b.file] {
		v.out = func(shape tensor.Shape) []byte { return dst.Out(j, i, shape...).Data }
		if err := v.read(c, id-b.first); err != nil {
			return err
		}
	}
	return nil
}

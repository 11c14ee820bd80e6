package reader

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/lmdb"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/reader/datafs"
	"github.com/bivouac-ml/bivouac/reader/index"
	"github.com/bivouac-ml/bivouac/reader/shards"
	"github.com/bivouac-ml/bivouac/tensor"
)

// lmdbFormat finds the records of LMDB files. The key of a record is its key in the file.
var lmdbFormat = index.Format{
	Name: "lmdb",
	Scan: func(ctx context.Context, r *io.SectionReader, add func(index.Record) error) error {
		d, err := lmdb.Open(r, r.Size())
		if err != nil {
			return err
		}
		return d.Scan(ctx, func(e lmdb.Entry) error {
			return add(index.Record{Offset: e.Offset, Length: e.Length, Key: string(e.Key)})
		})
	},
}

// lmdbPath returns the file of a database: DALI's readers are given its folder.
func lmdbPath(ctx context.Context, path string) string {
	if info, err := datafs.Stat(ctx, path); err == nil && info.IsDir() {
		return datafs.Join(path, "data.mdb")
	}
	return path
}

// lmdbParam is the argument with the paths of databases.
var lmdbParam = op.Parameter{Name: "path", Type: op.Strings, Required: true, Tuning: true,
	Doc: "Folders of LMDB databases, or their files data.mdb. Their records come one database after the other, in the " +
		"order of their keys."}

// lmdbSource is the records of LMDB databases. decode makes a sample of one.
type lmdbSource struct {
	name   string
	info   Info
	given  []string // the paths as the arguments give them
	set    *shards.Set
	index  *index.Index
	files  []*lmdb.DB // of the set, for the sizes of their pages
	decode func(record []byte, s int, dst *op.Block) error
	memory sync.Pool
}

// openLMDB opens the databases that the argument path names.
func openLMDB(ctx context.Context, c *op.Config, decode func(record []byte, s int,
	dst *op.Block) error) (*lmdbSource, error) {
	name := c.Schema.FullName()
	s := &lmdbSource{name: name, given: op.Get[[]string](c, "path"), decode: decode}
	paths := make([]string, len(s.given))
	for i, path := range s.given {
		if err := datafs.Check(path); err != nil {
			return nil, errs.Wrap(name, "", err)
		}
		paths[i] = lmdbPath(ctx, path)
	}
	var err error
	if s.set, err = shards.Open(ctx, name, paths); err != nil {
		return nil, err
	}
	for i := range paths {
		d, err := lmdb.Open(s.set.Reader(ctx, i), s.set.Size(i))
		if err != nil {
			return nil, errs.Wrap(name, paths[i], err)
		}
		s.files = append(s.files, d)
	}
	if s.index, err = index.Find(ctx, name, s.set, lmdbFormat, ""); err != nil {
		return nil, err
	}
	if s.index.Records() == 0 {
		return nil, &errs.Error{Kind: errs.Invalid, Op: name, Subject: paths[0], Want: "at least one record", Got: "none"}
	}
	s.info = Info{Format: name, Samples: s.index.Records(), Fingerprint: s.index.Fingerprint()}
	return s, nil
}

func (s *lmdbSource) Info() Info { return s.info }

func (s *lmdbSource) Size(id int64) int64 { return s.index.Length(id) }

// Name implements Named.
func (s *lmdbSource) Name(id int64) string {
	span, err := s.index.Span(id)
	if err != nil {
		return ""
	}
	key, err := s.index.Key(id)
	if err != nil {
		return ""
	}
	return s.given[span.File] + " at key " + key
}

func (s *lmdbSource) Describe(id int64) string {
	span, err := s.index.Span(id)
	if err != nil {
		return fmt.Sprintf("record %d", id)
	}
	key, _ := s.index.Key(id)
	return fmt.Sprintf("file %s, key %q, offset %d", s.set.Path(span.File), key, span.Offset)
}

func (s *lmdbSource) Close() error {
	err := s.set.Close()
	if other := s.index.Close(); err == nil {
		err = other
	}
	return err
}

func (s *lmdbSource) Fetch(ctx context.Context, ids []int64, dst *op.Block) error {
	memory, _ := s.memory.Get().(*[]byte)
	if memory == nil {
		memory = new([]byte)
	}
	defer s.memory.Put(memory)
	return Each(ctx, ids, dst, func(id int64, i int) error {
		record, err := s.read(ctx, id, memory)
		if err == nil {
			err = s.decode(record, i, dst)
		}
		return err
	})
}

// read reads a record into memory.
func (s *lmdbSource) read(ctx context.Context, id int64, memory *[]byte) ([]byte, error) {
	span, err := s.index.Span(id)
	if err != nil {
		return nil, err
	}
	d := s.files[span.File]
	lead := d.Lead(span.Offset)
	if n := lead + int(span.Length); cap(*memory) < n {
		*memory = make([]byte, n)
	}
	b := (*memory)[:lead+int(span.Length)]
	if err := s.set.ReadAt(ctx, span.File, b, span.Offset-int64(lead)); err != nil {
		return nil, err
	}
	return b[lead:], d.CheckLead(b[:lead], span.Offset, span.Length)
}

// first returns the first record of the databases that the argument path names, for readers whose
// outputs depend on it.
func firstLMDB(c *op.Config) ([]byte, error) {
	ctx, name := context.Background(), c.Schema.FullName()
	paths := op.Get[[]string](c, "path")
	for _, path := range paths {
		if err := datafs.Check(path); err != nil {
			return nil, errs.Wrap(name, "", err)
		}
		path = lmdbPath(ctx, path)
		set, err := shards.Open(ctx, name, []string{path})
		if err != nil {
			return nil, err
		}
		record, err := firstRecord(ctx, set)
		set.Close() //nolint:errcheck // nothing was written
		if err != nil {
			return nil, errs.Wrap(name, path, err)
		}
		if record != nil {
			return record, nil
		}
	}
	if len(paths) == 0 {
		return nil, c.Invalid("path", "at least one path", "none", "")
	}
	return nil, &errs.Error{Kind: errs.Invalid, Op: name, Subject: paths[0], Want: "at least one record", Got: "none"}
}

// firstRecord returns the first record of a file, or nil.
func firstRecord(ctx context.Context, set *shards.Set) (record []byte, err error) {
	d, err := lmdb.Open(set.Reader(ctx, 0), set.Size(0))
	if err != nil {
		return nil, err
	}
	err = d.Scan(ctx, func(e lmdb.Entry) error {
		v, err := d.Value(e)
		if err != nil {
			return err
		}
		record = v
		return io.EOF // it is enough
	})
	if record != nil {
		err = nil
	}
	return record, err
}

// output copies bytes into an output.
func output(dst *op.Block, i, s int, from []byte, shape ...int) error {
	t := dst.Out(i, s, shape...)
	if len(t.Data) != len(from) {
		return &errs.Error{Kind: errs.Corrupt, Want: fmt.Sprintf("%d bytes, shape %v", len(t.Data), tensor.Shape(shape)),
			Got: fmt.Sprint(len(from))}
	}
	copy(t.Data, from)
	return nil
}

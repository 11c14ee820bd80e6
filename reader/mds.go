package reader

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/mds"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/reader/datafs"
	"github.com/bivouac-ml/bivouac/reader/internal/cache"
	"github.com/bivouac-ml/bivouac/reader/internal/columns"
	"github.com/bivouac-ml/bivouac/reader/internal/loaderargs"
	"github.com/bivouac-ml/bivouac/reader/shards"
	"github.com/bivouac-ml/bivouac/state"
	"github.com/bivouac-ml/bivouac/tensor"
)

const mdsName = "readers.mds"

// mostIndex bounds the size of an index.json.
const mostIndex = 1 << 30

func init() {
	Register(op.Schema{
		Name: "mds", Module: []string{"readers"},
		Doc: "Reads data sets in MosaicML Streaming's format MDS: folders with an index.json. Each column is an output. Numbers are " +
			"scalars, arrays keep their type, and texts, bytes, JSON, decimals and encoded images are bytes. Hashes in index.json are " +
			"verified when a shard is first read. Compressed shards are expanded once and kept, within cache_bytes.",
		Outputs: []op.Port{{Name: "column", Doc: "the value of a column"}},
		Params: loaderargs.With(
			op.Parameter{Name: "paths", Type: op.Strings, Required: true, Tuning: true,
				Doc: "Folders with an index.json, in this order."},
			op.Parameter{Name: "columns", Type: op.Strings,
				Doc: "Names of the columns, an output each; by default all, in the order of index.json."},
			op.Parameter{Name: "verify_hashes", Type: op.Bool, Default: true, Tuning: true,
				Doc: "Compares each shard with its hashes in index.json when it is first read."},
			loaderargs.CacheBytes,
		),
		OutputCount: func(c *op.Config) (int, error) {
			specs, err := mdsOutputs(c)
			return len(specs), err
		},
	}, Opener{Outputs: mdsOutputs, Open: func(ctx context.Context, c *op.Config) (Source,
		error) {
		return openMDS(ctx, c)
	}})
}

// mdsSet is the samples of MDS shards.
type mdsSet struct {
	info     Info
	set      *shards.Set
	shards   []*mdsShard
	columns  []mds.Column
	chosen   []int // the columns that are outputs
	specs    []tensor.Spec
	carrier  int // an output into whose memory a whole sample is read, or -1
	verify   bool
	expanded *cache.Cache[int, mdsExpanded]
	scratch  cache.Buffers
}

func mdsOutputs(c *op.Config) ([]tensor.Spec, error) {
	m, err := openMDS(context.Background(), c)
	if err != nil {
		return nil, err
	}
	return m.specs, m.Close()
}

func openMDS(ctx context.Context, c *op.Config) (_ *mdsSet, err error) {
	if err := loaderargs.CheckPaths(c, "paths"); err != nil {
		return nil, err
	}
	m := &mdsSet{verify: op.Get[bool](c, "verify_hashes"), carrier: -1,
		expanded: cache.New[int, mdsExpanded](int64(op.Get[int](c, "cache_bytes")))}
	var names []string
	h := state.NewHasher("bivouac.readers.mds.v1")
	for _, path := range op.Get[[]string](c, "paths") {
		files, err := m.addFolder(ctx, path, h)
		if err != nil {
			return nil, err
		}
		names = append(names, files...)
	}
	if m.info.Samples == 0 {
		return nil, &errs.Error{Kind: errs.Invalid, Op: mdsName, Subject: op.Get[[]string](c, "paths")[0],
			Want: "at least one sample",
			Got:  fmt.Sprintf("no sample in %d shards", len(m.shards))}
	}
	m.info.Format, m.info.Fingerprint = mdsName, h.Sum()
	if m.set, err = shards.Open(ctx, mdsName, names); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			m.set.Close() //nolint:errcheck // the other error says more
		}
	}()
	for i := range m.shards {
		if err := m.checkSize(i); err != nil {
			return nil, err
		}
	}
	return m, m.choose(ctx, c)
}

// addFolder adds the shards of a folder, and returns the paths of their files.
func (m *mdsSet) addFolder(ctx context.Context, folder string, h *state.Hasher) ([]string, error) {
	if err := datafs.Check(folder); err != nil {
		return nil, errs.Wrap(mdsName, "", err)
	}
	path := folder
	if datafs.Base(path) != mds.IndexName {
		path = datafs.Join(path, mds.IndexName)
	}
	set, err := shards.Open(ctx, mdsName, []string{path})
	if err != nil {
		return nil, err
	}
	defer set.Close()
	text, err := set.ReadFile(ctx, 0, mostIndex)
	if err != nil {
		return nil, errs.Wrap(mdsName, "", err)
	}
	x, err := mds.ParseIndex(text)
	if err != nil {
		return nil, errs.Wrap(mdsName, datafs.Dir(path), err)
	}
	var names []string
	for i := range x.Shards {
		s := &x.Shards[i]
		if s.Samples == 0 {
			continue
		}
		if m.columns == nil {
			m.columns = s.Columns
		} else if !slices.EqualFunc(m.columns, s.Columns, mds.Column.Equal) {
			return nil, &errs.Error{Kind: errs.Mismatch, Op: mdsName,
				Subject: datafs.Join(datafs.Dir(path), s.Raw.Name),
				Want:    "the columns of the other shards: " + columnText(m.columns), Got: columnText(s.Columns)}
		}
		// A shard may lie there without compression, as MosaicML Streaming leaves it.
		e := &mdsShard{Shard: s, first: m.info.Samples}
		name := datafs.Join(datafs.Dir(path), filepath.FromSlash(s.Raw.Name))
		if s.Zip != nil {
			if _, err := datafs.Stat(ctx, name); err != nil {
				e.zip, name = true, datafs.Join(datafs.Dir(path), filepath.FromSlash(s.Zip.Name))
			}
		}
		names, m.shards = append(names, name), append(m.shards, e)
		m.info.Samples += s.Samples
		m.info.Files = append(m.info.Files, s.Samples)
		h.Int(s.Samples)
		h.Int(s.Raw.Bytes)
		for _, hash := range mds.Hashes() {
			if sum := s.Raw.Hashes[hash]; sum != "" {
				h.String(hash)
				h.String(strings.ToLower(sum))
			}
		}
		h.String(columnText(s.Columns))
	}
	return names, nil
}

func columnText(list []mds.Column) string {
	var all []string
	for _, c := range list {
		all = append(all, fmt.Sprintf("%q %s", c.Name, c.Encoding))
	}
	return strings.Join(all, ", ")
}

// choose finds the columns that are outputs, and what they will be.
func (m *mdsSet) choose(ctx context.Context, c *op.Config) error {
	names := make([]string, len(m.columns))
	for i, column := range m.columns {
		names[i] = column.Name
	}
	var err error
	if m.chosen, err = columns.Choose(c, "columns", names); err != nil {
		return err
	}
	for i, at := range m.chosen {
		spec, err := m.columns[at].Spec()
		if err != nil {
			return errs.Wrap(mdsName, m.set.Path(0), err)
		}
		if !spec.DType.Valid() || spec.Shape == nil {
			if spec, err = m.firstSpec(ctx, at); err != nil {
				return err
			}
		}
		m.specs = append(m.specs, spec)
		if m.columns[at].Plain() && m.carrier < 0 {
			m.carrier = i
		}
	}
	return nil
}

// firstSpec returns the type and the number of axes that a column has in the first sample.
func (m *mdsSet) firstSpec(ctx context.Context, column int) (spec tensor.Spec, err error) {
	verify := m.verify
	m.verify = false // Fetch verifies the shard
	defer func() { m.verify = verify }()
	var v tensor.Tensor
	err = m.read(ctx, 0, func(sample []byte) error {
		data, err := mds.Split(nil, sample, m.columns)
		if err != nil {
			return err
		}
		v, err = m.columns[column].Decode(data[column], nil)
		return err
	})
	if err != nil {
		return spec, errs.Wrap(mdsName, m.Describe(0), err)
	}
	m.shards[0].table.Store(nil) // which was not verified
	m.expanded.Clear()
	spec = tensor.Spec{DType: v.DType, Shape: tensor.Shape{}}
	for range v.Shape {
		spec.Shape = append(spec.Shape, -1)
	}
	return spec, nil
}

// Fields implements Fielded: the names of the columns.
func (m *mdsSet) Fields() []string {
	names := make([]string, len(m.chosen))
	for i, at := range m.chosen {
		names[i] = m.columns[at].Name
	}
	return names
}

func (m *mdsSet) Info() Info { return m.info }

func (m *mdsSet) Close() error {
	m.expanded.Clear()
	return m.set.Close()
}

// find returns the shard of a sample.
func (m *mdsSet) find(id int64) int {
	return sort.Search(len(m.shards), func(i int) bool { return m.shards[i].first > id }) - 1
}

func (m *mdsSet) Size(id int64) int64 {
	s := m.shards[m.find(id)]
	if t := s.table.Load(); t != nil {
		i := id - s.first
		return int64((*t)[i+1]) - int64((*t)[i])
	}
	return s.Raw.Bytes / s.Samples
}

// largest implements bounded.
func (m *mdsSet) largest() (size int64) {
	for _, s := range m.shards {
		size = max(size, s.Raw.Bytes)
	}
	return size
}

func (m *mdsSet) Describe(id int64) string {
	i := m.find(id)
	return fmt.Sprintf("sample %d of shard %s", id-m.shards[i].first, m.set.Path(i))
}

func (m *mdsSet) Fetch(ctx context.Context, ids []int64, dst *op.Block) error {
	r := op.PerWorker[buffer](dst)
	return Each(ctx, ids, dst, func(id int64, s int) error { return m.fetch(ctx, id, s, dst, r) })
}

func (m *mdsSet) fetch(ctx context.Context, id int64, s int, dst *op.Block, r *buffer) error {
	i := m.find(id)
	if m.shards[i].zip {
		return m.read(ctx, id, func(sample []byte) error { return m.decode(sample, s, dst, nil) })
	}
	from, to, err := m.place(ctx, i, id)
	if err != nil {
		return err
	}
	if m.carrier >= 0 {
		// The sample is read into the memory of one output, which becomes a part of it.
		b := dst.Out(m.carrier, s, int(to-from)).Data
		if err := r.read(ctx, m.set, i, b, from); err != nil {
			return err
		}
		return m.decode(b, s, dst, r)
	}
	b := m.scratch.Get(int(to - from))
	defer m.scratch.Put(b)
	if err := r.read(ctx, m.set, i, *b, from); err != nil {
		return err
	}
	return m.decode(*b, s, dst, nil)
}

// decode puts a sample into the outputs. With owner, which makes views, outputs of bytes are parts
// of sample.
func (m *mdsSet) decode(sample []byte, s int, dst *op.Block, owner *buffer) error {
	var room [16][]byte
	data, err := mds.Split(room[:0], sample, m.columns)
	if err != nil {
		return err
	}
	for i, at := range m.chosen {
		column, datum := &m.columns[at], data[at]
		switch {
		case column.Plain() && owner != nil:
			owner.view(dst, i, s, datum)
		case column.Plain():
			copy(dst.Out(i, s, len(datum)).Data, datum)
		case column.Size() >= 0: // Split checked it
			copy(dst.Out(i, s, m.specs[i].Shape...).Data, datum)
		default:
			if err := m.decodeValue(column, datum, i, s, dst); err != nil {
				return err
			}
		}
	}
	return nil
}

// decodeValue puts a value that has its own type or shape into an output.
func (m *mdsSet) decodeValue(column *mds.Column, datum []byte, i, s int, dst *op.Block) error {
	var axes [8]int
	v, err := column.Decode(datum, axes[:0])
	if err != nil {
		return err
	}
	if v.DType != m.specs[i].DType || len(v.Shape) != len(m.specs[i].Shape) {
		return &errs.Error{Kind: errs.Mismatch, Subject: fmt.Sprintf("column %q", column.Name),
			Want: fmt.Sprintf("%s with %d axes, as in the first sample", m.specs[i].DType,
				len(m.specs[i].Shape)),
			Got:    fmt.Sprintf("%s%v", v.DType, v.Shape),
			Remedy: "write the column with one type and number of axes, such as ndarray:float32"}
	}
	copy(dst.Out(i, s, v.Shape...).Data, v.Data)
	return nil
}

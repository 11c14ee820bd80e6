package reader

import (
	"bytes"
	"context"
	"fmt"
	"sort"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/arrayrecord"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/reader/internal/cache"
	"github.com/bivouac-ml/bivouac/reader/internal/loaderargs"
	"github.com/bivouac-ml/bivouac/reader/shards"
	"github.com/bivouac-ml/bivouac/state"
	"github.com/bivouac-ml/bivouac/tensor"
)

const arrayRecordName = "readers.array_record"

func init() {
	Register(op.Schema{
		Name: "array_record", Module: []string{"readers"},
		Doc: "Reads the records of ArrayRecord files, which have an index of their own. The hashes of the format are verified with every " +
			"read. A record of a file with group_size:1 is one read; a larger group is decoded once and kept, within cache_bytes.",
		Outputs: []op.Port{{Name: "record", Doc: "the bytes of a record, uint8"}},
		Params: loaderargs.With(
			op.Parameter{Name: "paths", Type: op.Strings, Required: true, Tuning: true,
				Doc: "Paths of the files, in this order."},
			loaderargs.CacheBytes,
		),
	}, Opener{
		Outputs: func(c *op.Config) ([]tensor.Spec, error) {
			if err := loaderargs.CheckPaths(c, "paths"); err != nil {
				return nil, err
			}
			return []tensor.Spec{{DType: tensor.Uint8, Shape: tensor.Shape{-1}}}, nil
		},
		Open: openArrayRecord,
	})
}

// arrayRecords are the records of ArrayRecord files.
type arrayRecords struct {
	info    Info
	set     *shards.Set
	files   []*arrayrecord.File
	firsts  []int64 // the first sample of each file
	chunks  *cache.Cache[[2]int, *arrayrecord.Chunk]
	scratch cache.Buffers
}

func openArrayRecord(ctx context.Context, c *op.Config) (_ Source, err error) {
	set, err := shards.Open(ctx, arrayRecordName, op.Get[[]string](c, "paths"))
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			set.Close() //nolint:errcheck // the other error says more
		}
	}()
	r := &arrayRecords{set: set, chunks: cache.New[[2]int, *arrayrecord.Chunk](int64(op.Get[int](c, "cache_bytes")))}
	set.AheadEnds(64 << 10) // the footers
	h := state.NewHasher("bivouac.readers.array_record.v1")
	for i := range set.Len() {
		f, err := arrayrecord.Open(set.Reader(ctx, i), set.Size(i))
		if err != nil {
			return nil, errs.Wrap(arrayRecordName, set.Path(i), err)
		}
		r.files, r.firsts = append(r.files, f), append(r.firsts, r.info.Samples)
		r.info.Samples += f.Records
		r.info.Files = append(r.info.Files, f.Records)
		h.Int(set.Size(i))
		h.Int(f.Records)
		h.Int(int64(f.Print))
	}
	if r.info.Samples == 0 {
		return nil, &errs.Error{Kind: errs.Invalid, Op: arrayRecordName, Subject: set.Path(0),
			Want: "at least one record",
			Got:  fmt.Sprintf("no record in %d files", set.Len())}
	}
	r.info.Format, r.info.Fingerprint = arrayRecordName, h.Sum()
	return r, nil
}

func (r *arrayRecords) Info() Info { return r.info }

func (r *arrayRecords) Close() error { return r.set.Close() }

// find returns the file, the chunk and the place in it of a sample.
func (r *arrayRecords) find(id int64) (file, chunk, place int) {
	file = sort.Search(len(r.firsts), func(i int) bool { return r.firsts[i] > id }) - 1
	chunk, place = r.files[file].Find(id - r.firsts[file])
	return file, chunk, place
}

func (r *arrayRecords) Size(id int64) int64 {
	file, chunk, _ := r.find(id)
	f := r.files[file]
	from, to := f.Range(chunk)
	return (to - from) / max(1, f.First(chunk+1)-f.First(chunk))
}

func (r *arrayRecords) Describe(id int64) string {
	file, chunk, place := r.find(id)
	from, _ := r.files[file].Range(chunk)
	return fmt.Sprintf("record %d of file %s, place %d in the chunk at byte %d", id-r.firsts[file], r.set.Path(file),
		place, from)
}

func (r *arrayRecords) Fetch(ctx context.Context, ids []int64, dst *op.Block) error {
	return Each(ctx, ids, dst, func(id int64, s int) error { return r.fetch(ctx, id, s, dst) })
}

func (r *arrayRecords) fetch(ctx context.Context, id int64, s int, dst *op.Block) error {
	file, chunk, place := r.find(id)
	f := r.files[file]
	from, to := f.Range(chunk)
	records, limit := int(f.First(chunk+1)-f.First(chunk)), dst.Limits().MaxBytes
	if records > 1 {
		c, err := r.chunks.Get(ctx, [2]int{file, chunk}, func(ctx context.Context) (*arrayrecord.Chunk, int64, error) {
			b := make([]byte, to-from)
			c, err := r.read(ctx, file, b, from, records, limit)
			if err != nil {
				return nil, 0, err
			}
			return c, c.Size(), nil
		})
		if err != nil {
			return err
		}
		record := c.Record(place)
		copy(dst.Out(0, s, len(record)).Data, record)
		return nil
	}
	if strings.Contains(f.Options, "uncompressed") {
		// The chunk is read into the memory of the output, which becomes a part of it.
		b := dst.Out(0, s, int(to-from)).Data
		c, err := r.read(ctx, file, b, from, records, limit)
		if err != nil {
			return err
		}
		if record := c.Record(0); c.InPlace() {
			dst.Alias(0, s, tensor.Tensor{DType: tensor.Uint8, Shape: tensor.Shape{len(record)}, Data: record})
		} else { // the options do not tell the truth
			record = bytes.Clone(record)
			copy(dst.Out(0, s, len(record)).Data, record)
		}
		return nil
	}
	b := r.scratch.Get(int(to - from))
	defer r.scratch.Put(b)
	c, err := r.read(ctx, file, *b, from, records, limit)
	if err != nil {
		return err
	}
	record := c.Record(0)
	copy(dst.Out(0, s, len(record)).Data, record)
	return nil
}

// read reads and decodes the chunk that b has room for.
func (r *arrayRecords) read(ctx context.Context, file int, b []byte, from int64, records int,
	limit int64) (*arrayrecord.Chunk, error) {
	if err := r.set.ReadAt(ctx, file, b, from); err != nil {
		return nil, err
	}
	c, err := arrayrecord.Decode(b, from, limit)
	if err != nil {
		return nil, err
	}
	if c.Len() != records {
		return nil, &errs.Error{Kind: errs.Corrupt,
			Want: fmt.Sprintf("%d records, as the footer of the file says", records), Got: fmt.Sprint(c.Len())}
	}
	return c, nil
}

package reader

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/recordio"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/reader/index"
	"github.com/bivouac-ml/bivouac/reader/internal/loaderargs"
	"github.com/bivouac-ml/bivouac/reader/shards"
	"github.com/bivouac-ml/bivouac/tensor"
)

const mxnetName = "readers.mxnet"

var recordioFormat = index.Format{
	Name: "recordio",
	Scan: func(_ context.Context, r *io.SectionReader, add func(index.Record) error) error {
		return recordio.Scan(r, r.Size(), func(offset, length int64) error {
			return add(index.Record{Offset: offset, Length: length})
		})
	},
	Verify: func(record []byte) error {
		return recordio.Scan(bytes.NewReader(record), int64(len(record)), func(_, length int64) error {
			if length != int64(len(record)) {
				return &errs.Error{Kind: errs.Corrupt, Want: fmt.Sprintf("a record of %d bytes", len(record)), Got: fmt.Sprint(length)}
			}
			return nil
		})
	},
	Lines: &index.Lines{
		Path: func(file string) string { return strings.TrimSuffix(file, filepath.Ext(file)) + ".idx" },
		Write: func(w io.Writer, _ int64, records iter.Seq2[index.Record, error]) error {
			var line []byte
			n := 0
			for r, err := range records {
				if err != nil {
					return err
				}
				line = recordio.AppendIndex(line[:0], strconv.Itoa(n), r.Offset)
				if _, err := w.Write(line); err != nil {
					return err
				}
				n++
			}
			return nil
		},
	},
}

func init() {
	s := op.Schema{
		Name: "mxnet", Module: []string{"readers"},
		Doc:     "Reads images and their labels from RecordIO files of MXNet.",
		Outputs: []op.Port{{Name: "images", Doc: "the bytes of an encoded image, uint8"}, {Name: "labels", Doc: "its labels, float32; mostly one"}},
		Params: loaderargs.With([]op.Parameter{
			{Name: "path", Type: op.Strings, Required: true, Tuning: true, Doc: "Paths of the RecordIO files, in this order."},
			{Name: "index_path", Type: op.Strings, Required: true, Tuning: true, Doc: "An index with a line \"key offset\" for each record: one for each " +
				"file, or one for all files, as if they were one after the other; or one bivouac.index. An empty list stands for the bivouac.index beside the data, or for what is found in the files."},
		}...),
	}
	o := Opener{
		Outputs: func(c *op.Config) ([]tensor.Spec, error) {
			return []tensor.Spec{{DType: tensor.Uint8, Shape: tensor.Shape{-1}}, {DType: tensor.Float32, Shape: tensor.Shape{-1}}}, loaderargs.CheckContainer(c)
		},
		Open: openMXNet,
	}
	Register(s, o)
	alias("mxnet_reader", s, o)
}

// imageRecords is the records of RecordIO files.
type imageRecords struct{ *container }

func openMXNet(ctx context.Context, c *op.Config) (Source, error) {
	set, err := openSet(ctx, c, mxnetName, "path")
	if err != nil {
		return nil, err
	}
	x, err := recordioIndex(ctx, c, set)
	var m imageRecords
	if err == nil {
		m.container, err = newContainer(mxnetName, set, x, nil)
	}
	if err != nil {
		set.Close() //nolint:errcheck // the other error says more
		return nil, err
	}
	return &m, nil
}

// recordioIndex returns where the records are.
func recordioIndex(ctx context.Context, c *op.Config, set *shards.Set) (*index.Index, error) {
	x, paths, err := named(ctx, c, mxnetName, "index_path", set, recordioFormat)
	if x != nil || err != nil {
		return x, err
	}
	if len(paths) != set.Len() && len(paths) != 1 {
		return nil, c.Invalid("index_path", fmt.Sprintf("%d paths, one a file, or 1", set.Len()), fmt.Sprint(len(paths)), "")
	}
	lists, err := shards.Open(ctx, mxnetName, paths)
	if err != nil {
		return nil, err
	}
	defer lists.Close()
	if len(paths) == set.Len() {
		return index.FromLists(ctx, mxnetName, set, recordioFormat.Name,
			func(ctx context.Context, i int, add func(index.Record) error) error {
				offsets, err := readOffsets(ctx, lists, i)
				if err == nil {
					err = spans(ctx, set, i, offsets, add)
				}
				return errs.Wrap("", lists.Path(i), err)
			})
	}
	all, err := readOffsets(ctx, lists, 0)
	if err != nil {
		return nil, errs.Wrap(mxnetName, lists.Path(0), err)
	}
	return index.FromLists(ctx, mxnetName, set, recordioFormat.Name,
		func(ctx context.Context, i int, add func(index.Record) error) error {
			var start int64
			for k := range i {
				start += set.Size(k)
			}
			from, _ := slices.BinarySearch(all, start)
			to := len(all)
			if i+1 < set.Len() {
				to, _ = slices.BinarySearch(all, start+set.Size(i))
			}
			own := slices.Clone(all[from:to])
			for k := range own {
				own[k] -= start
			}
			return errs.Wrap("", lists.Path(0), spans(ctx, set, i, own, add))
		})
}

// spans adds the records of a file that begin at the given offsets, which ascend. Each ends where
// the next begins.
func spans(ctx context.Context, set *shards.Set, i int, offsets []int64, add func(index.Record) error) error {
	size := set.Size(i)
	for k, at := range offsets {
		end := size
		if k+1 < len(offsets) {
			end = offsets[k+1]
		}
		if at > size {
			return &errs.Error{Kind: errs.Mismatch,
				Want: fmt.Sprintf("offsets within %s, which has %d bytes", set.Path(i), size),
				Got:  fmt.Sprintf("offset %d", at), Remedy: "the index belongs to other data, or the file was cut"}
		}
		if k == 0 || k == len(offsets)-1 {
			head := make([]byte, min(8, size-at))
			if err := set.ReadAt(ctx, i, head, at); err != nil {
				return err
			}
			if !recordio.Detect(head) {
				return &errs.Error{Kind: errs.Mismatch,
					Want: fmt.Sprintf("a record at offset %d of %s", at, set.Path(i)), Got: "no record",
					Remedy: "index_path must have the index of each file, in the order of path"}
			}
		}
		if err := add(index.Record{Offset: at, Length: end - at}); err != nil {
			return err
		}
	}
	return nil
}

// readOffsets returns the offsets in an index, sorted and each once.
func readOffsets(ctx context.Context, lists *shards.Set, i int) ([]int64, error) {
	var offsets []int64
	var keys keys
	err := recordio.ReadIndex(lists.Reader(ctx, i), func(key string, offset int64) error {
		offsets = append(offsets, offset)
		keys.add(key)
		return nil
	})
	if err == nil {
		err = keys.check()
	}
	slices.Sort(offsets)
	return slices.Compact(offsets), err
}

// keys finds a key that comes twice. The keys 0, 1, 2, … take no memory.
type keys struct {
	count int64
	list  []string // nil while the keys are 0, 1, 2, …
}

func (k *keys) add(key string) {
	if n, err := strconv.ParseInt(key, 10, 64); k.list == nil && err == nil && n == k.count {
		k.count++
		return
	}
	if k.list == nil {
		k.list = []string{}
	}
	k.list = append(k.list, key)
}

// check returns an error if a key came twice.
func (k *keys) check() error {
	slices.SortFunc(k.list, cmp.Compare[string])
	for i, key := range k.list {
		n, err := strconv.ParseInt(key, 10, 64)
		if i > 0 && key == k.list[i-1] || err == nil && n >= 0 && n < k.count {
			return &errs.Error{Kind: errs.Invalid, Want: "each key once", Got: "key " + key + " twice"}
		}
	}
	return nil
}

// recordReader is what a goroutine keeps between records.
type recordReader struct {
	joined []byte
	buffer
}

// Fetch implements Source.
func (m *imageRecords) Fetch(ctx context.Context, ids []int64, dst *op.Block) error {
	w := op.PerWorker[recordReader](dst)
	return Each(ctx, ids, dst, func(id int64, s int) error { return m.sample(ctx, id, s, dst, w) })
}

func (m *imageRecords) sample(ctx context.Context, id int64, s int, dst *op.Block, w *recordReader) error {
	at, err := m.index.Span(id)
	if err != nil {
		return err
	}
	if at.Length > smallSize && m.set.View(at.File, int(at.Length), at.Offset, false, func(b []byte) bool {
		return m.copy(b, s, dst, w) == nil
	}) {
		return nil
	}
	record := dst.Out(0, s, int(at.Length)).Data
	if err := w.read(ctx, m.set, at.File, record, at.Offset); err != nil {
		return err
	}
	image, joined, err := w.image(record)
	if err != nil {
		return err
	}
	if err := copyLabels(image, s, dst); err != nil {
		return err
	}
	if joined {
		copy(dst.Out(0, s, len(image.Data)).Data, image.Data)
	} else {
		w.view(dst, 0, s, image.Data)
	}
	return nil
}

// image returns the image of a record, which lies in the record or, if it had to be joined, in
// memory of the goroutine.
func (w *recordReader) image(record []byte) (image recordio.Image, joined bool, err error) {
	payload, joined, err := recordio.Payload(record, w.joined[:0])
	if err != nil {
		return image, false, err
	}
	if joined {
		w.joined = payload
	}
	image, err = recordio.ParseImage(payload)
	return image, joined, err
}

// copy copies image and labels out of a record.
func (m *imageRecords) copy(record []byte, s int, dst *op.Block, w *recordReader) error {
	image, _, err := w.image(record)
	if err != nil {
		return err
	}
	copy(dst.Out(0, s, len(image.Data)).Data, image.Data)
	return copyLabels(image, s, dst)
}

func copyLabels(image recordio.Image, s int, dst *op.Block) error {
	labels := dst.Out(1, s, max(1, len(image.Labels)/4))
	if copy(labels.Data, image.Labels) == 0 {
		return putOne(labels, image.Label)
	}
	return nil
}

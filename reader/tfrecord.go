package reader

import (
	"context"
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/tfrecord"
	"github.com/bivouac-ml/bivouac/internal/crc"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/reader/index"
	"github.com/bivouac-ml/bivouac/reader/internal/loaderargs"
	"github.com/bivouac-ml/bivouac/reader/shards"
	"github.com/bivouac-ml/bivouac/state"
	"github.com/bivouac-ml/bivouac/tensor"
)

const tfrecordName = "readers.tfrecord"

var tfrecordFormat = index.Format{
	Name: "tfrecord",
	Scan: func(_ context.Context, r *io.SectionReader, add func(index.Record) error) error {
		return tfrecord.Scan(r, r.Size(), func(offset, length int64) error {
			return add(index.Record{Offset: offset, Length: length})
		})
	},
	Verify: func(record []byte) error {
		_, err := tfrecord.Payload(record)
		return err
	},
	Lines: &index.Lines{
		Path: func(file string) string { return file + ".idx" },
		Write: func(w io.Writer, _ int64, records iter.Seq2[index.Record, error]) error {
			var line []byte
			for r, err := range records {
				if err != nil {
					return err
				}
				line = tfrecord.AppendIndex(line[:0], r.Offset, r.Length)
				if _, err := w.Write(line); err != nil {
					return err
				}
			}
			return nil
		},
	},
}

func init() {
	s := op.Schema{
		Name: "tfrecord", Module: []string{"readers"},
		Doc: "Reads tf.train.Example messages from TFRecord files, and has an output for each feature that the argument " +
			"features names. Both checksums of each record are checked.",
		Outputs: []op.Port{{Name: "values", Doc: "the features, in their order: the bytes of a feature of bytes (uint8), and " +
			"int64 or float32 numbers of the shape that the feature has"}},
		OutputCount: func(c *op.Config) (int, error) { return len(op.Get[[]op.Feature](c, "features")), nil },
		Params: loaderargs.With([]op.Parameter{
			{Name: "path", Type: op.Strings, Required: true, Tuning: true, Doc: "Paths of the TFRecord files, in this order."},
			{Name: "index_path", Type: op.Strings, Tuning: true, Doc: "An index of each file, with a line \"offset length\" for each " +
				"record; or one bivouac.index. By default the bivouac.index beside the data, or what is found in the files."},
			{Name: "features", Type: op.Features, Required: true, Doc: "The features to read: name, type, and a fixed shape or a variable length. " +
				"The default is the value of a record without a fixed feature; one of variable length has no values then."},
			{Name: "use_o_direct", Type: op.Bool, Default: false, Tuning: true, Doc: "Reads past the cache of the system; no effect."},
		}...),
	}
	o := Opener{Find: findMissing,
		Outputs: func(c *op.Config) ([]tensor.Spec, error) {
			if err := loaderargs.CheckContainer(c); err != nil {
				return nil, err
			}
			if op.Get[bool](c, "skip_cached_images") {
				return nil, c.Invalid("skip_cached_images", "false: examples are not images", "true", "")
			}
			return featureSpecs(c)
		},
		Open: openTFRecords,
	}
	Register(s, o)
	alias("tfrecord_reader", s, o)
}

// featureSpecs checks the features and returns what is read for each.
func featureSpecs(c *op.Config) ([]tensor.Spec, error) {
	features := op.Get[[]op.Feature](c, "features")
	if len(features) == 0 {
		return nil, c.Invalid("features", "at least one feature", "none", "")
	}
	seen := map[string]bool{}
	specs := make([]tensor.Spec, len(features))
	for i, f := range features {
		if seen[f.Name] {
			return nil, c.Invalid("features", "each name once", fmt.Sprintf("%q twice", f.Name), "")
		}
		seen[f.Name] = true
		shape := tensor.Shape(slices.Clone(f.Shape))
		if len(shape) > maxDims || slices.ContainsFunc(shape, func(d int) bool { return d < 0 }) {
			return nil, c.Invalid("features",
				fmt.Sprintf("a shape of %q with at most %d extents, none of them negative", f.Name, maxDims), shape.String(), "")
		}
		switch {
		case f.DType != tensor.Uint8 && f.DType != tensor.Int64 && f.DType != tensor.Float32:
			return nil, c.Invalid("features", fmt.Sprintf("%q as uint8 (bytes), int64 or float32", f.Name), f.DType.String(), "")
		case f.DType == tensor.Uint8 && !f.Fixed:
			return nil, c.Unsupported("features",
				fmt.Sprintf("a fixed shape of %q: lists of texts are no tensor", f.Name), "a variable length")
		case f.DType == tensor.Uint8 && shape.Len() != 1:
			return nil, c.Invalid("features",
				fmt.Sprintf("an empty shape of %q, which has one value of bytes", f.Name), shape.String(), "")
		case f.DType == tensor.Uint8:
			shape = tensor.Shape{-1}
		case !f.Fixed:
			shape = append(tensor.Shape{-1}, shape...)
		}
		if n, err := shape.Bytes(f.DType); f.Fixed && op.Static(tensor.Spec{Shape: shape}) && (err != nil || n > 1<<31) {
			return nil, c.Invalid("features", fmt.Sprintf("a shape of %q of at most 2 GiB", f.Name), shape.String(), "")
		}
		specs[i] = tensor.Spec{DType: f.DType, Shape: shape}
	}
	return specs, nil
}

// tfrecords is the records of TFRecord files.
type tfrecords struct {
	*container
	features []op.Feature
	names    []string
	into     int // the output whose memory a record is read into, or -1
}

func openTFRecords(ctx context.Context, c *op.Config) (Source, error) {
	if _, err := featureSpecs(c); err != nil {
		return nil, err
	}
	set, err := openSet(ctx, c, tfrecordName, "path")
	if err != nil {
		return nil, err
	}
	t := &tfrecords{features: op.Get[[]op.Feature](c, "features"), into: -1}
	for i, f := range t.features {
		t.names = append(t.names, f.Name)
		if t.into < 0 && f.DType == tensor.Uint8 {
			t.into = i
		}
	}
	x, err := tfrecordIndex(ctx, c, set)
	if err == nil {
		t.container, err = newContainer(tfrecordName, set, x, func(h *state.Hasher) {
			for _, f := range t.features {
				h.String(f.String())
			}
		})
	}
	if err != nil {
		set.Close() //nolint:errcheck // the other error says more
		return nil, err
	}
	return t, nil
}

// Fields implements Fielded: the names of the features.
func (t *tfrecords) Fields() []string { return t.names }

// tfrecordIndex returns where the records are.
func tfrecordIndex(ctx context.Context, c *op.Config, set *shards.Set) (*index.Index, error) {
	x, paths, err := named(ctx, c, tfrecordName, "index_path", set, tfrecordFormat)
	if x != nil || err != nil {
		return x, err
	}
	if len(paths) != set.Len() {
		return nil, c.Invalid("index_path", fmt.Sprintf("%d paths, one a file", set.Len()), fmt.Sprint(len(paths)), "")
	}
	lists, err := shards.Open(ctx, tfrecordName, paths)
	if err != nil {
		return nil, err
	}
	defer lists.Close()
	return index.FromLists(ctx, tfrecordName, set, tfrecordFormat.Name,
		func(ctx context.Context, i int, add func(index.Record) error) error {
			var first, last index.Record
			n := 0
			err := tfrecord.ReadIndex(lists.Reader(ctx, i), func(offset, length int64) error {
				last = index.Record{Offset: offset, Length: length}
				if n++; n == 1 {
					first = last
				}
				return add(last)
			})
			for _, r := range []index.Record{first, last} {
				if err == nil && n > 0 {
					err = begins(ctx, set, i, r)
				}
			}
			return errs.Wrap("", lists.Path(i), err)
		})
}

// begins checks that a record begins where an index says.
func begins(ctx context.Context, set *shards.Set, i int, r index.Record) error {
	var header [tfrecord.HeaderSize]byte
	if r.Length < tfrecord.HeaderSize+tfrecord.FooterSize {
		return &errs.Error{Kind: errs.Mismatch,
			Want: fmt.Sprintf("records of at least %d bytes", tfrecord.HeaderSize+tfrecord.FooterSize),
			Got:  fmt.Sprint(r.Length)}
	}
	if err := set.ReadAt(ctx, i, header[:], r.Offset); err != nil {
		return err
	}
	size, err := tfrecord.RecordSize(header[:])
	if err != nil || size != r.Length {
		got := "another record"
		if err != nil {
			got = "no record"
		}
		return &errs.Error{Kind: errs.Mismatch,
			Want: fmt.Sprintf("a record of %d bytes at offset %d of %s", r.Length, r.Offset, set.Path(i)),
			Got:  got, Remedy: "index_path must have the index of each file, in the order of path"}
	}
	return nil
}

// exampleReader is what a goroutine keeps between records.
type exampleReader struct {
	decoder *tfrecord.Decoder
	buffer
}

// Fetch implements Source.
func (t *tfrecords) Fetch(ctx context.Context, ids []int64, dst *op.Block) error {
	w := op.PerWorker[exampleReader](dst)
	if w.decoder == nil {
		w.decoder = tfrecord.NewDecoder(t.names)
	}
	return Each(ctx, ids, dst, func(id int64, s int) error { return t.sample(ctx, id, s, dst, w) })
}

func (t *tfrecords) sample(ctx context.Context, id int64, s int, dst *op.Block, w *exampleReader) error {
	at, err := t.index.Span(id)
	if err != nil {
		return err
	}
	follows := w.follows(at.File, at.Offset, at.Length)
	if t.into >= 0 && !follows &&
		t.set.View(at.File, int(at.Length), at.Offset, true, func(b []byte) bool { return t.view(b, s, dst, w) }) {
		return nil
	}
	var record []byte
	if t.into >= 0 {
		record = dst.Out(t.into, s, int(at.Length)).Data
	} else {
		record = w.grow(at.Length)
	}
	if follows {
		err = w.readAhead(ctx, t.set, at.File, record, at.Offset)
	} else {
		err = t.set.ReadAt(ctx, at.File, record, at.Offset)
	}
	if err != nil {
		return err
	}
	payload, err := tfrecord.Payload(record)
	if err == nil {
		err = w.decoder.Decode(payload)
	}
	if err != nil {
		return err
	}
	for i := range t.features {
		if i != t.into {
			err = t.value(i, s, dst, w)
		}
		if err != nil {
			return t.wrap(i, err)
		}
	}
	if i := t.into; i >= 0 { // the last: the others are copied from its memory
		return t.wrap(i, t.value(i, s, dst, w))
	}
	return nil
}

// view decodes a record where it lies in memory. It takes the checksum of the largest value while
// it copies the value. It returns false for any fault, which reading the record again tells.
func (t *tfrecords) view(record []byte, s int, dst *op.Block, w *exampleReader) bool {
	payload, want, err := tfrecord.Unverified(record)
	if err != nil || w.decoder.Decode(payload) != nil {
		return false
	}
	defer w.decoder.Decode(nil) //nolint:errcheck // it lets go of the record
	from, to, ok := w.decoder.Feature(t.into).Only()
	if !ok {
		return false
	}
	for i := range t.features {
		if i != t.into && t.value(i, s, dst, w) != nil {
			return false
		}
	}
	sum := crc.Sum(payload[:from])
	sum = copySum(sum, dst.Out(t.into, s, to-from).Data, payload[from:to])
	return tfrecord.Mask(crc.Update(sum, payload[to:])) == want
}

// copySum copies src to dst, and returns the checksum of the bytes with the checksum sum followed
// by src.
func copySum(sum uint32, dst, src []byte) uint32 {
	const tile = 16 << 10 // stays in the cache
	for len(src) > 0 {
		n := copy(dst[:min(tile, len(dst))], src)
		sum = crc.Update(sum, dst[:n])
		dst, src = dst[n:], src[n:]
	}
	return sum
}

// kindsOf are the kinds of lists of the types of features.
var kindsOf = map[tensor.DType]tfrecord.Kind{tensor.Uint8: tfrecord.Bytes, tensor.Int64: tfrecord.Int64,
	tensor.Float32: tfrecord.Float32}

// value writes output i of sample s.
func (t *tfrecords) value(i, s int, dst *op.Block, w *exampleReader) error {
	f, got := &t.features[i], w.decoder.Feature(i)
	present := got.Kind() != tfrecord.None
	if want := kindsOf[f.DType]; present && got.Kind() != want {
		return &errs.Error{Kind: errs.Mismatch, Want: "values of type " + want.String(), Got: got.Kind().String(),
			Remedy: "change the type of the feature in the argument features"}
	}
	if f.DType == tensor.Uint8 {
		return t.text(i, s, present, dst, w)
	}
	n := got.Len()
	inner := tensor.Shape(f.Shape).Len()
	var out tensor.Tensor
	switch {
	case f.Fixed && !present:
		out, n = dst.Out(i, s, f.Shape...), 0
	case f.Fixed && n != inner:
		return &errs.Error{Kind: errs.Mismatch,
			Want: fmt.Sprintf("shape %v, number of values %d", tensor.Shape(f.Shape), inner), Got: fmt.Sprint(n)}
	case f.Fixed:
		out = dst.Out(i, s, f.Shape...)
	case len(f.Shape) == 0:
		out = dst.Out(i, s, n)
	case inner == 0 && n > 0, inner > 0 && n%inner != 0:
		return &errs.Error{Kind: errs.Mismatch,
			Want: fmt.Sprintf("a multiple of %d values, for shape %v", inner, tensor.Shape(f.Shape)), Got: fmt.Sprint(n)}
	default:
		var shape [maxDims + 1]int
		shape[0] = n / max(1, inner)
		copy(shape[1:], f.Shape)
		out = dst.Out(i, s, shape[:1+len(f.Shape)]...)
	}
	if f.DType == tensor.Int64 {
		list, err := tensor.Of[int64](out)
		if err != nil {
			return err
		}
		if fill := list[got.CopyInts(list):]; len(fill) > 0 {
			v, _ := f.Default.(int)
			for k := range fill {
				fill[k] = int64(v)
			}
		}
		return nil
	}
	list, err := tensor.Of[float32](out)
	if err != nil {
		return err
	}
	if fill := list[got.CopyFloats(list):]; len(fill) > 0 {
		v, _ := f.Default.(float64)
		for k := range fill {
			fill[k] = float32(v)
		}
	}
	return nil
}

// text writes an output of bytes. The record was read into the first of them, which is made a view
// of its value.
func (t *tfrecords) text(i, s int, present bool, dst *op.Block, w *exampleReader) error {
	got := w.decoder.Feature(i)
	if n := got.Len(); present && n != 1 {
		return &errs.Error{Kind: errs.Mismatch, Want: "1 value, as a feature of bytes has", Got: fmt.Sprint(n)}
	}
	if !present {
		v, _ := t.features[i].Default.(string)
		copy(dst.Out(i, s, len(v)).Data, v)
		return nil
	}
	v := got.Bytes(0)
	if i == t.into {
		w.view(dst, i, s, v)
		return nil
	}
	copy(dst.Out(i, s, len(v)).Data, v)
	return nil
}

// maxDims bounds the extents of a feature.
const maxDims = 15

func (t *tfrecords) wrap(i int, err error) error {
	if err == nil {
		return nil
	}
	return errs.Wrap("", fmt.Sprintf("feature %q", t.names[i]), err)
}

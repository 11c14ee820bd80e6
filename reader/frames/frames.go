// Package frames has readers.sequence, a reader that decodes images. It is a package of its own so
// that programs that decode none link no codec of images. Package pipeline imports it; a program
// that reads sequences by package loader alone imports it by name:
//
//	import _ "github.com/bivouac-ml/bivouac/reader/frames"
package frames

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/bivouac-ml/bivouac/codec"
	"github.com/bivouac-ml/bivouac/codec/jpeg"
	"github.com/bivouac-ml/bivouac/codec/raster"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/reader"
	"github.com/bivouac-ml/bivouac/reader/datafs"
	"github.com/bivouac-ml/bivouac/reader/internal/folders"
	"github.com/bivouac-ml/bivouac/reader/internal/loaderargs"
	"github.com/bivouac-ml/bivouac/reader/shards"
	"github.com/bivouac-ml/bivouac/state"
	"github.com/bivouac-ml/bivouac/tensor"
)

const sequenceName = "readers.sequence"

func init() {
	o := reader.Opener{Outputs: sequenceSpecs, Open: openSequences}
	s := sequenceSchema()
	reader.Register(s, o)
	s.Deprecated = "use " + s.FullName()
	s.Module, s.Name = nil, "sequence_reader" // the name that DALI gave up
	reader.Register(s, o)
}

func sequenceSchema() op.Schema {
	return op.Schema{
		Name: "sequence", Module: []string{"readers"},
		Doc: "Reads sequences of images: each folder of a directory is a stream, whose images are frames in the order of the bytes of " +
			"their names. The frames of a sequence must be equally large. Images are not turned as their EXIF orientation says.",
		Outputs:    []op.Port{{Name: "sequences", Doc: "frames, uint8 of layout FHWC"}},
		Deprecated: "it still works, but new programs read files and decode them",
		Params: loaderargs.Without([]string{"shuffle_after_epoch", "shuffle_after_epoch_seed"}, []op.Parameter{
			{Name: "file_root", Type: op.String, Required: true, Tuning: true, Doc: "Directory with a folder for each stream."},
			{Name: "sequence_length", Type: op.Int, Required: true, Doc: "Number of frames of a sequence."},
			{Name: "step", Type: op.Int, Default: 1, Doc: "Frames from the start of a sequence to the start of the next."},
			{Name: "stride", Type: op.Int, Default: 1, Doc: "Frames from one frame of a sequence to the next."},
			{Name: "image_type", Type: op.Image, Default: op.RGB, Doc: "Colour space of the frames: RGB, BGR, GRAY, or ANY_DATA for the channels that the files have."},
		}...),
	}
}

func sequenceSpecs(c *op.Config) ([]tensor.Spec, error) {
	length := op.Get[int](c, "sequence_length")
	for _, name := range []string{"sequence_length", "step", "stride"} {
		if v := op.Get[int](c, name); v < 1 {
			return nil, c.Invalid(name, "at least 1", fmt.Sprint(v), "")
		}
	}
	kind := op.Get[op.ImageType](c, "image_type")
	if kind == op.YCbCr {
		return nil, c.Unsupported("image_type", "RGB, BGR, GRAY or ANY_DATA", kind.String())
	}
	channels := raster.Color(kind).Channels(-1)
	return []tensor.Spec{{DType: tensor.Uint8, Shape: tensor.Shape{length, -1, -1, channels},
		Layout: "FHWC"}}, loaderargs.Check(c)
}

// sequences are the frames of several streams. Sequences are counted through all streams.
type sequences struct {
	info           reader.Info
	set            *shards.Set
	streams        []stream
	length, stride int
	step           int
	output         codec.Output
	workers        sync.Pool
}

// stream is a run of frames.
type stream struct {
	frame int   // its first frame in the set
	first int64 // its first sequence
}

// frameDecoder decodes frames.
type frameDecoder struct {
	codec codec.Decoder
	file  []byte
}

func openSequences(ctx context.Context, c *op.Config) (reader.Source, error) {
	if _, err := sequenceSpecs(c); err != nil {
		return nil, err
	}
	q := &sequences{
		length: op.Get[int](c, "sequence_length"), stride: op.Get[int](c, "stride"), step: op.Get[int](c, "step"),
		output: codec.Output{Color: raster.Color(op.Get[op.ImageType](c, "image_type")), DType: tensor.Uint8},
	}
	root := op.Get[string](c, "file_root")
	streams, err := folders.Names(ctx, sequenceName, root)
	if err != nil {
		return nil, err
	}
	streams = slices.DeleteFunc(streams, hidden)
	slices.SortFunc(streams, func(a, b string) int { return cmp.Compare(a+"/", b+"/") }) // as whole paths sort
	lists, err := folders.List(ctx, sequenceName, root, streams,
		func(name string) bool { return !hidden(name) && isImage(name) })
	if err != nil {
		return nil, err
	}
	var paths []string
	h := state.NewHasher("bivouac.readers.sequence.v1")
	h.String(codec.Pixels(q.output))
	for i := range lists {
		before := len(paths)
		for _, e := range lists[i].Files {
			if name := lists[i].Name(e); e.Size >= 0 {
				paths = append(paths, datafs.Under(root, streams[i]+"/"+name))
				h.String(name)
				h.Int(e.Size)
			}
		}
		if n := q.count(len(paths) - before); n > 0 {
			q.streams = append(q.streams, stream{before, q.info.Samples})
			q.info.Samples += n
		}
		h.Int(int64(len(paths)))
		lists[i] = folders.Listing{}
	}
	if q.info.Samples == 0 {
		return nil, &errs.Error{Kind: errs.Invalid, Op: sequenceName, Subject: root,
			Want: fmt.Sprintf("a folder with at least %d images", (q.length-1)*q.stride+1),
			Got: fmt.Sprintf("%d images in %d folders", len(paths),
				len(streams)), Remedy: "each folder of file_root is a stream"}
	}
	if q.set, err = shards.Open(ctx, sequenceName, paths); err != nil {
		return nil, err
	}
	q.info.Format, q.info.Fingerprint = sequenceName, h.Sum()
	return q, nil
}

// hidden reports whether a name is left out by patterns of shells.
func hidden(name string) bool { return strings.HasPrefix(name, ".") }

// isImage reports whether a file has the name of an image.
func isImage(name string) bool {
	at := strings.LastIndexByte(name, '.')
	if at < 0 {
		return false
	}
	switch strings.ToLower(name[at:]) {
	case ".jpg", ".jpeg", ".png", ".bmp", ".tif", ".tiff", ".pnm", ".ppm", ".pgm", ".pbm", ".jp2", ".webp":
		return true
	}
	return false
}

// count returns the number of sequences in a stream of n frames.
func (q *sequences) count(n int) int64 {
	last := n - 1 - (q.length-1)*q.stride // where the last sequence may start
	if last < 0 {
		return 0
	}
	return int64(last/q.step) + 1
}

// first returns the first frame of a sequence.
func (q *sequences) first(id int64) int {
	i := sort.Search(len(q.streams), func(i int) bool { return q.streams[i].first > id }) - 1
	return q.streams[i].frame + int(id-q.streams[i].first)*q.step
}

// Info implements reader.Source.
func (q *sequences) Info() reader.Info { return q.info }

// Size implements reader.Source: the bytes of the files.
func (q *sequences) Size(id int64) (total int64) {
	first := q.first(id)
	for i := range q.length {
		total += q.set.Size(first + i*q.stride)
	}
	return total
}

// Describe implements reader.Source.
func (q *sequences) Describe(id int64) string {
	return fmt.Sprintf("the sequence of %d frames from %s on", q.length, q.set.Path(q.first(id)))
}

// Close implements reader.Source.
func (q *sequences) Close() error { return q.set.Close() }

// Fetch implements reader.Source.
func (q *sequences) Fetch(ctx context.Context, ids []int64, dst *op.Block) error {
	d, ok := q.workers.Get().(*frameDecoder)
	if !ok {
		d = &frameDecoder{}
	}
	defer q.workers.Put(d)
	return reader.Each(ctx, ids, dst, func(id int64, s int) error { return q.fetch(ctx, q.first(id), s, dst, d) })
}

func (q *sequences) fetch(ctx context.Context, first, s int, dst *op.Block, d *frameDecoder) error {
	var out []byte
	var height, width, channels int
	for i := range q.length {
		frame := first + i*q.stride
		err := d.read(ctx, q.set, frame)
		var h codec.Header
		if err == nil {
			h, err = codec.ReadHeader(d.file)
		}
		o := q.output
		limits := dst.Limits()
		o.Limits = raster.Limits{Pixels: limits.MaxPixels, Bytes: limits.MaxBytes}
		if limits.MaxTime > 0 {
			o.Limits.Check, o.Limits.Deadline = dst.Overdue, dst.Binding().Deadline
		}
		if err == nil {
			err = o.Limits.CheckPixels(h.Format.String(), h.Width, h.Height)
		}
		if err != nil {
			return errs.Wrap("", "frame "+q.set.Path(frame), err)
		}
		w, t, c := o.Size(h)
		switch {
		case i == 0:
			height, width, channels = t, w, c
			out = dst.Out(0, s, q.length, height, width, channels).Data
		case w != width || t != height || c != channels:
			return &errs.Error{Kind: errs.Mismatch, Subject: "frame " + q.set.Path(frame),
				Want: fmt.Sprintf("%d x %d pixels of %d channels, as the first frame of the sequence", height,
					width, channels),
				Got: fmt.Sprintf("%d x %d of %d", t, w, c)}
		}
		size := height * width * channels
		o.Region = jpeg.Region{W: width, H: height}
		if err := d.codec.Decode(out[i*size:(i+1)*size], d.file, h, o); err != nil {
			return errs.Wrap("", "frame "+q.set.Path(frame), err)
		}
	}
	return nil
}

// read reads a file.
func (d *frameDecoder) read(ctx context.Context, set *shards.Set, i int) error {
	n := int(set.Size(i))
	if cap(d.file) < n {
		d.file = make([]byte, n)
	}
	d.file = d.file[:n]
	return set.ReadAt(ctx, i, d.file, 0)
}

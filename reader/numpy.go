package reader

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/npy"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/reader/internal/loaderargs"
	"github.com/bivouac-ml/bivouac/state"
	"github.com/bivouac-ml/bivouac/tensor"
)

const numpyName = "readers.numpy"

func init() { Register(numpySchema(), numpyOpener) }

var numpyOpener = Opener{Outputs: numpySpecs, Open: openNumpy, Behind: regionBehind}

func numpySchema() op.Schema {
	return op.Schema{
		Name: "numpy", Module: []string{"readers"},
		Doc: "Reads arrays of numpy: files with one array each, as numpy.save writes them, or a region of each array. " +
			"All have the type and the number of axes of the first file.",
		Outputs: []op.Port{{Name: "arrays", Doc: "the array of a file, in C order"}},
		Params: loaderargs.With(append(append(dataFileParams("*.npy"), regionParams()...),
			op.Parameter{Name: "cache_header_information", Type: op.Bool, Default: false, Tuning: true, Doc: "Keeps the headers of files; no effect: files are read in one piece with their headers."},
			op.Parameter{Name: "register_buffers", Type: op.Bool, Default: true, Tuning: true, Doc: "Registers buffers with a driver; no effect."},
			op.Parameter{Name: "use_o_direct", Type: op.Bool, Default: false, Tuning: true, Doc: "Reads past the cache of the system; no effect."},
		)...),
	}
}

// numpySpecs describes the output by the header of the first file.
func numpySpecs(c *op.Config) ([]tensor.Spec, error) {
	if err := checkDataFiles(c); err != nil {
		return nil, err
	}
	if _, err := newRegion(c); err != nil {
		return nil, err
	}
	set, err := firstDataFile(c)
	if err != nil {
		return nil, err
	}
	defer set.Close() //nolint:errcheck // nothing was written
	n := &arrays{files: &dataFiles{set: set}}
	b := n.buffer()
	h, err := n.header(context.Background(), 0, b)
	if err != nil {
		return nil, errs.Wrap(numpyName, set.Path(0), err)
	}
	return []tensor.Spec{{DType: h.DType, Shape: unknown(len(h.Shape))}}, nil
}

// arrays is a set of files with an array each.
type arrays struct {
	info    Info
	files   *dataFiles
	spec    tensor.Spec
	region  *region // nil: the whole array
	fill    []byte  // an element
	last    atomic.Pointer[seenHeader]
	buffers sync.Pool
}

// seenHeader is a header that was parsed. Files of a data set often have equal headers.
type seenHeader struct {
	raw    []byte // the first headBytes of the file
	header npy.Header
}

// The sizes of what is read of a file at first: the header that numpy writes for almost all arrays,
// or a small file as a whole.
const (
	headBytes  = 128
	smallBytes = 16 << 10
)

func openNumpy(ctx context.Context, c *op.Config) (Source, error) {
	specs, err := numpySpecs(c)
	if err != nil {
		return nil, err
	}
	n := &arrays{spec: specs[0]}
	if n.region, err = newRegion(c); err != nil {
		return nil, err
	}
	if n.fill, err = elementOf(n.spec.DType, op.Get[float64](c, "fill_value")); err != nil {
		return nil, c.Unsupported("fill_value", "arrays of integers, floats or bools", n.spec.DType.String())
	}
	if n.files, err = openDataFiles(ctx, c); err != nil {
		return nil, err
	}
	n.info = Info{Format: numpyName, Samples: int64(n.files.set.Len()),
		Fingerprint: n.files.fingerprint("bivouac.readers.numpy.v1")}
	return n, nil
}

// fingerprint hashes names and sizes in order, and not the contents: reading them takes as long as
// an epoch.
func (f *dataFiles) fingerprint(kind string) string {
	h := state.NewHasher(kind)
	for i := range f.set.Len() {
		h.String(f.name(i))
		h.Int(f.set.Size(i))
	}
	return h.Sum()
}

func (n *arrays) Info() Info { return n.info }

// Size implements Source.
func (n *arrays) Size(id int64) int64 { return n.files.set.Size(int(id)) }

// Describe implements Source.
func (n *arrays) Describe(id int64) string { return "file " + n.files.set.Path(int(id)) }

// Name implements Named.
func (n *arrays) Name(id int64) string { return n.files.name(int(id)) }

// Close implements Source.
func (n *arrays) Close() error { return n.files.set.Close() }

// Fetch implements Source.
func (n *arrays) Fetch(ctx context.Context, ids []int64, dst *op.Block) error {
	b := n.buffer()
	defer n.buffers.Put(b)
	return Each(ctx, ids, dst, func(id int64, s int) error { return n.fetch(ctx, int(id), s, dst, b) })
}

// front is the beginning of a file that is being read.
type front struct {
	b    [smallBytes]byte
	size int // bytes that were read
}

func (n *arrays) buffer() *front {
	if b, ok := n.buffers.Get().(*front); ok {
		return b
	}
	return new(front)
}

// header reads the beginning of file i to b and returns its header.
func (n *arrays) header(ctx context.Context, i int, b *front) (npy.Header, error) {
	size := n.files.set.Size(i)
	if b.size = int(min(size, smallBytes)); size > smallBytes {
		b.size = headBytes
	}
	if err := n.files.set.ReadAt(ctx, i, b.b[:b.size], 0); err != nil {
		return npy.Header{}, err
	}
	if l := n.last.Load(); l != nil && b.size >= headBytes && bytes.Equal(l.raw, b.b[:headBytes]) {
		if h := l.header; h.Size() <= size-h.DataStart {
			return h, nil
		}
	}
	var rest io.Reader = bytes.NewReader(b.b[:b.size])
	if size > int64(b.size) {
		rest = io.MultiReader(rest, io.NewSectionReader(n.files.set.Reader(ctx, i), int64(b.size), size-int64(b.size)))
	}
	h, err := npy.ReadHeader(rest, size)
	if err == nil && h.DataStart == headBytes {
		n.last.Store(&seenHeader{bytes.Clone(b.b[:headBytes]), h})
	}
	return h, err
}

// data reads bytes of the data of file i.
func (n *arrays) data(ctx context.Context, i int, b *front, p []byte, at int64) error {
	if at+int64(len(p)) <= int64(b.size) {
		copy(p, b.b[at:])
		return nil
	}
	return n.files.set.ReadAt(ctx, i, p, at)
}

// guess reads an array whose header is the one that was seen last, header and elements at once. It
// returns false if the header is another one; nothing is read then that counts.
func (n *arrays) guess(ctx context.Context, i, s int, dst *op.Block, b *front) (bool, error) {
	l := n.last.Load()
	if l == nil || n.region != nil || l.header.DType != n.spec.DType || len(l.header.Shape) != len(n.spec.Shape) ||
		l.header.Fortran && len(l.header.Shape) > 1 || n.files.set.Size(i) != headBytes+l.header.Size() {
		return false, nil
	}
	out := dst.Out(0, s, l.header.Shape...).Data
	if err := n.files.set.ReadSplit(ctx, i, b.b[:headBytes], out, 0); err != nil {
		return true, err
	}
	if !bytes.Equal(l.raw, b.b[:headBytes]) {
		return false, nil
	}
	if h := l.header; h.BigEndian {
		h.Fortran = false
		h.Arrange(out, out)
	}
	return true, nil
}

func (n *arrays) fetch(ctx context.Context, i, s int, dst *op.Block, b *front) error {
	if done, err := n.guess(ctx, i, s, dst, b); done {
		return err
	}
	h, err := n.header(ctx, i, b)
	if err != nil {
		return err
	}
	if h.DType != n.spec.DType || len(h.Shape) != len(n.spec.Shape) {
		return &errs.Error{Kind: errs.Mismatch,
			Want: fmt.Sprintf("%s with %d axes, as in the first file", n.spec.DType, len(n.spec.Shape)),
			Got: fmt.Sprintf("%s with %d axes", h.DType,
				len(h.Shape)), Remedy: "read arrays of other types with a reader of their own"}
	}
	read := func(p []byte, at int64) error { return n.data(ctx, i, b, p, h.DataStart+at) }
	switch {
	case n.region != nil:
		return n.region.fetch(h, s, dst, n.fill, read)
	case !h.Fortran || len(h.Shape) < 2:
		out := dst.Out(0, s, h.Shape...).Data
		if err := read(out, 0); err != nil {
			return err
		}
		h.Fortran = false
		h.Arrange(out, out)
		return nil
	}
	data := op.Scratch[uint8](dst, int(h.Size()))
	if err := read(data, 0); err != nil {
		return err
	}
	h.Arrange(dst.Out(0, s, h.Shape...).Data, data)
	return nil
}

// DALI's former name.
func init() { alias("numpy_reader", numpySchema(), numpyOpener) }

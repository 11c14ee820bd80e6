package layout

import (
	"context"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/orbax"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/npy"
	"github.com/bivouac-ml/bivouac/format/zarr"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// A numpy checkpoint is one file: .npz, whose arrays are a flat dictionary, or .npy, whose one
// array has the name of the file. Each member of an archive is covered by a CRC-32 as a whole; a
// .npy file has no checksum. A directory of such files is not a checkpoint.

const (
	npySuffix = ".npy"
	npzSuffix = ".npz"
)

func isNumpy(name string) bool {
	return strings.HasSuffix(name, npySuffix) || strings.HasSuffix(name, npzSuffix)
}

// numpy returns the name of the single file, or "" if there is another file.
func (e entries) numpy() string {
	for n, dir := range e {
		if len(e) == 1 && !dir && isNumpy(n) {
			return n
		}
	}
	return ""
}

func (c *Checkpoint) numpyMeta(ctx context.Context) error {
	info, err := c.st.Stat(ctx, c.path(c.parts[0]))
	if err == nil && !info.ModTime.IsZero() {
		c.Meta.Commit = info.ModTime.UnixNano()
	}
	return err
}

func (c *Checkpoint) numpyItem(_ context.Context, name string) (Item, error) {
	return Item{Name: name, Kind: Tree}, nil
}

func (c *Checkpoint) numpyTree(ctx context.Context, _ Item) (*OpenTree, error) {
	t := &OpenTree{files: newFiles(c, "")}
	fill := c.fillNpz
	if strings.HasSuffix(c.parts[0], npySuffix) {
		fill = c.fillNpy
	}
	if err := fill(ctx, t); err != nil {
		return nil, errs.Wrap("", c.path(c.parts[0]), joinClose(err, t))
	}
	return t, nil
}

func (c *Checkpoint) fillNpz(ctx context.Context, t *OpenTree) error {
	file := numpyFile{t.files, c.parts[0]}
	archive, err := file.archive(ctx)
	if err != nil {
		return err
	}
	for _, name := range archive.Names() {
		s, stored, err := archive.Stored(name)
		if err != nil {
			return err
		}
		a := numpyArray{file: file, name: name, h: s.Header}
		if stored {
			a.offset, a.verify = s.Offset, s.Verify
		}
		t.add(a)
	}
	return nil
}

func (c *Checkpoint) fillNpy(ctx context.Context, t *OpenTree) error {
	file := numpyFile{t.files, c.parts[0]}
	r, size, err := file.reader(ctx)
	if err != nil {
		return err
	}
	h, err := npy.ReadHeader(io.NewSectionReader(r, 0, size), size)
	if err != nil {
		return err
	}
	a := numpyArray{file: file, name: strings.TrimSuffix(path.Base(c.parts[0]), npySuffix), alone: true, h: h}
	if h.Plain() {
		a.offset = h.DataStart
	}
	t.add(a)
	return nil
}

// add adds the leaf of an array.
func (t *OpenTree) add(a numpyArray) {
	l := Leaf{Path: tree.Path{{Name: a.name, Kind: tree.KeyDict}}, Param: a.name, Kind: Array, array: a,
		Form: &Form{ValueType: orbax.TypeNumpy, DType: a.h.DType, Shape: a.h.Shape, ChunkShape: a.h.Shape,
			ReadShape: a.h.Shape}}
	if a.inPlace() {
		l.File = a.file.name
	}
	t.Leaves = append(t.Leaves, l)
}

// numpyFile is a file of numpy.
type numpyFile struct {
	files *files
	name  string
}

// reader returns the file as the io.ReaderAt that the format needs. It is valid while ctx is.
func (f numpyFile) reader(ctx context.Context) (io.ReaderAt, int64, error) {
	size, err := f.files.Size(ctx, f.name)
	return readerAt{ctx, f, size}, size, err
}

func (f numpyFile) archive(ctx context.Context) (*npy.Archive, error) {
	r, size, err := f.reader(ctx)
	if err != nil {
		return nil, err
	}
	return npy.OpenArchive(r, size, npy.Options{})
}

// readerAt is a numpyFile as an io.ReaderAt.
type readerAt struct {
	ctx  context.Context
	file numpyFile
	size int64
}

func (r readerAt) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 || off >= r.size {
		return 0, io.EOF
	}
	n := int(min(int64(len(p)), r.size-off))
	if err := r.file.files.ReadAt(r.ctx, r.file.name, p[:n], off); err != nil {
		return 0, err
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// numpyArray is one array of a file.
type numpyArray struct {
	file   numpyFile
	name   string
	alone  bool // in a .npy file
	h      npy.Header
	offset int64              // of the elements, if they are stored uncompressed; else 0
	verify func([]byte) error // checks all elements; nil if there is no checksum, or decoding checks it
}

func (a numpyArray) inPlace() bool { return a.offset > 0 }

// unit implements source: the array can only be decoded or verified as a whole.
func (a numpyArray) unit() []int { return slices.Clone([]int(a.h.Shape)) }

// readRegion implements source. Uncompressed elements are read directly. Otherwise all elements are
// decoded, and the wanted ones are copied.
func (a numpyArray) readRegion(ctx context.Context, region, box zarr.Box, dst []byte, w *worker) error {
	size := a.h.DType.Size()
	if !a.inPlace() {
		t, err := a.decode(ctx)
		if err == nil && (t.DType != a.h.DType || !t.Shape.Equal(a.h.Shape)) {
			err = &errs.Error{Kind: errs.Corrupt, Want: a.h.DType.String() + a.h.Shape.String(),
				Got: "a different array than before"}
		}
		if err == nil && region.Equal(zarr.WholeBox(a.h.Shape)) {
			zarr.CopyBox(box, dst, region, t.Data, size)
		} else if err == nil {
			b := w.take(&w.whole, region.Len()*size)
			zarr.CopyBox(region, b, zarr.WholeBox(a.h.Shape), t.Data, size)
			zarr.CopyBox(box, dst, region, b, size)
		}
		return err
	}
	var failed error
	zarr.Runs(region, box, a.h.Shape, size, func(at, whole, n int) {
		if failed == nil {
			failed = a.file.files.ReadAt(ctx, a.file.name, dst[at:at+n], a.offset+int64(whole))
		}
	})
	return failed
}

func (a numpyArray) decode(ctx context.Context) (tensor.Tensor, error) {
	if !a.alone {
		archive, err := a.file.archive(ctx)
		if err != nil {
			return tensor.Tensor{}, err
		}
		return archive.Read(a.name)
	}
	r, size, err := a.file.reader(ctx)
	if err != nil {
		return tensor.Tensor{}, err
	}
	return npy.Read(io.NewSectionReader(r, 0, size), size)
}

// checkBox implements source: it compares all elements with the checksum of the member. Parts have
// no checksum.
func (a numpyArray) checkBox(box zarr.Box, dst []byte) error {
	if a.verify == nil || !box.Equal(zarr.WholeBox(a.h.Shape)) {
		return nil
	}
	return a.verify(dst)
}

// entire implements source.
func (a numpyArray) entire() bool { return a.verify != nil }

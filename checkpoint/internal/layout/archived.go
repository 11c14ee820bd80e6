package layout

import (
	"bytes"
	"context"
	"hash/crc32"
	"io"
	"slices"
	"strconv"
	"sync"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/dcp"
	"github.com/bivouac-ml/bivouac/format/pt"
	"github.com/bivouac-ml/bivouac/format/zarr"
	"github.com/bivouac-ml/bivouac/tensor"
)

// archived is a part that is a tensor in an archive: in the archive of one chunk, or in an archive
// with many tensors.
type archived struct {
	files *files
	dtype tensor.DType
	chunk dcp.Chunk

	mu      sync.Mutex
	tensor  *pt.Tensor // its place in the archive; nil until it is known, or if the archive is compressed
	storage *storageOf // of the tensor
}

// storageOf is a storage of which several tensors may be views. It is compared with its checksum
// once.
type storageOf struct {
	mu   sync.Mutex
	done bool
}

// around is how many bytes an archive of one tensor has at most beside the elements.
const around = 1 << 20

// tileBytes is how much of a part is read before it is checksummed, while it is in the cache.
const tileBytes = 1 << 20

// reader returns the stored bytes of the archive.
func (a *archived) reader(ctx context.Context) io.ReaderAt {
	c := &a.chunk
	return io.NewSectionReader(readerAt{ctx, numpyFile{a.files, c.File}, c.Offset + c.Length}, c.Offset, c.Length)
}

// open finds the tensor in an archive.
func (a *archived) open(p *part, r io.ReaderAt, size int64) (*pt.Tensor, error) {
	archive, err := pt.Open(r, size)
	if err != nil {
		return nil, err
	}
	t, ok := archive.Root.Value.(*pt.Tensor)
	if !ok || t.DType != a.dtype || !slices.Equal(t.Shape, p.box.Shape) {
		e := &errs.Error{Kind: errs.Corrupt, Want: "the tensor " + a.dtype.String() + tensor.Shape(p.box.Shape).String(),
			Got: "another value"}
		if ok {
			e.Got = t.DType.String() + t.Shape.String()
		}
		return nil, e
	}
	return t, nil
}

// where says where an error was found.
func (a *archived) where(err error) error {
	if err == nil {
		return nil
	}
	return errs.Wrap("", a.chunk.File+" at "+strconv.FormatInt(a.chunk.Offset, 10), err)
}

// place returns where the tensor lies, in an archive that is not compressed.
func (a *archived) place(ctx context.Context, p *part) (*pt.Tensor, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.tensor != nil {
		return a.tensor, nil
	}
	t, err := a.open(p, a.reader(ctx), a.chunk.Length)
	if err == nil {
		a.tensor, a.storage = t, &storageOf{}
	}
	return t, err
}

// alone reports whether the tensor is all of its storage.
func alone(t *pt.Tensor) bool { return t.Storage.Size == int64(t.Shape.Len()*t.DType.Size()) }

// vouch compares a storage that has more than the tensor with its checksum, once.
func (a *archived) vouch(ctx context.Context, t *pt.Tensor, w *worker) error {
	if !t.Storage.Checked || alone(t) {
		return nil
	}
	a.storage.mu.Lock()
	defer a.storage.mu.Unlock()
	if a.storage.done {
		return nil
	}
	err := a.sumStorage(ctx, t, w)
	a.storage.done = err == nil
	return err
}

// sumStorage reads a storage and compares it with its checksum.
func (a *archived) sumStorage(ctx context.Context, t *pt.Tensor, w *worker) error {
	sum := uint32(0)
	for at := int64(0); at < t.Storage.Size; at += tileBytes {
		b := w.take(&w.whole, int(min(tileBytes, t.Storage.Size-at)))
		if err := a.files.ReadAt(ctx, a.chunk.File, b, a.chunk.Offset+t.Storage.Offset+at); err != nil {
			return err
		}
		if t.Storage.Checked {
			sum = crc32.Update(sum, crc32.IEEETable, b)
		}
	}
	return t.Storage.Same(sum)
}

// at returns where a byte of the elements lies in the file.
func (a *archived) at(t *pt.Tensor, n int) int64 {
	return a.chunk.Offset + t.Storage.Offset + int64(t.First*t.DType.Size()+n)
}

// read implements partSource.
func (a *archived) read(ctx context.Context, p *part, region, box zarr.Box, dst []byte, whole bool, w *worker) error {
	return a.where(a.readPart(ctx, p, region, box, dst, whole, w))
}

func (a *archived) readPart(ctx context.Context, p *part, region, box zarr.Box, dst []byte, whole bool,
	w *worker) error {
	size := a.dtype.Size()
	if len(a.chunk.Transforms) > 0 {
		b, err := a.unpacked(ctx, p, w)
		if err == nil {
			p.copy(region, box, dst, b, 0, size)
		}
		return err
	}
	t, err := a.place(ctx, p)
	if err != nil {
		return err
	}
	if err := a.vouch(ctx, t, w); err != nil {
		return err
	}
	switch run, ok := box.Run(region, size); {
	case !t.Plain():
		b, err := a.gathered(ctx, t, w)
		if err == nil {
			p.copy(region, box, dst, b, 0, size)
		}
		return err
	case !whole || !alone(t):
		return a.some(ctx, p, t, region, box, dst, w)
	case ok:
		return a.summed(ctx, t, dst[run.Offset:run.Offset+run.Length], w)
	}
	b := w.take(&w.whole, region.Len()*size)
	if err := a.summed(ctx, t, b, w); err != nil {
		return err
	}
	p.copy(region, box, dst, b, 0, size)
	return nil
}

// summed reads all elements, which are the whole storage, and compares them with its checksum.
func (a *archived) summed(ctx context.Context, t *pt.Tensor, b []byte, w *worker) error {
	sum := uint32(0)
	for at := 0; at < len(b); at += tileBytes {
		tile := b[at:min(at+tileBytes, len(b))]
		if err := a.files.ReadAt(ctx, a.chunk.File, tile, a.at(t, at)); err != nil {
			return err
		}
		if t.Storage.Checked {
			sum = crc32.Update(sum, crc32.IEEETable, tile)
		}
	}
	w.cover.add(len(b), t.Storage.Checked)
	return t.Storage.Same(sum)
}

// gathered reads a tensor whose elements lie otherwise than in C order, compares its storage with
// the checksum if the tensor is all of it, and returns the elements in C order.
func (a *archived) gathered(ctx context.Context, t *pt.Tensor, w *worker) ([]byte, error) {
	first, length := t.Extent()
	raw := w.take(&w.encoded, int(length))
	if err := a.files.ReadAt(ctx, a.chunk.File, raw, a.chunk.Offset+t.Storage.Offset+first); err != nil {
		return nil, err
	}
	if alone(t) && length == t.Storage.Size {
		if err := t.Storage.Verify(raw); err != nil {
			return nil, err
		}
	}
	b := w.take(&w.whole, t.Shape.Len()*t.DType.Size())
	t.Gather(b, raw)
	w.cover.add(len(b), t.Storage.Checked)
	return b, nil
}

// unpacked decompresses the archive, compares the storage with its checksum, and returns the
// elements in C order.
func (a *archived) unpacked(ctx context.Context, p *part, w *worker) ([]byte, error) {
	raw := w.take(&w.encoded, int(a.chunk.Length))
	if err := a.files.ReadAt(ctx, a.chunk.File, raw, a.chunk.Offset); err != nil {
		return nil, err
	}
	limit := p.box.Len()*a.dtype.Size() + around
	archive, err := a.chunk.Undo(w.take(&w.whole, limit), raw, limit)
	if err != nil {
		return nil, err
	}
	t, err := a.open(p, bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		return nil, err
	}
	storage := archive[t.Storage.Offset : t.Storage.Offset+t.Storage.Size]
	if err := t.Storage.Verify(storage); err != nil {
		return nil, err
	}
	n := t.Shape.Len() * t.DType.Size()
	w.cover.add(len(raw), t.Storage.Checked)
	first, length := t.Extent()
	extent := storage[first : first+length]
	if t.Plain() {
		return extent, nil
	}
	b := make([]byte, n)
	t.Gather(b, extent)
	return b, nil
}

// wasted is how many bytes may be read for each byte that is wanted, in place of many small reads.
const wasted = 16

// some reads a region whose elements lie in C order.
func (a *archived) some(ctx context.Context, p *part, t *pt.Tensor, region, box zarr.Box, dst []byte, w *worker) error {
	size := a.dtype.Size()
	first, length := p.span(region, size)
	wanted := region.Len() * size
	if run, ok := box.Run(region, size); ok && length == wanted {
		w.cover.add(wanted, t.Storage.Checked && !alone(t))
		return a.files.ReadAt(ctx, a.chunk.File, dst[run.Offset:run.Offset+run.Length], a.at(t, first))
	}
	w.cover.add(wanted, t.Storage.Checked && !alone(t))
	if length <= lumpBytes && length/wasted <= wanted {
		b := w.take(&w.whole, length)
		if err := a.files.ReadAt(ctx, a.chunk.File, b, a.at(t, first)); err != nil {
			return err
		}
		p.copy(region, box, dst, b, first, size)
		return nil
	}
	var failed error
	p.runs(region, box, size, func(at, whole, n int) {
		if failed == nil {
			failed = a.files.ReadAt(ctx, a.chunk.File, dst[at:at+n], a.at(t, whole))
		}
	})
	return failed
}

// check implements partSource. The elements of a part that lies otherwise than in C order, or
// beside other elements, were compared when they were read.
func (a *archived) check(ctx context.Context, p *part, box zarr.Box, dst []byte) error {
	t, err := a.place(ctx, p)
	size := a.dtype.Size()
	if err != nil || !t.Storage.Checked || !t.Plain() || !alone(t) {
		return a.where(err)
	}
	sum := uint32(0)
	p.runs(p.box, box, size, func(at, _, n int) { sum = crc32.Update(sum, crc32.IEEETable, dst[at:at+n]) })
	return a.where(t.Storage.Same(sum))
}

// prove implements partSource.
func (a *archived) prove(ctx context.Context, p *part, w *worker) error {
	if len(a.chunk.Transforms) > 0 {
		_, err := a.unpacked(ctx, p, w)
		return a.where(err)
	}
	t, err := a.place(ctx, p)
	if err != nil {
		return a.where(err)
	}
	if err = a.vouch(ctx, t, w); err == nil && alone(t) {
		err = a.sumStorage(ctx, t, w)
	}
	w.cover.add(p.box.Len()*a.dtype.Size(), t.Storage.Checked)
	return a.where(err)
}

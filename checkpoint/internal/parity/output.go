package parity

import (
	"context"
	"slices"
	"sync"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/internal/crc"
	"github.com/bivouac-ml/bivouac/store"
)

// putBytes is the largest size of a file that is given to the store as a small file.
const putBytes = 1 << 20

// files is the part of a transaction that creates files.
type files interface {
	Create(ctx context.Context, name string, size int64) (store.Writer, error)
	Put(ctx context.Context, name string, b []byte) error
}

// output writes a parity file whose regions arrive in any order.
type output struct {
	to     files
	name   string
	t      *table
	signed bool // the manifest wants digests

	mu     sync.Mutex
	whole  []byte // the content of a small file
	w      store.Writer
	pieces []piece
}

// piece is a written part of a file.
type piece struct {
	off, size int64
	sum       uint32
	runs      []manifest.Run
}

// blocks takes the parity blocks of a region.
func (o *output) blocks(ctx context.Context, r region, b []byte) error {
	off := o.t.head() + int64(r.at)*int64(o.t.block)
	if end := off + int64(len(b)); aligned(end) == o.t.tail() {
		b = append(b, make([]byte, o.t.tail()-end)...)
	}
	return o.put(ctx, b, off)
}

func (o *output) put(ctx context.Context, b []byte, off int64) error {
	p := piece{off: off, size: int64(len(b)), sum: crc.Sum(b)}
	if o.signed {
		p.runs = manifest.Runs(b, off)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.pieces = append(o.pieces, p)
	if o.t.fileSize() <= putBytes {
		if o.whole == nil {
			o.whole = make([]byte, o.t.fileSize())
		}
		copy(o.whole[off:], b)
		return nil
	}
	if o.w == nil {
		w, err := o.to.Create(ctx, o.name, o.t.fileSize())
		if err != nil {
			return err
		}
		o.w = w
	}
	return o.w.WriteAt(ctx, b, off)
}

// finish writes the tables and returns the record of the file.
func (o *output) finish(ctx context.Context) (manifest.File, error) {
	f := manifest.File{Name: o.name, Size: o.t.fileSize()}
	doc := o.t.append(nil)
	tail := appendTrailer(slices.Clone(doc), len(doc))
	err := o.put(ctx, append(doc, make([]byte, o.t.head()-int64(len(doc)))...), 0)
	if err == nil {
		err = o.put(ctx, tail, o.t.tail())
	}
	switch {
	case err != nil:
		return f, err
	case o.w != nil:
		err = o.w.Seal(ctx)
	default:
		err = o.to.Put(ctx, o.name, o.whole)
	}
	slices.SortFunc(o.pieces, func(a, b piece) int { return int(min(max(a.off-b.off, -1), 1)) })
	for _, p := range o.pieces {
		f.CRC = crc.Combine(f.CRC, p.sum, p.size)
		f.Runs = append(f.Runs, p.runs...)
	}
	return f, err
}

// abort abandons the file.
func (o *output) abort() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.w == nil {
		return nil
	}
	return o.w.Abort()
}

package writer

import (
	"context"
	"path"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/crc"
	"github.com/bivouac-ml/bivouac/store"
)

// packBytes is how many bytes a packer encodes before it writes them as a data file.
const packBytes = 32 << 20

// packed returns the size of the elements that must still be packed: elements of chunks whose
// encoded size depends on the data.
func (t *treePlan) packed() int64 {
	n := int64(0)
	for _, a := range t.arrays {
		if a.varies() {
			n += int64(a.bytes())
		}
	}
	return n
}

// varies reports whether the encoded size of the chunks depends on the data.
func (a *array) varies() bool { return !a.raw && len(a.chunks) > 0 && a.chunks[0].size < 0 }

// packer encodes chunks into memory, and writes the memory as a file when it is full, because a
// store needs the size of a file first.
type packer struct {
	writer *Writer
	txn    store.Txn
	memory []byte
	bound  int // largest size of a file with several chunks
	tree   *treePlan
	held   []*chunk // in memory
	pieces []*piece // pieces of these chunks
	used   int
	sum    uint32
	mu     *sync.Mutex // guards the files of trees
}

// writePacked encodes and writes the chunks whose size depends on the data. In a database a data
// file has as many chunks as fit into memory; in other layouts each chunk has its own file. With
// Dedup the grouping of chunks does not depend on their encoded sizes. Chunks of arrays that
// Options.Copied names come first.
func (w *Writer) writePacked(ctx context.Context, txn store.Txn) error {
	if w.opts.Copied == nil {
		return w.writePackedArrays(ctx, txn, func(*array) bool { return true })
	}
	if err := w.writePackedArrays(ctx, txn, func(a *array) bool { return a.first }); err != nil {
		return err
	}
	return w.writePackedArrays(ctx, txn, func(a *array) bool { return !a.first })
}

func (w *Writer) writePackedArrays(ctx context.Context, txn store.Txn, which func(*array) bool) error {
	largest, total := 0, int64(0)
	for _, t := range w.plans() {
		for _, a := range t.arrays {
			if a.varies() && which(a) {
				largest, total = max(largest, a.enc.MaxChunkSize(a.cells[0])), total+int64(a.bytes())
			}
		}
	}
	bound := min(packBytes, total+int64(largest))
	if most := w.opts.maxFileBytes(); most > 0 {
		bound = min(bound, most)
	}
	if most := w.opts.WriteBytes; most > 0 {
		bound = min(bound, most)
	}
	room := max(bound, int64(largest)) // one chunk may be larger than the bound
	todo := w.batches(int(bound), which)
	if len(todo) == 0 {
		return nil
	}
	w.progress.total += total
	var next atomic.Int64
	var mu sync.Mutex
	work := func(ctx context.Context, memory []byte) error {
		p := &packer{writer: w, txn: txn, memory: memory, bound: int(bound), mu: &mu}
		for i := next.Add(1) - 1; i < int64(len(todo)); i = next.Add(1) - 1 {
			for _, c := range todo[i].chunks {
				if err := p.add(ctx, todo[i].tree, c); err != nil {
					return err
				}
			}
			if w.opts.Dedup == nil {
				continue
			}
			if err := p.flush(ctx); err != nil {
				return err
			}
		}
		return p.flush(ctx)
	}
	return w.runWorkers(ctx, w.within(min(runtime.GOMAXPROCS(0), writers/2, len(todo)), int(room)), int(room), largest,
		work)
}

// batch is a list of chunks that a packer takes at once.
type batch struct {
	tree   *treePlan
	chunks []*chunk
}

// batches returns single chunks or, with Dedup, the chunks of one data file each: chunks in the
// order of names that take at most bound bytes, however well they compress. A larger chunk is a
// batch by itself.
func (w *Writer) batches(bound int, which func(*array) bool) (out []batch) {
	for _, t := range w.plans() {
		used := bound
		for _, a := range byName(t.arrays) {
			if !a.varies() || !which(a) {
				continue
			}
			for i := range a.chunks {
				c := &a.chunks[i]
				most := a.enc.MaxChunkSize(c.cell())
				if w.opts.Dedup == nil || used+most > bound {
					out, used = append(out, batch{tree: t}), 0
				}
				used += most
				last := &out[len(out)-1]
				last.chunks = append(last.chunks, c)
			}
		}
	}
	return out
}

// add encodes a chunk.
func (p *packer) add(ctx context.Context, t *treePlan, c *chunk) error {
	most := c.array.enc.MaxChunkSize(c.cell())
	if p.tree != t || p.used+most > min(p.bound, len(p.memory)) {
		if err := p.flush(ctx); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return &errs.Error{Kind: errs.Canceled, Op: "checkpoint.Save", Err: context.Cause(ctx)}
	}
	one := &piece{chunk: c, sub: wholeShard, off: int64(p.used)}
	sum, err := c.encode(ctx, one, p.memory[p.used:p.used+most])
	if err != nil {
		return one.explain(err)
	}
	p.writer.status.readOne(c.array)
	p.tree, p.held, p.pieces = t, append(p.held, c), append(p.pieces, one)
	c.offset, c.size = int64(p.used), one.size
	p.sum = crc.Combine(p.sum, sum, int64(c.size))
	p.used += c.size
	if !InDatabase(t.layout) {
		return p.flush(ctx)
	}
	return nil
}

// flush writes the held chunks as a file.
func (p *packer) flush(ctx context.Context) error {
	if len(p.held) == 0 {
		return nil
	}
	f := &file{size: int64(p.used), crc: p.sum, written: true}
	first := p.held[0]
	f.name = path.Join(first.array.param, first.key())
	if InDatabase(p.tree.layout) {
		var err error
		if f.name, err = p.name(); err != nil {
			return err
		}
	}
	if err := p.write(ctx, f); err != nil {
		return err
	}
	done := 0
	for _, c := range p.held {
		c.file = f
		region, _ := c.region(wholeShard)
		done += region.Len() * c.array.src.DType.Size()
		p.writer.status.writtenOne(c.array)
	}
	p.mu.Lock()
	p.tree.files = append(p.tree.files, f)
	p.mu.Unlock()
	p.writer.progress.add(int64(done))
	p.held, p.pieces, p.used, p.sum = p.held[:0], nil, 0, 0
	return nil
}

// write writes the held chunks as the file f, or links it.
func (p *packer) write(ctx context.Context, f *file) error {
	name := path.Join(p.tree.data, f.name)
	f.hashed, f.units = p.writer.opts.Dedup != nil, []*unit{{size: p.used, pieces: p.pieces}}
	p.writer.note(f, f.units[0], p.memory[:p.used])
	if p.writer.base.mayHave(f) {
		if linked, err := p.writer.base.link(ctx, p.txn, name, f); linked || err != nil {
			return err
		}
	}
	out, err := p.txn.Create(ctx, name, f.size)
	if err == nil {
		err = out.WriteAt(ctx, p.memory[:p.used], 0)
	}
	if err == nil {
		err = out.Seal(ctx)
	}
	return err
}

// name draws the name of a data file. All packers share one source of random numbers.
func (p *packer) name() (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return fileName(p.writer.opts.Random)
}

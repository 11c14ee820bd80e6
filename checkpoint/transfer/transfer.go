package transfer

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/crc"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/telemetry"
)

// Options of a Transfer. The zero value copies what the source has, damaged or not.
type Options struct {
	// Overwrite replaces another checkpoint at the destination.
	Overwrite bool
	// Check copies nothing that differs from the manifest of the source, and reads the copy back
	// before it appears. A store whose transactions cannot be read is read when the copy has appeared,
	// and a wrong copy is removed.
	Check bool
	// NoReadBack trusts the store with what it has acknowledged. Without Check it has no effect.
	NoReadBack bool
	// Budget bounds the transfer; nil is NewBudget(0, 0).
	Budget *Budget
	// Progress, when not nil, receives how many bytes of how many were copied, read back or compared,
	// one call at a time and from other goroutines.
	Progress func(done, total int64)
}

// Transfer copies the files of one checkpoint. Its methods are called one after the other.
type Transfer struct {
	src, dst Place
	files    []File
	last     []string // files that the commit writes, the last one first
	o        Options
	budget   *Budget
	listed   *manifest.Manifest // of the source; nil without Options.Check, or without a manifest

	mu   sync.Mutex
	sums map[string][]uint32 // CRC-32C of the pieces read from the source
}

// New prepares the copy of the files of a checkpoint; see Files. o may be nil.
func New(ctx context.Context, src, dst Place, files []File, o *Options) (*Transfer, error) {
	const op = "transfer.New"
	if len(files) == 0 {
		return nil, &errs.Error{Kind: errs.Corrupt, Op: op, Subject: src.Text, Got: "a checkpoint without files"}
	}
	t := &Transfer{src: src, dst: dst, files: files, last: lastOf(files), sums: map[string][]uint32{}}
	if o != nil {
		t.o = *o
	}
	if t.budget = t.o.Budget; t.budget == nil {
		t.budget = NewBudget(0, 0)
	}
	if !t.o.Check || t.last[0] != manifest.Name {
		return t, nil
	}
	doc, err := store.ReadAll(ctx, src.Store, src.below(manifest.Name))
	if err == nil {
		t.listed, err = manifest.Parse(doc)
	}
	return t, errs.Wrap(op, src.Text, err)
}

// Total returns the bytes of the files.
func (t *Transfer) Total() (n int64) {
	for _, f := range t.files {
		n += f.Bytes
	}
	return n
}

// pieces returns the number of pieces of a file, which is at least 1.
func (t *Transfer) pieces(f File) int { return int(max(1, (f.Bytes+t.budget.piece-1)/t.budget.piece)) }

// piece returns where a piece of a file lies.
func (t *Transfer) piece(f File, i int) (off, size int64) {
	off = int64(i) * t.budget.piece
	return off, min(f.Bytes-off, t.budget.piece)
}

// Run copies the files in a transaction. What makes the checkpoint whole comes last.
func (t *Transfer) Run(ctx context.Context) (err error) {
	ctx, told := telemetry.Begin(ctx, telemetry.Operation{Name: telemetry.Copy, Path: t.dst.Text, Step: telemetry.NoStep})
	defer func() { told.End(telemetry.Outcome{Err: err, Bytes: t.Total(), Files: len(t.files)}) }()
	txn, err := t.dst.Store.Begin(ctx, t.dst.Name, store.TxnOptions{Overwrite: t.o.Overwrite})
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = txn.Abort()
		}
	}()
	c := newCrew(ctx, t.Total(), t.o.Progress)
	for _, f := range t.files {
		if !slices.Contains(t.last, f.Name) {
			t.file(c, txn, f)
		}
	}
	if err := c.end(); err != nil {
		return err
	}
	blobs, err := t.blobs(ctx)
	if err != nil {
		return err
	}
	unread, err := t.reread(ctx, txn)
	if err != nil {
		return err
	}
	if err := txn.Commit(ctx, blobs[0], blobs[1:]...); err != nil || !t.o.Check || t.o.NoReadBack {
		return err
	}
	if unread == nil {
		unread = func(f File) bool { return slices.Contains(t.last, f.Name) }
	}
	if err := t.compare(ctx, unread, t.published); err != nil {
		return t.takeBack(ctx, err)
	}
	return nil
}

// takeBack removes a copy that is not what was sent, and returns why.
func (t *Transfer) takeBack(ctx context.Context, why error) error {
	if errs.KindOf(why) != errs.Corrupt {
		return why
	}
	err := t.dst.Store.RemoveTree(context.WithoutCancel(ctx), t.dst.Name)
	if err != nil && errs.KindOf(err) != errs.NotFound {
		return &errs.Error{Kind: errs.Corrupt, Got: "a wrong copy, which could not be removed", Err: errors.Join(why, err)}
	}
	return why
}

// blobs reads the files that the commit writes.
func (t *Transfer) blobs(ctx context.Context) ([]store.Blob, error) {
	var blobs []store.Blob
	for _, name := range t.last {
		b, err := store.ReadAll(ctx, t.src.Store, t.src.below(name))
		if err != nil {
			return nil, err
		}
		if t.listed != nil && name != manifest.Name {
			if f, ok := t.listed.File(name); ok {
				if err := t.sound(f, crc.Sum(b), int64(len(b))); err != nil {
					return nil, err
				}
			}
		}
		f := File{name, int64(len(b))}
		for i := range t.pieces(f) {
			off, size := t.piece(f, i)
			t.note(name, i, crc.Sum(b[off:off+size]))
		}
		if err := t.budget.pace(ctx, int64(len(b))); err != nil {
			return nil, err
		}
		blobs = append(blobs, store.Blob{Name: name, Data: b})
	}
	return blobs, nil
}

// file copies the pieces of a file. The last one to end seals it.
func (t *Transfer) file(c *crew, txn store.Txn, f File) {
	r, err := t.src.Store.Open(c.ctx, t.src.below(f.Name))
	if err != nil {
		c.stop(err)
		return
	}
	w, err := txn.Create(c.ctx, f.Name, f.Bytes)
	if err != nil {
		_ = r.Close()
		c.stop(err)
		return
	}
	n := int64(t.pieces(f))
	var done, over atomic.Int64
	release := func() {
		if over.Add(1) == n {
			_ = r.Close() // only read from
		}
	}
	for i := range int(n) {
		off, size := t.piece(f, i)
		started := c.run(size, func(ctx context.Context) error {
			defer release()
			if err := t.move(ctx, r, w, f.Name, i, off, size); err != nil {
				return err
			}
			if done.Add(1) < n {
				return nil
			}
			if err := t.check(f); err != nil {
				return err
			}
			return w.Seal(ctx)
		})
		if !started {
			release()
		}
	}
}

// move copies one piece.
func (t *Transfer) move(ctx context.Context, r store.Reader, w store.Writer, name string, i int,
	off, size int64) error {
	if err := t.budget.take(ctx, size); err != nil {
		return err
	}
	defer t.budget.give(size)
	b := make([]byte, size)
	if err := r.ReadAt(ctx, b, off); err != nil {
		return err
	}
	t.note(name, i, crc.Sum(b))
	if size == 0 {
		return nil
	}
	if err := t.budget.pace(ctx, size); err != nil {
		return err
	}
	return w.WriteAt(ctx, b, off)
}

// note keeps the checksum of a piece.
func (t *Transfer) note(name string, piece int, sum uint32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.sums[name]) <= piece {
		t.sums[name] = append(t.sums[name], 0)
	}
	t.sums[name][piece] = sum
}

// check compares what was read of a file with the manifest.
func (t *Transfer) check(f File) error {
	if t.listed == nil {
		return nil
	}
	listed, ok := t.listed.File(f.Name)
	if !ok {
		return nil
	}
	sum := uint32(0)
	t.mu.Lock()
	for i, s := range t.sums[f.Name] {
		_, size := t.piece(f, i)
		sum = crc.Combine(sum, s, size)
	}
	t.mu.Unlock()
	return t.sound(listed, sum, f.Bytes)
}

// sound returns an error unless a file of the source is what its manifest says.
func (t *Transfer) sound(f manifest.File, sum uint32, size int64) error {
	if f.Size == size && f.CRC == sum {
		return nil
	}
	return &errs.Error{Kind: errs.Corrupt, Op: "transfer", Subject: t.src.join(f.Name), Err: ErrSource,
		Want: "the bytes of the manifest", Got: "others: the source is damaged, and nothing of it was copied",
		Remedy: "bivouac verify says where, bivouac repair may mend it"}
}

// ErrSource is in the chain of an error if the source is damaged, and not the copy.
var ErrSource = errors.New("the source is damaged")

// reread reads the copy before it appears. If the store cannot do that, unread selects the files
// that must be read when the copy has appeared: all of them.
func (t *Transfer) reread(ctx context.Context, txn store.Txn) (unread func(File) bool, err error) {
	if !t.o.Check || t.o.NoReadBack {
		return nil, nil
	}
	sealed := func(f File) bool { return !slices.Contains(t.last, f.Name) }
	err = t.compare(ctx, sealed, func(ctx context.Context, name string) (store.Reader, error) {
		return store.Reread(ctx, txn, name)
	})
	if errs.KindOf(err) == errs.Unsupported {
		return func(File) bool { return true }, nil
	}
	return nil, err
}

// published opens a file of the copy that has appeared.
func (t *Transfer) published(ctx context.Context, name string) (store.Reader, error) {
	return t.dst.Store.Open(ctx, t.dst.below(name))
}

// Compare reads the copy, and compares it with what Run has read from the source.
func (t *Transfer) Compare(ctx context.Context) error {
	return t.compare(ctx, func(File) bool { return true }, t.published)
}

func (t *Transfer) compare(ctx context.Context, which func(File) bool,
	open func(ctx context.Context, name string) (store.Reader, error)) error {
	c := newCrew(ctx, t.Total(), t.o.Progress)
	for _, f := range t.files {
		if which(f) {
			t.read(c, f, open, func(_ context.Context, i int, off int64, b []byte) error {
				if crc.Sum(b) != t.sums[f.Name][i] {
					return t.differs(f.Name, off)
				}
				return nil
			})
		}
	}
	return c.end()
}

// read reads the pieces of a file of the copy.
func (t *Transfer) read(c *crew, f File, open func(ctx context.Context, name string) (store.Reader, error),
	see func(ctx context.Context, i int, off int64, b []byte) error) {
	for i := range t.pieces(f) {
		off, size := t.piece(f, i)
		c.run(size, func(ctx context.Context) error {
			r, err := open(ctx, f.Name)
			if err != nil {
				return err
			}
			defer r.Close() //nolint:errcheck // only read
			if r.Size() != f.Bytes {
				return t.differs(f.Name, min(r.Size(), f.Bytes))
			}
			if err := t.budget.take(ctx, size); err != nil {
				return err
			}
			defer t.budget.give(size)
			if err := t.budget.pace(ctx, size); err != nil {
				return err
			}
			b := make([]byte, size)
			if err := r.ReadAt(ctx, b, off); err != nil {
				return err
			}
			return see(ctx, i, off, b)
		})
	}
}

// differs returns the error for bytes that differ from the source.
func (t *Transfer) differs(name string, off int64) error {
	return &errs.Error{Kind: errs.Corrupt, Op: "transfer", Subject: t.dst.join(name),
		Want: "the bytes of the source", Got: "others, near offset " + strconv.FormatInt(off, 10),
		Remedy: "copy it again, and replace this copy"}
}

// Present reports whether the destination has the same files. If it has the manifest of the source,
// so are the files that the manifest names, and only names and sizes are compared. Otherwise all
// bytes are.
func (t *Transfer) Present(ctx context.Context) (bool, error) {
	there, err := Files(ctx, t.dst)
	if err != nil || len(there) != len(t.files) {
		return false, err
	}
	sizes := map[string]int64{}
	for _, f := range there {
		sizes[f.Name] = f.Bytes
	}
	for _, f := range t.files {
		if n, ok := sizes[f.Name]; !ok || n != f.Bytes {
			return false, nil
		}
	}
	compared := t.files
	if t.last[0] == manifest.Name {
		compared = []File{t.files[slices.IndexFunc(t.files, func(f File) bool { return f.Name == t.last[0] })]}
	}
	c := newCrew(ctx, t.Total(), t.o.Progress)
	var differ atomic.Bool
	for _, f := range compared {
		r, err := t.src.Store.Open(ctx, t.src.below(f.Name))
		if err != nil {
			c.stop(err)
			break
		}
		defer r.Close() //nolint:errcheck // only read
		t.read(c, f, t.published, func(ctx context.Context, _ int, off int64, b []byte) error {
			own := make([]byte, len(b))
			if err := r.ReadAt(ctx, own, off); err != nil {
				return err
			}
			if !bytes.Equal(own, b) {
				differ.Store(true)
			}
			return nil
		})
	}
	err = c.end()
	return err == nil && !differ.Load(), err
}

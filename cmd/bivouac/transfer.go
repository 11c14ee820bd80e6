package main

import (
	"bytes"
	"context"
	"hash/crc32"
	"path"
	"slices"
	"sync"

	"github.com/bivouac-ml/bivouac/store"
)

// A transfer reads and writes pieces of files, several at once.
const (
	transferPiece = 8 << 20
	transfersAt   = 8
)

// transfer copies the files of a checkpoint from one store to another.
type transfer struct {
	from, to    store.Store
	root, final string
	dst         place
	files       []storedFile
	last        []string // files that the commit writes, the last one first

	mu   sync.Mutex
	sums map[string][]uint32 // CRC-32C of the pieces read from the source
}

// total returns the bytes of the files.
func (t *transfer) total() (n int64) {
	for _, f := range t.files {
		n += f.Bytes
	}
	return n
}

// crew runs tasks, several at once, and keeps the first error. The tasks after it are not run.
type crew struct {
	ctx  context.Context
	stop context.CancelCauseFunc
	turn chan struct{}
	wait sync.WaitGroup

	mu   sync.Mutex
	done int64
	all  int64
	tell func(done, total int64)
}

func newCrew(ctx context.Context, all int64, tell func(done, total int64)) *crew {
	c := &crew{turn: make(chan struct{}, transfersAt), all: all, tell: tell}
	c.ctx, c.stop = context.WithCancelCause(ctx)
	return c
}

// run starts a task of n bytes. It waits while too many go on.
func (c *crew) run(n int64, task func(ctx context.Context) error) {
	select {
	case c.turn <- struct{}{}:
	case <-c.ctx.Done():
		return
	}
	c.wait.Go(func() {
		defer func() { <-c.turn }()
		if err := task(c.ctx); err != nil {
			c.stop(err)
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.done += n
		c.tell(c.done, c.all)
	})
}

// end waits for the tasks and returns the first error.
func (c *crew) end() error {
	c.wait.Wait()
	err := context.Cause(c.ctx)
	c.stop(nil)
	return err
}

// run copies the files in a transaction. What the commit writes comes last.
func (t *transfer) run(ctx context.Context, overwrite bool, tell func(done, total int64)) (err error) {
	txn, err := t.to.Begin(ctx, t.final, store.TxnOptions{Overwrite: overwrite})
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = txn.Abort()
		}
	}()
	c := newCrew(ctx, t.total(), tell)
	for _, f := range t.files {
		if !slices.Contains(t.last, f.Name) {
			t.file(c, txn, f)
		}
	}
	if err := c.end(); err != nil {
		return err
	}
	var blobs []store.Blob
	for _, name := range t.last {
		b, err := store.ReadAll(ctx, t.from, path.Join(t.root, name))
		if err != nil {
			return err
		}
		for i := 0; i == 0 || i < len(b); i += transferPiece {
			t.note(name, i/transferPiece, b[i:min(len(b), i+transferPiece)])
		}
		blobs = append(blobs, store.Blob{Name: name, Data: b})
	}
	return txn.Commit(ctx, blobs[0], blobs[1:]...)
}

// file copies the pieces of a file. The last one seals it.
func (t *transfer) file(c *crew, txn store.Txn, f storedFile) {
	r, err := t.from.Open(c.ctx, path.Join(t.root, f.Name))
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
	n := max(1, int((f.Bytes+transferPiece-1)/transferPiece))
	left := n
	for i := range n {
		off := int64(i) * transferPiece
		size := min(f.Bytes-off, transferPiece)
		c.run(size, func(ctx context.Context) error {
			b := make([]byte, size)
			if err := r.ReadAt(ctx, b, off); err != nil {
				return err
			}
			t.note(f.Name, i, b)
			if size > 0 {
				if err := w.WriteAt(ctx, b, off); err != nil {
					return err
				}
			}
			t.mu.Lock()
			left--
			last := left == 0
			t.mu.Unlock()
			if !last {
				return nil
			}
			_ = r.Close()
			return w.Seal(ctx)
		})
	}
}

// note keeps the checksum of a piece.
func (t *transfer) note(name string, piece int, b []byte) {
	sum := crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli))
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.sums[name]) <= piece {
		t.sums[name] = append(t.sums[name], 0)
	}
	t.sums[name][piece] = sum
}

// compare reads the copy, and compares it with what was read from the source.
func (t *transfer) compare(ctx context.Context, tell func(done, total int64)) error {
	c := newCrew(ctx, t.total(), tell)
	for _, f := range t.files {
		t.pieces(c, f, func(ctx context.Context, i int, off int64, b []byte) error {
			if crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) != t.sums[f.Name][i] {
				return differs(t.dst, f.Name, off)
			}
			return nil
		})
	}
	return c.end()
}

// pieces reads the pieces of a file of the copy.
func (t *transfer) pieces(c *crew, f storedFile, see func(ctx context.Context, i int, off int64, b []byte) error) {
	for i := range max(1, int((f.Bytes+transferPiece-1)/transferPiece)) {
		off := int64(i) * transferPiece
		size := min(f.Bytes-off, transferPiece)
		c.run(size, func(ctx context.Context) error {
			r, err := t.to.Open(ctx, path.Join(t.final, f.Name))
			if err != nil {
				return err
			}
			defer r.Close() //nolint:errcheck // only read
			if r.Size() != f.Bytes {
				return differs(t.dst, f.Name, min(r.Size(), f.Bytes))
			}
			b := make([]byte, size)
			if err := r.ReadAt(ctx, b, off); err != nil {
				return err
			}
			return see(ctx, i, off, b)
		})
	}
}

// present reports whether the destination has the same files. Where a manifest of Bivouac is the
// same, so are the files that it names, and only names and sizes are compared. Elsewhere all bytes
// are.
func (t *transfer) present(ctx context.Context, tell func(done, total int64)) (bool, error) {
	there, err := t.dst.files(ctx)
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
	if t.last[0] == "bivouac.manifest" {
		compared = []storedFile{t.files[slices.IndexFunc(t.files, func(f storedFile) bool { return f.Name == t.last[0] })]}
	}
	c := newCrew(ctx, t.total(), tell)
	var differ bool
	for _, f := range compared {
		r, err := t.from.Open(ctx, path.Join(t.root, f.Name))
		if err != nil {
			c.stop(err)
			break
		}
		defer r.Close() //nolint:errcheck // only read
		t.pieces(c, f, func(ctx context.Context, _ int, off int64, b []byte) error {
			own := make([]byte, len(b))
			if err := r.ReadAt(ctx, own, off); err != nil {
				return err
			}
			if !bytes.Equal(own, b) {
				t.mu.Lock()
				differ = true
				t.mu.Unlock()
			}
			return nil
		})
	}
	err = c.end()
	return err == nil && !differ, err
}

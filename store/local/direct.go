package local

import (
	"errors"
	"fmt"
	"syscall"
	"unsafe"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs"
)

// allocate decides how to write a new file and reserves its room.
func (w *writer) allocate() error {
	s := w.t.s
	if from := s.opt.DirectFrom; from != Buffered && w.size >= from && w.size > 0 && !s.indirect.Load() {
		err := w.f.SetDirect(true)
		if err != nil && !errors.Is(err, errors.ErrUnsupported) {
			return err
		}
		w.direct = err == nil
		s.indirect.Store(err != nil)
	}
	if w.direct {
		w.room = (w.size + vfs.DirectBlock - 1) &^ (vfs.DirectBlock - 1)
	}
	if w.room == 0 {
		return nil
	}
	return w.f.Allocate(w.room)
}

// write writes p at off and returns how many of its bytes went past the cache.
func (w *writer) write(p []byte, off int64) (past int64, err error) {
	if !w.isDirect() {
		return 0, writeFull(w.f, p, off)
	}
	end := off + int64(len(p))
	if off%vfs.DirectBlock != 0 || (end%vfs.DirectBlock != 0 && end != w.size) {
		return 0, &errs.Error{
			Kind: errs.Invalid, Want: fmt.Sprintf("offset and length in multiples of %d, except at the end of the object", vfs.DirectBlock),
			Got: fmt.Sprintf("%d bytes at %d", len(p), off),
		}
	}
	if err = w.writeDirect(p, off); err == nil {
		return int64(len(p)), nil
	}
	if !errors.Is(err, syscall.EINVAL) {
		return 0, err
	}
	if err := w.giveUpDirect(); err != nil {
		return 0, err
	}
	return 0, writeFull(w.f, p, off)
}

// bounceBytes bounds the buffer for writes from memory that is not aligned.
const bounceBytes = 256 << 10

// writeDirect writes bytes that are aligned in memory directly, and all others through an aligned
// buffer. The end of the object is padded with zeros.
func (w *writer) writeDirect(p []byte, off int64) error {
	if body := len(p) &^ (vfs.DirectBlock - 1); body > 0 && vfs.Aligned(p) {
		if err := writeFull(w.f, p[:body], off); err != nil {
			return err
		}
		p, off = p[body:], off+int64(body)
	}
	if len(p) == 0 {
		return nil
	}
	bounce := aligned(min(bounceBytes, (len(p)+vfs.DirectBlock-1)&^(vfs.DirectBlock-1)))
	for len(p) > 0 {
		n := copy(bounce, p)
		padded := (n + vfs.DirectBlock - 1) &^ (vfs.DirectBlock - 1)
		clear(bounce[n:padded])
		if err := writeFull(w.f, bounce[:padded], off); err != nil {
			return err
		}
		p, off = p[n:], off+int64(n)
	}
	return nil
}

// aligned returns n bytes that start at a multiple of the block size.
func aligned(n int) []byte {
	b := make([]byte, n+vfs.DirectBlock)
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(b))) & (vfs.DirectBlock - 1))
	return b[skip : skip+n : skip+n]
}

func (w *writer) isDirect() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.direct
}

// giveUpDirect writes the rest of the file through the page cache.
func (w *writer) giveUpDirect() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.direct {
		return nil
	}
	w.direct = false
	w.t.s.indirect.Store(true)
	return w.f.SetDirect(false)
}

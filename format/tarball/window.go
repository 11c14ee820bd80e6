package tarball

import (
	"io"

	"github.com/bivouac-ml/bivouac/errs"
)

// The sizes of what is read at once. Small members lie close together, and one read brings many
// headers. Large members are skipped.
const (
	leastWindow = 2 * Block
	mostWindow  = 64 << 10
)

// window reads headers through a buffer.
type window struct {
	r     io.ReaderAt
	size  int64
	start int64
	b     []byte // the bytes from start on
	ahead int    // bytes to read at once
}

// read returns the block at an offset, which lies in the file. It is valid until the next read.
func (w *window) read(at int64) ([]byte, error) {
	if at >= w.start && at+Block <= w.start+int64(len(w.b)) {
		return w.b[at-w.start:][:Block:Block], nil
	}
	n := int(min(int64(max(w.ahead, leastWindow)), w.size-at))
	if cap(w.b) < n {
		w.b = make([]byte, n)
	}
	w.b, w.start = w.b[:n], at
	if err := w.fill(w.b, at); err != nil {
		w.b = w.b[:0]
		return nil, err
	}
	return w.b[:Block:Block], nil
}

// readInto reads bytes at an offset, which lie in the file.
func (w *window) readInto(p []byte, at int64) error {
	if at >= w.start && at+int64(len(p)) <= w.start+int64(len(w.b)) {
		copy(p, w.b[at-w.start:])
		return nil
	}
	return w.fill(p, at)
}

// fill reads past the buffer.
func (w *window) fill(p []byte, at int64) error {
	n, err := w.r.ReadAt(p, at)
	if n == len(p) {
		return nil
	}
	if err == nil || err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return errs.Wrap("tar", "", err)
}

// passed says how many bytes a member took. More is read at once while members are small.
func (w *window) passed(n int64) {
	if n > mostWindow/8 {
		w.ahead = leastWindow
		return
	}
	w.ahead = min(2*max(w.ahead, leastWindow), mostWindow)
}

// Package window reads the headers of the records of a file through a buffer.
package window

import "io"

const (
	wholeRead = 1 << 18 // read at once where records are small
	shortRead = 1 << 9  // and where they are not
)

// Window reads bytes at offsets that ascend. Bytes that lie close together are read at once, and
// those between places that are far apart are not read. It is not safe for concurrent use.
type Window struct {
	r    io.ReaderAt
	size int64
	buf  []byte
	at   int64 // of buf in the file
}

// New returns a window of a file of the given size.
func New(r io.ReaderAt, size int64) *Window { return &Window{r: r, size: size} }

// Read returns the n bytes at offset, n ≤ 512, or fewer at the end of the file. They are valid
// until the next call.
func (w *Window) Read(offset int64, n int) ([]byte, error) {
	if gap := offset - w.at; gap < 0 || gap+int64(n) > int64(len(w.buf)) {
		chunk := int64(wholeRead)
		if gap > int64(len(w.buf))+wholeRead/16 {
			chunk = shortRead
		}
		if cap(w.buf) == 0 {
			w.buf = make([]byte, 0, max(0, min(wholeRead, w.size)))
		}
		w.buf, w.at = w.buf[:max(0, min(chunk, w.size-offset, int64(cap(w.buf))))], offset
		if got, err := w.r.ReadAt(w.buf, offset); got < len(w.buf) {
			w.buf = w.buf[:0]
			return nil, err
		}
	}
	from := offset - w.at
	return w.buf[from:min(from+int64(n), int64(len(w.buf)))], nil
}

// Package shards reads the files in which a data set is stored: local files, or objects in buckets.
//
// A [Set] knows its files from the start and opens them when they are read. It keeps a limited
// number of them open. A file that was replaced is noticed when it is opened again: its size or its
// time of change differs from those at the start.
package shards

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/reader/datafs"
	"github.com/bivouac-ml/bivouac/store"
)

// DefaultOpen is the number of files that a Set keeps open. Systems allow 1,024 to a process.
const DefaultOpen = 256

// File describes a file of a set.
type File struct {
	Path    string
	Size    int64
	ModTime time.Time
}

// Set is the files of a data set. All methods are safe for concurrent use.
type Set struct {
	op    string // the reader, for errors
	files []File
	limit int
	table []atomic.Pointer[handle] // of the open files
	far   []*far                   // the objects among the files; nil if all files are local
	views atomic.Pointer[[]store.Reader]
	waits atomic.Int64 // pages of a disk that the process has waited for: see mapping

	mu     sync.Mutex // held to change the table
	open   int
	hand   int // where the search for a file to close goes on
	closed atomic.Bool
}

// handle is an open file. It is closed when its last user lets go of it; the table is one of them.
type handle struct {
	f      *file
	users  atomic.Int64
	recent atomic.Bool // it was used since the search for a file to close last saw it
}

// Open describes the files with the given paths, in this order. op is the name of the reader and
// begins every error. Fails with errs.NotFound for a file that is missing and with errs.Invalid for
// no path at all and for a directory. A path may be the URL of an object: see package datafs.
func Open(ctx context.Context, op string, paths []string) (*Set, error) {
	return OpenLimit(ctx, op, paths, DefaultOpen)
}

// OpenLimit works like Open. The set keeps at most limit files open, and at least one.
func OpenLimit(ctx context.Context, op string, paths []string, limit int) (*Set, error) {
	if len(paths) == 0 {
		return nil, &errs.Error{Kind: errs.Invalid, Op: op, Want: "at least one file", Got: "no path"}
	}
	s := &Set{op: op, files: make([]File, len(paths)), limit: max(1, limit),
		table: make([]atomic.Pointer[handle], len(paths))}
	if slices.ContainsFunc(paths, datafs.IsURL) {
		return s, s.openFar(ctx, paths)
	}
	for i, path := range paths {
		if err := ctx.Err(); err != nil {
			return nil, s.fail(path, err)
		}
		info, err := os.Stat(datafs.Local(path))
		if err != nil {
			return nil, s.fail(path, err)
		}
		if err := s.describe(i, path, info); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// describe notes what a file is.
func (s *Set) describe(i int, path string, info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return &errs.Error{Kind: errs.Invalid, Op: s.op, Subject: path, Want: "a file", Got: kindOfFile(info)}
	}
	s.files[i] = File{path, info.Size(), info.ModTime()}
	return nil
}

func kindOfFile(info fs.FileInfo) string {
	if info.IsDir() {
		return "a directory"
	}
	return "a special file (" + info.Mode().Type().String() + ")"
}

// Len returns the number of files.
func (s *Set) Len() int { return len(s.files) }

// File describes a file as it was when the set was opened.
func (s *Set) File(i int) File { return s.files[i] }

// Path returns the path of a file as it was given.
func (s *Set) Path(i int) string { return s.files[i].Path }

// Size returns the size of what ReadAt reads of a file: of the file, or of what Show shows.
func (s *Set) Size(i int) int64 {
	if v := s.view(i); v != nil {
		return v.Size()
	}
	return s.files[i].Size
}

// Show makes r what ReadAt reads of a file from now on, such as its contents decompressed. Close
// closes r. No other goroutine may use file i meanwhile.
func (s *Set) Show(i int, r store.Reader) {
	for s.views.Load() == nil {
		views := make([]store.Reader, len(s.files))
		s.views.CompareAndSwap(nil, &views)
	}
	(*s.views.Load())[i] = r
}

// view returns what Show made the contents of a file, or nil.
func (s *Set) view(i int) store.Reader {
	if views := s.views.Load(); views != nil {
		return (*views)[i]
	}
	return nil
}

// ReadAt fills p with the bytes of a file from an offset on, or fails. A range that leads out of
// the file is an error of kind errs.Corrupt: the data named a wrong range. A file that
// was replaced is an error of kind errs.Mismatch.
func (s *Set) ReadAt(ctx context.Context, i int, p []byte, off int64) error {
	v := s.view(i)
	if v == nil {
		return s.ReadStored(ctx, i, p, off)
	}
	if err := s.within(i, len(p), off, v.Size()); err != nil {
		return err
	}
	return v.ReadAt(ctx, p, off)
}

// ReadStored works like ReadAt for the bytes of the file itself, whatever Show shows.
func (s *Set) ReadStored(ctx context.Context, i int, p []byte, off int64) error {
	if err := s.within(i, len(p), off, s.files[i].Size); err != nil {
		return err
	}
	return s.read(ctx, i, nil, p, off)
}

// ReadSplit works like ReadAt for two pieces of memory: it fills head and then p with the bytes of
// a file from an offset on.
func (s *Set) ReadSplit(ctx context.Context, i int, head, p []byte, off int64) error {
	if s.view(i) != nil {
		if err := s.ReadAt(ctx, i, head, off); err != nil {
			return err
		}
		return s.ReadAt(ctx, i, p, off+int64(len(head)))
	}
	if err := s.within(i, len(head)+len(p), off, s.files[i].Size); err != nil {
		return err
	}
	return s.read(ctx, i, head, p, off)
}

// View calls use with n bytes of a file where they lie in memory, if they do. use reads them and
// must not keep them; they may change meanwhile, as the file may. View returns false if the bytes
// must be read with ReadAt: they are not in memory, use returned false, or what use read may not be
// what the file has. Then nothing that use did counts. With summed, use checks a checksum of all
// bytes. Then the end of a file that was cut needs no check, which takes as long as 1 kB.
func (s *Set) View(i int, n int, off int64, summed bool, use func(b []byte) bool) bool {
	if s.view(i) != nil || s.within(i, n, off, s.files[i].Size) != nil {
		return false
	}
	h := s.table[i].Load()
	if h == nil || !h.retain() {
		return false
	}
	defer h.release()
	return h.f.view(off, n, summed, use)
}

// read fills head and then p with bytes of a file that lie within it.
func (s *Set) read(ctx context.Context, i int, head, p []byte, off int64) error {
	if s.far != nil && s.far[i] != nil {
		return s.readFar(ctx, i, head, p, off)
	}
	h := s.table[i].Load()
	if h != nil && h.retain() {
	} else if whole := int64(len(head)+len(p)) == s.files[i].Size; whole && len(s.files) > s.limit {
		return s.readOnce(ctx, i, head, p)
	} else {
		var err error
		if h, err = s.take(ctx, i); err != nil {
			return err
		}
	}
	err := h.f.readAll(head, p, off)
	h.release()
	if err != nil {
		return s.readError(i, err)
	}
	return nil
}

// readOnce reads a whole file of a set with more files than may be open. It opens the file for this
// read alone, beside others that do the same.
func (s *Set) readOnce(ctx context.Context, i int, head, p []byte) error {
	if s.closed.Load() {
		return &errs.Error{Kind: errs.Closed, Op: s.op, Subject: s.files[i].Path}
	}
	f, err := s.openFile(ctx, i)
	if err != nil {
		return err
	}
	err = f.readAll(head, p, 0)
	f.Close() //nolint:errcheck // nothing was written
	if err != nil {
		return s.readError(i, err)
	}
	return nil
}

// readAll fills head and then p.
func (f *file) readAll(head, p []byte, off int64) error {
	if len(head) > 0 {
		return f.readSplit(head, p, off)
	}
	_, err := f.ReadAt(p, off)
	return err
}

// within returns an error for a range that leads out of a file of size bytes.
func (s *Set) within(i, n int, off, size int64) error {
	if off >= 0 && off <= size && int64(n) <= size-off {
		return nil
	}
	return &errs.Error{Kind: errs.Corrupt, Subject: s.files[i].Path,
		Want: fmt.Sprintf("%d bytes at offset %d", n, off), Got: fmt.Sprintf("a file of %d bytes", size),
		Remedy: "the file was cut, or its index belongs to other data"}
}

// ReadFile returns the contents of a file of at most limit bytes.
func (s *Set) ReadFile(ctx context.Context, i int, limit int64) ([]byte, error) {
	if n := s.Size(i); n > limit {
		return nil, &errs.Error{Kind: errs.Exhausted, Op: s.op, Subject: s.files[i].Path,
			Want: fmt.Sprintf("at most %d bytes", limit), Got: fmt.Sprint(n)}
	}
	b := make([]byte, s.Size(i))
	return b, s.ReadAt(ctx, i, b, 0)
}

// Reader returns a view of a file as an io.ReaderAt, for code that scans it.
func (s *Set) Reader(ctx context.Context, i int) *io.SectionReader {
	return io.NewSectionReader(readerAt{ctx, s, i}, 0, s.Size(i))
}

// Stored works like Reader for the bytes of the file itself, whatever Show shows.
func (s *Set) Stored(ctx context.Context, i int) *io.SectionReader {
	return io.NewSectionReader(storedAt{readerAt{ctx, s, i}}, 0, s.files[i].Size)
}

type readerAt struct {
	ctx context.Context
	s   *Set
	i   int
}

func (r readerAt) ReadAt(p []byte, off int64) (int, error) {
	return readUpTo(p, off, r.s.Size(r.i), func(p []byte) error { return r.s.ReadAt(r.ctx, r.i, p, off) })
}

type storedAt struct{ readerAt }

func (r storedAt) ReadAt(p []byte, off int64) (int, error) {
	return readUpTo(p, off, r.s.files[r.i].Size, func(p []byte) error { return r.s.ReadStored(r.ctx, r.i, p, off) })
}

// readUpTo reads as much of p as there is in a file of size bytes.
func readUpTo(p []byte, off, size int64, read func(p []byte) error) (int, error) {
	n, short := len(p), error(nil)
	if rest := size - off; int64(n) > rest {
		n, short = int(max(0, rest)), io.EOF
	}
	if err := read(p[:n]); err != nil {
		return 0, err
	}
	return n, short
}

// take returns the open file i, which the caller releases.
func (s *Set) take(ctx context.Context, i int) (*handle, error) {
	if h := s.table[i].Load(); h != nil && h.retain() {
		return h, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed.Load() {
		return nil, &errs.Error{Kind: errs.Closed, Op: s.op, Subject: s.files[i].Path}
	}
	if h := s.table[i].Load(); h != nil && h.retain() {
		return h, nil
	}
	f, err := s.openFile(ctx, i)
	if err != nil {
		return nil, err
	}
	for s.open >= s.limit {
		s.evict()
	}
	h := &handle{f: f}
	h.users.Store(2) // the table and the caller
	h.recent.Store(true)
	s.table[i].Store(h)
	s.open++
	return h, nil
}

// evict closes an open file that was not used lately. s.mu is held and a file is open.
func (s *Set) evict() {
	for {
		s.hand = (s.hand + 1) % len(s.table)
		h := s.table[s.hand].Load()
		if h == nil || h.recent.Swap(false) {
			continue
		}
		s.table[s.hand].Store(nil)
		s.open--
		h.release()
		return
	}
}

// openFile opens file i and checks that it is the file that the set was made of.
func (s *Set) openFile(ctx context.Context, i int) (*file, error) {
	want := &s.files[i]
	if err := ctx.Err(); err != nil {
		return nil, s.fail(want.Path, err)
	}
	f, err := openOS(datafs.Local(want.Path), want.Size, &s.waits)
	if err != nil {
		return nil, s.fail(want.Path, err)
	}
	size, changed, err := f.stat()
	if err == nil && (size != want.Size || !changed.Equal(want.ModTime)) {
		err = &errs.Error{Kind: errs.Mismatch, Op: s.op, Subject: want.Path,
			Want:   fmt.Sprintf("the file as it was when the data set was opened: %d bytes, changed at %s", want.Size, stamp(want.ModTime)),
			Got:    fmt.Sprintf("%d bytes, changed at %s", size, stamp(changed)),
			Remedy: "open the data set again"}
	}
	if err != nil {
		f.Close() //nolint:errcheck // nothing was written
		return nil, s.fail(want.Path, err)
	}
	return f, nil
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000000Z") }

func (h *handle) retain() bool {
	for {
		n := h.users.Load()
		if n == 0 {
			return false
		}
		if h.users.CompareAndSwap(n, n+1) {
			if !h.recent.Load() {
				h.recent.Store(true)
			}
			return true
		}
	}
}

func (h *handle) release() {
	if h.users.Add(-1) == 0 {
		h.f.Close() //nolint:errcheck // nothing was written
	}
}

// Close closes the files. A ReadAt that is running ends first.
func (s *Set) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed.Store(true)
	for i := range s.table {
		if h := s.table[i].Swap(nil); h != nil {
			h.release()
		}
	}
	s.open = 0
	if views := s.views.Load(); views != nil {
		for _, v := range *views {
			if v != nil {
				v.Close() //nolint:errcheck // nothing was written
			}
		}
	}
	return nil
}

// readError returns the error of a read. A file that ended early was changed: its size at the start
// was larger.
func (s *Set) readError(i int, err error) error {
	f := &s.files[i]
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return &errs.Error{Kind: errs.Mismatch, Subject: f.Path,
			Want: fmt.Sprintf("%d bytes, the size when the data set was opened", f.Size), Got: "a shorter file"}
	}
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return &errs.Error{Kind: Kind(err), Subject: f.Path, Err: err}
}

// fail returns an error about the file at path.
func (s *Set) fail(path string, err error) error {
	var own *errs.Error
	if errors.As(err, &own) {
		if datafs.IsURL(path) && own.Op == "" {
			return errs.Wrap(s.op, "", err)
		}
		return err
	}
	if errors.Is(err, fs.ErrNotExist) { // the path may be a URL or a home directory
		if other := datafs.Check(path); other != nil {
			return errs.Wrap(s.op, "", other)
		}
	}
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return &errs.Error{Kind: Kind(err), Op: s.op, Subject: path, Err: err}
}

// Kind returns the kind of an error of the system, or the kind that the error has.
func Kind(err error) errs.Kind {
	if kind := errs.KindOf(err); kind != errs.Other {
		return kind
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errs.NotFound
	case errors.Is(err, fs.ErrPermission):
		return errs.Permission
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return errs.Canceled
	}
	return errs.IO
}

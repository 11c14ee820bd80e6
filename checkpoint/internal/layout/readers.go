package layout

import (
	"container/list"
	"context"
	"sync"

	"github.com/bivouac-ml/bivouac/store"
)

// maxOpen bounds the files that an item keeps open: an array may have a file per chunk, and a
// process may have only a thousand open files. More files may be open if they are in use, one for
// each goroutine that reads.
const maxOpen = 128

// readers keeps the files that were read last open, at most maxOpen of them.
type readers struct {
	open func(ctx context.Context, name string) (store.Reader, error)

	mu     sync.Mutex
	byName map[string]*reader
	idle   list.List // of *reader: the unused files, the last used at the back
	failed error     // the first error of closing a file
}

// reader is an open file. Its fields are guarded by readers.mu.
type reader struct {
	store.Reader
	name  string
	users int
	idle  *list.Element // nil while the file is in use
}

func newReaders(open func(context.Context, string) (store.Reader, error)) *readers {
	return &readers{open: open, byName: map[string]*reader{}}
}

// borrow returns the file of that name. It stays open at least until giveBack.
func (s *readers) borrow(ctx context.Context, name string) (*reader, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r, ok := s.byName[name]; ok {
		if r.idle != nil {
			s.idle.Remove(r.idle)
			r.idle = nil
		}
		r.users++
		return r, nil
	}
	s.shrink(maxOpen - 1)
	opened, err := s.open(ctx, name)
	if err != nil {
		return nil, err
	}
	r := &reader{Reader: opened, name: name, users: 1}
	s.byName[name] = r
	return r, nil
}

// giveBack ends the use of a file that borrow returned.
func (s *readers) giveBack(r *reader) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.users--; r.users == 0 {
		r.idle = s.idle.PushBack(r)
		s.shrink(maxOpen)
	}
}

// shrink closes unused files, the least recently used first, until n are open.
func (s *readers) shrink(n int) {
	for len(s.byName) > n && s.idle.Len() > 0 {
		r := s.idle.Remove(s.idle.Front()).(*reader)
		delete(s.byName, r.name)
		if err := r.Close(); s.failed == nil {
			s.failed = err
		}
	}
}

// close closes all files; none may be in use. It returns the first error that closing any file ever
// had.
func (s *readers) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shrink(0)
	return s.failed
}

package layout

import (
	"container/list"
	"context"
	"sync"

	"github.com/bivouac-ml/bivouac/store"
)

// maxOpen bounds the files that an item keeps open: an array may have a file for
// each chunk, and a process may have a thousand open files only. Files in use
// come on top when there are more of them, one for each goroutine that reads.
const maxOpen = 128

// readers keeps the files that were read last open, up to maxOpen of them.
type readers struct {
	open func(ctx context.Context, name string) (store.Reader, error)

	mu     sync.Mutex
	byName map[string]*reader
	idle   list.List // of *reader: the unused ones, the one used last at the back
	failed error     // the first of closing
}

// reader is an open file. Its fields are guarded by readers.mu.
type reader struct {
	store.Reader
	name  string
	users int
	idle  *list.Element // nil while there are users
}

func newReaders(open func(context.Context, string) (store.Reader, error)) *readers {
	return &readers{open: open, byName: map[string]*reader{}}
}

// borrow returns the file of that name, which stays open until giveBack at
// least.
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

// giveBack ends the use of what borrow returned.
func (s *readers) giveBack(r *reader) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.users--; r.users == 0 {
		r.idle = s.idle.PushBack(r)
		s.shrink(maxOpen)
	}
}

// shrink closes unused files, the one used least recently first, until n are open.
func (s *readers) shrink(n int) {
	for len(s.byName) > n && s.idle.Len() > 0 {
		r := s.idle.Remove(s.idle.Front()).(*reader)
		delete(s.byName, r.name)
		if err := r.Close(); s.failed == nil {
			s.failed = err
		}
	}
}

// close closes all files; none may be in use. The error is the first that
// closing a file ever met.
func (s *readers) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shrink(0)
	return s.failed
}

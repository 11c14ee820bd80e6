package layout

import (
	"context"
	"sync"

	"github.com/bivouac-ml/bivouac/store"
)

// Limit bounds the bytes that were requested from a store and have not arrived yet, over all its
// users. It is safe for concurrent use.
type Limit struct {
	most int64

	mu   sync.Mutex
	less sync.Cond // signalled when used shrinks
	used int64
}

// NewLimit returns a Limit of most bytes, or nil (no limit) if most <= 0.
func NewLimit(most int64) *Limit {
	if most <= 0 {
		return nil
	}
	l := &Limit{most: most}
	l.less.L = &l.mu
	return l
}

// take waits until n bytes may be requested. n is at most the limit.
func (l *Limit) take(n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.used+n > l.most {
		l.less.Wait()
	}
	l.used += n
}

func (l *Limit) give(n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.used -= n
	l.less.Broadcast()
}

// memory returns how many of n bytes a read may use beyond its targets.
func (l *Limit) memory(n int) int {
	if l == nil || l.most > int64(n) {
		return n
	}
	return int(l.most)
}

// limited is a store whose reads respect a limit.
type limited struct {
	store.Store // its other methods are not called
	limit       *Limit
}

// Open implements store.Store.
func (s limited) Open(ctx context.Context, name string) (store.Reader, error) {
	r, err := s.Store.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	return limitedReader{r, s.limit}, nil
}

// limitedReader splits reads into parts that fit the limit.
type limitedReader struct {
	store.Reader
	limit *Limit
}

// ReadAt implements store.Reader.
func (r limitedReader) ReadAt(ctx context.Context, p []byte, off int64) error {
	for {
		n := min(int64(len(p)), r.limit.most)
		if err := r.part(ctx, p[:n], off); err != nil || n == int64(len(p)) {
			return err
		}
		p, off = p[n:], off+n
	}
}

func (r limitedReader) part(ctx context.Context, p []byte, off int64) error {
	r.limit.take(int64(len(p)))
	defer r.limit.give(int64(len(p)))
	return r.Reader.ReadAt(ctx, p, off)
}

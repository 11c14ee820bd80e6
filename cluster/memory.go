package cluster

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
)

// InProcess returns an empty board for members in one process: a job of one process, and tests.
func InProcess() Board {
	return &memory{docs: map[string]Document{}, watchers: map[chan struct{}]string{}}
}

// memory is a board in memory.
type memory struct {
	mu       sync.Mutex
	docs     map[string]Document
	versions int64
	watchers map[chan struct{}]string // → prefix
}

var (
	_ Board   = (*memory)(nil)
	_ Watcher = (*memory)(nil)
)

// Properties implements Board.
func (b *memory) Properties() Properties {
	return Properties{Name: "memory", MaxValue: 64 << 20, Poll: time.Millisecond, MaxPoll: 50 * time.Millisecond}
}

// Close implements Board.
func (b *memory) Close() error { return nil }

// Get implements Board.
func (b *memory) Get(ctx context.Context, key string) (Document, error) {
	if err := alive(ctx, "cluster.Get", key); err != nil {
		return Document{}, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	d, ok := b.docs[key]
	if !ok {
		return Document{}, &errs.Error{Kind: errs.NotFound, Op: "cluster.Get", Subject: "memory: " + key}
	}
	d.Value = slices.Clone(d.Value)
	return d, nil
}

// Put implements Board.
func (b *memory) Put(ctx context.Context, key string, value []byte, version string) (string, error) {
	if err := alive(ctx, "cluster.Put", key); err != nil {
		return "", err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.docs[key].Version != version {
		return "", changed("cluster.Put", "memory: "+key)
	}
	b.versions++
	d := Document{key, slices.Clone(value), strconv.FormatInt(b.versions, 10)}
	b.docs[key] = d
	b.tell(key)
	return d.Version, nil
}

// Delete implements Board.
func (b *memory) Delete(ctx context.Context, key, version string) error {
	if err := alive(ctx, "cluster.Delete", key); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	d, ok := b.docs[key]
	switch {
	case !ok:
		return nil
	case version != "" && d.Version != version:
		return changed("cluster.Delete", "memory: "+key)
	}
	delete(b.docs, key)
	b.tell(key)
	return nil
}

// List implements Board.
func (b *memory) List(ctx context.Context, prefix string) ([]Document, error) {
	if err := alive(ctx, "cluster.List", prefix); err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []Document
	for _, key := range slices.Sorted(maps.Keys(b.docs)) {
		if strings.HasPrefix(key, prefix) {
			d := b.docs[key]
			d.Value = slices.Clone(d.Value)
			out = append(out, d)
		}
	}
	return out, nil
}

// Changes implements Watcher.
func (b *memory) Changes(ctx context.Context, prefix string) (<-chan struct{}, error) {
	c := make(chan struct{}, 1)
	b.mu.Lock()
	b.watchers[c] = prefix
	b.mu.Unlock()
	context.AfterFunc(ctx, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.watchers, c)
		close(c)
	})
	return c, nil
}

// tell wakes the watchers of a key. The caller holds the mutex.
func (b *memory) tell(key string) {
	for c, prefix := range b.watchers {
		if strings.HasPrefix(key, prefix) {
			select {
			case c <- struct{}{}:
			default:
			}
		}
	}
}

func alive(ctx context.Context, op, key string) error {
	if ctx.Err() == nil {
		return nil
	}
	return &errs.Error{Kind: errs.Canceled, Op: op, Subject: key, Err: context.Cause(ctx)}
}

func changed(op, subject string) error {
	return &errs.Error{Kind: errs.Mismatch, Op: op, Subject: subject, Err: ErrChanged}
}

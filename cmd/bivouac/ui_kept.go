//go:build !bivouac_wheel

package main

import (
	"context"
	"sync"
	"time"
)

// kept keeps what is expensive to find out, so that a page that asks every few seconds does not
// make the server read all the time. A value is used for 2 seconds, and for ten times as long as it
// took to make it.
type kept[T any] struct {
	most int // values
	now  func() time.Time

	mu   sync.Mutex
	list map[string]*keptValue[T]
}

// keptValue is a value, or the work on it. The fields are read after ready is closed.
type keptValue[T any] struct {
	ready chan struct{}
	value T
	err   error
	until time.Time
}

const (
	leastKept = 2 * time.Second
	keptTimes = 10
)

// get returns the value of a key. Only one call at a time makes it; the others wait for it.
func (k *kept[T]) get(ctx context.Context, key string, find func(context.Context) (T, error)) (T, error) {
	for {
		k.mu.Lock()
		v, old := k.list[key]
		if old && v.over(k.now()) {
			old = false
		}
		if !old {
			v = &keptValue[T]{ready: make(chan struct{})}
			k.add(key, v)
		}
		k.mu.Unlock()
		if !old {
			k.fill(ctx, key, v, find)
			return v.value, v.err
		}
		select {
		case <-v.ready:
		case <-ctx.Done():
			var none T
			return none, context.Cause(ctx)
		}
		if v.err == nil {
			return v.value, nil
		}
		// The caller that made it may have gone away. This one makes it itself.
	}
}

// fill makes a value. The others do not wait for ever, even if find panics.
func (k *kept[T]) fill(ctx context.Context, key string, v *keptValue[T], find func(context.Context) (T, error)) {
	defer func() {
		if v.err != nil {
			k.drop(key, v)
		}
		close(v.ready)
	}()
	began := k.now()
	v.err = context.Canceled
	v.value, v.err = find(ctx)
	v.until = k.now().Add(max(leastKept, keptTimes*k.now().Sub(began)))
}

// over reports whether a value is too old. Work is never too old.
func (v *keptValue[T]) over(now time.Time) bool {
	select {
	case <-v.ready:
		return now.After(v.until)
	default:
		return false
	}
}

// add adds a value, and drops another one if there are too many. The caller holds mu.
func (k *kept[T]) add(key string, v *keptValue[T]) {
	if k.list == nil {
		k.list = map[string]*keptValue[T]{}
	}
	delete(k.list, key)
	for len(k.list) >= k.most {
		oldest, at := "", time.Time{}
		for name, o := range k.list {
			select {
			case <-o.ready:
				if oldest == "" || o.until.Before(at) {
					oldest, at = name, o.until
				}
			default:
			}
		}
		if oldest == "" {
			break // all are being made
		}
		delete(k.list, oldest)
	}
	k.list[key] = v
}

// drop forgets a value that could not be made.
func (k *kept[T]) drop(key string, v *keptValue[T]) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.list[key] == v {
		delete(k.list, key)
	}
}

package zarr

import (
	"context"
	"sync"
)

// indexBytes is how many bytes of decoded indices the arrays of an Opener with the same metadata
// keep. A larger index is read each time.
const indexBytes = 4 << 20

// indices keeps the indices of the shards that were read last: the parts of a shard are planned in
// several calls, often at the same time, and where a request is slow an index costs as much time as
// a part. The zero value is ready for use.
type indices struct {
	mu     sync.Mutex
	used   int64
	recent []*shardIndex // the last used at the end
}

// shardIndex is a decoded index, or one that is on its way.
type shardIndex struct {
	key   string
	off   int64 // of the shard in the value of key
	bytes int64
	done  chan struct{}
	index []byte // after done; nil after an error
}

// get returns the index of the shard at off of the value of key, of n bytes. It calls read unless
// the index is there. A call that waits for another one reads for itself if that one fails, so that
// it returns an error of its own.
func (x *indices) get(ctx context.Context, key string, off, n int64, read func() ([]byte, error)) ([]byte, error) {
	if n > indexBytes {
		return read()
	}
	e, mine := x.find(key, off, n)
	if mine {
		index, err := read()
		x.finish(e, index)
		return index, err
	}
	select {
	case <-e.done:
		if e.index != nil {
			return e.index, nil
		}
	case <-ctx.Done():
	}
	return read()
}

// find returns the entry of a shard. mine says that the caller has to read it.
func (x *indices) find(key string, off, n int64) (e *shardIndex, mine bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for i := len(x.recent) - 1; i >= 0; i-- {
		if e := x.recent[i]; e.key == key && e.off == off {
			x.recent = append(append(x.recent[:i:i], x.recent[i+1:]...), e)
			return e, false
		}
	}
	e = &shardIndex{key: key, off: off, bytes: n, done: make(chan struct{})}
	x.recent = append(x.recent, e)
	for x.used += n; x.used > indexBytes; {
		x.used -= x.recent[0].bytes
		x.recent = x.recent[1:]
	}
	return e, true
}

// finish gives an entry its index; nil is one that could not be read, and is forgotten.
func (x *indices) finish(e *shardIndex, index []byte) {
	x.mu.Lock()
	defer x.mu.Unlock()
	e.index = index
	close(e.done)
	if index != nil {
		return
	}
	for i, other := range x.recent {
		if other == e {
			x.recent = append(x.recent[:i:i], x.recent[i+1:]...)
			x.used -= e.bytes
			return
		}
	}
}

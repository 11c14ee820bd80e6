// Package blocks reads objects of a bucket in blocks of equal size, and keeps the blocks.
//
// A [Cache] keeps blocks in memory, or in a directory that all processes of a node share. Each
// block is requested once: readers of one process share the request, and processes take turns by a
// lock. A block belongs to one version of an object: its URL, its tag and its size. So a replaced
// object has other blocks, and no reader gets a mixture.
//
// The directory holds one file for each block. The cache removes only files that it has written
// itself: it takes an empty directory or one that it has marked, and follows no links.
package blocks

import (
	"container/list"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
)

// Defaults of Options.
const (
	DefaultMemory   = 256 << 20
	DefaultDisk     = 64 << 30
	DefaultBlock    = 1 << 20
	DefaultRequests = 16

	runBytes    = 4 << 20  // of one request, at most
	windowBytes = 16 << 20 // of one read that are requested at once
	mostFiles   = 2048     // open files of blocks
)

// Options configure a Cache. The zero Options have the defaults.
type Options struct {
	// Dir is the directory of the blocks. All processes of a node may use the same one. If it is
	// empty, blocks are kept in the memory of the process.
	Dir string
	// Size bounds the bytes that are kept. The default is 64 GiB with Dir, and 256 MiB without.
	Size int64
	// Block is the number of bytes of a block. The default is 1 MiB.
	Block int64
	// Requests is the number of requests at once. The default is 16.
	Requests int
}

// Stats count what a Cache has done in this process.
type Stats struct {
	Hits     int64 // blocks that were there already, in memory or on disk
	Requests int64 // sent to the bucket
	Bytes    int64 // of these requests
	Damaged  int64 // blocks on disk that did not match their checksums, and were requested again
	Unkept   int64 // blocks that the disk had no room for
}

// Version identifies the contents of an object.
type Version struct {
	URL  string
	Tag  string
	Size int64
}

// Fetch fills p with the bytes of an object from an offset on, or fails.
type Fetch func(ctx context.Context, p []byte, off int64) error

// Cache keeps blocks of objects. All methods are safe for concurrent use.
type Cache struct {
	o    Options
	disk *disk // nil: in memory
	ctx  context.Context
	stop context.CancelFunc
	busy sync.WaitGroup
	turn chan struct{}
	pool sync.Pool // of *[]byte with Options.Block bytes
	runs sync.Pool // of *[]byte with runBytes bytes

	mostFiles int // open files of blocks

	mu     sync.Mutex
	closed bool
	spared time.Time // when spare was called last
	blocks map[place]*block
	used   *list.List // of *block, the last used at the front
	memory int64      // bytes of blocks that lie in memory, or are on their way
	ahead  int64      // bytes that were requested ahead and that nobody has read yet
	files  int        // open files

	hits, requests, bytes, damaged, unkept atomic.Int64
}

// place names a block.
type place struct {
	version [20]byte
	number  int64
}

func (p place) String() string {
	return fmt.Sprintf("%s-%d", hex.EncodeToString(p.version[:]), p.number)
}

// block is a part of an object that is there, or on its way. mu of the cache guards the fields,
// except that data, f and err do not change after done.
type block struct {
	at    place
	size  int64
	done  chan struct{}
	err   error
	data  []byte   // nil if the block is in f
	f     *os.File // nil if the block is in data
	users int
	ahead bool // requested ahead, and not read yet
	// shared says that a reader came after the request. It does not change after done.
	shared bool
	began  time.Time
	gone   bool // no longer in the cache: the last user frees it
	elem   *list.Element
}

// Open opens a cache. With Options.Dir it makes the directory if it is missing. Fails with
// errs.Invalid for a directory that holds other things, and with errs.Permission for one that the
// process cannot write to or that belongs to another user.
func Open(o Options) (*Cache, error) {
	if o.Size == 0 {
		o.Size = DefaultMemory
		if o.Dir != "" {
			o.Size = DefaultDisk
		}
	}
	if o.Block == 0 {
		o.Block = DefaultBlock
	}
	if o.Requests == 0 {
		o.Requests = DefaultRequests
	}
	for _, v := range []struct {
		name string
		n    int64
	}{{"Size", o.Size}, {"Block", o.Block}, {"Requests", int64(o.Requests)}} {
		if v.n < 0 {
			return nil, &errs.Error{Kind: errs.Invalid, Op: "blocks.Open", Subject: v.name, Want: "a number above 0",
				Got: fmt.Sprint(v.n)}
		}
	}
	c := &Cache{o: o, turn: make(chan struct{}, o.Requests), blocks: map[place]*block{}, used: list.New(),
		mostFiles: min(mostFiles, openLimit()/4)}
	c.runs.New = func() any { b := make([]byte, max(runBytes, o.Block)); return &b }
	c.pool.New = func() any { b := make([]byte, o.Block); return &b }
	if o.Dir != "" {
		var err error
		if c.disk, err = openDisk(o.Dir, o.Size); err != nil {
			return nil, err
		}
	}
	c.ctx, c.stop = context.WithCancel(context.Background())
	return c, nil
}

// Stats returns what the cache has done.
func (c *Cache) Stats() Stats {
	return Stats{c.hits.Load(), c.requests.Load(), c.bytes.Load(), c.damaged.Load(), c.unkept.Load()}
}

// Close ends all requests and frees the memory. Blocks in Options.Dir stay. No read may be running.
func (c *Cache) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.stop()
	c.busy.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.used.Len() > 0 {
		c.forget(c.used.Back().Value.(*block)) //nolint:forcetypeassert // nothing else is in the list
	}
	if c.disk != nil {
		return c.disk.close()
	}
	return nil
}

// Object is a version of an object that is read through a cache.
type Object struct {
	c     *Cache
	id    [20]byte
	size  int64
	fetch Fetch
	last  atomic.Int64 // the number of the block that was read last, plus 1
	row   atomic.Int64 // blocks that were read one after the other
	until atomic.Int64 // the block up to which blocks were requested, as they are read one after the other
	plan  atomic.Bool  // Ahead was called
}

// Object returns an object. fetch requests its bytes.
func (c *Cache) Object(v Version, fetch Fetch) *Object {
	h := sha256.New()
	for _, s := range []string{v.URL, v.Tag} {
		h.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(s)))) //nolint:errcheck // never fails
		h.Write([]byte(s))                                             //nolint:errcheck // never fails
	}
	h.Write(binary.LittleEndian.AppendUint64(nil, uint64(v.Size)))    //nolint:errcheck // never fails
	h.Write(binary.LittleEndian.AppendUint64(nil, uint64(c.o.Block))) //nolint:errcheck // never fails
	o := &Object{c: c, size: v.Size, fetch: fetch}
	copy(o.id[:], h.Sum(nil))
	return o
}

// Size returns the number of bytes of the object.
func (o *Object) Size() int64 { return o.size }

// sizeOf returns the bytes of a block.
func (o *Object) sizeOf(number int64) int64 { return min(o.c.o.Block, o.size-number*o.c.o.Block) }

// Warm requests the blocks with n bytes from an offset on, unless they are there. It does not wait.
// It requests nothing if as much as the cache may hold was requested ahead already.
func (o *Object) Warm(off, n int64) {
	if n = min(n, o.size-off); off < 0 || n <= 0 {
		return
	}
	o.request(off/o.c.o.Block, (off+n-1)/o.c.o.Block+1)
}

// Ahead works like Warm, for a caller who says from now on what will be read. Other blocks are not
// requested ahead any more, also if blocks are read one after the other.
func (o *Object) Ahead(off, n int64) {
	o.plan.Store(true)
	o.Warm(off, n)
}

// request requests blocks ahead.
func (o *Object) request(from, to int64) {
	c := o.c
	c.mu.Lock()
	defer c.mu.Unlock()
	var run []*block
	for number := from; number < to; number++ {
		size := o.sizeOf(number)
		at := place{o.id, number}
		if c.closed || c.ahead+size > c.mostAhead() && !c.spare(size) {
			break
		}
		if c.blocks[at] != nil {
			run = c.send(o, run)
			continue
		}
		b := c.add(at, size)
		b.ahead, b.began = true, time.Now()
		c.ahead += size
		if run = append(run, b); int64(len(run))*c.o.Block >= runBytes {
			run = c.send(o, run)
		}
	}
	c.send(o, run)
}

// mostAhead is how many bytes may be requested ahead: half of the memory that blocks may take.
func (c *Cache) mostAhead() int64 {
	if c.disk != nil {
		return min(DefaultMemory, c.o.Size) / 2
	}
	return c.o.Size / 2
}

// Blocks that nobody reads in this time after they were requested ahead may be dropped.
const stale = 10 * time.Second

// spare drops blocks that were requested ahead long ago and that nobody has read: a reader that was
// closed, or another order. It reports whether size bytes may be requested ahead now. The lock is
// held.
func (c *Cache) spare(size int64) bool {
	now := time.Now()
	if now.Sub(c.spared) < stale/10 {
		return false
	}
	c.spared = now
	for e := c.used.Back(); e != nil; {
		b := e.Value.(*block) //nolint:forcetypeassert // nothing else is in the list
		e = e.Prev()
		if b.ahead && now.Sub(b.began) > stale && b.users == 0 && b.over() {
			c.forget(b)
		}
	}
	return c.ahead+size <= c.mostAhead()
}

// add makes a block that is on its way. The lock is held.
func (c *Cache) add(at place, size int64) *block {
	b := &block{at: at, size: size, done: make(chan struct{})}
	c.blocks[at] = b
	b.elem = c.used.PushFront(b)
	c.memory += size
	c.shrink()
	return b
}

// send begins to get blocks that follow each other. It returns an empty run. The lock is held.
func (c *Cache) send(o *Object, run []*block) []*block {
	if len(run) > 0 {
		c.busy.Go(func() { c.get(o, run) })
	}
	return nil
}

// take returns blocks, which the caller gives back. Blocks that are not there are requested.
func (c *Cache) take(o *Object, from, to int64) ([]*block, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, &errs.Error{Kind: errs.Closed, Op: "blocks.ReadAt"}
	}
	taken := make([]*block, 0, to-from)
	var run []*block
	for number := from; number < to; number++ {
		at := place{o.id, number}
		b := c.blocks[at]
		if b != nil {
			run = c.send(o, run)
			c.used.MoveToFront(b.elem)
			c.wanted(b)
			b.shared = b.shared || !b.over()
			c.hits.Add(1)
		} else {
			b = c.add(at, o.sizeOf(number))
			if run = append(run, b); int64(len(run))*c.o.Block >= runBytes {
				b.users++ // before others are dropped
				run = c.send(o, run)
				taken = append(taken, b)
				continue
			}
		}
		b.users++
		taken = append(taken, b)
	}
	c.send(o, run)
	return taken, nil
}

// wanted notes that a block which was requested ahead is read. The lock is held.
func (c *Cache) wanted(b *block) {
	if b.ahead {
		b.ahead = false
		c.ahead -= b.size
	}
}

// give takes a block back from a reader.
func (c *Cache) give(b *block) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if b.users--; b.users == 0 && b.gone {
		c.free(b)
	}
	c.shrink()
}

// shrink drops the blocks that were used longest ago until the others fit. The lock is held.
func (c *Cache) shrink() {
	bound := c.o.Size
	if c.disk != nil {
		bound = DefaultMemory
	}
	for e := c.used.Back(); e != nil && (c.memory > bound || c.files > c.mostFiles); {
		b := e.Value.(*block) //nolint:forcetypeassert // nothing else is in the list
		e = e.Prev()
		if b.users == 0 && b.over() {
			c.forget(b)
		}
	}
}

func (b *block) over() bool {
	select {
	case <-b.done:
		return true
	default:
		return false
	}
}

// forget takes a block out of the cache. The lock is held.
func (c *Cache) forget(b *block) {
	if b.gone {
		return
	}
	b.gone = true
	delete(c.blocks, b.at)
	c.used.Remove(b.elem)
	c.wanted(b)
	if b.f == nil {
		c.memory -= b.size
	} else {
		c.files--
	}
	if b.users == 0 {
		c.free(b)
	}
}

// free frees a block that nobody uses.
func (c *Cache) free(b *block) {
	if b.f != nil {
		b.f.Close() //nolint:errcheck // nothing is written any more
	}
	if b.data != nil {
		c.recycle(b.data)
		b.data = nil
	}
}

// buffer returns memory for a block.
func (c *Cache) buffer(size int64) []byte {
	if size > c.o.Block/2 {
		return (*c.pool.Get().(*[]byte))[:size] //nolint:forcetypeassert // nothing else is in the pool
	}
	return make([]byte, size)
}

func (c *Cache) recycle(p []byte) {
	if int64(cap(p)) == c.o.Block {
		p = p[:cap(p)]
		c.pool.Put(&p)
	}
}

// finish says how it went with a block.
func (c *Cache) finish(b *block, data []byte, f *os.File, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b.data, b.f, b.err = data, f, err
	if f != nil {
		c.memory -= b.size
		c.files++
	}
	close(b.done)
	if err != nil {
		c.forget(b)
	}
	c.shrink()
}

// ReadAt fills p with the bytes of the object from an offset on, or fails. The range lies within
// the object.
func (o *Object) ReadAt(ctx context.Context, p []byte, off int64) error {
	if off < 0 || off > o.size || int64(len(p)) > o.size-off {
		return &errs.Error{Kind: errs.Corrupt, Op: "blocks.ReadAt",
			Want: fmt.Sprintf("bytes %d to %d", off, off+int64(len(p))), Got: fmt.Sprintf("an object of %d bytes", o.size)}
	}
	if len(p) == 0 {
		return nil
	}
	size := o.c.o.Block
	last := (off + int64(len(p)) - 1) / size
	o.follow(off/size, last)
	window := max(1, windowBytes/size)
	for from := off / size; from <= last; from += window {
		to := min(last+1, from+window)
		taken, err := o.c.take(o, from, to)
		if err != nil {
			return err
		}
		if to <= last {
			o.request(to, min(last+1, to+window)) // while this window is read
		}
		for _, b := range taken {
			if err == nil {
				lo, hi := max(off, b.at.number*size), min(off+int64(len(p)), b.at.number*size+b.size)
				if err = o.read(ctx, b, p[lo-off:hi-off], lo); err != nil && b.err != nil && b.shared {
					err = o.again(ctx, b.at.number, p[lo-off:hi-off], lo)
				}
			}
			o.c.give(b)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// again reads bytes of a block whose request failed before this reader came, or for another reader.
func (o *Object) again(ctx context.Context, number int64, p []byte, off int64) error {
	taken, err := o.c.take(o, number, number+1)
	if err != nil {
		return err
	}
	defer o.c.give(taken[0])
	return o.read(ctx, taken[0], p, off)
}

// read copies bytes of a block, once it is there. off is the offset in the object.
func (o *Object) read(ctx context.Context, b *block, p []byte, off int64) error {
	select {
	case <-b.done:
	default:
		select {
		case <-b.done:
		case <-ctx.Done():
			return &errs.Error{Kind: errs.Canceled, Op: "blocks.ReadAt", Err: context.Cause(ctx)}
		}
	}
	if b.err != nil {
		return b.err
	}
	from := off - b.at.number*o.c.o.Block
	if b.f == nil {
		copy(p, b.data[from:])
		return nil
	}
	if _, err := b.f.ReadAt(p, headerBytes+from); err == nil {
		return nil
	}
	// The file was cut, or its disk fails.
	o.c.damaged.Add(1)
	o.c.mu.Lock()
	o.c.forget(b)
	o.c.mu.Unlock()
	o.c.requests.Add(1)
	o.c.bytes.Add(int64(len(p)))
	return o.fetch(ctx, p, off)
}

// follow requests the blocks behind those that are read, if they are read one after the other and
// nobody says with Ahead what comes next.
func (o *Object) follow(first, last int64) {
	before := o.last.Swap(last + 1)
	switch {
	case before == first+1 && first == last || o.plan.Load(): // the same block again
		return
	case before == first || before == first+1:
		row := o.row.Add(1)
		if row < 2 {
			return
		}
		window := min(int64(1)<<min(row-1, 30), max(1, 2*runBytes/o.c.o.Block))
		from, end := max(last+1, o.until.Load()), (o.size+o.c.o.Block-1)/o.c.o.Block
		if to := min(end, last+1+window); from < to && (from-last-1 <= window/2 || to == end) {
			o.until.Store(to)
			o.request(from, to)
		}
	default:
		o.row.Store(0)
		o.until.Store(0)
	}
}

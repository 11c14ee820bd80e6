package serve

import (
	"cmp"
	"context"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/bivouac-ml/bivouac/errs"
)

// alignment is what the offset of an array is a multiple of.
const alignment = 64

// arena is memory that a client writes arrays to and saves read. It is unmapped when its owner has
// freed it and no save uses it.
type arena struct {
	mem   []byte
	reach *reach // the arena is private, and is filled by pull; nil: the client maps it

	pulling sync.Mutex

	mu   sync.Mutex
	uses int // the owner and the saves that read it
}

// newArena returns an arena of at least n bytes. Without a reach it also returns the file that the
// client maps. The caller closes the file.
func newArena(n int64, by *reach) (*arena, *os.File, error) {
	const op = "serve.arena.new"
	if n < 0 || n > maxArena {
		return nil, nil, &errs.Error{Kind: errs.Invalid, Op: op, Want: "0 to " + strconv.Itoa(maxArena) + " bytes",
			Got: strconv.FormatInt(n, 10)}
	}
	size := pageUp(max(n, 1))
	if err := checkRoom(size); err != nil {
		return nil, nil, errs.Wrap(op, "", err)
	}
	var f *os.File
	var mem []byte
	var err error
	if by != nil {
		mem, err = scratch(size)
	} else {
		f, mem, err = sharedMemory("bivouac-arena", size)
	}
	if err != nil {
		return nil, nil, errs.Wrap(op, "", err)
	}
	return &arena{mem: mem, reach: by, uses: 1}, f, nil
}

// piece is memory of the client that is copied to a place in an arena.
type piece struct {
	address      uint64
	offset, size int64
}

// pull copies pieces from the client. Another pull into the arena waits: the client may have
// forgotten the first one.
func (a *arena) pull(ctx context.Context, pieces []piece) error {
	a.pulling.Lock()
	defer a.pulling.Unlock()
	return a.reach.pull(ctx, a.mem, pieces)
}

// pull copies pieces to their places in mem, with several threads.
func (r *reach) pull(ctx context.Context, mem []byte, pieces []piece) error {
	for _, p := range pieces {
		if size := int64(len(mem)); p.offset < 0 || p.size < 0 || p.size > size || p.offset > size-p.size {
			return &errs.Error{Kind: errs.Invalid, Op: "serve.arena.pull", Subject: "piece",
				Want: "bytes inside of " + strconv.FormatInt(size, 10) + " bytes of memory",
				Got:  strconv.FormatInt(p.size, 10) + " from " + strconv.FormatInt(p.offset, 10) + " on"}
		}
	}
	tasks := cut(pieces)
	threads := min(runtime.GOMAXPROCS(0), len(tasks))
	failures := make([]error, threads)
	var next atomic.Int64
	var group sync.WaitGroup
	for t := range threads {
		group.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(tasks)); i = next.Add(1) - 1 {
				failures[t] = ctx.Err()
				if failures[t] == nil {
					failures[t] = r.read(mem, tasks[i])
				}
				if failures[t] != nil {
					next.Store(int64(len(tasks)))
				}
			}
		})
	}
	group.Wait()
	return cmp.Or(failures...)
}

// pullBytes and pullPieces are about how much one system call of a pull copies.
const (
	pullBytes  = 4 << 20
	pullPieces = 512
)

// cut divides pieces into lists that one system call can copy.
func cut(pieces []piece) (tasks [][]piece) {
	var task []piece
	var bytes int64
	for _, p := range pieces {
		for p.size > 0 {
			n := min(p.size, pullBytes-bytes)
			task = append(task, piece{p.address, p.offset, n})
			bytes += n
			p = piece{p.address + uint64(n), p.offset + n, p.size - n}
			if bytes == pullBytes || len(task) == pullPieces {
				tasks, task, bytes = append(tasks, task), nil, 0
			}
		}
	}
	if len(task) > 0 {
		tasks = append(tasks, task)
	}
	return tasks
}

// maxArena is more than any machine has.
const maxArena = 1 << 46

// pageUp rounds up to whole pages.
func pageUp(n int64) int64 {
	page := int64(os.Getpagesize())
	return (n + page - 1) &^ (page - 1)
}

// use keeps the arena for a save. It returns false if the arena is gone.
func (a *arena) use() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.uses == 0 {
		return false
	}
	a.uses++
	return true
}

// drop ends one use, and the arena with the last.
func (a *arena) drop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.uses--; a.uses == 0 {
		unmap(a.mem)
		a.mem = nil
	}
}

// slice returns n bytes of the arena at an offset. A nil arena has none.
func (a *arena) slice(offset, n int64) ([]byte, error) {
	size := int64(0)
	if a != nil {
		size = int64(len(a.mem))
	}
	bad := &errs.Error{Kind: errs.Invalid, Subject: "offset " + strconv.FormatInt(offset, 10)}
	switch {
	case a == nil && n > 0:
		bad.Want, bad.Got = "an arena that has the array", "no arena"
	case offset < 0 || n < 0 || n > size || offset > size-n:
		bad.Want = "an array inside of the " + strconv.FormatInt(size, 10) + " bytes of the arena"
		bad.Got = strconv.FormatInt(n, 10) + " bytes from there on"
	case offset%alignment != 0:
		bad.Want, bad.Got = "a multiple of "+strconv.Itoa(alignment), strconv.FormatInt(offset, 10)
	case n == 0:
		return []byte{}, nil
	default:
		return a.mem[offset : offset+n : offset+n], nil
	}
	return nil, bad
}

// arenas are the arenas of a connection. Numbers are not used twice.
type arenas struct {
	mu   sync.Mutex
	last int64
	by   map[int64]*arena
	gone bool
}

// add gives the arena a number.
func (as *arenas) add(a *arena) (int64, error) {
	as.mu.Lock()
	defer as.mu.Unlock()
	if as.gone {
		a.drop()
		return 0, closed()
	}
	if as.by == nil {
		as.by = map[int64]*arena{}
	}
	as.last++
	as.by[as.last] = a
	return as.last, nil
}

// use returns an arena, to be dropped after use; nil for number 0.
func (as *arenas) use(id int64) (*arena, error) {
	if id == 0 {
		return nil, nil
	}
	as.mu.Lock()
	defer as.mu.Unlock()
	if a := as.by[id]; a != nil && a.use() {
		return a, nil
	}
	return nil, noArena(id)
}

// free gives an arena up for its owner.
func (as *arenas) free(id int64) error {
	as.mu.Lock()
	defer as.mu.Unlock()
	a := as.by[id]
	if a == nil {
		return noArena(id)
	}
	delete(as.by, id)
	a.drop()
	return nil
}

// freeAll gives all arenas up. Later ones are refused.
func (as *arenas) freeAll() {
	as.mu.Lock()
	defer as.mu.Unlock()
	as.gone = true
	for _, a := range as.by {
		a.drop()
	}
	as.by = nil
}

func noArena(id int64) error {
	return &errs.Error{Kind: errs.NotFound, Subject: "arena " + strconv.FormatInt(id, 10),
		Want: "an arena of this connection that was not freed"}
}

func closed() error {
	return &errs.Error{Kind: errs.Closed, Op: "serve", Subject: "connection", Got: "the end of the connection"}
}

// Package disk is the raw limit that benchmarks are held against: writes of
// bytes that lie ready in aligned memory, with nothing around them.
package disk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bivouac-ml/bivouac/internal/arena"
)

// Workers is how many threads a memcpy or a read is spread over.
func Workers() int { return min(runtime.GOMAXPROCS(0), 4) }

// Each calls f for 0 … n-1 on that many goroutines and returns the failures.
func Each(workers, n int, f func(i int) error) error {
	if workers == 1 {
		for i := range n {
			if err := f(i); err != nil {
				return err
			}
		}
		return nil
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	failures := make([]error, workers)
	for w := range workers {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n || failures[w] != nil {
					return
				}
				failures[w] = f(i)
			}
		})
	}
	wg.Wait()
	return errors.Join(failures...)
}

// Block is the size of one write.
const Block = 4 << 20

// Gather copies the parts into aligned memory, whole blocks of it: what does not
// fill a block at the end is left out. release gives the memory back.
func Gather(parts [][]byte) (mem []byte, release func() error, err error) {
	size := 0
	for _, p := range parts {
		size += len(p)
	}
	size = size / Block * Block
	if size == 0 {
		return nil, nil, fmt.Errorf("raw writes want at least %d MiB", Block>>20)
	}
	a, err := arena.Open(size, arena.Options{})
	if err != nil {
		return nil, nil, err
	}
	if mem, err = a.Alloc(size, arena.MaxAlign); err != nil {
		return nil, nil, errors.Join(err, a.Close())
	}
	at := mem
	for _, p := range parts {
		at = at[copy(at, p):]
	}
	return mem, a.Close, nil
}

// Write is one way to write.
type Write struct {
	Name           string
	Direct         bool
	Files, Writers int // writers of each file
}

// Writes are the ways that dir's file system takes.
func Writes(dir string) []Write {
	list := []Write{
		{"raw, 1 file, buffered, fdatasync", false, 1, 1},
		{"raw, 4 files, buffered, fdatasync", false, 4, 1},
	}
	if canDirect(dir) {
		list = append(list, Write{"raw, 1 file, direct, 4 writers", true, 1, 4}, Write{"raw, 4 files, direct", true, 4, 1})
	}
	return list
}

// canDirect reports whether the file system takes direct I/O.
func canDirect(dir string) bool {
	name := filepath.Join(dir, "probe")
	defer os.Remove(name) //nolint:errcheck // it may not be there
	f, err := create(name, true)
	if err != nil {
		return false
	}
	return f.Close() == nil
}

// Once writes mem into new files below dir, which it removes, and returns how
// long it took until all was durable, their names included.
func (w Write) Once(dir string, mem []byte) (took time.Duration, err error) {
	sub := filepath.Join(dir, "raw.d")
	defer func() { err = errors.Join(err, os.RemoveAll(sub)) }()
	start := time.Now()
	if err := os.Mkdir(sub, 0o777); err != nil {
		return 0, err
	}
	part := (len(mem)/Block + w.Files - 1) / w.Files * Block
	if err := Each(w.Files, w.Files, func(i int) error {
		from := min(i*part, len(mem))
		return w.file(filepath.Join(sub, fmt.Sprint(i)), mem[from:min(from+part, len(mem))])
	}); err != nil {
		return 0, err
	}
	err = syncDir(sub)
	return time.Since(start), err
}

func (w Write) file(name string, p []byte) error {
	f, err := create(name, w.Direct)
	if err != nil {
		return err
	}
	err = allocate(f, int64(len(p)))
	if err == nil {
		err = Each(w.Writers, (len(p)+Block-1)/Block, func(i int) error {
			_, err := f.WriteAt(p[i*Block:min((i+1)*Block, len(p))], int64(i)*Block)
			return err
		})
	}
	if err == nil {
		err = dataSync(f)
	}
	return errors.Join(err, f.Close())
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

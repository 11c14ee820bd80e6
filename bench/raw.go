package main

import (
	"context"
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

func cores() int { return min(runtime.GOMAXPROCS(0), 4) }

// each calls f for 0 … n-1 on that many goroutines.
func each(workers, n int, f func(i int) error) error {
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

const rawBlock = 4 << 20 // of one write

// rawWrites are the ways to write the bytes of the state, already gathered in
// aligned memory, and have them on the disk.
func (b *bench) rawWrites() (list []contender, release func(), err error) {
	size := b.bytes() / rawBlock * rawBlock
	if size == 0 {
		return nil, nil, fmt.Errorf("raw writes want at least %d MiB", rawBlock>>20)
	}
	a, err := arena.Open(size, nil)
	if err != nil {
		return nil, nil, err
	}
	mem, err := a.Alloc(size, arena.MaxAlign)
	if err != nil {
		return nil, nil, err
	}
	at := mem
	for _, p := range b.flat {
		at = at[copy(at, p):]
	}
	for _, w := range []rawWrite{
		{"raw, 1 file, buffered, fdatasync", false, 1, 1},
		{"raw, 4 files, buffered, fdatasync", false, 4, 1},
		{"raw, 1 file, direct, 4 writers", true, 1, 4},
		{"raw, 4 files, direct", true, 4, 1},
	} {
		if w.direct && !b.canDirect() {
			continue
		}
		list = append(list, contender{name: w.name, baseline: true, once: func(context.Context) (time.Duration, error) { return w.once(b.dir, mem) }})
	}
	return list, func() { a.Close() }, nil //nolint:errcheck // the process is about to end
}

// canDirect reports whether the file system takes direct I/O.
func (b *bench) canDirect() bool {
	name := filepath.Join(b.dir, "probe")
	defer os.Remove(name) //nolint:errcheck // it may not be there
	f, err := createRaw(name, true)
	if err != nil {
		return false
	}
	return f.Close() == nil
}

// rawWrite is one way to write.
type rawWrite struct {
	name           string
	direct         bool
	files, writers int // writers of each file
}

// once writes mem into new files and returns how long it took until all was
// durable, their names included.
func (w rawWrite) once(dir string, mem []byte) (took time.Duration, err error) {
	sub := filepath.Join(dir, "raw.d")
	defer func() { err = errors.Join(err, os.RemoveAll(sub)) }()
	return timed(func() error {
		if err := os.Mkdir(sub, 0o777); err != nil {
			return err
		}
		part := (len(mem)/rawBlock + w.files - 1) / w.files * rawBlock
		if err := each(w.files, w.files, func(i int) error {
			from := min(i*part, len(mem))
			return w.file(filepath.Join(sub, fmt.Sprint(i)), mem[from:min(from+part, len(mem))])
		}); err != nil {
			return err
		}
		return syncDir(sub)
	})
}

func (w rawWrite) file(name string, p []byte) error {
	f, err := createRaw(name, w.direct)
	if err != nil {
		return err
	}
	err = allocate(f, int64(len(p)))
	if err == nil {
		err = each(w.writers, (len(p)+rawBlock-1)/rawBlock, func(i int) error {
			_, err := f.WriteAt(p[i*rawBlock:min((i+1)*rawBlock, len(p))], int64(i)*rawBlock)
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

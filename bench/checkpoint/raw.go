package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/bench/internal/disk"
	"github.com/bivouac-ml/bivouac/bench/internal/turns"
	"github.com/bivouac-ml/bivouac/internal/arena"
	"github.com/bivouac-ml/bivouac/internal/crc"
)

// raw does the same work with nothing around it: writes from aligned memory,
// reads and copies. The configuration is the number of a way to write, or of
// threads. Reads are into memory that was used before, array by array; "2 tiles"
// reads as many bytes at a time as a load that checks them, "2 new" reads into new
// memory.
type raw struct {
	flat    [][]byte
	scratch [][]byte            // as flat
	files   map[string]*os.File // the bytes of the state, to read back, by the path of the side

	gathered []byte
	release  func() error
}

func newRaw(state map[string]any) *raw {
	return &raw{flat: memory(state), files: map[string]*os.File{}, release: func() error { return nil }}
}

func (r *raw) close() error {
	err := r.release()
	for _, f := range r.files {
		err = errors.Join(err, f.Close())
	}
	return err
}

// copies is memory of the size of the state, touched.
func (r *raw) copies() [][]byte {
	if r.scratch == nil {
		for _, p := range r.flat {
			r.scratch = append(r.scratch, slices.Clone(p))
		}
	}
	return r.scratch
}

func (r *raw) do(_ context.Context, op, config, path string) (answer, error) {
	threads, how, _ := strings.Cut(config, " ")
	n, err := strconv.Atoi(threads)
	if err != nil {
		return answer{}, err
	}
	switch op {
	case "save":
		return r.save(n, path)
	case "keep":
		return answer{}, r.keep(path)
	case "load":
		switch how {
		case "tiles":
			return r.loadTiles(n, path)
		case "new":
			return r.loadNew(n, path)
		}
		return r.load(n, path)
	case "copy":
		to := r.copies()
		return measured(func() error {
			return disk.Each(n, len(to), func(i int) error { copy(to[i], r.flat[i]); return nil })
		})
	}
	return answer{}, fmt.Errorf("raw has no operation %q", op)
}

// save writes the bytes in that way, the last one where there are not
// that many, and takes them away again.
func (r *raw) save(way int, path string) (a answer, err error) {
	if r.gathered == nil {
		if r.gathered, r.release, err = disk.Gather(r.flat); err != nil {
			return a, err
		}
	}
	if err := errors.Join(fresh(path), os.Mkdir(path, 0o777)); err != nil {
		return a, err
	}
	ways := disk.Writes(path)
	if way >= len(ways) {
		a.Skip = "no direct I/O on this file system"
		return a, nil
	}
	a, err = measured(func() error { return nil })
	if err != nil {
		return a, err
	}
	cpu := turns.CPU()
	took, err := ways[way].Once(path, r.gathered)
	a.Seconds, a.CPU, a.Written = took.Seconds(), turns.CPU()-cpu, int64(len(r.gathered))
	return a, err
}

// keep writes the file that load reads, for each side its own: what one has read
// would not be cold for the next.
func (r *raw) keep(path string) error {
	if err := errors.Join(fresh(path), os.Mkdir(path, 0o777)); err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(path, "raw"))
	if err != nil {
		return err
	}
	r.files[path] = f
	for _, p := range r.flat {
		if _, err := f.Write(p); err != nil {
			return err
		}
	}
	return f.Sync()
}

func (r *raw) load(workers int, path string) (answer, error) {
	to := r.copies()
	return measured(func() error { return r.read(workers, path, to) })
}

// loadTiles reads tile by tile, as a load does that takes the checksum of each
// while it is in the cache.
func (r *raw) loadTiles(workers int, path string) (answer, error) {
	var tiles [][]byte
	for _, p := range r.copies() {
		tiles = slices.AppendSeq(tiles, slices.Chunk(p, crc.Tile))
	}
	return measured(func() error { return r.read(workers, path, tiles) })
}

// loadNew reads into memory that the system has to make.
func (r *raw) loadNew(workers int, path string) (a answer, err error) {
	size := 0
	for _, p := range r.flat {
		size += len(p)
	}
	var mem *arena.Arena
	a, err = measured(func() error {
		var err error
		if mem, err = arena.Open(size, arena.Options{}); err != nil {
			return err
		}
		whole, err := mem.Alloc(size, arena.MaxAlign)
		if err != nil {
			return err
		}
		to := make([][]byte, len(r.flat))
		for i, p := range r.flat {
			to[i], whole = whole[:len(p):len(p)], whole[len(p):]
		}
		return r.read(workers, path, to)
	})
	if mem != nil {
		err = errors.Join(err, mem.Close())
	}
	return a, err
}

// read reads what keep wrote into parts that follow each other.
func (r *raw) read(workers int, path string, to [][]byte) error {
	offsets := make([]int64, len(to))
	for i := range offsets[1:] {
		offsets[i+1] = offsets[i] + int64(len(to[i]))
	}
	return disk.Each(workers, len(to), func(i int) error {
		_, err := r.files[path].ReadAt(to[i], offsets[i])
		return err
	})
}

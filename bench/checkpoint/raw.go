package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/bivouac-ml/bivouac/bench/internal/disk"
)

// raw does the same work with nothing around it: writes from aligned memory,
// reads into memory that was used before, and copies. The configuration is the
// number of a way to write, or of threads.
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
	n, err := strconv.Atoi(config)
	if err != nil {
		return answer{}, err
	}
	switch op {
	case "save":
		return r.save(n, path)
	case "keep":
		return answer{}, r.keep(path)
	case "load":
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
	took, err := ways[way].Once(path, r.gathered)
	a.Seconds, a.Written = took.Seconds(), int64(len(r.gathered))
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
	offsets := make([]int64, len(to))
	for i := range offsets[1:] {
		offsets[i+1] = offsets[i] + int64(len(to[i]))
	}
	return measured(func() error {
		return disk.Each(workers, len(to), func(i int) error {
			_, err := r.files[path].ReadAt(to[i], offsets[i])
			return err
		})
	})
}

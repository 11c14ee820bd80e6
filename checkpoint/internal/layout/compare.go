package layout

import (
	"context"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/crc"
)

const (
	// compareBytes is the size up to which files are compared one after the other.
	compareBytes = 4 << 20
	// compareWorkers bounds the files that are compared at once, each with gapBytes of memory.
	compareWorkers = 16
)

// CompareFiles compares every byte of files with the manifest. Of a checkpoint that was opened with
// Options.Once, it reads only what was not read before. It returns an error for each file; the
// error of a file that is whole is nil. It stops after an error that is not damage: later files may
// then lack their error. Progress, one call at a time, receives how many bytes were read.
func (c *Checkpoint) CompareFiles(ctx context.Context, files []manifest.File, progress func(bytes int64)) []error {
	var mu sync.Mutex
	told := func(n int) {
		mu.Lock()
		defer mu.Unlock()
		progress(int64(n))
	}
	failed, total := make([]error, len(files)), int64(0)
	for _, f := range files {
		total += f.Size
	}
	workers := 1
	if total > compareBytes {
		workers = min(len(files), compareWorkers, max(runtime.GOMAXPROCS(0), c.st.Properties().Parallel))
	}
	var next, stop atomic.Int64
	work := func() {
		for stop.Load() == 0 {
			i := int(next.Add(1)) - 1
			if i >= len(files) {
				return
			}
			err := c.compareFile(ctx, files[i], told)
			if failed[i] = err; err != nil && !IsDamage(err) && !IsUnreadable(err) {
				stop.Store(1)
			}
		}
	}
	if workers == 1 {
		work()
		return failed
	}
	var wg sync.WaitGroup
	for range workers {
		wg.Go(work)
	}
	wg.Wait()
	return failed
}

// compareFile compares a file with the manifest.
func (c *Checkpoint) compareFile(ctx context.Context, f manifest.File, told func(n int)) error {
	if ctx.Err() != nil {
		return &errs.Error{Kind: errs.Canceled, Err: context.Cause(ctx)}
	}
	size, sum, err := c.sumFile(ctx, f, told)
	switch {
	case err != nil:
		return err
	case size != f.Size:
		return &errs.Error{Kind: errs.Corrupt, Op: "integrity.Verify", Subject: f.Name,
			Want: strconv.FormatInt(f.Size, 10) + " bytes", Got: strconv.FormatInt(size, 10)}
	case sum != f.CRC:
		return manifest.ChecksumError(f.Name, f.CRC, sum)
	}
	return nil
}

// sumFile returns the size of a file, and its checksum if it has the size in the manifest.
func (c *Checkpoint) sumFile(ctx context.Context, f manifest.File, told func(n int)) (size int64, sum uint32,
	err error) {
	name := c.path(f.Name)
	r, err := c.st.Open(ctx, name)
	if err != nil {
		return 0, 0, err
	}
	defer r.Close() //nolint:errcheck // nothing was written
	if r.Size() != f.Size {
		return r.Size(), 0, nil
	}
	if err := c.once.failure(name); err != nil {
		return f.Size, 0, err
	}
	if k, ok := r.(keptReader); ok {
		return f.Size, crc.Sum(k.b), nil
	}
	var chain []span
	if c.once != nil {
		chain = c.once.spans(name).chain(f.Size, c.leastSpan())
	}
	sum, err = complete(ctx, unnoted(r), chain, told)
	return f.Size, sum, err
}

// BytesRead returns how many bytes of files were read since the checkpoint was opened with
// Options.Once.
func (c *Checkpoint) BytesRead() int64 {
	if c.once == nil {
		return 0
	}
	c.once.mu.Lock()
	defer c.once.mu.Unlock()
	return c.once.counted
}

// leastSpan returns the size from which a span saves more than another read around it costs. Over a
// network a request costs more than reading over a small span.
func (c *Checkpoint) leastSpan() int64 {
	if c.st.Properties().Parallel > 0 {
		return gapBytes
	}
	return leastSpan
}

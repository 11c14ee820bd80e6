package index

import (
	"bytes"
	"context"
	"io"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/crc"
	"github.com/bivouac-ml/bivouac/reader/shards"
	"github.com/bivouac-ml/bivouac/state"
)

// Format finds the records in files of one kind.
type Format struct {
	Name string // such as "tfrecord"; it is written into the index
	// Suffixes are the usual ends of names, such as ".tfrecord".
	Suffixes []string
	// Detect reports whether a file may be of the format. head is its first 4 KiB, or the whole file.
	Detect func(name string, head []byte) bool
	// Scan calls add for each record of a file, in their order. It reads what it must to find them
	// and no payload. An error of add ends it. A file that is damaged is an error of kind
	// errs.Corrupt that names the record and the offset.
	Scan func(ctx context.Context, r *io.SectionReader, add func(Record) error) error
	// Verify checks the bytes of a record with the checksums that the format has. It is nil if the
	// format has none.
	Verify func(record []byte) error
}

// BuildOptions say how an index is made.
type BuildOptions struct {
	// Workers is the number of files that are scanned at once; 0 means one for each processor.
	Workers int
	// Root is the folder that names of files are relative to; "" means that they are as given.
	Root string
	// OnFile is called after each file with the number of files and bytes that are done, by one
	// goroutine at a time.
	OnFile func(files int, bytes int64)
	// Done returns the index of a file that was made before, or nil. It is called from several
	// goroutines.
	Done func(f File) *Index
	// Keep is called with the index of each file, when it is made, from several goroutines.
	Keep func(x *Index) error
}

// Build finds the records of all files of a set. op begins its errors.
func Build(ctx context.Context, op string, set *shards.Set, f Format, o BuildOptions) (*Index, error) {
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	parts := make([]*Index, set.Len())
	var next atomic.Int64
	var group sync.WaitGroup
	var mu sync.Mutex
	files, done := 0, int64(0)
	for range min(o.Workers, set.Len()) {
		group.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= set.Len() || ctx.Err() != nil {
					return
				}
				x, err := buildFile(ctx, op, set, i, f, o)
				if err != nil {
					cancel(err)
					return
				}
				parts[i] = x
				mu.Lock()
				if files, done = files+1, done+set.File(i).Size; o.OnFile != nil {
					o.OnFile(files, done)
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	if err := context.Cause(ctx); err != nil {
		if ctx.Err() != nil && errs.KindOf(err) == errs.Other {
			err = &errs.Error{Kind: errs.Canceled, Op: op, Err: err}
		}
		return nil, err
	}
	x := parts[0]
	if len(parts) > 1 {
		var err error
		x, err = bytesOf("the index of "+set.Path(0), func(w *bytes.Buffer) error { return merge(w, f.Name, parts) })
		if err != nil {
			return nil, err
		}
	}
	x.show(set)
	return x, nil
}

// buildFile finds the records of one file.
func buildFile(ctx context.Context, op string, set *shards.Set, i int, f Format, o BuildOptions) (*Index, error) {
	file, err := describe(ctx, set, i, o.Root)
	if err != nil {
		return nil, errs.Wrap(op, "", err)
	}
	if o.Done != nil {
		if x := o.Done(file); x != nil {
			return x, nil
		}
	}
	var t table
	if t.packed, err = unpackFile(ctx, set, i); err != nil {
		return nil, errs.Wrap(op, "", err)
	}
	t.packed.describe(&file)
	hash := state.NewHasher("bivouac.index.file.v1")
	hash.String(f.Name)
	hash.Int(file.Content)
	err = f.Scan(ctx, set.Reader(ctx, i), func(r Record) error {
		t.add(r, hash)
		return ctx.Err()
	})
	if err != nil {
		return nil, errs.Wrap(op, set.Path(i), err)
	}
	x, err := bytesOf("the index of "+set.Path(i), func(b *bytes.Buffer) error { file.Print = hash.Sum(); return t.write(b, f.Name, file) })
	if err == nil && o.Keep != nil {
		err = o.Keep(x)
	}
	return x, err
}

// describe returns how an index names a file of a set.
func describe(ctx context.Context, set *shards.Set, i int, root string) (File, error) {
	f := set.File(i)
	name := f.Path
	if root != "" {
		if rel, err := filepath.Rel(root, name); err == nil {
			name = rel
		}
	}
	probe, err := probeOf(ctx, set, i)
	return File{Name: filepath.ToSlash(name), Size: f.Size, Time: f.ModTime.UnixNano(), Probe: probe}, err
}

// probeOf returns a checksum of 16 places of a file, the first and the last among them.
func probeOf(ctx context.Context, set *shards.Set, i int) (uint32, error) {
	const places, size = 16, 4096
	total, sum := set.File(i).Size, uint32(0)
	b := make([]byte, min(size, total))
	for p := range int64(places) {
		off := (total - int64(len(b))) / (places - 1) * p
		if p == places-1 {
			off = total - int64(len(b))
		}
		if err := set.ReadStored(ctx, i, b, off); err != nil {
			return 0, err
		}
		sum = crc.Update(sum, b)
		if total <= size {
			break
		}
	}
	return sum, nil
}

package index

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/crc"
	"github.com/bivouac-ml/bivouac/reader/datafs"
	"github.com/bivouac-ml/bivouac/reader/shards"
	"github.com/bivouac-ml/bivouac/state"
)

// Format finds the records in files of one kind.
type Format struct {
	Name string // such as "tfrecord"; it is written into the index
	// Scan calls add for each record of a file, in their order. It reads what it must to find them
	// and no payload. An error of add ends it. A file that is damaged is an error of kind
	// errs.Corrupt that names the record and the offset.
	Scan func(ctx context.Context, r *io.SectionReader, add func(Record) error) error
	// Verify checks the bytes of a record with the checksums that the format has, or their form if it
	// has none. It may be nil.
	Verify func(record []byte) error
	// Lines is the index of one file that other programs have, or nil.
	Lines *Lines
}

// Lines is an index in text, which other programs read.
type Lines struct {
	// Path returns where the index of a file is kept.
	Path func(file string) string
	// Write writes the index of one file with n records.
	Write func(w io.Writer, n int64, records iter.Seq2[Record, error]) error
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
	return builder{op: op, set: set, format: f.Name, o: o, probed: true, scan: scanner(set, f)}.build(ctx)
}

// inMemory finds the records of all files of a set for an index that is not written.
func inMemory(ctx context.Context, op string, set *shards.Set, f Format) (*Index, error) {
	return builder{op: op, set: set, format: f.Name, scan: scanner(set, f)}.build(ctx)
}

// FromLists returns an index in memory of records that another index lists: list calls add for each
// record of file i of the set, in their order. op begins the errors, and format is the name of the
// format. A record outside of its file is an error of kind errs.Mismatch. The index has the
// fingerprint of one that Build makes if it lists the same records.
func FromLists(ctx context.Context, op string, set *shards.Set, format string,
	list func(ctx context.Context, i int, add func(Record) error) error) (*Index, error) {
	return builder{op: op, set: set, format: format, scan: func(ctx context.Context, i int, add func(Record) error) error {
		size := set.Size(i)
		return list(ctx, i, func(r Record) error {
			if r.Offset < 0 || r.Length < 0 || r.Offset > size || r.Length > size-r.Offset {
				return &errs.Error{Kind: errs.Mismatch, Want: fmt.Sprintf("a record within %s, which has %d bytes", set.Path(i), size),
					Got: fmt.Sprintf("%d bytes at offset %d", r.Length, r.Offset), Remedy: "the index belongs to other data, or the file was cut"}
			}
			return add(r)
		})
	}}.build(ctx)
}

// scanner scans the files of a set.
func scanner(set *shards.Set, f Format) func(ctx context.Context, i int, add func(Record) error) error {
	return func(ctx context.Context, i int, add func(Record) error) error {
		return errs.Wrap("", set.Path(i), f.Scan(ctx, set.Reader(ctx, i), add))
	}
}

// builder makes an index.
type builder struct {
	op, format string
	set        *shards.Set
	o          BuildOptions
	probed     bool // files get checksums of a few places
	scan       func(ctx context.Context, i int, add func(Record) error) error
}

func (b builder) build(ctx context.Context) (*Index, error) {
	workers := b.o.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	parts := make([]*Index, b.set.Len())
	var next atomic.Int64
	var group sync.WaitGroup
	var mu sync.Mutex
	files, done := 0, int64(0)
	for range min(workers, b.set.Len()) {
		group.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= b.set.Len() || ctx.Err() != nil {
					return
				}
				x, err := b.file(ctx, i)
				if err != nil {
					cancel(err)
					return
				}
				parts[i] = x
				mu.Lock()
				if files, done = files+1, done+b.set.File(i).Size; b.o.OnFile != nil {
					b.o.OnFile(files, done)
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	if err := context.Cause(ctx); err != nil {
		if ctx.Err() != nil && errs.KindOf(err) == errs.Other {
			err = &errs.Error{Kind: errs.Canceled, Op: b.op, Err: err}
		}
		return nil, err
	}
	x := parts[0]
	if len(parts) > 1 {
		var err error
		x, err = bytesOf("the index of "+b.set.Path(0), func(w *bytes.Buffer) error { return merge(w, b.format, parts) })
		if err != nil {
			return nil, err
		}
	}
	x.show(b.set)
	return x, nil
}

// file finds the records of one file.
func (b builder) file(ctx context.Context, i int) (*Index, error) {
	file, err := b.describe(ctx, i)
	if err != nil {
		return nil, errs.Wrap(b.op, "", err)
	}
	if b.o.Done != nil {
		if x := b.o.Done(file); x != nil {
			return x, nil
		}
	}
	var t table
	if t.packed, err = unpackFile(ctx, b.set, i); err != nil {
		return nil, errs.Wrap(b.op, "", err)
	}
	t.packed.describe(&file)
	hash := state.NewHasher("bivouac.index.file.v1")
	hash.String(b.format)
	hash.Int(file.Content)
	err = b.scan(ctx, i, func(r Record) error {
		t.add(r, hash)
		return ctx.Err()
	})
	if err != nil {
		return nil, errs.Wrap(b.op, "", err)
	}
	x, err := bytesOf("the index of "+b.set.Path(i),
		func(w *bytes.Buffer) error { file.Print = hash.Sum(); return t.write(w, b.format, file) })
	if err == nil && b.o.Keep != nil {
		err = b.o.Keep(x)
	}
	return x, err
}

// describe returns how an index names a file of the set.
func (b builder) describe(ctx context.Context, i int) (f File, err error) {
	file := b.set.File(i)
	name := file.Path
	if b.o.Root != "" {
		if rel, err := datafs.Rel(absolute(b.o.Root), absolute(name)); err == nil {
			name = rel
		}
	}
	f = File{Name: filepath.ToSlash(name), Size: file.Size, Time: file.ModTime.UnixNano()}
	if b.probed {
		f.Probe, err = probeOf(ctx, b.set, i)
	}
	return f, err
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

package shards

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/reader/datafs"
	"github.com/bivouac-ml/bivouac/store/blocks"
)

// far is an object in a bucket.
type far = blocks.Object

// openFar describes files of which some are objects in buckets.
func (s *Set) openFar(ctx context.Context, paths []string) error {
	list, at, err := datafs.StatAll(ctx, paths)
	if err != nil {
		return s.fail(paths[at], err)
	}
	s.far = make([]*far, len(paths))
	for i, path := range paths {
		if err := s.describe(i, path, list[i]); err != nil {
			return err
		}
		if !datafs.IsURL(path) {
			continue
		}
		if s.far[i], err = datafs.Open(ctx, path, list[i]); err != nil {
			return s.fail(path, err)
		}
	}
	return nil
}

// readFar fills head and then p with bytes of an object.
func (s *Set) readFar(ctx context.Context, i int, head, p []byte, off int64) error {
	if s.closed.Load() {
		return &errs.Error{Kind: errs.Closed, Op: s.op, Subject: s.files[i].Path}
	}
	for _, b := range [][]byte{head, p} {
		if err := s.far[i].ReadAt(ctx, b, off); err != nil {
			return s.farError(i, err)
		}
		off += int64(len(b))
	}
	return nil
}

// farError returns the error of reading an object.
func (s *Set) farError(i int, err error) error {
	var own *errs.Error
	if errors.As(err, &own) {
		return err
	}
	return &errs.Error{Kind: Kind(err), Subject: s.files[i].Path, Err: err}
}

// Far reports whether some files are objects in a bucket, which are read ahead.
func (s *Set) Far() bool { return s.far != nil }

// Span is a part of a file.
type Span struct {
	File   int
	Offset int64
	Length int64
}

// Ahead begins to read parts of files that are going to be read, and does not wait. Parts that lie
// side by side are requested together. It does nothing for local files, and sorts the spans.
func (s *Set) Ahead(spans []Span) {
	if s.far == nil || s.closed.Load() {
		return
	}
	const gap = 64 << 10 // bytes between two parts that are read with them
	sorted(spans)
	for len(spans) > 0 {
		first := spans[0]
		lo, hi := first.Offset, first.Offset+first.Length
		n := 1
		for ; n < len(spans) && spans[n].File == first.File && spans[n].Offset <= hi+gap; n++ {
			hi = max(hi, spans[n].Offset+spans[n].Length)
		}
		spans = spans[n:]
		if o := s.far[first.File]; o != nil && s.view(first.File) == nil {
			o.Ahead(lo, hi-lo)
		}
	}
}

// AheadEnds begins to read the last n bytes of each file, where some formats have an index. It does
// nothing for local files.
func (s *Set) AheadEnds(n int64) {
	if s.far == nil {
		return
	}
	for _, o := range s.far {
		if o != nil {
			o.Warm(max(0, o.Size()-n), n)
		}
	}
}

// sorted puts the spans of a file together, by their offsets. The files keep the order in which
// they are wanted first.
func sorted(spans []Span) {
	rank := make(map[int]int, 8)
	for i, s := range spans {
		if _, ok := rank[s.File]; !ok {
			rank[s.File] = i
		}
	}
	slices.SortStableFunc(spans, func(a, b Span) int {
		return cmp.Or(cmp.Compare(rank[a.File], rank[b.File]), cmp.Compare(a.Offset, b.Offset))
	})
}

// Package folders lists the files of folders, several folders at a time.
package folders

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/reader/datafs"
	"github.com/bivouac-ml/bivouac/reader/shards"
)

// Listing lists the files of a folder whose names match. Names lie back to back, without a pointer
// per file.
type Listing struct {
	op    string // the reader, for errors
	dir   string
	text  strings.Builder
	tags  []string // of objects in a bucket, in the order of Files; nil for local files
	Files []Entry
	Seen  int // entries that are not folders, matching or not
}

// Entry is a file of a Listing.
type Entry struct {
	start, end int   // where its name begins and ends in the text
	Size       int64 // -1 if it turns out not to be a file
}

// Name returns the name of a file in its folder.
func (l *Listing) Name(f Entry) string { return l.text.String()[f.start:f.end] }

func (l *Listing) add(name string) {
	start := l.text.Len()
	l.text.WriteString(name)
	l.Files = append(l.Files, Entry{start: start, end: l.text.Len()})
}

// Tag returns the tag of an object in a bucket, or "" for a local file.
func (l *Listing) Tag(f Entry) string {
	if l.tags == nil {
		return ""
	}
	i, ok := slices.BinarySearchFunc(l.Files, l.Name(f), func(a Entry, name string) int {
		return cmp.Compare(l.Name(a), name)
	})
	if !ok {
		return ""
	}
	return l.tags[i]
}

// readObjects reads the names, sizes and tags of a folder of a bucket. Names are sorted.
func (l *Listing) readObjects(ctx context.Context, match func(name string) bool) error {
	entries, err := datafs.ReadDir(ctx, l.dir)
	if err != nil {
		return Error(l.op, l.dir, err)
	}
	l.tags = []string{}
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		if l.Seen++; !match(e.Name()) {
			continue
		}
		info, err := e.Info()
		if err != nil {
			return Error(l.op, l.dir, err)
		}
		l.add(e.Name())
		l.Files[len(l.Files)-1].Size = info.Size()
		l.tags = append(l.tags, datafs.Tag(info))
	}
	return nil
}

// sort sorts by the bytes of the names.
func (l *Listing) sort() {
	slices.SortFunc(l.Files, func(a, b Entry) int { return cmp.Compare(l.Name(a), l.Name(b)) })
}

// piece is the number of files of a folder whose sizes one goroutine reads at a time.
const piece = 1024

// List returns the files of the folders. It lists several folders at a time and waits for all
// goroutines. It returns the error of the first folder that has one, which begins with op.
func List(ctx context.Context, op, root string, folders []string, match func(name string) bool) ([]Listing, error) {
	lists := make([]Listing, len(folders))
	err := Each(ctx, op, root, len(lists), func(i int) error {
		l := &lists[i]
		l.op, l.dir = op, datafs.Join(root, folders[i])
		if datafs.IsURL(root) {
			return l.readObjects(ctx, match)
		}
		if err := l.read(match); err != nil {
			return Error(op, l.dir, err)
		}
		l.sort()
		return nil
	})
	if err != nil {
		return nil, err
	}
	if datafs.IsURL(root) {
		return lists, nil // with their sizes
	}
	type part struct{ list, lo, hi int }
	var parts []part
	for i := range lists {
		for lo := 0; lo < len(lists[i].Files); lo += piece {
			parts = append(parts, part{i, lo, min(lo+piece, len(lists[i].Files))})
		}
	}
	return lists, Each(ctx, op, root, len(parts), func(i int) error {
		p := parts[i]
		return lists[p.list].measure(p.lo, p.hi)
	})
}

// Each calls f for 0 to n-1, several at a time: waiting for a file system needs no processor. It
// returns the error of the smallest number.
func Each(ctx context.Context, op, root string, n int, f func(i int) error) error {
	const most = 16
	var next atomic.Int64
	var mu sync.Mutex
	var first error
	failed := n
	var group sync.WaitGroup
	for range min(n, most, 2*runtime.GOMAXPROCS(0)) {
		group.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				err := ctx.Err()
				if err != nil {
					err = Error(op, root, err)
				} else {
					err = f(i)
				}
				if err == nil {
					continue
				}
				mu.Lock()
				if i < failed {
					failed, first = i, err
				}
				mu.Unlock()
				next.Store(int64(n)) // calls in progress have smaller numbers and are finished
			}
		})
	}
	group.Wait()
	return first
}

// Names returns the names of the folders in a directory, sorted by their bytes. A link counts as
// its target. op begins the errors.
func Names(ctx context.Context, op, dir string) ([]string, error) {
	entries, err := datafs.ReadDir(ctx, dir) // ReadDir sorts the names
	if err != nil {
		return nil, Error(op, dir, err)
	}
	var list []string
	for _, e := range entries {
		is := e.IsDir()
		if e.Type()&fs.ModeSymlink != 0 {
			info, err := datafs.Stat(ctx, datafs.Join(dir, e.Name()))
			if err != nil {
				return nil, Error(op, datafs.Join(dir, e.Name()), err)
			}
			is = info.IsDir()
		}
		if is {
			list = append(list, e.Name())
		}
	}
	return list, nil
}

// Error returns an error of the reader op about a file or a folder.
func Error(op, path string, err error) error {
	var own *errs.Error
	if errors.As(err, &own) {
		return errs.Wrap(op, "", err)
	}
	if errors.Is(err, fs.ErrNotExist) { // the name may be a URL or a home directory
		if other := datafs.Check(path); other != nil {
			return errs.Wrap(op, "", other)
		}
	}
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return &errs.Error{Kind: shards.Kind(err), Op: op, Subject: path, Err: err}
}

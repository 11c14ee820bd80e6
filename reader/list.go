package reader

import (
	"cmp"
	"context"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// listing lists the files of a folder whose names match. Names lie back to back, without a pointer
// per file.
type listing struct {
	op    string // the reader, for errors
	dir   string
	text  strings.Builder
	files []entry
	seen  int // entries that are not folders, matching or not
}

// entry is a file of a listing.
type entry struct {
	start, end int   // where its name begins and ends in the text
	size       int64 // -1 if it turns out not to be a file
}

func (l *listing) name(f entry) string { return l.text.String()[f.start:f.end] }

func (l *listing) add(name string) {
	start := l.text.Len()
	l.text.WriteString(name)
	l.files = append(l.files, entry{start: start, end: l.text.Len()})
}

// sort sorts by the bytes of the names.
func (l *listing) sort() {
	slices.SortFunc(l.files, func(a, b entry) int { return cmp.Compare(l.name(a), l.name(b)) })
}

// piece is the number of files of a folder whose sizes one goroutine reads at a time.
const piece = 1024

// listAll returns the files of the folders. It lists several folders at a time and waits for all
// goroutines. It returns the error of the first folder that has one, which begins with op.
func listAll(ctx context.Context, op, root string, folders []string, match func(name string) bool) ([]listing, error) {
	lists := make([]listing, len(folders))
	err := eachOf(ctx, op, root, len(lists), func(i int) error {
		l := &lists[i]
		l.op, l.dir = op, filepath.Join(root, folders[i])
		if err := l.read(match); err != nil {
			return fileError(op, l.dir, err)
		}
		l.sort()
		return nil
	})
	if err != nil {
		return nil, err
	}
	type part struct{ list, lo, hi int }
	var parts []part
	for i := range lists {
		for lo := 0; lo < len(lists[i].files); lo += piece {
			parts = append(parts, part{i, lo, min(lo+piece, len(lists[i].files))})
		}
	}
	return lists, eachOf(ctx, op, root, len(parts), func(i int) error {
		p := parts[i]
		return lists[p.list].measure(p.lo, p.hi)
	})
}

// eachOf calls f for 0 to n-1, several at a time: waiting for a file system needs no processor. It
// returns the error of the smallest number.
func eachOf(ctx context.Context, op, root string, n int, f func(i int) error) error {
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
					err = fileError(op, root, err)
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

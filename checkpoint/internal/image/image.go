package image

import (
	"crypto/rand"
	"encoding/json"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
)

// Style is which of Orbax's two directory styles is made.
type Style uint8

// The styles.
const (
	V1   Style = iota // as v1.save: the marker orbax.checkpoint, no commit files in items
	Step              // as a Checkpointer's step: no marker, a commit file in each item
)

// Memory gives memory for images. It is reset and reused by its owner when the
// image is committed.
type Memory interface {
	// Alloc returns n bytes of any content, aligned.
	Alloc(n, align int) ([]byte, error)
}

// Heap is Memory from the Go heap, for saves that are not repeated.
type Heap struct{}

// Alloc implements Memory. Large Go allocations are aligned to pages, which
// buffered writes do not even need.
func (Heap) Alloc(n, _ int) ([]byte, error) { return make([]byte, n), nil }

// Options of Take.
type Options struct {
	Style  Style
	Custom json.RawMessage // the checkpoint's metadata, nil for none
	Memory Memory          // nil is Heap
	Now    func() time.Time
	Random io.Reader // for names and identifiers; nil is crypto/rand
}

// Image is a checkpoint in memory.
type Image struct {
	opts  Options
	items []Item
	trees []*treeImage // nil for JSON items
	uuids [][16]byte
	began time.Time
	size  int64
}

// smallFile is a file that is written whole.
type smallFile struct {
	name string // below the checkpoint
	data []byte
}

// Take copies the items. When it returns, the caller may change what they were
// made from. Errors name the leaf.
func Take(items []Item, o Options) (*Image, error) {
	if o.Memory == nil {
		o.Memory = Heap{}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Random == nil {
		o.Random = rand.Reader
	}
	im := &Image{opts: o, items: items, trees: make([]*treeImage, len(items)), uuids: make([][16]byte, len(items)), began: o.Now()}
	var arrays []*array
	for i, it := range items {
		if it.Tree == nil {
			im.size += int64(len(it.JSON))
			continue
		}
		t, err := planTree(it, o.Random)
		if err == nil {
			_, err = io.ReadFull(o.Random, im.uuids[i][:])
		}
		if err == nil {
			err = t.allocate(o.Memory)
		}
		if err != nil {
			return nil, errs.Wrap("", it.Name, err)
		}
		t.clearGaps()
		im.trees[i] = t
		arrays = append(arrays, t.arrays...)
		for _, f := range t.files {
			im.size += f.size
		}
	}
	if err := encodeAll(arrays); err != nil {
		return nil, err
	}
	return im, nil
}

// Size returns the bytes of array data and JSON items.
func (im *Image) Size() int64 { return im.size }

// parallelFrom is from how many bytes on a second goroutine pays.
const parallelFrom = 1 << 20

// encodeAll encodes the arrays, on several cores when there is enough to do.
func encodeAll(arrays []*array) error {
	total := 0
	for _, a := range arrays {
		total += a.size
	}
	workers := min(runtime.GOMAXPROCS(0), total/parallelFrom, 4)
	if workers < 2 {
		for _, a := range arrays {
			if err := a.encode(); err != nil {
				return errs.Wrap("", a.param, err)
			}
		}
		return nil
	}
	var (
		next atomic.Int64
		wg   sync.WaitGroup
		once sync.Once
		fail error
	)
	for range workers {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(arrays) {
					return
				}
				if err := arrays[i].encode(); err != nil {
					once.Do(func() { fail = errs.Wrap("", arrays[i].param, err) })
				}
			}
		})
	}
	wg.Wait()
	return fail
}

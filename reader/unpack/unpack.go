// Package unpack shows the contents of compressed files of a data set as if they were not
// compressed.
//
// A [View] decompresses the blocks that package seekable found, when they are read. A random access
// decompresses one block of about 1 MiB, and not the file. Blocks that were used last stay in a
// [Cache], so that reading on decompresses each block once.
package unpack

import (
	"context"
	"sort"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/seekable"
	"github.com/bivouac-ml/bivouac/reader/shards"
)

// Blocks are the blocks of a file in their order. They are safe for concurrent use.
type Blocks struct {
	Len int64
	// Out returns where a block begins in the contents.
	Out func(i int64) (int64, error)
	// Block returns a block, with its window.
	Block func(i int64) (seekable.Block, error)
}

// Of returns blocks in memory.
func Of(list []seekable.Block) Blocks {
	return Blocks{Len: int64(len(list)),
		Out:   func(i int64) (int64, error) { return list[i].Out, nil },
		Block: func(i int64) (seekable.Block, error) { return list[i], nil }}
}

// View is the contents of a compressed file. It implements store.Reader and is safe for concurrent
// use.
type View struct {
	set    *shards.Set
	file   int
	kind   seekable.Kind
	size   int64
	blocks Blocks
	cache  *Cache
}

// New returns the contents of file i of a set, which has size bytes decompressed. Views of one set
// may share a cache.
func New(set *shards.Set, i int, kind seekable.Kind, size int64, blocks Blocks, cache *Cache) *View {
	return &View{set, i, kind, size, blocks, cache}
}

// Detect returns how file i of a set is compressed.
func Detect(ctx context.Context, set *shards.Set, i int) (seekable.Kind, error) {
	head := make([]byte, min(seekable.HeadSize, set.File(i).Size))
	if err := set.ReadStored(ctx, i, head, 0); err != nil {
		return seekable.None, err
	}
	return seekable.Detect(set.Path(i), head), nil
}

// Size implements store.Reader.
func (v *View) Size() int64 { return v.size }

// Close implements store.Reader.
func (v *View) Close() error { return nil }

// ReadAt implements store.Reader.
func (v *View) ReadAt(ctx context.Context, p []byte, off int64) error {
	if len(p) == 0 {
		return nil
	}
	at, err := v.find(off)
	if err != nil {
		return err
	}
	for ; len(p) > 0; at++ {
		if at >= v.blocks.Len {
			return v.damaged("blocks up to the end of the contents")
		}
		start, err := v.blocks.Out(at)
		if err != nil {
			return err
		}
		b, err := v.cache.blocks.Get(ctx, place{v.file, at}, func(ctx context.Context) ([]byte, int64, error) {
			b, err := v.decode(ctx, at)
			return b, int64(len(b)), err
		})
		if err != nil {
			return err
		}
		from := off - start
		if from < 0 || from >= int64(len(b)) {
			return v.damaged("blocks that follow each other")
		}
		n := copy(p, b[from:])
		p, off = p[n:], off+int64(n)
	}
	return nil
}

// find returns the block that has a byte of the contents.
func (v *View) find(off int64) (int64, error) {
	var failed error
	at := sort.Search(int(v.blocks.Len), func(i int) bool {
		start, err := v.blocks.Out(int64(i))
		if err != nil && failed == nil {
			failed = err
		}
		return start > off
	})
	if failed == nil && at == 0 {
		failed = v.damaged("a block at the start of the contents")
	}
	return int64(at) - 1, failed
}

func (v *View) damaged(want string) error {
	return &errs.Error{Kind: errs.Corrupt, Op: "unpack", Subject: v.set.Path(v.file), Want: want, Got: "others",
		Remedy: "make the index again with bivouac index"}
}

// decode decompresses a block.
func (v *View) decode(ctx context.Context, at int64) ([]byte, error) {
	b, err := v.blocks.Block(at)
	if err != nil {
		return nil, err
	}
	if size := v.set.File(v.file).Size; b.In < 0 || b.Length < 0 || b.In/8 > size || b.Length > size-b.In/8 {
		return nil, v.damaged("a block within the file")
	}
	raw := make([]byte, b.Length)
	if err := v.set.ReadStored(ctx, v.file, raw, b.In/8); err != nil {
		return nil, err
	}
	content, err := seekable.Decode(v.kind, raw, &b)
	return content, errs.Wrap("", v.set.Path(v.file), err)
}

package index

import (
	"context"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/seekable"
	"github.com/bivouac-ml/bivouac/reader/shards"
	"github.com/bivouac-ml/bivouac/reader/unpack"
)

// Head returns the first n bytes of the contents of file i of a set, decompressed if the file is
// compressed. whole reports that there are no more.
func Head(ctx context.Context, set *shards.Set, i int, n int64) (head []byte, whole bool, err error) {
	size := set.File(i).Size
	kind, err := unpack.Detect(ctx, set, i)
	if err != nil {
		return nil, false, err
	}
	if kind != seekable.None {
		head, whole, err = seekable.Head(kind, set.Stored(ctx, i), size, n)
		return head, whole, errs.Wrap("", set.Path(i), err)
	}
	head = make([]byte, min(n, size))
	return head, size <= n, set.ReadStored(ctx, i, head, 0)
}

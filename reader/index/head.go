package index

import (
	"context"

	"github.com/bivouac-ml/bivouac/reader/shards"
)

// Head returns the first n bytes of the contents of file i of a set, decompressed if it is
// compressed. whole reports that the file has no more.
func Head(ctx context.Context, set *shards.Set, i int, n int64) (head []byte, whole bool, err error) {
	size := set.Size(i)
	head = make([]byte, min(n, size))
	return head, size <= n, set.ReadAt(ctx, i, head, 0)
}

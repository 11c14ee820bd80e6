package layout

import (
	"context"

	"github.com/bivouac-ml/bivouac/format/zarr"
)

// cover counts bytes of an array as they are stored, and the stored bytes that a checksum of the
// format covers.
type cover struct{ stored, covered int64 }

// add counts bytes; a nil cover counts nothing.
func (c *cover) add(n int, covered bool) {
	if c == nil {
		return
	}
	c.stored += int64(n)
	if covered {
		c.covered += int64(n)
	}
}

// part counts a part of an array in chunks: by its own checksum, or by the checksum of the node
// that holds its value.
func (c *cover) part(ctx context.Context, l *zarrArray, p *zarr.Part, encoded []byte) {
	if c == nil {
		return
	}
	covered := p.Covered(encoded)
	if kv, ok := l.values.(zarr.InlineKV); ok && l.nodes && !covered {
		_, value, err := kv.Look(ctx, p.Key)
		covered = err == nil && value != nil
	}
	c.add(int(p.Length), covered)
}

// whole counts an array that has no chunks: all of it, or none, is covered. What
// was counted piece by piece stays.
func (c *cover) whole(l *Leaf, box zarr.Box) {
	switch a := l.array.(type) {
	case *zarrArray:
	case numpyArray:
		c.add(box.Len()*l.DType.Size(), !a.alone)
	default:
		c.add(box.Len()*l.DType.Size(), false)
	}
}

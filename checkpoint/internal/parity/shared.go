package parity

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
)

// sharedName returns the name of the n-th parity file that several files share.
func sharedName(tag string, n int) string { return Prefix + tag + strconv.Itoa(n) }

// isShared reports whether a parity file is for several files.
func isShared(name string) bool { return Is(name) && name != CopyName && len(name) < len(Prefix)+32 }

// sharedTable is the table for small files, whose names and sizes count.
func sharedTable(small []manifest.File, percent int) *table {
	slices.SortFunc(small, func(a, b manifest.File) int { return strings.Compare(a.Name, b.Name) })
	var spans []span
	next := int64(0)
	for _, f := range small {
		spans = append(spans, span{first: next, size: f.Size, name: f.Name})
		next += blocksOf(f.Size)
	}
	return newTable(shape{size: next * smallBlock, block: smallBlock, percent: percent, shared: true}, spans)
}

// writeShared writes the parity file of small files.
func writeShared(ctx context.Context, to files, small []blob, name string, percent int,
	signed bool) (manifest.File, error) {
	slices.SortFunc(small, func(a, b blob) int { return strings.Compare(a.name, b.name) })
	list := make([]manifest.File, len(small))
	for i, b := range small {
		list[i] = manifest.File{Name: b.name, Size: int64(len(b.data))}
	}
	t := sharedTable(list, percent)
	out := &output{to: to, name: name, t: t, signed: signed}
	enc := newEncoder(t, func(r region, b []byte) error { return out.blocks(ctx, r, b) })
	padding := make([]byte, smallBlock)
	for i, b := range small {
		off := t.files[i].first * smallBlock
		if err := enc.add(b.data, off); err != nil {
			return manifest.File{}, err
		}
		if rest := len(b.data) % smallBlock; rest > 0 {
			if err := enc.add(padding[rest:], off+int64(len(b.data))); err != nil {
				return manifest.File{}, err
			}
		}
	}
	return out.finish(ctx)
}

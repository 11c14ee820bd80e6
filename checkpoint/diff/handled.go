package diff

import (
	"context"
	"slices"

	"github.com/bivouac-ml/bivouac/checkpoint/handler"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/layout"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/parts"
)

// What handlers wrote is compared by the bytes of their files. Leaves of leaf
// handlers that are in both trees count as changed where any file of such handlers
// in the item is another: which leaf a file is of, only the handler knows. Trees
// within items have files of random names, and count as changed when saved again.

// handledItems compares items that only their handlers know.
func (d *differ) handledItems(side [2]*layout.Checkpoint, was, is layout.Item) error {
	l := Leaf{Item: was.Name, Was: itemOf(was), Is: itemOf(is)}
	var dirs [2]handler.Reader
	var names [2][]string
	for i, c := range side {
		var err error
		dirs[i] = c.Directory(was.Name)
		if names[i], err = dirs[i].List(d.ctx); err != nil {
			return err
		}
	}
	same, err := sameFiles(d.ctx, dirs, names)
	if err != nil {
		return err
	}
	if !same || l.Was != l.Is {
		l.Status = Changed
	}
	d.emit(l)
	return nil
}

// itemOf says what an item is that only its handler knows.
func itemOf(it layout.Item) string {
	if it.Handler == "" {
		return it.Kind.String()
	}
	return "item of " + it.Handler
}

// foreignLeaves reports whether the files of leaf handlers are the same in both
// trees.
func foreignLeaves(ctx context.Context, open [2]*layout.OpenTree) (bool, error) {
	var dirs [2]handler.Reader
	var names [2][]string
	for i, t := range open {
		var err error
		if names[i], err = t.ForeignFiles(ctx); err != nil {
			return false, err
		}
		if len(names[i]) > 0 {
			dirs[i] = t.Directory()
		}
	}
	return sameFiles(ctx, dirs, names)
}

// sameFiles reports whether two directories have the same of these files.
func sameFiles(ctx context.Context, dirs [2]handler.Reader, names [2][]string) (bool, error) {
	if !slices.Equal(names[0], names[1]) {
		return false, nil
	}
	name, err := parts.Differing(ctx, names[0], dirs[0], dirs[1])
	return name == "", err
}

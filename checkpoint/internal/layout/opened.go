package layout

import (
	"context"
	"reflect"

	"github.com/bivouac-ml/bivouac/store"
)

// openedKey is the key of a context for the checkpoint that its calls find open.
type openedKey struct{}

// opened is an open checkpoint, and the arguments that name it.
type opened struct {
	c    *Checkpoint
	path string
	st   store.Store
}

// With returns a context for calls that read c, and that get path and st as its name. They need not
// open it again. The context must not be used after Close.
func (c *Checkpoint) With(ctx context.Context, path string, st store.Store) context.Context {
	return context.WithValue(ctx, openedKey{}, opened{c, path, st})
}

// Opened returns the checkpoint that With put into ctx, if path and st name it. Otherwise it
// returns nil. Its signature was not checked.
func Opened(ctx context.Context, path string, st store.Store) *Checkpoint {
	if o, ok := ctx.Value(openedKey{}).(opened); ok && o.path == path && sameStore(o.st, st) {
		return o.c
	}
	return nil
}

// sameStore reports whether two stores are one. A Store of a caller may be of a type that cannot be
// compared.
func sameStore(a, b store.Store) bool {
	return a == nil && b == nil || a != nil && b != nil && reflect.ValueOf(a).Comparable() && a == b
}

package checkpoint

import "github.com/bivouac-ml/bivouac/store"

// NewOn returns a checkpoint whose directories open opens.
func NewOn(o Options, open func(dir string) (store.Store, error)) *Checkpoint {
	c := NewWith(o)
	c.open = open
	return c
}

package store

import "context"

// Hider is a Store that can remove in two parts: the name, which is quick and what others
// wait for, and the bytes, which may take long.
type Hider interface {
	// Hide is the first part of RemoveTree: the directory or object is durably invisible
	// when it returns nil. free is the second part. It must be called, once: until it
	// returns, CleanStaging leaves the bytes alone. When it fails, or the process ends
	// before, the bytes are what a dead transaction has left.
	Hide(ctx context.Context, name string) (free func() error, err error)
}

// Hide is Hider.Hide of st. If st is not a Hider it is RemoveTree, and free does nothing.
func Hide(ctx context.Context, st Store, name string) (free func() error, err error) {
	if h, ok := st.(Hider); ok {
		return h.Hide(ctx, name)
	}
	return func() error { return nil }, st.RemoveTree(ctx, name)
}

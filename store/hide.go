package store

import "context"

// Hider is a Store that can remove in two parts: first the name, which is quick and which others
// wait for, then the bytes, which may take long.
type Hider interface {
	// Hide is the first part of RemoveTree: the directory or object is durably invisible when it
	// returns nil. free is the second part. It must be called, once: until it returns, CleanStaging
	// leaves the bytes alone. If it fails, or the process ends before, the bytes count as leftovers of
	// a dead transaction.
	Hide(ctx context.Context, name string) (free func() error, err error)
}

// Hide calls Hider.Hide of st. If st is not a Hider, it calls RemoveTree, and free does nothing.
func Hide(ctx context.Context, st Store, name string) (free func() error, err error) {
	if h, ok := st.(Hider); ok {
		return h.Hide(ctx, name)
	}
	return func() error { return nil }, st.RemoveTree(ctx, name)
}

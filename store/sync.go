package store

import "context"

// Syncer is a Store below which programs that know nothing of it may have written,
// and perhaps not durably.
type Syncer interface {
	// Sync makes the content of the object or directory name durable, with all
	// below; Settle does so with the name itself. Nobody may write there meanwhile.
	Sync(ctx context.Context, name string) error
}

// Sync makes name durable where st is a Syncer; with others what is there is
// durable.
func Sync(ctx context.Context, st Store, name string) error {
	if s, ok := st.(Syncer); ok {
		return s.Sync(ctx, name)
	}
	return nil
}

package store

import "context"

// Scanner is a Store that can read from the disk past the cache, and that can tell objects apart by
// identity.
type Scanner interface {
	// Scan hands the bytes of an object to visit, in their order and piece by piece, as
	// the disk has them: past the cache of the system where that is possible. An error of
	// visit ends it and is returned.
	Scan(ctx context.Context, name string, visit func(b []byte) error) error
	// Identity identifies the object behind a name: two names of one object, such as links, have the
	// same identity. It is "" if the identity is not known.
	Identity(ctx context.Context, name string) (string, error)
}

// scanBytes is the size of a piece.
const scanBytes = 1 << 20

// Scan is Scanner.Scan of st, or reads the object where st is no Scanner.
func Scan(ctx context.Context, st Store, name string, visit func(b []byte) error) error {
	if s, ok := st.(Scanner); ok {
		return s.Scan(ctx, name, visit)
	}
	r, err := st.Open(ctx, name)
	if err != nil {
		return err
	}
	defer r.Close() //nolint:errcheck // nothing was written
	buf := make([]byte, min(scanBytes, r.Size()))
	for off := int64(0); off < r.Size(); off += scanBytes {
		p := buf[:min(scanBytes, r.Size()-off)]
		if err := r.ReadAt(ctx, p, off); err != nil {
			return err
		}
		if err := visit(p); err != nil {
			return err
		}
	}
	return nil
}

// Identity is Scanner.Identity of st, "" where st is no Scanner.
func Identity(ctx context.Context, st Store, name string) (string, error) {
	if s, ok := st.(Scanner); ok {
		return s.Identity(ctx, name)
	}
	return "", nil
}

package store

import (
	"context"
	"strconv"

	"github.com/bivouac-ml/bivouac/errs"
)

// MaxSmall is the most bytes that ReadAll reads: documents, not data.
const MaxSmall = 1 << 30

// ReadAll returns the whole of a small object. An object beyond MaxSmall is
// errs.Exhausted.
func ReadAll(ctx context.Context, s Store, name string) ([]byte, error) {
	r, err := s.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if r.Size() > MaxSmall {
		return nil, &errs.Error{Kind: errs.Exhausted, Op: "store.ReadAll", Subject: name,
			Want: "at most " + strconv.Itoa(MaxSmall) + " bytes", Got: strconv.FormatInt(r.Size(), 10)}
	}
	b := make([]byte, r.Size())
	return b, r.ReadAt(ctx, b, 0)
}

package parts

import (
	"bytes"
	"context"

	"github.com/bivouac-ml/bivouac/checkpoint/handler"
)

// Differing returns the first of the files that has other bytes in b than in a.
func Differing(ctx context.Context, names []string, a, b handler.Reader) (string, error) {
	for _, name := range names {
		x, err := a.ReadFile(ctx, name)
		if err != nil {
			return "", err
		}
		y, err := b.ReadFile(ctx, name)
		if err != nil {
			return "", err
		}
		if !bytes.Equal(x, y) {
			return name, nil
		}
	}
	return "", nil
}

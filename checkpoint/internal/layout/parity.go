package layout

import (
	"context"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/parity"
)

// Parity returns how many parity blocks the checkpoint has for 100 data blocks, 0 where
// it has none. It fails where there is parity that cannot be read.
func (c *Checkpoint) Parity(ctx context.Context) (int, error) {
	return parity.Percent(ctx, c.raw, c.name, c.Manifest)
}

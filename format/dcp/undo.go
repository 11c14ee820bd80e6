package dcp

import (
	"errors"
	"strconv"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/internal/zframe"
)

// Undo returns the archive of a chunk, given the stored bytes. It returns stored itself if the
// chunk has no transform. Otherwise it writes to dst, whose length is ignored, or to new memory if
// dst is too small. An archive of more than limit bytes is errs.Corrupt.
func (c *Chunk) Undo(dst, stored []byte, limit int) ([]byte, error) {
	if len(c.Transforms) == 0 {
		return stored, nil
	}
	out, err := zframe.DecodeFrames(dst, stored, limit)
	if err == nil {
		return out, nil
	}
	e := &errs.Error{Kind: errs.Corrupt, Want: "zstd of an archive", Err: err}
	if errors.Is(err, zframe.ErrSize) {
		e.Want = "zstd of an archive of at most " + strconv.Itoa(limit) + " bytes"
	}
	return nil, e
}

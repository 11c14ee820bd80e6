package layout

import (
	"errors"
	"syscall"

	"github.com/bivouac-ml/bivouac/errs"
)

// IsDamage reports whether an error is about what was read, and not about reading.
func IsDamage(err error) bool {
	kind := errs.KindOf(err)
	return kind == errs.Corrupt || kind == errs.NotFound
}

// IsUnreadable reports whether an error says that the disk does not give bytes back that
// it was given: a damage as others are.
func IsUnreadable(err error) bool {
	return errors.Is(err, syscall.EIO) || errors.Is(err, syscall.EBADMSG)
}

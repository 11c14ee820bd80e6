//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package index

import "errors"

// lockPart fails: parts of dead writers stay here.
func lockPart(string, bool) (unlock func(), err error) { return nil, errors.ErrUnsupported }

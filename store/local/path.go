package local

import "github.com/bivouac-ml/bivouac/errs"

// CheckPath refuses a path that means something else than a file to people and shells: see
// errs.CheckPath.
func CheckPath(path string) error { return errs.CheckPath(path) }

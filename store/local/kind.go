package local

import (
	"context"
	"errors"
	"io/fs"
	"syscall"

	"github.com/bivouac-ml/bivouac/errs"
)

// wrap returns err with the kind of the file system error, unless it has a kind already. For nil it
// returns nil.
func wrap(op, name string, err error) error {
	if err == nil {
		return nil
	}
	e := &errs.Error{Op: op, Subject: name, Err: err}
	if errs.KindOf(err) == errs.Other {
		e.Kind, e.Remedy = kindOf(err)
	}
	return e
}

// kinds is searched in this order.
var kinds = []struct {
	target error
	kind   errs.Kind
	remedy string
}{
	{context.Canceled, errs.Canceled, ""},
	{context.DeadlineExceeded, errs.Canceled, ""},
	{fs.ErrClosed, errs.Closed, ""},
	{syscall.ENOSPC, errs.Exhausted, "free disk space"},
	{syscall.EDQUOT, errs.Exhausted, "raise the quota or free disk space"},
	{syscall.EFBIG, errs.Exhausted, "use smaller files"},
	{syscall.EMFILE, errs.Exhausted, "raise the limit of open files"},
	{syscall.ENFILE, errs.Exhausted, "raise the limit of open files"},
	{syscall.ENOMEM, errs.Exhausted, ""},
	{syscall.EROFS, errs.Permission, "the file system is mounted read-only"},
	{syscall.ENAMETOOLONG, errs.Invalid, "use a shorter name"},
	{syscall.ENOTDIR, errs.NotFound, ""},
	{syscall.EISDIR, errs.Exists, ""},
	{syscall.ENOTEMPTY, errs.Exists, ""},
	{syscall.ELOOP, errs.Invalid, "symbolic links are not followed"},
	{fs.ErrPermission, errs.Permission, ""},
	{fs.ErrNotExist, errs.NotFound, ""},
	{fs.ErrExist, errs.Exists, ""},
	{errors.ErrUnsupported, errs.Unsupported, ""},
}

func kindOf(err error) (errs.Kind, string) {
	for _, k := range kinds {
		if errors.Is(err, k.target) {
			return k.kind, k.remedy
		}
	}
	return errs.IO, ""
}

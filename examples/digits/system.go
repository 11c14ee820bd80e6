package digits

import "syscall"

// Errors of the system that package fs has no name for.
const (
	errNoSpace = syscall.ENOSPC
	errQuota   = syscall.EDQUOT
	errNotDir  = syscall.ENOTDIR
)

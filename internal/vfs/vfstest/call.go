package vfstest

import "fmt"

// Op is one kind of call to FS or File.
type Op uint8

// The operations, in the order of FS and File.
const (
	OpNone Op = iota
	OpCreate
	OpOpen
	OpMkdir
	OpReadDir
	OpStat
	OpRemove
	OpRename
	OpRenameNoReplace
	OpExchange
	OpLink
	OpSyncDir
	OpLock
	OpOpenDir
	OpLockDir
	OpReadAt
	OpWriteAt
	OpAllocate
	OpTruncate
	OpSetDirect
	OpSync
	OpFileStat
	OpClose
)

var opNames = [...]string{
	"none", "create", "open", "mkdir", "readdir", "stat", "remove", "rename", "rename-no-replace", "exchange", "link",
	"sync-dir", "lock", "open-dir", "lock-dir", "read-at", "write-at", "allocate", "truncate", "set-direct", "sync", "file-stat", "close",
}

// String returns the name of the operation as it is written in golden lists.
func (o Op) String() string {
	if int(o) < len(opNames) {
		return opNames[o]
	}
	return fmt.Sprintf("op(%d)", uint8(o))
}

// Mutates reports whether the operation changes what is stored or what is durable.
func (o Op) Mutates() bool {
	switch o {
	case OpCreate, OpMkdir, OpRemove, OpRename, OpRenameNoReplace, OpExchange, OpLink, OpSyncDir, OpLock,
		OpWriteAt, OpAllocate, OpTruncate, OpSync:
		return true
	}
	return false
}

// Call is one call with its arguments.
type Call struct {
	Op   Op
	Name string
	To   string // the second name of renames, exchanges and links
	Off  int64  // of ReadAt and WriteAt
	Size int64  // length of ReadAt and WriteAt; size of Allocate and Truncate; 1 for SetDirect(true) and an exclusive LockDir
}

// String returns the call on one line. Only names may differ between runs.
func (c Call) String() string {
	s := c.Op.String() + " " + c.Name
	switch c.Op {
	case OpRename, OpRenameNoReplace, OpExchange, OpLink:
		s += " " + c.To
	case OpReadAt, OpWriteAt:
		s += fmt.Sprintf(" off=%d len=%d", c.Off, c.Size)
	case OpAllocate, OpTruncate:
		s += fmt.Sprintf(" size=%d", c.Size)
	case OpLockDir:
		s += map[bool]string{true: " exclusive", false: " shared"}[c.Size == 1]
	case OpSetDirect:
		s += fmt.Sprintf(" %t", c.Size == 1)
	}
	return s
}

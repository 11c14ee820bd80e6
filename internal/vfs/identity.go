package vfs

import "io/fs"

// FileID identifies a file of one machine, whatever its names are.
type FileID struct{ Device, Node uint64 }

// Identity returns the FileID of a result of Stat. ok is false if the system does not give one.
func Identity(info fs.FileInfo) (id FileID, ok bool) {
	if id, ok := info.Sys().(FileID); ok { // the file system in memory
		return id, true
	}
	return identity(info)
}

// DropCache makes the system drop the cached pages of a file that are already on the disk, so that
// the next reads come from the disk. It does nothing if the system has no such call.
func DropCache(f File) error {
	if d, ok := f.(interface{ DropCache() error }); ok {
		return d.DropCache()
	}
	return nil
}

package vfs

import "io/fs"

// FileID tells files of one machine apart, whatever their names are.
type FileID struct{ Device, Node uint64 }

// Identity returns the FileID of what Stat described; ok is false where the system says
// none.
func Identity(info fs.FileInfo) (id FileID, ok bool) {
	if id, ok := info.Sys().(FileID); ok { // a file system in memory
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

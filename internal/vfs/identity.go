package vfs

import "io/fs"

// FileID tells files of one machine apart, whatever their names are.
type FileID struct{ Device, Node uint64 }

// Identity returns the FileID of what Stat described; ok is false where the system says
// none.
func Identity(info fs.FileInfo) (id FileID, ok bool) {
	if m, ok := info.(memInfo); ok {
		return FileID{Node: uint64(m.id)}, true
	}
	return identity(info)
}

// DropCache has the system forget what it has cached of a file, as far as it is on the
// disk, so that the next reads come from there. It does nothing where there is no such
// call.
func DropCache(f File) error {
	if d, ok := f.(interface{ dropCache() error }); ok {
		return d.dropCache()
	}
	return nil
}

func (x *interceptedFile) dropCache() error { return DropCache(x.f) }

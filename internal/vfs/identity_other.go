//go:build !unix

package vfs

import "io/fs"

func identity(fs.FileInfo) (FileID, bool) { return FileID{}, false }

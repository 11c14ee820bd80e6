//go:build !unix

package index

import "os"

// mapFile reads a file, where files cannot be mapped.
func mapFile(path string) (data []byte, unmap func() error, err error) {
	data, err = os.ReadFile(path)
	return data, func() error { return nil }, err
}

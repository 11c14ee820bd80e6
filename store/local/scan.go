package local

import (
	"context"
	"fmt"
	"unsafe"

	"github.com/bivouac-ml/bivouac/internal/vfs"
	"github.com/bivouac-ml/bivouac/store"
)

var _ store.Scanner = (*Store)(nil)

// scanBytes is how many bytes Scan reads at once.
const scanBytes = 1 << 20

// Scan implements store.Scanner. It reads whole blocks with O_DIRECT. If the file system refuses
// that, and for the tail, it drops the cached pages of the file first.
func (s *Store) Scan(ctx context.Context, name string, visit func(b []byte) error) error {
	opened, err := s.Open(ctx, name)
	if err != nil {
		return err
	}
	defer opened.Close() //nolint:errcheck // nothing was written
	r := opened.(*reader)
	direct := r.f.SetDirect(true) == nil
	if !direct {
		vfs.DropCache(r.f) //nolint:errcheck // on failure, cached bytes are read
	}
	buf := alignedBytes(scanBytes)
	for off := int64(0); off < r.size; {
		p := buf[:min(scanBytes, r.size-off)]
		if whole := len(p) &^ (vfs.DirectBlock - 1); direct && whole > 0 {
			p = p[:whole]
		} else if direct {
			direct = buffered(r.f)
		}
		err := r.ReadAt(ctx, p, off)
		if err != nil && direct {
			direct = buffered(r.f) // some file systems refuse direct reads only now
			err = r.ReadAt(ctx, p, off)
		}
		if err != nil {
			return err
		}
		if err := visit(p); err != nil {
			return err
		}
		off += int64(len(p))
	}
	return nil
}

// buffered ends direct reads and returns false.
func buffered(f vfs.File) bool {
	f.SetDirect(false) //nolint:errcheck // it could be set, so it can be unset
	vfs.DropCache(f)   //nolint:errcheck // on failure, cached bytes are read
	return false
}

// alignedBytes returns memory for direct reads.
func alignedBytes(n int) []byte {
	b := make([]byte, n+vfs.DirectBlock)
	at := int(uintptr(unsafe.Pointer(unsafe.SliceData(b))) % vfs.DirectBlock)
	if at > 0 {
		at = vfs.DirectBlock - at
	}
	return b[at : at+n]
}

// Identity implements store.Scanner. It includes size and time, because the system reuses file
// numbers after files are removed.
func (s *Store) Identity(ctx context.Context, name string) (string, error) {
	info, err := s.locate(ctx, "store.Identity", name)
	if err != nil {
		return "", err
	}
	id, ok := vfs.Identity(info)
	if !ok {
		return "", nil
	}
	return fmt.Sprintf("%x:%x:%x:%x", id.Device, id.Node, info.Size(), info.ModTime().UnixNano()), nil
}

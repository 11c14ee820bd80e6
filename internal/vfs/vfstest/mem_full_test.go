package vfstest_test

import (
	"errors"
	"syscall"
	"testing"

	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
)

// A disk counts what is on it: names, bytes, room that was reserved, files that
// were removed and are still open.
func TestFullDisk(t *testing.T) {
	const block = vfstest.BlockSize
	m := vfstest.NewMem()
	base := m.Used()
	m.SetCapacity(base + 6*block)
	used := func(blocks int64) {
		t.Helper()
		if got := (m.Used() - base) / block; got != blocks {
			t.Fatalf("%d blocks used, want %d", got, blocks)
		}
	}
	full := func(err error) {
		t.Helper()
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("got %v, want ENOSPC", err)
		}
	}
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	a, err := m.Create("/a", 0o666)
	ok(err)
	ok(a.Allocate(2 * block))
	used(3)
	full(a.Allocate(6 * block))
	full(a.Truncate(6*block + 1))
	used(3)
	n, err := a.WriteAt(make([]byte, 7*block), block/2)
	full(err)
	if want := 5*block - block/2; n != want {
		t.Fatalf("wrote %d, want %d", n, want)
	}
	used(6)
	_, err = m.Create("/b", 0o666)
	full(err)
	full(m.Mkdir("/d", 0o777))
	_, err = a.WriteAt(make([]byte, block), 0) // in place
	ok(err)
	ok(m.Link("/a", "/c"))
	ok(m.Remove("/a"))
	ok(m.Remove("/c"))
	used(6) // still open
	full(m.Mkdir("/d", 0o777))
	ok(a.Close())
	used(0)
	ok(m.Mkdir("/d", 0o777))
	b, err := m.Create("/d/b", 0o666)
	ok(err)
	ok(b.Truncate(4 * block))
	used(6)
	ok(b.Truncate(1))
	used(3)
	ok(b.Close())
	if m.Refused() != 6 {
		t.Fatalf("%d calls refused", m.Refused())
	}
}

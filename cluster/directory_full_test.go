//go:build linux || darwin

package cluster

import (
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
)

// A document that does not fit on the disk any more is never half there. The limit on the size of
// files stands for the disk.
func TestDirectoryIsFull(t *testing.T) {
	b, dir := openDir(t)
	ctx := soonOver(t, 10*time.Second)
	const key = leasePrefix + "x" // the sync of it must not hide the failure
	first, err := b.Put(ctx, key, []byte("first"), "")
	if err != nil {
		t.Fatal(err)
	}
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	small := limit
	small.Cur = 1 << 20
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &small); err != nil {
		t.Fatal(err)
	}
	_, changeErr := b.Put(ctx, key, make([]byte, 2<<20), first)
	_, newErr := b.Put(ctx, "lease/y", make([]byte, 2<<20), "")
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{changeErr, newErr} {
		wants(t, err, errs.IO, dir, "file too large")
	}
	d, err := b.Get(ctx, key)
	if err != nil || string(d.Value) != "first" || d.Version != first {
		t.Errorf("%d bytes, %v", len(d.Value), err)
	}
	if docs, err := b.List(ctx, ""); err != nil || len(docs) != 1 {
		t.Errorf("%d documents, %v", len(docs), err)
	}
}

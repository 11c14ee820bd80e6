package local_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
)

// A transaction that must replace the directory that it read waits as long as the lock of the
// directory above is held, and is refused if the lock stays away. It never exchanges without the
// lock: of two exchanges at once, one could undo the other in silence. An overwrite, which replaces
// whatever is there, goes on.
func TestTurnWaits(t *testing.T) {
	for _, c := range []struct {
		name     string
		held     time.Duration // the lock
		replaces bool
		want     errs.Kind
	}{
		{"update, lock comes", time.Second, true, errs.Other},
		{"update, lock stays away", time.Hour, true, errs.Busy},
		{"overwrite, lock comes", time.Second, false, errs.Other},
		{"overwrite, lock stays away", time.Hour, false, errs.Busy},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				mem := vfstest.NewMem()
				if err := setup(mem); err != nil {
					t.Fatal(err)
				}
				s := local.New(mem, root, nil)
				o := store.TxnOptions{Overwrite: !c.replaces}
				if c.replaces {
					pin, err := s.Pin(t.Context(), "1")
					if err != nil {
						t.Fatal(err)
					}
					defer pin.Close() //nolint:errcheck // nothing was written
					o.Replaces = pin
				}
				txn, err := s.Begin(t.Context(), "1", o)
				if err != nil {
					t.Fatal(err)
				}
				above, err := mem.OpenDir(root)
				if err != nil {
					t.Fatal(err)
				}
				if taken, err := above.Lock(true); err != nil || !taken {
					t.Fatal(taken, err)
				}
				time.AfterFunc(c.held, func() { above.Close() }) //nolint:errcheck // as above
				err = txn.Commit(t.Context(), store.Blob{Name: "manifest", Data: []byte("new")})
				if errs.KindOf(err) != c.want {
					t.Errorf("got %v, want %v", err, c.want)
				}
				if err != nil {
					txn.Abort() //nolint:errcheck // the law is about Commit
				}
			})
		})
	}
}

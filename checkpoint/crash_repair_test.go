package checkpoint_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint/integrity"
	"github.com/bivouac-ml/bivouac/internal/vfs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/proof/crash"
	"github.com/bivouac-ml/bivouac/store/local"
)

// What a program left unsynced, and a repair has made a checkpoint of, survives
// power loss from the moment on at which the repair was acknowledged; and before,
// what has the looks of a finalized checkpoint is one.
func TestRepairIsDurable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, from, at, path string
		late                 func(name string) bool // what the other program writes last, and does not sync
		skip                 func(name string) bool
		needs                []vfstest.Op // syncs of what was there, each of which must be missed
		check                func(vfs.FS) error
	}{
		{
			"unmerged", "v1-two-processes/checkpoint", "/c", "c", inDatabase,
			func(name string) bool {
				return name == "state/manifest.ocdbt" || name == "state/d" || strings.HasPrefix(name, "state/d/")
			},
			[]vfstest.Op{vfstest.OpSync, vfstest.OpSyncDir},
			func(fsys vfs.FS) error { return sameAs(fsys, "c", orbaxCases+"/v1-two-processes/checkpoint") },
		},
		{
			"session", "partial-two/pending.partial_save", "/c.partial_save", "c.partial_save", inDatabase, nil,
			[]vfstest.Op{vfstest.OpSync}, // files are linked into new directories, and their old ones go
			func(fsys vfs.FS) error { return sameAs(fsys, "c", orbaxCases+"/partial-two/checkpoint") },
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			from := filepath.Join(orbaxCases, c.from)
			setup := func(fsys vfs.FS) error {
				return putTree(fsys, c.at, from, func(name string) bool { return c.late(name) || c.skip != nil && c.skip(name) })
			}
			work := func(fsys vfs.FS, ack func(string)) error {
				if err := putLate(fsys, c.at, from,
					func(name string) bool { return c.late(name) && (c.skip == nil || !c.skip(name)) }); err != nil {
					return err
				}
				r, err := integrity.Repair(context.Background(), c.path,
					&integrity.RepairOptions{Store: local.New(fsys, "/", nil), Apply: true})
				if err == nil && (len(r.Problems) > 0 || len(r.Actions) != 1 || !r.Actions[0].Done) {
					err = fmt.Errorf("%+v", r)
				}
				if err == nil {
					ack("repaired")
				}
				return err
			}
			check := func(fsys vfs.FS, acked []string) error {
				_, err := fsys.Stat("/c")
				finalized := c.at != "/c" && err == nil
				if finalized || slices.Contains(acked, "repaired") {
					return c.check(fsys)
				}
				return nil
			}
			report, err := crash.Run(work, check, &crash.Options{Setup: setup, Limit: 64, Samples: 16})
			if err != nil {
				t.Fatal(err)
			}
			t.Log(report)
			for _, op := range c.needs {
				_, err = crash.Run(work, check, &crash.Options{Setup: setup, Limit: 64, Samples: 16,
					Wrap: func(fsys vfs.FS) vfs.FS {
						return withoutSyncBelow(fsys, op, c.at)
					}})
				if !crash.IsFailure(err) {
					t.Errorf("without %v of what was there: %v", op, err)
				}
			}
		})
	}
}

// inDatabase says which files of a checkpoint are data of a database.
func inDatabase(name string) bool { return path.Base(path.Dir(name)) == "d" }

// putLate writes the files of a tree that late names, and does not sync them.
func putLate(fsys vfs.FS, to, from string, late func(name string) bool) error {
	return filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(from, name)
		if err != nil || !late(filepath.ToSlash(rel)) {
			return err
		}
		b, err := os.ReadFile(name)
		return errors.Join(err, putFile(fsys, path.Join(to, filepath.ToSlash(rel)), b))
	})
}

// withoutSyncBelow leaves out the syncs, of one kind, of what the databases of the
// processes consist of.
func withoutSyncBelow(fsys vfs.FS, op vfstest.Op, dir string) vfs.FS {
	return vfstest.Intercept(fsys, func(c *vfstest.Call, do func() error) error {
		if c.Op == op && strings.HasPrefix(c.Name, dir+"/") && strings.Contains(c.Name, "ocdbt.process") {
			return nil
		}
		return do()
	})
}

package checkpoint_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/integrity"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
)

// adoptable is a checkpoint of Orbax with arrays in a database and in documents.
const adoptable = orbaxCases + "/v1-two-processes/checkpoint"

// adopted checks that "c" holds what the checkpoint of Orbax does, and is covered.
func adopted(fsys vfs.FS) error {
	r, err := integrity.Verify(context.Background(), "c", &integrity.VerifyOptions{Store: local.New(fsys, "/", nil)})
	if err == nil && (!r.OK() || !r.Manifest || r.Verdict() != integrity.Sound) {
		err = errWrong
	}
	return errors.Join(err, sameAs(fsys, "c", adoptable))
}

// What Adopt cannot give a manifest is refused with its kind, and gets no file.
func TestAdoptRefusals(t *testing.T) {
	ctx := t.Context()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	copied := func(name string) {
		t.Helper()
		must(os.CopyFS(at(name), os.DirFS(adoptable)))
	}
	must(checkpoint.Save(ctx, at("ours"), partOf(1), nil))
	copied("damaged")
	must(os.Remove(at("damaged/state/manifest.ocdbt")))
	must(os.RemoveAll(at("damaged/state/ocdbt.process_0")))
	copied("unmerged")
	must(os.Remove(at("unmerged/state/manifest.ocdbt")))
	must(os.RemoveAll(at("unmerged/state/d")))
	must(os.Mkdir(at("tensors"), 0o777))
	header := `{"v":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`
	file := append([]byte{byte(len(header)), 0, 0, 0, 0, 0, 0, 0}, header+"\x01\x02\x03\x04"...)
	must(os.WriteFile(at("tensors/a.safetensors"), file, 0o666))
	must(os.WriteFile(at("one.safetensors"), file, 0o666))
	for name, kind := range map[string]errs.Kind{
		"ours": errs.Exists, "damaged": errs.Corrupt, "unmerged": errs.Mismatch,
		"tensors": errs.Unsupported, "one.safetensors": errs.Unsupported, "none": errs.NotFound,
	} {
		before := map[string][]byte{}
		if name != "none" {
			before = bytesBelow(t, at(name))
		}
		if _, err := integrity.Adopt(ctx, at(name), nil); errs.KindOf(err) != kind {
			t.Errorf("%s: %v, want %v", name, err, kind)
		}
		if name != "none" {
			sameFiles(t, bytesBelow(t, at(name)), before)
		}
	}
}

// adoptedWhile adopts a checkpoint while change is done to it when the manifest has just
// been put there, and returns the disk.
func adoptedWhile(t *testing.T, change func(mem vfs.FS) error, fail func(c *vfstest.Call) error) (vfs.FS, error) {
	t.Helper()
	mem := vfstest.NewMem()
	if err := putTree(mem, "/c", adoptable, nil); err != nil {
		t.Fatal(err)
	}
	done := false
	st := local.New(vfstest.Intercept(mem, func(c *vfstest.Call, do func() error) error {
		if done && fail != nil {
			if err := fail(c); err != nil {
				return err
			}
		}
		err := do()
		if err == nil && !done {
			if _, serr := mem.Stat("/c/" + manifest.Name); serr == nil {
				done = true
				if cerr := change(mem); cerr != nil {
					t.Error(cerr)
				}
			}
		}
		return err
	}), "/", nil)
	_, err := integrity.Adopt(t.Context(), "c", &integrity.AdoptOptions{Store: st})
	if !done {
		t.Fatal("no manifest was written")
	}
	return mem, err
}

// What changes between the two looks is told, and leaves no manifest that says otherwise;
// where that cannot be removed the error names it.
func TestAdoptLooksAgain(t *testing.T) {
	flip := func(mem vfs.FS) error {
		return errors.Join(mem.Remove("/c/_CHECKPOINT_METADATA"), putFile(mem, "/c/_CHECKPOINT_METADATA", []byte("{}")))
	}
	mem, err := adoptedWhile(t, flip, nil)
	if errs.KindOf(err) != errs.Corrupt {
		t.Errorf("damage behind the first look: %v", err)
	}
	if _, err := mem.Stat("/c/" + manifest.Name); err == nil {
		t.Error("the manifest is still there")
	}
	_, err = adoptedWhile(t, flip, func(c *vfstest.Call) error {
		if c.Op == vfstest.OpRename || c.Op == vfstest.OpRemove {
			return syscall.EIO
		}
		return nil
	})
	if errs.KindOf(err) != errs.Corrupt || !strings.Contains(err.Error(), "could not be removed") ||
		!strings.Contains(err.Error(), manifest.Name) {
		t.Errorf("a manifest that does not hold and stays: %v", err)
	}
	mem, err = adoptedWhile(t, func(mem vfs.FS) error {
		return errors.Join(mem.Rename("/c", "/old"), putTree(mem, "/c", adoptable, nil))
	}, nil)
	if errs.KindOf(err) != errs.Busy {
		t.Errorf("replaced behind the first look: %v", err)
	}
	if err := sameAs(mem, "c", adoptable); err != nil {
		t.Error(err)
	}
}

// adopts adopts "c".
func adopts(ctx context.Context, st store.Store) error {
	r, err := integrity.Adopt(ctx, "c", &integrity.AdoptOptions{Store: st})
	if err == nil && !r.Manifest {
		err = errWrong
	}
	return err
}

package checkpoint_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/integrity"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store/local"
)

// badSectors is the local file system below dir, where files whose names end with one of
// the endings cannot be read.
func badSectors(dir string, endings ...string) *local.Store {
	fsys := vfstest.Intercept(vfs.OS(), func(c *vfstest.Call, do func() error) error {
		if c.Op == vfstest.OpReadAt && slices.ContainsFunc(endings,
			func(e string) bool { return strings.HasSuffix(c.Name, e) }) {
			return syscall.EIO
		}
		return do()
	})
	return local.New(fsys, filepath.ToSlash(dir), nil)
}

// TestUnreadableFilesAreDamage: a file that the disk does not give back is damage that
// verify names, beside all other damage, for every file of a checkpoint, with parity and
// without; repair mends it, or leaves the step its name.
func TestUnreadableFilesAreDamage(t *testing.T) {
	for name, percent := range map[string]int{"parity": 4, "none": -1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			dir := t.TempDir()
			step := filepath.Join(dir, "run", "7")
			if err := checkpoint.Save(ctx, step, parityState(1),
				&checkpoint.SaveOptions{Options: withParity(percent, options.Bivouac{})}); err != nil {
				t.Fatal(err)
			}
			whole := bytesBelow(t, step)
			for n, b := range whole {
				if len(b) == 0 || n == "bivouac.manifest" && percent < 0 {
					continue
				}
				other := "state/_METADATA" // is flipped beside
				if n == other {
					other = "_CHECKPOINT_METADATA"
				}
				bad := slices.Clone(whole[other])
				bad[len(bad)/2] ^= 1
				if err := os.WriteFile(filepath.Join(step, other), bad, 0o666); err != nil {
					t.Fatal(err)
				}
				st := badSectors(dir, "/"+n)
				r, err := integrity.Verify(ctx, "run/7", &integrity.VerifyOptions{Store: st})
				if err != nil || r.OK() {
					t.Fatalf("%s: verify says %v %+v", n, err, r)
				}
				text := errors.Join(r.Problems...).Error()
				if !strings.Contains(text, n) || !strings.Contains(text, other) {
					t.Errorf("%s and %s: verify says %s", n, other, text)
				}
				for _, p := range r.Problems {
					if !errors.Is(p, errs.Corrupt) {
						t.Errorf("%s: a problem of another kind: %v", n, p)
					}
				}
				// A large file is more than its parity, and this parity belongs to the other file.
				beyond := len(b) > 1<<20 && !strings.HasPrefix(n, ".bivouac") || n == ".bivouac.parity.0"
				if want := percent > 0 && !beyond; r.Mendable != want {
					t.Errorf("%s: mendable is %v, want %v: %v", n, r.Mendable, want, text)
				}
				done, err := integrity.Repair(ctx, "run", &integrity.RepairOptions{Store: st})
				if err != nil || r.Mendable != (len(done.Actions) == 1 && done.Actions[0].Kind == integrity.RepairMend) ||
					!r.Mendable && n != other && len(done.Actions) > 0 && done.Actions[0].Kind != integrity.RepairSetAside {
					t.Errorf("%s: repair says %v %+v", n, err, done)
				}
				if err := os.WriteFile(filepath.Join(step, other), whole[other], 0o666); err != nil {
					t.Fatal(err)
				}
				done, err = integrity.Repair(ctx, "run", &integrity.RepairOptions{Store: st, Apply: !r.Mendable &&
					n != ".bivouac.parity.0"})
				switch {
				case err != nil:
					t.Errorf("%s: repair says %v", n, err)
				case !r.Mendable && n != ".bivouac.parity.0" && (len(done.Actions) > 0 || len(done.Problems) != 1):
					t.Errorf("%s: repair of what may be read another time says %+v", n, done)
				}
			}
		})
	}
}

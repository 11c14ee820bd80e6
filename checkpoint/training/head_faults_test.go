package training_test

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
)

// headDeeds are what touches the head of a run with the signed steps 1 and 2, of which 2
// has two items.
var headDeeds = map[string]struct {
	o     training.Options
	opens bool // it is Open itself that does it
	do    func(t *testing.T, c *training.Checkpointer) error
}{
	"open":        {training.Options{}, true, func(*testing.T, *training.Checkpointer) error { return nil }},
	"save":        {training.Options{}, false, saves(3)},
	"overwriting": {training.Options{}, false, saves(2)},
	"delete": {training.Options{}, false, func(t *testing.T, c *training.Checkpointer) error {
		_, err := c.Delete(t.Context(), 1, nil)
		return err
	}},
	"delete of an item": {training.Options{}, false, func(t *testing.T, c *training.Checkpointer) error {
		_, err := c.Delete(t.Context(), 2, &training.DeleteOptions{Name: "data"})
		return err
	}},
	"retention": {training.Options{Preserve: training.LatestN{N: 1}, Foreground: true}, false, saves(3)},
	"missing steps": {training.Options{}, false, func(t *testing.T, c *training.Checkpointer) error {
		missing, err := c.MissingSteps(t.Context(), chainKey(1).Public().(ed25519.PublicKey))
		if err == nil && len(missing) > 0 {
			err = fmt.Errorf("missing: %v", missing)
		}
		return err
	}},
	"a fresh start":             {training.Options{StartFresh: true, Clean: true}, true, saves(1)},
	"accepting what is missing": {training.Options{AcceptMissing: true}, true, saves(3)},
}

func saves(step int64) func(*testing.T, *training.Checkpointer) error {
	return func(t *testing.T, c *training.Checkpointer) error {
		_, err := c.Save(t.Context(), step, model(9), &training.SaveOptions{Force: true, Overwrite: true})
		return err
	}
}

// writes reports whether a call is one without which nothing new is committed. Looks may
// fail, and what removes bytes that were given up.
func writes(c vfstest.Call) bool {
	return slices.Contains([]vfstest.Op{vfstest.OpCreate, vfstest.OpWriteAt, vfstest.OpSync, vfstest.OpSyncDir,
		vfstest.OpLink, vfstest.OpMkdir, vfstest.OpRename, vfstest.OpRenameNoReplace, vfstest.OpExchange}, c.Op)
}

// signedRun is a run in memory of which the head is there, and of which one step was
// taken away when torn.
func signedRun(t *testing.T, torn bool) *vfstest.Mem {
	t.Helper()
	mem := vfstest.NewMem()
	c := opened(t, mem, signedOptions(training.Options{}), 1)
	if _, err := c.SaveCheckpointables(t.Context(), 2, map[string]any{"state": model(2), "data": position(2)},
		&training.SaveOptions{Force: true}); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if torn {
		if err := local.New(mem, "/run", nil).RemoveTree(t.Context(), "1"); err != nil {
			t.Fatal(err)
		}
	}
	mem.SyncAll()
	return mem
}

func signedOptions(o training.Options) training.Options {
	o.Signing = chainKey(1)
	o.Verification = chainKey(1).Public().(ed25519.PublicKey)
	return o
}

// Whichever call fails while the head of a run is read or written, it is told, or all was
// done; and no later look takes what the run did itself for the deed of another.
func TestEveryFailureOfTheHeadIsTold(t *testing.T) {
	for name, d := range headDeeds {
		t.Run(name, func(t *testing.T) {
			whole := signedRun(t, d.o.AcceptMissing)
			for n := 1; ; n++ {
				mem := whole.Clone()
				armed := d.opens // else Open has passed over what it could not read
				f := vfstest.NewFault(mem, vfstest.Plan{N: n, Err: syscall.EIO,
					Only: func(c vfstest.Call) bool { return armed && c.Op != vfstest.OpClose }})
				o := signedOptions(d.o)
				o.Store = local.New(f, "/run", nil)
				c, err := training.Open(t.Context(), "", &o)
				armed = true
				if err == nil {
					err = d.do(t, c)
					err = errors.Join(err, c.Close())
				}
				call, hits := f.Hit()
				if hits > 0 && err != nil && !errors.Is(err, syscall.EIO) {
					t.Errorf("call %d, %v, failed, and the error says something else: %v", n, call, err)
				}
				if hits > 0 && err == nil && (!d.opens && writes(call) || strings.Contains(call.Name, ".bivouac.head")) {
					t.Errorf("call %d, %v, failed, and nobody was told", n, call)
				}
				if hits == 0 && err != nil {
					t.Fatal(err)
				}
				o.Store = local.New(mem, "/run", nil)
				o.AcceptMissing = o.AcceptMissing && err != nil // it may not have been accepted
				c, again := training.Open(t.Context(), "", &o)
				if again != nil {
					t.Errorf("call %d, %v, failed with %v; the next Open: %v", n, call, err, again)
				} else if again = c.Close(); again != nil {
					t.Error(again)
				}
				if hits == 0 {
					break
				}
			}
		})
	}
}

// If the head is older than the newest steps and one of these is gone, the loss is found whichever
// call fails, or the failure is reported.
func TestEveryFailureBehindTheHeadIsTold(t *testing.T) {
	mem := vfstest.NewMem()
	st := local.New(mem, "/run", nil)
	c := opened(t, mem, signedOptions(training.Options{}), 1)
	old, err := store.ReadAll(t.Context(), st, ".bivouac.head")
	if err != nil {
		t.Fatal(err)
	}
	for step := int64(2); step <= 3; step++ {
		if err := saves(step)(t, c); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(st.RemoveTree(t.Context(), "2"),
		st.Put(t.Context(), ".bivouac.head", old, store.PutOptions{})); err != nil {
		t.Fatal(err)
	}
	for n := 1; ; n++ {
		armed := false
		f := vfstest.NewFault(mem, vfstest.Plan{N: n, Err: syscall.EIO,
			Only: func(c vfstest.Call) bool { return armed && c.Op != vfstest.OpClose }})
		c, err := training.Open(t.Context(), "", &training.Options{Store: local.New(f, "/run", nil), NoLock: true})
		if err != nil {
			t.Fatal(err)
		}
		armed = true
		missing, err := c.MissingSteps(t.Context(), nil)
		call, hits := f.Hit()
		c.Close() //nolint:errcheck // nothing was saved
		if err == nil && (len(missing) != 1 || missing[0].Step != 2 || missing[0].Name != "2") || err != nil &&
			!errors.Is(err, syscall.EIO) {
			t.Errorf("call %d, %v, failed: missing are %v, %v", n, call, missing, err)
		}
		if hits == 0 {
			break
		}
	}
}

// A run that is opened without a key reads its head when the first save is signed.
func TestHeadOfFirstSignedSave(t *testing.T) {
	for n := 1; ; n++ {
		armed := false
		f := vfstest.NewFault(signedRun(t, false), vfstest.Plan{N: n, Err: syscall.EIO, Only: func(c vfstest.Call) bool {
			return armed && strings.HasSuffix(c.Name, "/.bivouac.head") && c.Op != vfstest.OpClose
		}})
		c := opened(t, f, training.Options{})
		armed = true
		o := &training.SaveOptions{Force: true}
		o.Signing = chainKey(1)
		_, err := c.Save(t.Context(), 3, model(3), o)
		call, hits := f.Hit()
		if hits == 0 {
			if err != nil || n < 3 {
				t.Fatalf("%v after %d calls", err, n-1)
			}
			break
		}
		if !errors.Is(err, syscall.EIO) {
			t.Errorf("call %d, %v, failed: %v", n, call, err)
		}
	}
}

// A head with a line that is not a step is refused, though checksum and signature are right.
func TestHeadOfOtherLines(t *testing.T) {
	r := &chained{T: t, dir: filepath.Join(t.TempDir(), "run")}
	r.save(training.Options{}, 1)
	sum := strings.Repeat("ab", sha256.Size)
	for line, ok := range map[string]bool{
		"step 0 \"0\" *":                true,
		"step 0 \"0\" " + sum:           true, // and is missing
		"step x \"0\" *":                false,
		"step 0 0 *":                    false,
		"step 0 *":                      false,
		"step 0 \"0\" " + sum[2:]:       false,
		"step 0 \"0\" " + sum[1:] + "x": false,
		"step 0 \"0\"":                  false,
		"other":                         false,
	} {
		doc := "bivouac.head 1\n" + line + "\n"
		doc += fmt.Sprintf("end %08x\n", crc32.Checksum([]byte(doc), crc32.MakeTable(crc32.Castagnoli)))
		hash := sha256.Sum256([]byte(doc))
		signature := ed25519.Sign(chainKey(1), append([]byte("bivouac.head signature 1\n"), hash[:]...))
		doc += "signed " + base64.StdEncoding.EncodeToString(signature) + "\n"
		if err := os.WriteFile(filepath.Join(r.dir, ".bivouac.head"), []byte(doc), 0o666); err != nil {
			t.Fatal(err)
		}
		_, err := r.open(training.Options{})
		want := "the step is missing"
		if !ok {
			want = "want a step, got"
		}
		if !errors.Is(err, errs.Corrupt) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", line, err, want)
		}
	}
}

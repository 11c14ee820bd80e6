package checkpoint_test

import (
	"errors"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/integrity"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store/local"
)

// Whichever call fails of a look at a sound checkpoint, of Orbax or of one's own, the failure is
// told as it was: what was not looked at is not called sound. What lies above the checkpoint is not
// part of it, and need not be readable.
func TestEveryFailureOfVerifyIsTold(t *testing.T) {
	orbax, own := vfstest.NewMem(), vfstest.NewMem()
	if err := errors.Join(putTree(orbax, "/c", filepath.Join(orbaxCases, "v0-standard", "checkpoint"), nil),
		savedFrom("c", 1, "")(own)); err != nil {
		t.Fatal(err)
	}
	for name, mem := range map[string]*vfstest.Mem{"of Orbax": orbax, "one's own": own} {
		for n := 1; ; n++ {
			f := vfstest.NewFault(mem, vfstest.Plan{N: n, Err: syscall.EACCES,
				Only: func(c vfstest.Call) bool { return c.Op != vfstest.OpClose && strings.HasPrefix(c.Name, "/c") }})
			r, err := integrity.Verify(t.Context(), "c", &integrity.VerifyOptions{Store: local.New(f, "/", nil)})
			call, hits := f.Hit()
			if hits == 0 {
				if err != nil || !r.OK() {
					t.Fatalf("%s: %+v, %v", name, r, err)
				}
				break
			}
			if !errors.Is(err, syscall.EACCES) {
				t.Errorf("%s: call %d, %v, failed: %+v, %v", name, n, call, r, err)
			}
		}
	}
}

// Whichever call fails of a copy of what is left of a damaged checkpoint, the failure is
// told, or the copy has all that is whole: a file that could not be looked at is not lost.
func TestEveryFailureOfASalvageIsTold(t *testing.T) {
	whole := vfstest.NewMem()
	if err := savedFrom("c", 1, "")(whole); err != nil {
		t.Fatal(err)
	}
	for n := 1; ; n++ {
		mem := whole.Clone()
		f := vfstest.NewFault(mem, vfstest.Plan{N: n, Err: syscall.EACCES,
			Only: func(c vfstest.Call) bool { return c.Op != vfstest.OpClose }})
		var report checkpoint.LoadReport
		err := checkpoint.Convert(t.Context(), "c", "copy",
			&checkpoint.ConvertOptions{Store: local.New(f, "/", nil), Salvage: true, Report: &report})
		call, hits := f.Hit()
		switch {
		case err != nil && !errors.Is(err, syscall.EACCES):
			t.Errorf("call %d, %v, failed, and the error says something else: %v", n, call, err)
		case err == nil && len(report.Lost()) > 0:
			t.Errorf("call %d, %v, failed: lost %v", n, call, report.Lost())
		case err == nil:
			if err := loads("copy", partOf(1))(mem); err != nil {
				t.Errorf("call %d, %v, failed, and nothing was told: %v", n, call, err)
			}
		}
		if hits == 0 {
			break
		}
	}
}

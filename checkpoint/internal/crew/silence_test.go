package crew

import (
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/writer"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store/local"
)

// named fails unless err names a process and no internal path.
func named(t *testing.T, when string, err error, process string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), process) || strings.Contains(err.Error(), ".orbax-checkpoint-tmp") {
		t.Errorf("%s: %v, want the name of %s and no internal path", when, err, process)
	}
}

// After the death of a process, at whatever barrier, the others are told which one it was.
func TestDeadProcessIsNamed(t *testing.T) {
	piece := func() *writer.Draft { return &writer.Draft{Manifest: &manifest.Manifest{}} }
	three := func(g Group) Group {
		g.Active = []int{0, 1, 2}
		return g
	}
	call := func(fsys vfs.FS) Call { return Call{Store: local.New(fsys, "/", nil), Name: "c", Key: "k"} }
	meeting := func(g Group, fsys vfs.FS) *Meeting {
		m, err := three(g).Meet(t.Context(), call(fsys))
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	for _, barrier := range []bool{true, false} { // whether it fails where a process is dead
		group := func(self int, at string) Group {
			if barrier {
				return broken(self, at)
			}
			return one(self)
		}
		mem := vfstest.NewMem()
		host, other := meeting(group(0, plan), mem), meeting(group(1, plan), mem)
		say(t, host, of("plan", 0), roll{})
		_, err := other.Agree(t.Context(), nil, &writer.Options{})
		named(t, "a plan is missing, to another", err, "process 2")
		_, err = host.Agree(t.Context(), nil, &writer.Options{})
		named(t, "a plan is missing, to the primary", err, "process 2")

		mem = vfstest.NewMem()
		host, other = meeting(group(0, written), mem), meeting(group(1, end), mem)
		other.report.Manifest = (&manifest.Manifest{}).Append(nil)
		if err := other.sayReport(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		named(t, "a report is missing", host.Join(t.Context(), host.txn, piece()), "process 2")
		var is outcome
		named(t, "the outcome is missing", other.hear(t.Context(), "outcome", &is), "process 0, the primary")
		if barrier {
			named(t, "the outcome is missing, at the barrier", other.barrier(t.Context(), end), "process 0, the primary")
		}
	}
	mem := vfstest.NewMem()
	_, err := three(one(1)).Meet(t.Context(), call(mem))
	named(t, "the primary has not begun", err, "process 0, the primary")

	// A file that a process has reported, and that is not there.
	host := meeting(one(0), vfstest.NewMem())
	m := manifest.Manifest{Files: []manifest.File{{Name: "d/z", Size: 1}}}
	if err := host.checkFiles(t.Context(), &report{Manifest: m.Append(nil)}); errs.KindOf(err) != errs.NotFound ||
		strings.Contains(err.Error(), ".orbax-checkpoint-tmp") {
		t.Error(err)
	}
}

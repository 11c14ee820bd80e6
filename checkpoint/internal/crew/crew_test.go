package crew

import (
	"context"
	"crypto/ed25519"
	"errors"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/writer"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/ocdbt"
	"github.com/bivouac-ml/bivouac/internal/vfs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// meetings returns the meetings of two processes whose barriers do not wait: the primary's first.
func meetings(t *testing.T) (host, guest *Meeting, fsys vfs.FS) {
	t.Helper()
	mem := vfstest.NewMem()
	meet := func(self int) *Meeting {
		g := Group{Self: self, Active: []int{0, 1}, Barrier: func(context.Context, string) error { return nil }}
		m, err := g.Meet(t.Context(), Call{Store: local.New(mem, "/", nil), Name: "run/c", Key: "c"})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	return meet(0), meet(1), mem
}

// A report counts with the signature of the key alone, and for its process alone.
func TestReportsAreSigned(t *testing.T) {
	host, guest, _ := meetings(t)
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	_, other, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	host.signing = key
	for self, signing := range map[int]ed25519.PrivateKey{1: key, 2: other, 3: nil} {
		guest.group.Self, guest.signing = self, signing
		if err := guest.sayReport(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		_, err := host.hearReport(t.Context(), self)
		if (err == nil) != (self == 1) || err != nil && errs.KindOf(err) != errs.Corrupt {
			t.Errorf("report %d: %v", self, err)
		}
	}
	stolen, err := store.ReadAll(t.Context(), guest.call.Store, guest.talk.Staging()+"/report.1")
	if err != nil {
		t.Fatal(err)
	}
	if err := guest.talk.Put(t.Context(), "report.4", stolen); err != nil {
		t.Fatal(err)
	}
	if _, err := host.hearReport(t.Context(), 4); errs.KindOf(err) != errs.Corrupt {
		t.Errorf("the report of another: %v", err)
	}
	if err := errors.Join(guest.close(), host.close()); err != nil {
		t.Fatal(err)
	}
}

// What a report lists is there, in its size, and fits what the others have written.
func TestReportsAreHeldAgainstFiles(t *testing.T) {
	host, guest, fsys := meetings(t)
	if err := guest.txn.Put(t.Context(), "state/d/1", []byte("four")); err != nil {
		t.Fatal(err)
	}
	listing := func(file string, size int64, l manifest.Leaf, e ocdbt.Entry) report {
		m := &manifest.Manifest{Files: []manifest.File{{Name: file, Size: size}}, Leaves: []manifest.Leaf{l}}
		return report{Manifest: m.Append(nil), entries: map[string]entries{"state": {e}}}
	}
	stored := func(key, file string) ocdbt.Entry {
		return ocdbt.Entry{Key: key, Value: ocdbt.Ref{File: ocdbt.File{Name: file}, Length: 4}}
	}
	leaf := manifest.Leaf{Item: "state", Param: "w", Size: 8, CRC: 5, Chunks: []uint32{0, 5}}
	for name, c := range map[string]struct {
		report
		kind errs.Kind
	}{
		"right":     {listing("state/d/1", 4, leaf, ocdbt.Entry{Key: "w/zarr.json", Value: ocdbt.InlineRef([]byte("{}"))}), errs.Other},
		"missing":   {listing("state/d/2", 4, leaf, stored("w/c/1", "d/2")), errs.NotFound},
		"short":     {listing("state/d/1", 5, leaf, stored("w/c/1", "d/1")), errs.Corrupt},
		"other cut": {listing("state/d/1", 4, manifest.Leaf{Item: "state", Param: "w", Size: 8, Chunks: []uint32{1, 2, 3}}, stored("w/c/1", "d/1")), errs.Mismatch},
		"twice":     {listing("state/d/1", 4, leaf, stored("w/c/0", "d/1")), errs.Mismatch},
	} {
		draft := &writer.Draft{
			Manifest: &manifest.Manifest{Leaves: []manifest.Leaf{{Item: "state", Param: "w", Size: 8, CRC: 3, Chunks: []uint32{3, 0}}}},
			Entries:  map[string][]ocdbt.Entry{"state": {{Key: "w/zarr.json", Value: ocdbt.InlineRef([]byte("{}"))}, {Key: "w/c/0", Value: ocdbt.Ref{File: ocdbt.File{Name: "d/0"}, Length: 4}}}},
		}
		err := host.checkFiles(t.Context(), &c.report)
		if err == nil {
			g := newGathering(draft)
			if err = g.add(1, &c.report); err == nil {
				err = g.finish(func(n int) int { return n })
			}
		}
		if errs.KindOf(err) != c.kind || (err == nil) != (name == "right") {
			t.Errorf("%s: %v", name, err)
		}
		if got := draft.Manifest.Leaves[0]; err == nil && (got.CRC != 6 || got.Chunks[0] != 3 || got.Chunks[1] != 5) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if err := errors.Join(guest.close(), host.close()); err != nil {
		t.Fatal(err)
	}
	if list, err := fsys.ReadDir("/run"); err != nil || len(list) > 0 {
		t.Errorf("%v, %v", list, err)
	}
}

// Two meetings of one name are one too many, and none is too few.
func TestSearch(t *testing.T) {
	host, guest, _ := meetings(t)
	another, err := host.call.Store.Begin(t.Context(), meetingOf("run/c"), store.TxnOptions{Shared: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := guest.search(t.Context()); errs.KindOf(err) != errs.Busy {
		t.Error(err)
	}
	if err := errors.Join(another.Abort(), guest.close(), host.close()); err != nil {
		t.Fatal(err)
	}
	if _, err := guest.search(t.Context()); errs.KindOf(err) != errs.NotFound ||
		!strings.Contains(err.Error(), "process 0, the primary") {
		t.Error(err)
	}
}

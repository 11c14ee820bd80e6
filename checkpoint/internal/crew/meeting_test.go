package crew

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/writer"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// one is process self of two, of which process 0 leads. It meets barriers alone, as
// if the other were always there.
func one(self int) Group {
	return Group{Self: self, Active: []int{0, 1}, Barrier: func(context.Context, string) error { return nil }}
}

// broken is one that does not come to a barrier.
func broken(self int, at string) Group {
	g := one(self)
	g.Barrier = func(_ context.Context, key string) error {
		if strings.HasSuffix(key, ":"+at) {
			return syscall.ECONNRESET
		}
		return nil
	}
	return g
}

func meet(t *testing.T, g Group, fsys vfs.FS) *Meeting {
	t.Helper()
	m, err := g.Meet(t.Context(), Call{Store: local.New(fsys, "/", nil), Name: "c", Key: "k"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.close() }) //nolint:errcheck // what is left of a test
	return m
}

func say(t *testing.T, m *Meeting, name string, word any) {
	t.Helper()
	if err := m.say(t.Context(), name, word); err != nil {
		t.Fatal(err)
	}
}

// The report of a process is compared with what it has written.
func TestReports(t *testing.T) {
	written := func(size int64) []byte {
		m := manifest.Manifest{Files: []manifest.File{{Name: "d/x", Size: size}}}
		return m.Append(nil)
	}
	cut := func(size int64) []byte {
		m := manifest.Manifest{Leaves: []manifest.Leaf{{Item: "state", Param: "w", Size: size}}}
		return m.Append(nil)
	}
	for name, c := range map[string]struct {
		word any // nil says nothing
		want errs.Kind
	}{
		"nothing":        {nil, errs.NotFound},
		"no document":    {json.RawMessage(`3`), errs.Corrupt},
		"no report":      {sealed{Report: json.RawMessage(`3`)}, errs.Corrupt},
		"half a report":  {sealed{Report: json.RawMessage(`{"manifest": "` + base64.StdEncoding.EncodeToString(written(1)) + `", "entries": 3}`)}, errs.Corrupt},
		"no manifest":    {report{Manifest: []byte("x")}, errs.Corrupt},
		"a file too few": {report{Manifest: []byte(strings.ReplaceAll(string(written(1)), "d/x", "d/y"))}, errs.Corrupt},
		"a missing file": {report{Manifest: func() []byte {
			m := manifest.Manifest{Files: []manifest.File{{Name: "d/z", Size: 1}}}
			return m.Append(nil)
		}()}, errs.NotFound},
		"another size":      {report{Manifest: written(2)}, errs.Corrupt},
		"another cut":       {report{Manifest: cut(9)}, errs.Mismatch},
		"a failure":         {report{Failure: fail(&errs.Error{Kind: errs.Exhausted})}, errs.Exhausted},
		"what it has wrote": {report{Manifest: written(1)}, errs.Other},
		"the same cut":      {report{Manifest: cut(8)}, errs.Other},
	} {
		m := meet(t, one(0), vfstest.NewMem())
		if err := m.txn.Put(t.Context(), "d/x", []byte("x")); err != nil {
			t.Fatal(err)
		}
		switch word := c.word.(type) {
		case nil:
		case report:
			doc, err := json.Marshal(word)
			if err != nil {
				t.Fatal(err)
			}
			say(t, m, of("report", 1), sealed{Report: doc})
		default:
			say(t, m, of("report", 1), word)
		}
		m.next = func(context.Context, store.Txn, *writer.Draft) error { return nil }
		draft := &writer.Draft{Manifest: &manifest.Manifest{Leaves: []manifest.Leaf{{Item: "state", Param: "w", Size: 8}}}}
		err := m.Join(t.Context(), m.txn, draft)
		if errs.KindOf(err) != c.want || (c.want != errs.Other && !strings.Contains(err.Error(), "process 1")) ||
			(c.want == errs.Other && err != nil) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

// A barrier that fails ends the save, whatever has been said.
func TestBrokenBarriers(t *testing.T) {
	for _, at := range []string{begin, plan} {
		m, err := broken(0, at).Meet(t.Context(), Call{Store: local.New(vfstest.NewMem(), "/", nil), Name: "c", Key: "k"})
		if at != begin && err == nil {
			say(t, m, of("plan", 1), roll{})
			_, err = m.Agree(t.Context(), nil, &writer.Options{})
		}
		if !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("at %s: %v", at, err)
		}
	}
}

// A process that the primary does not come to the barrier with does not look for it.
func TestBrokenBarrierOfOthers(t *testing.T) {
	mem := vfstest.NewMem()
	meet(t, one(0), mem)
	if _, err := broken(1, begin).Meet(t.Context(), Call{Store: local.New(mem, "/", nil), Name: "c",
		Key: "k"}); !errors.Is(err, syscall.ECONNRESET) {
		t.Error(err)
	}
}

// There is no agreement with a process that has said nothing, or about a layout of a single
// process.
func TestNoAgreement(t *testing.T) {
	for name, c := range map[string]struct {
		said bool
		o    writer.Options
		want errs.Kind
	}{
		"nothing said": {false, writer.Options{}, errs.NotFound},
		"no database":  {true, writer.Options{Layout: options.PlainZarr3}, errs.Unsupported},
	} {
		m := meet(t, one(0), vfstest.NewMem())
		if c.said {
			say(t, m, of("plan", 1), roll{Terms: termsOf(&c.o)})
		}
		if _, err := m.Agree(t.Context(), nil, &c.o); errs.KindOf(err) != c.want {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

// What cannot be read of the primary's first word is not a word.
func TestUnreadableOpening(t *testing.T) {
	mem := vfstest.NewMem()
	name := "/" + meet(t, one(0), mem).talk.Staging() + "/open"
	f, err := mem.Create(name+".new", 0o666)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("3"), 0); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Close(), mem.Rename(name+".new", name)); err != nil {
		t.Fatal(err)
	}
	if _, err := one(1).Meet(t.Context(), Call{Store: local.New(mem, "/", nil), Name: "c",
		Key: "k"}); errs.KindOf(err) != errs.Corrupt {
		t.Error(err)
	}
}

// Shards that make no array are no part of what a process brings.
func TestUnsoundShards(t *testing.T) {
	w := writer.Parts{DType: tensor.Int8, Shape: tensor.Shape{4},
		Parts: []writer.Part{{Origin: []int{3}, Data: tensor.New(tensor.Int8, 2)}}}
	items := []writer.Item{{Name: "state", Tree: tree.NewDict().Set("w", tree.NewLeaf(w))}}
	if r, err := rollOf(items, nil); err == nil || !strings.Contains(err.Error(), "state") {
		t.Errorf("%+v, %v", r, err)
	}
}

// A process that cannot go on returns its own error, and tells the others.
func TestOwnFailure(t *testing.T) {
	failed := &errs.Error{Kind: errs.IO, Err: syscall.EIO}
	for _, self := range []int{0, 1} {
		mem := vfstest.NewMem()
		leads, joins := meet(t, one(0), mem), meet(t, one(1), mem)
		say(t, leads, of("plan", 0), roll{})
		say(t, joins, of("plan", 1), roll{})
		m, other := leads, joins
		if self == 1 {
			m, other = joins, leads
		}
		m.Fail(failed)
		if _, err := m.Agree(t.Context(), nil, &writer.Options{}); !errors.Is(err, syscall.EIO) {
			t.Errorf("process %d: %v", self, err)
		}
		if self == 1 {
			continue // the meeting of the primary is over only when it says so
		}
		if _, err := other.Agree(t.Context(), nil, &writer.Options{}); err == nil {
			t.Error("the other was not told")
		}
	}
}

// A process that has planned nothing says why, has its own error, and nothing is committed.
func TestWriteWithoutPlan(t *testing.T) {
	mem := vfstest.NewMem()
	leads, joins := meet(t, one(0), mem), meet(t, one(1), mem)
	say(t, leads, "outcome", outcome{Failure: fail(&errs.Error{Kind: errs.Busy})})
	if err := joins.sayReport(t.Context(), syscall.EIO); err != nil {
		t.Fatal(err)
	}
	draft := &writer.Draft{Manifest: &manifest.Manifest{}}
	if err := leads.Join(t.Context(), leads.txn, draft); err == nil ||
		!strings.Contains(err.Error(), syscall.EIO.Error()) {
		t.Errorf("the primary heard: %v", err)
	}
	if _, err := joins.Write(t.Context(), nil, syscall.EIO); !errors.Is(err, syscall.EIO) {
		t.Errorf("the other: %v", err)
	}
	if _, err := leads.Write(t.Context(), nil, syscall.ENOSPC); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("the primary: %v", err)
	}
	if in, err := mem.ReadDir("/"); err != nil || len(in) != 0 {
		t.Errorf("left: %v, %v", in, err)
	}
}

// Whichever call fails while a process comes to the meeting, and agrees, it is told.
func TestEveryFailureIsTold(t *testing.T) {
	for _, self := range []int{0, 1} {
		for n := 1; ; n++ {
			mem := vfstest.NewMem()
			if self == 1 {
				leads := meet(t, one(0), mem)
				say(t, leads, of("plan", 0), roll{})
			}
			f := vfstest.NewFault(mem, vfstest.Plan{N: n, Err: syscall.EIO,
				Only: func(c vfstest.Call) bool { return c.Op != vfstest.OpClose }})
			g := one(self)
			g.Active = []int{0, self}[:self+1]
			m, err := g.Meet(t.Context(), Call{Store: local.New(f, "/", nil), Name: "c", Key: "k"})
			if err == nil {
				_, err = m.Agree(t.Context(), nil, &writer.Options{})
			}
			call, hits := f.Hit()
			if m != nil {
				m.close() //nolint:errcheck // it is not committed
			}
			if hits == 0 {
				if n < 4 {
					t.Errorf("process %d: %d calls, %v", self, n-1, err)
				}
				break
			}
			said := call.Op == vfstest.OpCreate || call.Op == vfstest.OpWriteAt // what is missing then is heard
			if !errors.Is(err, syscall.EIO) && !(said && err != nil) {
				t.Errorf("process %d: call %d, %v, failed, and: %v", self, n, call, err)
			}
		}
	}
}

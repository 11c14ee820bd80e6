package checkpoint_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/integrity"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/tensor"
)

// TestSeveralProcessesHandled has two processes save shards of an array beside a
// leaf of a leaf handler, which all of them have and the primary writes.
func TestSeveralProcessesHandled(t *testing.T) {
	ctx := t.Context()
	x := tensor.FromSlice([]int32{0, 1, 2, 3, 4, 5, 6, 7}, 8)
	shards := divide(x, [][]int{{4}})
	finalized := 0
	counted := notes{map[string]func() error{"Finalize": func() error { finalized++; return nil }}}
	state := func(p int) any {
		mine := checkpoint.Shards{DType: x.DType, Shape: x.Shape, Parts: shards.Parts[p : p+1]}
		return map[string]any{"n": note{"of all"}, "x": mine}
	}
	s := together(2, vfstest.NewMem())
	if err := failed(s.save(waiting, state, checkpoint.SaveOptions{Options: withNotes(counted)})); err != nil {
		t.Fatal(err)
	}
	st := local.New(s.fsys, "/", nil)
	n, err := checkpoint.Load(ctx, "c", &checkpoint.LoadOptions{Store: st, Options: withNotes(notes{})})
	if err != nil || n.Get("n").Value != (note{"of all"}) || cmp.Diff(x, n.Get("x").Value) != "" || finalized != 1 {
		t.Errorf("%v, %v; finalized %d times", n, err, finalized)
	}
	if r, err := integrity.Verify(ctx, "c", &integrity.VerifyOptions{Store: st}); err != nil || !r.OK() {
		t.Errorf("%+v, %v", r, err)
	}
	// Where the handler of the primary fails, so do all, and nothing is saved.
	broken := notes{map[string]func() error{"Commit": func() error { panic("broken") }}}
	s = together(2, vfstest.NewMem())
	for p, err := range s.save(waiting, state, checkpoint.SaveOptions{Options: withNotes(broken)}) {
		if err == nil || p == 0 && !strings.Contains(err.Error(), "leaf handler test.Note.Commit") {
			t.Errorf("process %d: %v", p, err)
		}
	}
	if checkpoint.IsCheckpoint(ctx, "c", &checkpoint.LoadOptions{Store: local.New(s.fsys, "/", nil)}) {
		t.Error("saved")
	}
}

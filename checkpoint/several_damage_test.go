package checkpoint_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/internal/vfs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/proof/crash"
	"github.com/bivouac-ml/bivouac/proof/crewtest"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// twoOver is a save of version 2 by two processes, over what is there.
func twoOver(fsys vfs.FS, ack func(string)) error {
	s := together(2, fsys)
	o := checkpoint.SaveOptions{Overwrite: true}
	if err := failed(s.save(waiting, func(p int) any { return job(p, 2) }, o)); err != nil {
		return err
	}
	ack("2")
	return nil
}

// sound compares what is there with version 1, or where that was acknowledged version 2.
func sound(fsys vfs.FS, acked bool) error {
	st := local.New(fsys, "/", nil)
	n, err := checkpoint.Load(context.Background(), "c", &checkpoint.LoadOptions{Store: st})
	if err != nil {
		return err
	}
	for v := 2; v >= 1; v-- {
		parts := append(rows(0, float64(v)).(checkpoint.Shards).Parts, rows(1, float64(v)).(checkpoint.Shards).Parts...)
		w := tensor.New(tensor.Float64, 4, 300)
		for _, p := range parts {
			copy(w.Data[p.Origin[0]*300*8:], p.Data.Data)
		}
		want, err := tree.From(map[string]any{"w": w, "step": float64(v),
			"bias": []float64{float64(v), float64(v), float64(v)}})
		if err != nil {
			return err
		}
		if tree.Equal(want, n) {
			return nil
		}
		if acked {
			return errors.New("an earlier checkpoint than the one that was acknowledged")
		}
	}
	return errors.New("neither of the two")
}

// twoAgain is the save after a failure: it succeeds, and leaves nothing but itself.
func twoAgain(fsys vfs.FS) error {
	s := together(2, fsys)
	if err := failed(s.save(waiting, func(p int) any { return job(p, 2) },
		checkpoint.SaveOptions{Overwrite: true})); err != nil {
		return fmt.Errorf("the save after: %w", err)
	}
	list, err := fsys.ReadDir("/")
	if err != nil {
		return err
	}
	if len(list) != 1 || list[0].Name() != "c" {
		return fmt.Errorf("leftovers: %v", list)
	}
	return sound(fsys, true)
}

func oneBefore(fsys vfs.FS) error {
	return failed(together(1, fsys).save(waiting, func(int) any {
		a, b := rows(0, 1).(checkpoint.Shards), rows(1, 1).(checkpoint.Shards)
		a.Parts = append(a.Parts, b.Parts...)
		return map[string]any{"w": a, "step": 1.0, "bias": []float64{1, 1, 1}}
	}, checkpoint.SaveOptions{}))
}

// At whatever moment the power fails for all processes, what was there before is whole,
// or what they saved is; the next save leaves nothing of it.
func TestPowerLossOfSeveral(t *testing.T) {
	check := func(fsys vfs.FS, acked []string) error {
		if err := sound(fsys, len(acked) > 0); err != nil {
			return err
		}
		return twoAgain(fsys)
	}
	o := &crash.Options{Setup: oneBefore, Limit: 4, Samples: 4, Quick: true}
	report, err := crash.Run(twoOver, check, o)
	t.Log(report)
	if err != nil {
		t.Fatal(err)
	}
}

// Whatever operation fails, at whichever process, all are told, and nothing is wrong.
func TestFaultsOfSeveral(t *testing.T) {
	step := 7
	if os.Getenv("BIVOUAC_LONG") != "" {
		step = 1
	}
	for n := 1; ; n += step {
		mem := vfstest.NewMem()
		if err := oneBefore(mem); err != nil {
			t.Fatal(err)
		}
		fault := vfstest.NewFault(mem, vfstest.Plan{N: n, Err: syscall.EIO, Done: n%2 == 0})
		s := together(2, fault)
		list := s.save(waiting, func(p int) any { return job(p, 2) }, checkpoint.SaveOptions{Overwrite: true})
		if fault.Calls() < n {
			break
		}
		fine := list[0] == nil && list[1] == nil
		if !fine && !errors.Is(failed(list), store.ErrUncertain) && (list[0] == nil || list[1] == nil) {
			t.Fatalf("call %d failed: %v", n, list)
		}
		if err := sound(mem, fine); err != nil {
			t.Fatalf("call %d failed: %v; told %v", n, err, list)
		}
		if err := twoAgain(mem); err != nil {
			t.Fatalf("call %d failed: %v; told %v", n, err, list)
		}
	}
}

// A barrier that fails at one process, as when that one is killed there, or that
// returns too early, is a failure of all or none: what was there is there, or the whole.
func TestBarrierFails(t *testing.T) {
	for _, op := range []string{"begin", "plan", "written", "end", "leave"} {
		for p := range 2 {
			mem := vfstest.NewMem()
			if err := oneBefore(mem); err != nil {
				t.Fatal(err)
			}
			s := together(2, mem)
			killed := errors.New("killed")
			s.barrier = crewtest.NewBarrier(2, func(process int, key string) error {
				if process == p && strings.HasSuffix(key, ":"+op) {
					return killed
				}
				return nil
			})
			list := s.save(copying, func(p int) any { return job(p, 2) }, checkpoint.SaveOptions{Overwrite: true})
			committed := op == "leave" || op == "end" && p == 0
			if err := sound(mem, committed); err != nil {
				t.Errorf("%s at process %d: %v; told %v", op, p, err, list)
			}
			if early := op == "begin" || op == "plan" || op == "written"; early && (list[0] == nil || list[1] == nil) {
				t.Errorf("%s at process %d: %v", op, p, list)
			}
			if all := failed(list); op == "leave" && all != nil &&
				(p != 0 || list[0] != nil || !errors.Is(all, store.ErrUncertain)) {
				t.Errorf("%s at process %d: %v", op, p, list) // when the primary leaves early the other one may not have heard
			}
			if err := twoAgain(mem); err != nil {
				t.Errorf("%s at process %d: %v", op, p, err)
			}
		}
	}
}

// Barriers that do not wait let a save fail, and never be wrong.
func TestBarrierDoesNotWait(t *testing.T) {
	for range 50 {
		mem := vfstest.NewMem()
		if err := oneBefore(mem); err != nil {
			t.Fatal(err)
		}
		s := together(2, mem)
		list := crewtest.Run(2, func(p int) error {
			o := s.options(p, checkpoint.SaveOptions{Overwrite: true})
			o.Multiprocessing.Barrier = func(context.Context, string) error { return nil }
			return checkpoint.Save(t.Context(), "c", job(p, 2), o)
		})
		if err := sound(mem, list[0] == nil); err != nil {
			t.Fatalf("%v; told %v", err, list)
		}
	}
}

package options

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestPadding(t *testing.T) {
	for _, c := range []struct {
		both, pad, truncate   Toggle
		wantPad, wantTruncate bool
	}{
		{Inherit, Inherit, Inherit, false, false}, {On, Inherit, Inherit, true, true}, {On, Off, Inherit, false, true},
		{Off, On, Inherit, true, false}, {Inherit, Inherit, On, false, true},
	} {
		o := Options{}
		o.Array.Loading.EnablePaddingAndTruncation, o.Bivouac.Pad, o.Bivouac.Truncate = c.both, c.pad, c.truncate
		if p, tr := o.Padding(); p != c.wantPad || tr != c.wantTruncate {
			t.Errorf("%v: %v, %v", o, p, tr)
		}
	}
}

func TestBudget(t *testing.T) {
	for _, c := range []struct {
		budget, transfer Limit
		surge, want      int64
	}{
		{0, 0, 0, 0}, {Unlimited, 100, 0, 0}, {0, Unlimited, 7, 0}, {0, 100, 0, 100}, {50, 100, 10, 40}, {0, 100, 1000, 1},
	} {
		o := Options{}
		o.Bivouac.MemoryBudget, o.Memory.TransferConcurrentBytes, o.Memory.ExpectedSurgeBytes = c.budget, c.transfer, c.surge
		if got := o.Budget(); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
	if Limit(Unlimited).Bytes() != 0 || Limit(7).Bytes() != 7 {
		t.Error("bytes of a limit")
	}
}

func TestIsPrimary(t *testing.T) {
	for _, c := range []struct {
		primary, self *Host
		want          bool
	}{
		{nil, nil, true}, {nil, new(Host(1)), false}, {new(Host(1)), new(Host(1)), true}, {new(Host(1)), nil, false}, {new(EveryHost), new(Host(7)), true},
	} {
		if got := (Multiprocessing{PrimaryHost: c.primary, ProcessIndex: c.self}).IsPrimary(); got != c.want {
			t.Errorf("%v, %v: %v", c.primary, c.self, got)
		}
	}
}

func TestBounds(t *testing.T) {
	for _, c := range []struct {
		timeout, save time.Duration
		background    bool
		want          time.Duration
	}{
		{0, 0, true, 0}, {5, 0, true, 5}, {5, 0, false, 0}, {5, 3, true, 3}, {5, 7, true, 5}, {5, 7, false, 7},
		{Unlimited, Unlimited, true, 0}, {Unlimited, 7, true, 7}, {5, Unlimited, true, 5},
	} {
		a := Asynchronous{Timeout: c.timeout, SaveTimeout: c.save}
		if got := a.SaveBound(c.background); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
	for d, want := range map[time.Duration]time.Duration{0: 0, Unlimited: 0, 7: 7} {
		if got := (Asynchronous{LoadTimeout: d}).LoadBound(); got != want {
			t.Errorf("%v: %v", d, got)
		}
	}
	if a := Default().Asynchronous; a.SaveBound(true) != 1200*time.Second || a.SaveBound(false) != 0 ||
		a.LoadBound() != 0 {
		t.Errorf("defaults: %+v", a)
	}
}

func TestMeet(t *testing.T) {
	var met []string
	m := Multiprocessing{BarrierSyncKeyPrefix: "run-", Barrier: func(_ context.Context, key string) error {
		met = append(met, key)
		return context.Canceled
	}}
	if err := m.Meet(t.Context(), "commit"); err != context.Canceled {
		t.Error(err)
	}
	m.PrimaryHost = new(EveryHost)
	if err := m.Meet(t.Context(), "alone"); err != nil {
		t.Error(err)
	}
	if err := (Multiprocessing{}).Meet(t.Context(), "none"); err != nil {
		t.Error(err)
	}
	if d := cmp.Diff([]string{"run-commit"}, met); d != "" {
		t.Error(d)
	}
}

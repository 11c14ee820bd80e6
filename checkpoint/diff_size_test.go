package checkpoint_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/diff"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/tensor"
)

// compared saves two states and returns their leaves that changed, by path.
func compared(t rapid.TB, st store.Store, a, b any, o diff.Options) map[string]diff.Leaf {
	t.Helper()
	for i, state := range []any{a, b} {
		o := checkpoint.SaveOptions{Store: st, Overwrite: true}
		if err := checkpoint.Save(context.Background(), fmt.Sprint("c", i), state, &o); err != nil {
			t.Fatal(err)
		}
	}
	o.Store = st
	out := map[string]diff.Leaf{}
	for l, err := range diff.Leaves(context.Background(), "c0", "c1", &o) {
		if err != nil {
			t.Fatal(err)
		}
		if l.Status == diff.Changed {
			out[l.Path.String()] = l
		}
	}
	return out
}

// The size of a change is as defined, also where only a part of several megabytes differs and where
// the dtype changed.
func TestDiffSize(t *testing.T) {
	st := local.New(vfstest.NewMem(), "/", nil)
	close := cmpopts.EquateApprox(1e-12, 0)
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SampledFrom([]int{1, 2, 7, 1000, 1 << 20, 1<<20 + 3}).Draw(t, "n")
		was, is := make([]float32, n), make([]float32, n)
		for i := range was {
			was[i] = float32(i%13) - 6
		}
		copy(is, was)
		changes := rapid.IntRange(1, 5).Draw(t, "changes")
		for range changes {
			is[rapid.IntRange(0, n-1).Draw(t, "at")] = rapid.Float32Range(-100, 100).Draw(t, "value")
		}
		var sum, before, after, most float64
		differ := 0
		for i := range was {
			d := math.Abs(float64(was[i]) - float64(is[i]))
			sum += d * d
			before += float64(was[i]) * float64(was[i])
			after += float64(is[i]) * float64(is[i])
			most = max(most, d)
			if math.Float32bits(was[i]) != math.Float32bits(is[i]) {
				differ++
			}
		}
		if differ == 0 {
			return
		}
		rms := func(sum float64) float64 { return math.Sqrt(sum / float64(n)) }
		want := diff.Size{Elements: n, RMS: rms(sum), Was: rms(before), Is: rms(after), Relative: rms(sum) / rms(before)}
		wide := tensor.FromSlice(is, n)
		if rapid.Bool().Draw(t, "other dtype") {
			var err error
			if wide, err = tensor.Cast(tensor.Float64, wide); err != nil {
				t.Fatal(err)
			}
			differ = 0
			for i := range was {
				if was[i] != is[i] {
					differ++
				}
			}
		}
		l := compared(t, st, map[string]any{"w": was}, map[string]any{"w": wide}, diff.Options{Histogram: true})["w"]
		if diff := cmp.Diff(want, l.Size, close); diff != "" || l.Elements != differ || l.MaxAbs != most {
			t.Errorf("%d elements differ, by %v: %s", l.Elements, l.MaxAbs, diff)
		}
		total := l.Histogram.Same + l.Histogram.NotFinite
		for _, d := range l.Histogram.Decades {
			total += d.Count
		}
		if total != int64(n) || l.Histogram.Same != int64(n-differ) {
			t.Errorf("%+v of %d elements", l.Histogram, n)
		}
	})
}

// Each difference is in the decade that holds it, at the powers of ten too.
func TestDiffHistogram(t *testing.T) {
	st := local.New(vfstest.NewMem(), "/", nil)
	type bin struct {
		from, to float64
		n        int64
	}
	values := []float64{0, 0, 1, math.Copysign(0, -1), 0.001, 0.0009999, 999.9999, 1000, 1e-40, 1e300, math.NaN(),
		math.Inf(-1), 5}
	was := make([]float64, len(values))
	was[12] = 5
	o := diff.Options{Histogram: true}
	h := compared(t, st, map[string]any{"w": was}, map[string]any{"w": values}, o)["w"].Histogram
	var got []bin
	for _, d := range h.Decades {
		got = append(got, bin{d.From, d.To, d.Count})
	}
	want := []bin{{0, 0, 1}, {0, 1e-29, 1}, {1e-4, 1e-3, 1}, {1e-3, 1e-2, 1}, {1, 10, 1}, {100, 1000, 1}, {1000, 1e4, 1},
		{1e30, math.Inf(1), 1}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(bin{})); diff != "" || h.Same != 3 || h.NotFinite != 2 {
		t.Errorf("%+v: %s", h, diff)
	}
	l := compared(t, st, map[string]any{"w": []int64{0, 0}}, map[string]any{"w": []int64{3, 0}}, diff.Options{})["w"]
	if l.Histogram != nil || !math.IsInf(l.Size.Relative, 1) || l.Size.RMS != math.Sqrt(4.5) {
		t.Errorf("%+v", l)
	}
	same := compared(t, st, map[string]any{"w": was}, map[string]any{"w": was}, diff.Options{Histogram: true})
	if len(same) != 0 {
		t.Errorf("%+v", same)
	}
}

// The members of JSON that differ are named, and nothing else.
func TestDiffMembers(t *testing.T) {
	many := map[string]int{}
	for i := range diff.MostMembers + 7 {
		many[fmt.Sprint(i)] = i
	}
	for _, c := range []struct {
		was, is any
		want    [][3]string // path, was, is
		more    int
	}{
		{map[string]any{"a": 1, "b": []any{1, map[string]any{"c": "x"}}, "d": nil},
			map[string]any{"a": 1, "b": []any{2, map[string]any{"c": "y"}, true}, "e": 1.5},
			[][3]string{{"b.0", "1", "2"}, {"b.1.c", `"x"`, `"y"`}, {"b.2", "", "true"}, {"d", "null", ""}, {"e", "", "1.5"}}, 0},
		{1, map[string]any{}, [][3]string{{"", "1", "{}"}}, 0},
		{json.RawMessage(`9007199254740993`), json.RawMessage(`9007199254740992`),
			[][3]string{{"", "9007199254740993", "9007199254740992"}}, 0},
		{json.RawMessage(`{"a": 1, "b":2}`), json.RawMessage(`{"b":2,"a":1}`), nil, 0},
		{many, map[string]int{}, nil, 7},
	} {
		st := local.New(vfstest.NewMem(), "/", nil)
		for i, v := range []any{c.was, c.is} {
			b, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			err = checkpoint.SaveCheckpointables(t.Context(), fmt.Sprint("c", i), map[string]any{"j": json.RawMessage(b)},
				&checkpoint.SaveOptions{Store: st})
			if err != nil {
				t.Fatal(err)
			}
		}
		for l, err := range diff.Leaves(t.Context(), "c0", "c1", &diff.Options{Store: st}) {
			if err != nil {
				t.Fatal(err)
			}
			if c.more > 0 && len(l.Members) == diff.MostMembers {
				l.Members = nil
			}
			var got [][3]string
			for _, m := range l.Members {
				got = append(got, [3]string{m.Path, m.Was, m.Is})
			}
			if d := cmp.Diff(c.want, got); d != "" || l.More != c.more {
				t.Errorf("%d more: %s", l.More, d)
			}
		}
	}
}

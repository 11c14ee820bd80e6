package checkpoint_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/diff"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/tensor"
)

func TestDiff(t *testing.T) {
	ctx := context.Background()
	st := local.New(vfstest.NewMem(), "/", nil)
	half := func(bits ...byte) tensor.Tensor {
		return tensor.Tensor{DType: tensor.BFloat16, Shape: tensor.Shape{len(bits) / 2}, Data: bits}
	}
	save := func(step int64, state map[string]any, data string) {
		t.Helper()
		c, err := training.Open(ctx, "run", &training.Options{Store: st})
		if err != nil {
			t.Fatal(err)
		}
		items := map[string]any{"state": state}
		if data != "" {
			items["data"] = json.RawMessage(data)
		}
		if _, err := c.SaveCheckpointables(ctx, step, items, &training.SaveOptions{Force: true}); err != nil {
			t.Fatal(err)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	save(1, map[string]any{
		"equal": []float32{1, 2}, "value": []float32{1, 2, 3}, "nan": []float64{math.NaN()}, "dtype": []float32{1}, "shape": []float32{1},
		"half": half(0x80, 0x3f, 0x00, 0x40), "step": 7, "name": "a", "gone": 1, "kind": "text", "none": nil,
	}, `{"p":1}`)
	save(2, map[string]any{
		"equal": []float32{1, 2}, "value": []float32{1, 2.5, 1}, "nan": []float64{1}, "dtype": []float64{1}, "shape": []float32{1, 2},
		"half": half(0x80, 0x3f, 0x40, 0x40), "step": 9, "name": "b", "kind": 3, "new": []int8{1}, "none": nil,
	}, `{"p":2}`)
	save(3, map[string]any{"equal": []float32{1, 2}}, "")

	differences := func(a, b string) []string {
		var got []string
		for l, err := range diff.Leaves(ctx, a, b, &diff.Options{Store: st}) {
			if err != nil {
				t.Fatal(err)
			}
			s := fmt.Sprintf("%s %s %v: %s -> %s", l.Item, l.Path, l.Status, l.Was, l.Is)
			if l.Elements > 0 {
				s += fmt.Sprintf(", %d differ, at most by %v", l.Elements, l.MaxAbs)
			}
			got = append(got, s)
		}
		return got
	}
	want := []string{
		"data (root) changed: json -> json",
		"state dtype changed: float32[1] -> float64[1]",
		"state equal same: float32[2] -> float32[2]",
		"state gone missing: int64[] -> ",
		"state half changed: bfloat16[2] -> bfloat16[2], 1 differ, at most by 1",
		`state kind changed: string "text" -> int64[]`,
		`state name changed: string "a" -> string "b"`,
		"state nan changed: float64[1] -> float64[1], 1 differ, at most by NaN",
		"state none same: none -> none",
		"state shape changed: float32[1] -> float32[2]",
		"state step changed: scalar 7 -> scalar 9, 1 differ, at most by 2",
		"state value changed: float32[3] -> float32[3], 2 differ, at most by 2",
		"state new added:  -> int8[1]",
	}
	if d := cmp.Diff(want, differences("run/1", "run/2")); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	if got := differences("run/1", "run/3")[0]; got != "data (root) missing: json -> " {
		t.Errorf("a missing item: %q", got)
	}
	for _, s := range differences("run/2", "run/2") {
		if !strings.Contains(s, " same: ") {
			t.Errorf("a checkpoint differs from itself: %s", s)
		}
	}
	n := 0
	for range diff.Leaves(ctx, "run/1", "run/2", &diff.Options{Store: st}) {
		if n++; n == 3 {
			break
		}
	}
	for _, err := range diff.Leaves(ctx, "run/1", "run/9", &diff.Options{Store: st}) {
		if err == nil {
			t.Error("a checkpoint that is not there compared")
		}
	}
}

// Two layouts of one tree are equal: Orbax's zarr v2 and v3 cases hold the same names.
func TestDiffAcrossLayouts(t *testing.T) {
	ctx := context.Background()
	src := filepath.Join("..", "testdata", "orbax", "st-single", "checkpoint")
	node, err := checkpoint.Load(ctx, src, nil)
	if err != nil {
		t.Fatal(err)
	}
	dst := filepath.Join(t.TempDir(), "orbax")
	if err := checkpoint.Save(ctx, dst, node, nil); err != nil {
		t.Fatal(err)
	}
	n := 0
	for l, err := range diff.Leaves(ctx, src, dst, nil) {
		if err != nil || l.Status != diff.Same {
			t.Errorf("%+v, %v", l, err)
		}
		n++
	}
	if n == 0 {
		t.Error("nothing was compared")
	}
}

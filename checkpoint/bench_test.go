package checkpoint_test

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
)

// arrays is a state of n bytes in count arrays.
func arrays(n, count int) map[string]any {
	state := map[string]any{}
	for i := range count {
		v := make([]float32, n/count/4)
		for k := range v {
			v[k] = float32(k)
		}
		state[fmt.Sprintf("layer%04d", i)] = v
	}
	return state
}

// From the second save on, a Checkpointer allocates nothing in proportion to the
// state: sixteen times the state costs no more.
func TestSteadySaveAllocation(t *testing.T) {
	took := map[int]uint64{}
	for _, n := range []int{1 << 20, 16 << 20} {
		ctx := context.Background()
		c, err := training.Open(ctx, t.TempDir(), &training.Options{Preserve: training.LatestN{N: 1}})
		if err != nil {
			t.Fatal(err)
		}
		state := arrays(n, 8)
		save := func(step int64) {
			if _, err := c.Save(ctx, step, state, &training.SaveOptions{Force: true}); err != nil {
				t.Fatal(err)
			}
		}
		save(1)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		const saves = 4
		for step := range int64(saves) {
			save(2 + step)
		}
		runtime.ReadMemStats(&after)
		took[n] = (after.TotalAlloc - before.TotalAlloc) / saves
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Log("bytes allocated a save, by bytes of state:", took)
	if small, large := took[1<<20], took[16<<20]; large > small+(256<<10) {
		t.Errorf("saving 1 MiB again allocates %d bytes, 16 MiB %d", small, large)
	}
}

func BenchmarkSave(b *testing.B) {
	for _, c := range []struct{ mib, count int }{{64, 16}, {64, 1500}} {
		b.Run(fmt.Sprintf("%dMiB_%darrays", c.mib, c.count), func(b *testing.B) {
			state := arrays(c.mib<<20, c.count)
			path := filepath.Join(b.TempDir(), "c")
			b.SetBytes(int64(c.mib << 20))
			b.ReportAllocs()
			for b.Loop() {
				if err := checkpoint.Save(b.Context(), path, state, &checkpoint.SaveOptions{Overwrite: true}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCheckpointer(b *testing.B) {
	state := arrays(64<<20, 16)
	c, err := training.Open(b.Context(), b.TempDir(), &training.Options{Preserve: training.LatestN{N: 1}})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	b.SetBytes(64 << 20)
	b.ReportAllocs()
	for step := int64(0); b.Loop(); step++ {
		if _, err := c.Save(b.Context(), step, state, &training.SaveOptions{Force: true}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkScalars(b *testing.B) {
	state := map[string]any{}
	for i := range 20_000 {
		state[fmt.Sprintf("s%05d", i)] = int64(i)
	}
	path := filepath.Join(b.TempDir(), "c")
	b.Run("save", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := checkpoint.Save(b.Context(), path, state, &checkpoint.SaveOptions{Overwrite: true}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("load", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := checkpoint.Load(b.Context(), path, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkLoad(b *testing.B) {
	state := arrays(64<<20, 16)
	path := filepath.Join(b.TempDir(), "c")
	if err := checkpoint.Save(b.Context(), path, state, nil); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(64 << 20)
	b.ReportAllocs()
	for b.Loop() {
		if err := checkpoint.LoadInto(b.Context(), path, state, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// What was saved in rows is loaded whole, and as eight boxes of columns at once.
func BenchmarkReshard(b *testing.B) {
	const rows, columns = 16384, 8192 // 512 MiB
	path := filepath.Join(b.TempDir(), "c")
	if err := checkpoint.Save(b.Context(), path, map[string]any{"w": grid(rows, columns)}, nil); err != nil {
		b.Fatal(err)
	}
	for name, boxes := range map[string][]checkpoint.Box{"whole": nil, "columns": split(rows, columns, 8, 1)} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(4 * rows * columns)
			b.ReportAllocs()
			o := &checkpoint.LoadOptions{Want: func(checkpoint.LeafInfo) checkpoint.Want { return checkpoint.Want{Boxes: boxes} }}
			for b.Loop() {
				if _, err := checkpoint.Load(b.Context(), path, o); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

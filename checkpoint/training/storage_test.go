package training_test

import (
	"strconv"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
)

// Options of storage reach each step: those for all leaves, and those for one.
func TestStorageOfSteps(t *testing.T) {
	state := map[string]any{"a": make([]float32, 1<<18), "b": make([]float32, 1<<18)}
	for want, o := range map[[2]int]training.Options{
		{1 << 18, 1 << 18}: {},
		{1 << 14, 1 << 14}: {Options: options.Options{Array: options.Array{Saving: options.ArraySaving{Storage: options.Storage{ChunkByteSize: 1 << 16}}}}},
		{1 << 14, 1 << 12}: {Options: options.Options{Array: options.Array{Saving: options.ArraySaving{Storage: options.Storage{ChunkByteSize: 1 << 16, ShardAxes: []int{0}}}},
			Bivouac: options.Bivouac{LeafStorage: []options.LeafStorage{{Match: "b", Storage: options.Storage{ChunkByteSize: 1 << 14}}}}}},
	} {
		dir := t.TempDir()
		s, err := training.Open(t.Context(), dir, &o)
		if err != nil {
			t.Fatal(err)
		}
		for step := int64(1); step <= 2; step++ {
			if _, err := s.Save(t.Context(), step, state, &training.SaveOptions{Force: true}); err != nil {
				t.Fatal(err)
			}
			info, err := checkpoint.Metadata(t.Context(), dir+"/"+strconv.FormatInt(step, 10), nil)
			if err != nil {
				t.Fatal(err)
			}
			leaves := info.Items[0].Leaves
			if got := [2]int{leaves[0].ReadShape[0], leaves[1].ReadShape[0]}; got != want {
				t.Errorf("step %d: %v elements are read at once, want %v", step, got, want)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

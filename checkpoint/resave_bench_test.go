package checkpoint_test

import (
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
)

// BenchmarkResave saves 256 MiB whole, unchanged after a first save, and with one of 16 arrays
// changed, with training.Dedup in turn within one run; the unit of "written" is the bytes of the
// state, the unit of "time" the time of a save that writes everything.
func BenchmarkResave(b *testing.B) {
	const size = 256 << 20
	state := arrays(size, 16)
	var stats checkpoint.SaveStats
	c, err := training.Open(b.Context(), b.TempDir(), &training.Options{
		Preserve: training.LatestN{N: 1}, Reserve: size + 16<<20, Dedup: training.Dedup{On: true},
		OnEvent: func(e training.Event) {
			if e.Kind == training.SaveCommitted {
				stats = e.Stats
				stats.Persist = e.Took
			}
		},
	})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	step := int64(0)
	type total struct {
		took    time.Duration
		written int64
	}
	save := func(t *total) {
		step++
		r, err := c.SaveAsync(b.Context(), step, state, &training.SaveOptions{Force: true})
		if err == nil {
			_, err = r.Result(b.Context())
		}
		if err != nil {
			b.Fatal(err)
		}
		t.took += stats.Persist
		t.written += stats.Bytes
	}
	var whole, same, one total
	for b.Loop() {
		for _, v := range state {
			v.([]float32)[0]++
		}
		save(&whole)
		save(&same)
		state["layer0003"].([]float32)[0]++
		save(&one)
	}
	n := float64(b.N)
	for name, t := range map[string]total{"whole": whole, "unchanged": same, "one-array": one} {
		b.ReportMetric(float64(t.written)/n/size, name+"-written")
		b.ReportMetric(float64(t.took)/float64(whole.took), name+"-time")
	}
	b.ReportMetric(float64(size)*n/whole.took.Seconds()/1e9, "whole-GB/s")
}

package main

import (
	"context"
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/bivouac-ml/bivouac/checkpoint/training"
)

// trainedRun saves steps 1 to N of a run, with the metric loss, which is best in step 3: trained
// DIR N. Steps share the files that do not change.
func trainedRun(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: trained DIR N")
	}
	n, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	ctx := context.Background()
	c, err := training.Open(ctx, ts.MkAbs(args[0]), &training.Options{Dedup: training.Dedup{On: true}})
	ts.Check(err)
	same := make([]float32, 1<<14)
	for step := int64(1); step <= n; step++ {
		loss := float64(max(step-3, 3-step))
		_, err := c.Save(ctx, step, map[string]any{"w": []float32{float32(step)}, "same": same},
			&training.SaveOptions{Force: true, Metrics: map[string]float64{"loss": loss}})
		ts.Check(err)
	}
	ts.Check(c.Close())
}

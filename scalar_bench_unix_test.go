//go:build unix

package bivouac_test

import (
	"io"
	"log/slog"
	"syscall"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac"
)

// BenchmarkScalars measures what the journal costs a step: four scalars, the scalars of the job,
// the writes in the background and the lines of the log; "tensorboard" writes an event file too.
// "cpu-µs/step" is the time of all
// processors, which other programs of the machine do not change. "none" has the same loop without a
// journal. A step of 1 ms may lose 1 %, which is 10 µs.
func BenchmarkScalars(b *testing.B) {
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	for _, c := range []struct {
		name string
		o    bivouac.Options
	}{
		{"none", bivouac.Options{NoJournal: true, LogEvery: bivouac.Never}},
		{"journal", bivouac.Options{BatchSize: 32, Log: quiet}},
		{"tensorboard", bivouac.Options{BatchSize: 32, Log: quiet, TensorBoard: b.TempDir()}},
	} {
		b.Run(c.name, func(b *testing.B) {
			m := newModel()
			c.o.State, c.o.SaveEvery = &m, bivouac.Never
			job, err := bivouac.Open(b.Context(), b.TempDir(), &counter{Seed: 1}, c.o)
			if err != nil {
				b.Fatal(err)
			}
			names := []string{"loss", "lr", "gradient norm", "accuracy"}
			b.ReportAllocs()
			b.ResetTimer()
			start, steps := processorTime(b), 0
			for _, err := range job.Steps(b.Context()) {
				if err != nil {
					b.Fatal(err)
				}
				for _, name := range names {
					job.Scalar(name, 1/float64(steps+1))
				}
				if steps++; steps == b.N {
					break
				}
			}
			b.StopTimer()
			if err := job.Close(); err != nil { // the rows are on the disk
				b.Fatal(err)
			}
			b.ReportMetric(float64(processorTime(b)-start)/float64(b.N)/1e3, "cpu-µs/step")
		})
	}
}

// processorTime returns the time that this process used on all processors.
func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

package checkpoint_test

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/tensor"
)

// BenchmarkSigning saves and loads a state of 256 MiB, by turns without and with
// a signature, and reports the medians and what the signature costs.
func BenchmarkSigning(b *testing.B) {
	ctx := b.Context()
	public, private := signingKey(1)
	state, into := map[string]any{}, map[string]any{}
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		state[name] = tensor.Tensor{DType: tensor.Float32, Shape: []int{2048, 4096}, Data: random(32<<20, name[0])}
		into[name] = tensor.New(tensor.Float32, 2048, 4096)
	}
	var save, load [2][]time.Duration
	timed := func(f func() error) time.Duration {
		start := time.Now()
		if err := f(); err != nil {
			b.Fatal(err)
		}
		return time.Since(start)
	}
	b.SetBytes(256 << 20)
	dir := b.TempDir()
	for b.Loop() {
		for signed, o := range []checkpoint.SaveOptions{{},
			{Options: options.Options{Bivouac: options.Bivouac{Signing: private}}}} {
			o.Overwrite = true
			path := filepath.Join(dir, []string{"plain", "signed"}[signed])
			l := checkpoint.LoadOptions{}
			if signed == 1 {
				l.Verification = public
			}
			save[signed] = append(save[signed], timed(func() error { return checkpoint.Save(ctx, path, state, &o) }))
			load[signed] = append(load[signed], timed(func() error { return checkpoint.LoadInto(ctx, path, into, &l) }))
		}
	}
	for _, m := range []struct {
		name  string
		times [2][]time.Duration
	}{{"save", save}, {"load", load}} {
		plain, signed := median(m.times[0]), median(m.times[1])
		b.ReportMetric(plain.Seconds()*1e3, m.name+"-plain-ms")
		b.ReportMetric(signed.Seconds()*1e3, m.name+"-signed-ms")
		b.ReportMetric(signed.Seconds()/plain.Seconds(), m.name+"-ratio")
	}
}

func median(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2]
}

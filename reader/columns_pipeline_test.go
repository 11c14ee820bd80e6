package reader_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/reader/readertest"
)

// A pipeline gives the samples of each reader in its order, with any number of goroutines, and goes
// on from a state exactly.
func TestColumnReadersInPipelines(t *testing.T) {
	ctx := context.Background()
	for _, r := range columnReaders {
		t.Run(r.name, func(t *testing.T) {
			const n, batch = 23, 4
			name, args, err := r.make(t.TempDir(), n)
			if err != nil {
				t.Fatal(err)
			}
			data, err := readertest.Open(ctx, name, args)
			if err != nil {
				t.Fatal(err)
			}
			defer data.Close()
			texts := map[string]bool{}
			for id := range int64(n) {
				texts[textOf(t, data, r.text, id)] = true
			}
			args["random_shuffle"] = true
			def, err := pipeline.Define(pipeline.Options{BatchSize: batch, Seed: 3}, func(p *pipeline.Builder) []pipeline.Node {
				return p.Op(name, args)
			})
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			var saved []byte
			for _, io := range []int{1, 4} {
				pipe, err := def.New(ctx, &pipeline.Options{IOWorkers: io, Workers: io})
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for len(got) < 3*n {
					b, err := pipe.Next(ctx)
					if err != nil {
						t.Fatal(err)
					}
					out := b.Outputs[r.text]
					for s := range out.NumSamples() {
						got = append(got, string(out.Sample(s).Data))
					}
					if saved == nil && len(got) > n+batch {
						if saved, err = pipe.AppendState(nil); err != nil {
							t.Fatal(err)
						}
						later, err := def.New(ctx, nil)
						if err != nil {
							t.Fatal(err)
						}
						if err := later.SetState(saved); err != nil {
							t.Fatal(err)
						}
						b, err := later.Next(ctx)
						if err != nil {
							t.Fatal(err)
						}
						saved = bytes.Clone(b.Outputs[r.text].Sample(0).Data)
						saved = append(fmt.Appendf(nil, "%d ", len(got)), saved...)
						if err := later.Close(); err != nil {
							t.Fatal(err)
						}
					}
				}
				if err := pipe.Close(); err != nil {
					t.Fatal(err)
				}
				if want == nil {
					want = got
					var place int
					if _, err := fmt.Sscan(string(saved), &place); err != nil {
						t.Fatal(err)
					}
					if next := fmt.Sprint(place) + " " + got[place]; next != string(saved) {
						t.Errorf("after the state comes %q, want %q", saved, next)
					}
				}
				if fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("with %d goroutines:\n%q\nwith 1:\n%q", io, got, want)
				}
			}
			for _, text := range want[:n] {
				if !texts[text] {
					t.Errorf("%q is no sample, or comes twice in an epoch", text)
				}
				delete(texts, text)
			}
		})
	}
}

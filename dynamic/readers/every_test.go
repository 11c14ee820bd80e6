package readers_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/bivouac-ml/bivouac/dynamic"
	"github.com/bivouac-ml/bivouac/dynamic/readers"
	"github.com/bivouac-ml/bivouac/reader/readertest"
)

// Every reader goes on from a state in mid-epoch with the samples that an unbroken one delivers. It
// delivers each sample once an epoch, shuffled or not, for any number of goroutines that read.
func TestEveryReaderGoesOn(t *testing.T) {
	const samples, batch = 23, 4
	for _, name := range slices.Sorted(maps.Keys(readertest.All)) {
		for _, shuffled := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " ", shuffled), func(t *testing.T) {
				kind, args, err := readertest.All[name](t.TempDir(), samples)
				if err != nil {
					t.Fatal(err)
				}
				args = maps.Clone(args)
				args["random_shuffle"] = shuffled
				start := func(workers int) *readers.Reader {
					r, err := readers.New(kind, args, readers.Options{EnableCheckpointing: true, Seed: 5, IOWorkers: workers})
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() { r.Close() }) //nolint:errcheck // files that were read
					return r
				}
				whole := outputsOf(t, start(4), batch, -1)
				seen := map[string]int{}
				for _, b := range whole {
					for _, s := range b {
						seen[s]++
					}
				}
				if len(seen) != samples {
					t.Fatalf("%d different samples, want %d", len(seen), samples)
				}
				r := start(1)
				for at := 0; at < len(whole); at++ {
					if got := outputsOf(t, r, batch, 1); !slices.Equal(got[0], whole[at]) {
						t.Fatalf("batch %d: got %q, want %q", at, got[0], whole[at])
					}
					st := stateOf(t, r)
					r = start(1 + at%5)
					if err := r.SetState(st); err != nil {
						t.Fatal(err)
					}
				}
			})
		}
	}
}

// outputsOf returns all outputs of the next most batches as texts, one for each sample.
func outputsOf(t *testing.T, r *readers.Reader, batch, most int) (all [][]string) {
	t.Helper()
	for outputs, err := range r.NextEpoch(t.Context(), batch) {
		if err != nil {
			t.Fatal(err)
		}
		texts := make([]string, 0, batch)
		for o, b := range outputs {
			for s, text := range textsOf(t, b) {
				if o == 0 {
					texts = append(texts, text)
				} else {
					texts[s] += " " + text
				}
			}
		}
		if all = append(all, texts); len(all) == most {
			break
		}
	}
	return all
}

func textsOf(t *testing.T, b *dynamic.Batch) (list []string) {
	t.Helper()
	samples, err := b.Samples(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range samples {
		list = append(list, fmt.Sprintf("%s%v%q", s.DType, s.Shape, s.Data))
	}
	return list
}

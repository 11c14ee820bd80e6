package documents_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/compat/grain"
	"github.com/bivouac-ml/bivouac/compat/streaming"
	"github.com/bivouac-ml/bivouac/compat/torchdata"
	"github.com/bivouac-ml/bivouac/loader"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

type torchOptions = torchdata.Options[int64, []int64]

// openTorch returns the run of a loader of torchdata.
func openTorch(ds func() any, o torchOptions) func(t *testing.T) run {
	return func(t *testing.T) run {
		o.Global = new(torchdata.NewGenerator(3))
		o.CollateFn = func(s []int64) ([]int64, error) { return slices.Clone(s), nil }
		o.Log = slog.New(slog.DiscardHandler)
		var l *torchdata.Loader[int64, []int64]
		var err error
		switch ds := ds().(type) {
		case loader.Map[int64]:
			l, err = torchdata.New(ds, o)
		case loader.Iterable[int64]:
			l, err = torchdata.NewIterable(ds, o)
		}
		check(t, err)
		return texts[[]int64]{l, func(b []int64) string { return fmt.Sprint(b) }}
	}
}

func compatSpecimens() []specimen {
	var all []specimen
	torch := func(name string, ds func() any, o torchOptions, before int) {
		all = append(all, resumed("torchdata/"+name+".json", openTorch(ds, o), openTorch(ds, o), before, 9))
	}
	ids := func() any { return numbers{n: 23} }
	torch("caller", ids, torchOptions{BatchSize: 4, Shuffle: true}, 3)
	torch("caller-end", ids, torchOptions{BatchSize: 4, Shuffle: true}, 7)
	torch("workers", ids, torchOptions{BatchSize: 4, Shuffle: true, NumWorkers: 2}, 3)
	torch("workers-snapshot", ids, torchOptions{BatchSize: 4, NumWorkers: 2, SnapshotEveryNSteps: 3}, 5)
	torch("iterable", func() any { return seekable{size: 23} }, torchOptions{BatchSize: 4, NumWorkers: 2}, 3)

	all = append(all, specimen{
		name: "grain/iterator.json",
		write: func(t *testing.T, path string) {
			it := grainIterator(t)
			for range 7 {
				it.Next()
			}
			b, err := json.Marshal(it.State())
			check(t, err)
			check(t, os.WriteFile(path, b, 0o666))
		},
		read: func(t *testing.T, path string) string {
			it := grainIterator(t)
			check(t, it.SetState(readFile(t, path)))
			var b strings.Builder
			for range 9 {
				v, ok := it.Next()
				fmt.Fprintln(&b, v, ok)
			}
			return b.String()
		},
	}, specimen{
		name: "streaming/state.json",
		write: func(t *testing.T, path string) {
			s := streaming.State{Epoch: 1, SampleInEpoch: 40, CanonicalNodes: 4, Seed: 9176, InitialNodes: 2}
			check(t, os.WriteFile(path, []byte(s.String()), 0o666))
		},
		read: func(t *testing.T, path string) string {
			s, err := streaming.ParseState(readFile(t, path))
			check(t, err)
			return fmt.Sprintf("%+v\n", s)
		},
	})
	return all
}

func grainIterator(t *testing.T) grain.Iter[int64] {
	shuffled := grain.Iterate(grain.Shuffle(grain.Range(0, 100, 1), 7))
	mixed, err := grain.MixIter([]grain.Iter[int64]{shuffled, grain.Iterate(grain.Range(1000, 1100, 1))}, []float64{2, 1})
	check(t, err)
	windowed, err := grain.ShuffleWindowsIter(mixed, 4, 3)
	check(t, err)
	return windowed
}

var _ loader.Map[int64] = numbers{}

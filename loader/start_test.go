package loader_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/tensor"
)

// No state is the start: a loop that sets what it has saved needs no branch for its
// first run, and one that has moved goes back.
func TestNoStateIsTheStart(t *testing.T) {
	for name, open := range map[string]func() *loader.Loader[int64, tensor.Tensor]{
		"map": func() *loader.Loader[int64, tensor.Tensor] {
			return open(t, ids(23), options{BatchSize: 4, Shuffle: true, Seed: 7})
		},
		"workers": func() *loader.Loader[int64, tensor.Tensor] {
			return open(t, ids(23), options{BatchSize: 4, Workers: 2})
		},
		"sampler": func() *loader.Loader[int64, tensor.Tensor] {
			return open(t, ids(23), options{BatchSize: 4, Sampler: &everySampler{23}})
		},
		"iterable": func() *loader.Loader[int64, tensor.Tensor] {
			return openIterable(t, plain(23), options{BatchSize: 4, Streams: 2})
		},
	} {
		want := follows(t, open())
		l := open()
		for range 2 {
			if err := l.SetState(nil); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if got := follows(t, l); got != want { // over the end of an epoch
				t.Errorf("%s: %s, want %s", name, got, want)
			}
		}
		if err := l.SetState([]byte{}); !errors.Is(err, errs.Corrupt) {
			t.Errorf("%s: an empty file is taken for the start: %v", name, err)
		}
		other := open()
		if err := other.SetState(snapshot(t, l)); err != nil {
			t.Fatal(err)
		}
		if err := other.SetState(nil); err != nil {
			t.Fatal(err)
		}
		if got := follows(t, other); got != want {
			t.Errorf("%s, behind another state: %s, want %s", name, got, want)
		}
	}
}

// A loop that goes on after an error is told the second time that it asks for the same
// batch.
func TestTheSameErrorAgainSaysSo(t *testing.T) {
	l := open(t, loader.Func(9, func(_ context.Context, id int64, _ loader.Random) (int64, error) {
		if id == 4 {
			return 0, errs.Corrupt
		}
		return id, nil
	}), options{BatchSize: 3})
	take(t, l, 1)
	for i := range 4 {
		_, err := l.Next(t.Context())
		again := i > 0 && strings.Contains(err.Error(), fmt.Sprintf("for the %s time",
			[]string{"", "second", "third", "4th"}[i])) && strings.Contains(err.Error(), "OnError")
		if !errors.Is(err, errs.Corrupt) || again != (i > 0) {
			t.Errorf("error %d: %v", i, err)
		}
	}
}

package torchdata_test

import (
	"context"
	"errors"
	"io"
	"testing"
)

// Whatever a state says, a loader goes on or refuses: nothing panics, nothing hangs,
// and what is delivered is of the data set.
func FuzzLoaderState(f *testing.F) {
	f.Fuzz(func(t *testing.T, b []byte, workers uint8, iterable, shuffle bool) {
		s := &setting{kind: "map", n: 20, batch: 2, workers: int(workers % 3), shuffle: shuffle && !iterable}
		if iterable {
			s.kind = "stateless"
		}
		l := s.loader(t)
		defer l.Close()
		if err := l.LoadStateDict(b); err != nil {
			return
		}
		if err := l.Start(context.Background()); err != nil {
			return
		}
		for range 40 {
			ids, err := l.Next(context.Background())
			if errors.Is(err, io.EOF) {
				return
			}
			for _, id := range ids {
				if id < 0 || id >= 20 {
					t.Fatalf("id %d", id)
				}
			}
		}
		t.Error("an epoch of 10 batches does not end")
	})
}

package loader_test

import (
	"context"
	"errors"
	"io"
	"testing"

	"go.uber.org/goleak"

	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/state"
	"github.com/bivouac-ml/bivouac/tensor"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ids are the samples of a data set in which sample i is i.
func ids(n int) loader.Slice[int64] {
	s := make(loader.Slice[int64], n)
	for i := range s {
		s[i] = int64(i)
	}
	return s
}

type options = loader.Options[int64, tensor.Tensor]

func open(t testing.TB, ds loader.Map[int64], o options) *loader.Loader[int64, tensor.Tensor] {
	t.Helper()
	l, err := loader.New(ds, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// take returns the next n batches, or with n < 0 those up to the end of the epoch.
func take(t testing.TB, l *loader.Loader[int64, tensor.Tensor], n int) (batches [][]int64) {
	t.Helper()
	for len(batches) != n {
		b, err := l.Next(context.Background())
		if errors.Is(err, io.EOF) && n < 0 {
			return batches
		}
		if err != nil {
			t.Fatal(err)
		}
		v, err := tensor.Of[int64](b)
		if err != nil {
			t.Fatal(err)
		}
		batches = append(batches, v)
	}
	return batches
}

// epochs returns n epochs.
func epochs(t testing.TB, l *loader.Loader[int64, tensor.Tensor], n int) (all [][][]int64) {
	t.Helper()
	for range n {
		all = append(all, take(t, l, -1))
	}
	return all
}

func snapshot(t testing.TB, l state.Stateful) []byte {
	t.Helper()
	b, err := l.AppendState(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func restore(t testing.TB, l state.Stateful, b []byte) {
	t.Helper()
	if err := l.SetState(b); err != nil {
		t.Fatalf("%v\n%s", err, b)
	}
}

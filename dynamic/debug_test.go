//go:build bivouac_debug

package dynamic_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/dynamic"
	"github.com/bivouac-ml/bivouac/dynamic/fn"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// An array that is kept over the release of its value is no tensor any more; the error says where
// it was handed out and taken back.
func TestKeptArray(t *testing.T) {
	every(t, func(t *testing.T, ctx context.Context) {
		x := fn.Add(ctx, dynamic.TensorOf([]int32{1, 2}), 1)
		y := fn.Add(ctx, dynamic.BatchOf([][]int32{{1}, {2, 3}}), 1)
		kept, err := x.Tensor(ctx)
		if err != nil {
			t.Fatal(err)
		}
		list, err := y.Samples(ctx)
		if err != nil {
			t.Fatal(err)
		}
		list = append([]tensor.Tensor(nil), list...)
		x.Release()
		y.Release()
		for _, a := range append(list, kept) {
			_, err := tensor.Of[int32](a)
			for _, want := range []string{"a released value", "handed out at", "taken back at", "debug_test.go"} {
				if !errors.Is(err, errs.Closed) || !strings.Contains(err.Error(), want) {
					t.Errorf("%v, want %q", err, want)
				}
			}
			if v := dynamic.TensorOf(a); !errors.Is(v.Err(), errs.Closed) {
				t.Error(v.Err())
			}
		}
	})
}

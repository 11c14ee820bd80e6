package checkpoint_test

import (
	"math"
	"math/big"
	"path/filepath"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac/proof/mistake"
	"github.com/bivouac-ml/bivouac/tensor"
)

// elements are the types of arrays that leaves were measured with.
var elements = []tensor.DType{
	tensor.Bool, tensor.Int2, tensor.Int4, tensor.Int8, tensor.Int16, tensor.Int32, tensor.Int64,
	tensor.Uint2, tensor.Uint4, tensor.Uint8, tensor.Uint16, tensor.Uint32, tensor.Uint64,
	tensor.Float16, tensor.BFloat16, tensor.Float32, tensor.Float64, tensor.Complex64, tensor.Complex128,
	tensor.Float8E3M4, tensor.Float8E4M3, tensor.Float8E4M3FN, tensor.Float8E4M3FNUZ, tensor.Float8E4M3B11FNUZ,
	tensor.Float8E5M2, tensor.Float8E5M2FNUZ, tensor.Float8E8M0FNU, tensor.Float4E2M1FN, tensor.Float6E2M3FN, tensor.Float6E3M2FN,
}

// TestLeaves saves each leaf of testdata/leaves.json, and compares what comes back, or the error,
// with the table: what is saved is loaded, with its type.
func TestLeaves(t *testing.T) {
	makers := map[string]mistake.Maker{}
	saves := func(name string, v, want any) {
		makers[name] = func(t *testing.T) error { return newBlunder(t).comes(v, want) }
	}
	same := func(name string, v any) { saves(name, v, v) }
	for _, d := range elements {
		x := tensor.New(d, 3)
		x.Data[0] = 1
		same("np "+d.String(), x)
	}
	beyond := func(n *big.Int, by int64) *big.Int { return n.Add(n, big.NewInt(by)) }
	record := struct {
		A int32
		B float32
	}{1, 2}

	saves("python complex", complex(1, 2), tensor.Tensor{DType: tensor.Complex128, Shape: tensor.Shape{},
		Data: append(tensor.ScalarOf(1.0).Data, tensor.ScalarOf(2.0).Data...)})
	same("numpy scalar int64", int64(-7))
	same("numpy scalar float32", float32(0.5))
	same("numpy bool_", true)
	saves("bytes", []byte("xyz"), tensor.FromSlice([]byte("xyz"), 3))
	same("int 2**63-1", int64(math.MaxInt64))
	same("int 2**63", uint64(1<<63))
	same("int 2**64", new(big.Int).Lsh(big.NewInt(1), 64))
	same("int -2**63", int64(math.MinInt64))
	same("int -2**63-1", beyond(big.NewInt(math.MinInt64), -1))
	same("zero-size numpy array", tensor.New(tensor.Float32, 0, 3))
	same("zero-size jax array", tensor.New(tensor.BFloat16, 2, 0))
	same("array of str", []string{"a", "b"})
	same("datetime64", time.Unix(0, 0))
	same("set", map[string]struct{}{"a": {}})
	same("object", make(chan int))
	saves("structured array", []any{record}, []any{map[string]any{"A": 1, "B": 2.0}})
	mistake.Check(t, filepath.Join("testdata", "leaves.json"), makers)
}

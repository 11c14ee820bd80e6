package arith_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/op/optest"
	"github.com/bivouac-ml/bivouac/tensor"
)

// The file has what DALI 2.4.0 gave for every function of two operands and every
// pair of types, with numbers at the ends of the types, infinities and NaN among
// them: the bytes of both operands and of the results.
func TestEdges(t *testing.T) {
	file, err := os.ReadFile("testdata/edges.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	results := 0
	for _, line := range bytes.Split(bytes.TrimSpace(file), []byte("\n")) {
		var c struct {
			X, Y, A, B string
			Out        map[string][2]string
		}
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		a, b := tensorOf(t, c.X, c.A), tensorOf(t, c.Y, c.B)
		for function, out := range c.Out {
			want := tensorOf(t, out[0], out[1])
			got, err := compute(function, optest.Samples{a}, optest.Samples{b})
			if err != nil || got[0].DType != want.DType {
				t.Errorf("%s of %s and %s: %v %v", function, c.X, c.Y, got, err)
				continue
			}
			checkEdges(t, function, a, b, got[0], want)
			results++
		}
	}
	if results < 2000 {
		t.Errorf("only %d results", results)
	}
}

func tensorOf(t *testing.T, dtype, bytes string) tensor.Tensor {
	t.Helper()
	d, err := tensor.ParseDType(dtype)
	if err != nil {
		t.Fatal(err)
	}
	b, err := hex.DecodeString(bytes)
	if err != nil {
		t.Fatal(err)
	}
	x := tensor.New(d, len(b)/d.Size())
	copy(x.Data, b)
	return x
}

func checkEdges(t *testing.T, function string, a, b, got, want tensor.Tensor) {
	t.Helper()
	size := got.DType.Size()
	rounded := strings.Contains("pow fpow atan2", function) && got.DType.IsFloat()
	for i := range got.Len() {
		if bytes.Equal(got.Data[i*size:(i+1)*size], want.Data[i*size:(i+1)*size]) {
			continue
		}
		x, y, g, w := value64(t, a, i), value64(t, b, i), value64(t, got, i), value64(t, want, i)
		switch {
		case g == w, math.IsNaN(g) && math.IsNaN(w):
		case rounded && math.Abs(g-w) <= 2e-7*math.Abs(w):
		case negativeBesideFloat(a, x, b, y) && g == ordered(function, x, y):
			// docs/numerics.md: such integers are below all floats in DALI.
		default:
			t.Errorf("%s(%v %v, %v %v): %v, want %v", function, a.DType, x, b.DType, y, g, w)
		}
	}
}

func value64(t *testing.T, x tensor.Tensor, i int) float64 {
	t.Helper()
	size := x.DType.Size()
	f, err := tensor.Cast(tensor.Float64, tensor.Tensor{DType: x.DType, Shape: tensor.Shape{1}, Data: x.Data[i*size : (i+1)*size]})
	if err != nil {
		t.Fatal(err)
	}
	v, err := tensor.Of[float64](f)
	if err != nil {
		t.Fatal(err)
	}
	return v[0]
}

func negativeBesideFloat(a tensor.Tensor, x float64, b tensor.Tensor, y float64) bool {
	return a.DType.IsInteger() && x < 0 && b.DType.IsFloat() || b.DType.IsInteger() && y < 0 && a.DType.IsFloat()
}

// ordered is what a comparison of two numbers gives.
func ordered(function string, x, y float64) float64 {
	holds := map[string]bool{"eq": x == y, "neq": x != y, "lt": x < y, "leq": x <= y, "gt": x > y, "geq": x >= y}[function]
	if holds {
		return 1
	}
	return 0
}

package tensor_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/tensor"
)

// TestPrint: a small tensor is printed with its elements, a large one is when it is
// asked for, and never at length.
func TestPrint(t *testing.T) {
	small := tensor.FromSlice([]float32{1, 2.5, -3, 4}, 2, 2)
	large := tensor.New(tensor.Uint8, 40, 50)
	for _, c := range []struct{ got, want string }{
		{fmt.Sprint(small), "float32[2,2] [[1 2.5] [-3 4]]"},
		{fmt.Sprintf("%v", &small), "float32[2,2] [[1 2.5] [-3 4]]"},
		{fmt.Sprintf("%s", small), "float32[2,2]"},
		{fmt.Sprintf("%14s|%-14s|", small, small), "  float32[2,2]|float32[2,2]  |"},
		{fmt.Sprint(tensor.ScalarOf(int64(7))), "int64[] 7"},
		{fmt.Sprint(tensor.New(tensor.Float64, 0, 3)), "float64[0,3] []"},
		{fmt.Sprint(tensor.Tensor{}), tensor.Tensor{}.String()},
		{fmt.Sprint(tensor.Tensor{DType: tensor.Uint8, Shape: tensor.Shape{4}}), "uint8[4]"}, // without memory
		{fmt.Sprint(large), "uint8[40,50]"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
	if text := fmt.Sprintf("%+v", large); !strings.HasPrefix(text, "uint8[40,50] [[0 0 0 ... 0 0 0] ") || len(text) > 200 {
		t.Errorf("%d bytes: %s", len(text), text)
	}
}

package op

import (
	"fmt"
	"testing"

	"github.com/bivouac-ml/bivouac/tensor"
)

// Features come as such, as one, and as the maps of a file. What does not fit is refused.
func TestFeatures(t *testing.T) {
	p := &Parameter{Name: "features", Type: Features}
	label := FixedLen("label", []int{1}, tensor.Int64, -1)
	for _, c := range []struct {
		given any
		want  string
	}{
		{label, `["label":fixed int64 [1] -1]`},
		{[]Feature{label, VarLen("v", tensor.Float32, 0.0, 2, 3)}, `["label":fixed int64 [1] -1 "v":var float32 [2 3] -]`},
		{[]any{
			map[string]any{"name": "image", "type": "string", "default": "x"},
			map[string]any{"name": "label", "type": "INT64", "shape": []any{1}, "default": 2.0},
			map[string]any{"name": "boxes", "type": "float32", "variable": true, "partial_shape": 4},
		}, `["image":fixed uint8 [] "x" "label":fixed int64 [1] 2 "boxes":var float32 [4] -]`},
		{FixedLen("x", nil, tensor.Float32, 1), `["x":fixed float32 [] 1]`},
		{FixedLen("x", nil, tensor.Float32, float32(0.5)), `["x":fixed float32 [] 0.5]`},
		{[]Feature{}, "[]"},
		{"label", "refused"},
		{[]any{"label"}, "refused"},
		{FixedLen("x", nil, tensor.Int64, 0.5), "refused"},
		{FixedLen("x", nil, tensor.Int64, "1"), "refused"},
		{FixedLen("x", nil, tensor.Uint8, 1), "refused"},
		{FixedLen("x", nil, tensor.Float32, 1e300), "refused"},
		{[]any{map[string]any{"type": "int64"}}, "refused"},
		{[]any{map[string]any{"name": "x"}}, "refused"},
		{[]any{map[string]any{"name": "x", "type": "int8"}}, "refused"},
		{[]any{map[string]any{"name": "x", "type": "int64", "length": 1}}, "refused"},
		{[]any{map[string]any{"name": "x", "type": "int64", "shape": "1"}}, "refused"},
	} {
		got := "refused"
		if v, err := p.Convert(c.given); err == nil {
			got = render(v)
		}
		if got != c.want {
			t.Errorf("%v: got %s, want %s", fmt.Sprintf("%v", c.given), got, c.want)
		}
	}
}

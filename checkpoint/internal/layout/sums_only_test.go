package layout

import (
	"fmt"
	"testing"

	"github.com/bivouac-ml/bivouac/format/zarr"
	"github.com/bivouac-ml/bivouac/tensor"
)

// A check may forget the elements only if their checksum says all about them: not if some bytes are
// no elements of the type, and not if the elements are summed once more.
func TestSumsSuffice(t *testing.T) {
	array := func(dtype, fill string) *zarr.Array {
		m, err := zarr.ParseMetadata(fmt.Appendf(nil, `{"zarr_format":3,"node_type":"array","shape":[8],"data_type":%q,
			"chunk_grid":{"name":"regular","configuration":{"chunk_shape":[4]}},
			"chunk_key_encoding":{"name":"default"},"fill_value":%s,
			"codecs":[{"name":"bytes","configuration":{"endian":"little"}},{"name":"crc32c"}]}`, dtype, fill), "zarr.json")
		if err != nil {
			t.Fatal(err)
		}
		a, err := zarr.New(nil, "a", m)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	for _, c := range []struct {
		dtype, fill string
		sums        *sums
		check       check
		want        bool
	}{
		{"float32", "0.0", nil, unchecked, true},
		{"float32", "0.0", &sums{}, bySuffix, true},
		{"float32", "0.0", &sums{}, unchecked, false},
		{"float32", "0.0", &sums{}, byBytes, false},
		{"bool", "false", nil, unchecked, false},
		{"bool", "false", &sums{}, bySuffix, false},
		{"int4", "0", nil, unchecked, false},
		{"int4", "0", &sums{}, bySuffix, false},
	} {
		l := &zarrArray{array: array(c.dtype, c.fill), sums: c.sums}
		if got := l.sumsSuffice(c.check); got != c.want {
			t.Errorf("%s, sums %v, check %d: %v, want %v", c.dtype, c.sums != nil, c.check, got, c.want)
		}
	}
	if tensor.Bool.Bits() != 8 {
		t.Fatal("a bool has another size: the rule for bool is not needed any more")
	}
}

package safetensors

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/proof/growth"
)

// A header is parsed in memory in proportion to it, whatever its tensors have.
func TestParseHeaderGrowth(t *testing.T) {
	for name, tensors := range map[string]string{
		"empty":  `"t%d":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},`,
		"escape": `"\\u0074%d":{"dtype":"F32","shape":[0,1,2,3],"data_offsets":[0,0]},`,
	} {
		growth.Check(t, growth.Op{Name: name, N: 2000, Prepare: func(_ growth.TB, n int) func() error {
			var b strings.Builder
			for i := range n {
				fmt.Fprintf(&b, tensors, i)
			}
			header := []byte("{" + strings.TrimSuffix(b.String(), ",") + "}")
			return func() error {
				_, err := ParseHeader(header, int64(8+len(header)), "f", nil)
				return err
			}
		}})
	}
}

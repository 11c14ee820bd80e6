package reduce_test

import (
	"testing"

	_ "github.com/bivouac-ml/bivouac/op/reduce"
	"github.com/bivouac-ml/bivouac/proof/dalivec"
)

func TestVectors(t *testing.T) {
	dalivec.Run(t, "reduce", "reductions.sum", "reductions.mean", "reductions.mean_square", "reductions.rms", "reductions.min", "reductions.max", "normalize")
}

package reduce_test

import (
	"testing"

	"github.com/bivouac-ml/bivouac/internal/dalivec"
	_ "github.com/bivouac-ml/bivouac/op/reduce"
)

func TestVectors(t *testing.T) {
	dalivec.Run(t, "reduce", "reductions.sum", "reductions.mean", "reductions.mean_square", "reductions.rms", "reductions.min", "reductions.max", "normalize")
}

package decoders_test

import (
	"testing"

	_ "github.com/bivouac-ml/bivouac/op/decoders"
	"github.com/bivouac-ml/bivouac/proof/dalivec"
)

func TestVectors(t *testing.T) { dalivec.Run(t, "decode") }

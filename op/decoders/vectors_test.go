package decoders_test

import (
	"testing"

	"github.com/bivouac-ml/bivouac/internal/dalivec"
	_ "github.com/bivouac-ml/bivouac/op/decoders"
)

func TestVectors(t *testing.T) { dalivec.Run(t, "decode") }

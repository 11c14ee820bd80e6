package webp

import (
	"testing"

	"github.com/bivouac-ml/bivouac/codec/internal/decodetest"
)

func FuzzDecode(f *testing.F) { decodetest.Fuzz(f, ReadHeader, Decode, nil) }

package ocdbt

import (
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
)

// What is wrong with an envelope is told, and not what the body would be without it.
func TestWrongEnvelopeIsTold(t *testing.T) {
	whole := reseal(magicManifest, []byte("body"))
	for name, c := range map[string]struct {
		change func(b []byte) []byte
		kind   errs.Kind
		says   string
	}{
		"cut":           {func(b []byte) []byte { return b[:minEnvelope-1] }, errs.Corrupt, "the smallest has 16"},
		"another magic": {func(b []byte) []byte { b[0]++; return b }, errs.Corrupt, "magic is"},
		"longer":        {func(b []byte) []byte { return append(b, 0) }, errs.Corrupt, "header says"},
		"flipped":       {func(b []byte) []byte { b[headerSize+2] ^= 1; return b }, errs.Corrupt, "CRC-32C is"},
		"newer":         {func(b []byte) []byte { b[headerSize] = 1; return rewrap(b) }, errs.Unsupported, "format version 0"},
		"a method":      {func(b []byte) []byte { b[headerSize+1] = 2; return rewrap(b) }, errs.Corrupt, "unknown compression method 2"},
	} {
		b := c.change([]byte(string(whole)))
		body, err := openEnvelope(b, magicManifest, 1<<20, location{file: "f"})
		if errs.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %q, %v, want %v that says %q", name, body, err, c.kind, c.says)
		}
	}
	if body, err := openEnvelope(whole, magicManifest, 1<<20, location{file: "f"}); err != nil || string(body) != "body" {
		t.Errorf("unchanged: got %q, %v", body, err)
	}
}

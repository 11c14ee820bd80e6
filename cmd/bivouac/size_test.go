package main

import (
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
)

func TestParseSize(t *testing.T) {
	for s, want := range map[string]int64{"": 0, "1": 1, "5GB": 5e9, "512MiB": 512 << 20, "3 KB": 3000, "7B": 7, "2TiB": 2 << 40} {
		if n, err := parseSize(s); err != nil || n != want {
			t.Errorf("%q: %d, %v; want %d", s, n, err, want)
		}
	}
	for _, s := range []string{"0", "-1", "GB", "1.5GB", "5gb", "9223372036854775807KB", "x"} {
		if n, err := parseSize(s); errs.KindOf(err) != errs.Invalid {
			t.Errorf("%q: %d, %v; want invalid", s, n, err)
		}
	}
}

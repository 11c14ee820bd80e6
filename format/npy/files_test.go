package npy

import (
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/proof/verdicts"
)

const vectors = "../../testdata/formats/npy"

// verdict is an entry of the recorded cases.
type verdict struct {
	File          string
	Error         []string
	UnsupportedOK bool `json:"unsupported_ok"`
	content       []byte
}

func (v verdict) isArchive() bool { return strings.HasSuffix(v.File, ".npz") }

func recorded(tb testing.TB) []verdict {
	tb.Helper()
	return verdicts.Read(tb, vectors, func(v *verdict) (string, *[]byte) { return v.File, &v.content })
}

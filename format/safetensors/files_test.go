package safetensors

import (
	"bytes"
	"context"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/proof/verdicts"
	"github.com/bivouac-ml/bivouac/tensor"
)

const vectors = "../../testdata/formats/safetensors"

// memory is a directory in memory. It counts what is read.
type memory struct {
	files map[string][]byte
	calls int
	bytes int64
}

func (m *memory) Size(_ context.Context, name string) (int64, error) {
	b, ok := m.files[name]
	if !ok {
		return 0, &errs.Error{Kind: errs.NotFound, Subject: name}
	}
	return int64(len(b)), nil
}

func (m *memory) ReadAt(_ context.Context, name string, p []byte, off int64) error {
	b := m.files[name]
	if off < 0 || off+int64(len(p)) > int64(len(b)) {
		return &errs.Error{Kind: errs.IO, Subject: name, Got: "a read beyond the end"}
	}
	m.calls++
	m.bytes += int64(len(p))
	copy(p, b[off:])
	return nil
}

// open opens a file in memory.
func open(tb testing.TB, content []byte, o Options) (*Model, *memory, error) {
	tb.Helper()
	files := &memory{files: map[string][]byte{"f": content}}
	m, err := Open(context.Background(), files, "f", o)
	return m, files, err
}

func mustWrite(tb testing.TB, tensors map[string]tensor.Tensor, metadata map[string]string) []byte {
	tb.Helper()
	var b bytes.Buffer
	if err := Write(&b, tensors, metadata); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

// withHeader returns a file with the header as it is given.
func withHeader(header, data string) []byte {
	n := len(header)
	b := []byte{byte(n), byte(n >> 8), byte(n >> 16), byte(n >> 24), 0, 0, 0, 0}
	return append(append(b, header...), data...)
}

// verdict is an entry of the recorded cases.
type verdict struct {
	File     string
	Accepted bool
	content  []byte
}

func recorded(tb testing.TB) []verdict {
	tb.Helper()
	return verdicts.Read(tb, vectors, func(v *verdict) (string, *[]byte) { return v.File, &v.content })
}

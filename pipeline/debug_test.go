//go:build bivouac_debug

package pipeline_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/loan"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/tensor"
)

// A batch that is kept over Next is no tensor any more; the error says where it was handed out and
// taken back. A write into it is a panic.
func TestKeptBatch(t *testing.T) {
	p := start(t, pipeline.Options{BatchSize: 2}, external(told(20), pipeline.SourceOptions{}))
	kept := next(t, p)
	sample := kept.Outputs[0].Sample(1)
	if _, err := tensor.Of[int32](sample); err != nil {
		t.Fatal(err)
	}
	mine := sample.Clone()
	if _, err := p.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err := tensor.Of[int32](sample)
	for _, want := range []string{"a batch of a pipeline", "handed out at", "data_test.go", "taken back at", "debug_test.go"} {
		if !errors.Is(err, errs.Closed) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if err := kept.Outputs[0].Check(); !errors.Is(err, errs.Closed) {
		t.Error(err)
	}
	if sample.Data[0] != 0xDB {
		t.Errorf("%x", sample.Data)
	}
	if _, err := tensor.Of[int32](mine); err != nil {
		t.Error(err)
	}
	loan.Written()
	sample.Data[0] = 1
	defer func() {
		sample.Data[0] = 0xDB
		if recover() == nil {
			t.Error("a write was not noticed")
		}
	}()
	loan.Written()
}

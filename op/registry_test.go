package op_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	_ "github.com/bivouac-ml/bivouac/pipeline" // registers all operators
)

// The error for an operator of DALI that is missing here says so; it neither calls the operator
// unknown nor proposes another. No existing operator counts as missing.
func TestAbsentOperators(t *testing.T) {
	for _, name := range []string{"readers.video_resize", "readers.video", "experimental.remap", "jitter"} {
		_, err := op.Lookup(name)
		if !op.Planned(name) || !errors.Is(err, errs.Unsupported) || !strings.Contains(err.Error(), "does not have yet") || strings.Contains(err.Error(), "did you mean") {
			t.Errorf("%s: %v", name, err)
		}
	}
	instead := map[string]string{
		"external_source": "pipeline.ExternalSource", "experimental.inputs.video": "video.NewInput",
		"python_function": "fn.Func", "dl_tensor_python_function": "fn.Func",
	}
	if names := op.Elsewhere(); len(names) != len(instead) || !slices.IsSorted(names) {
		t.Errorf("operators that are not operators here: %q", names)
	}
	for name, use := range instead {
		_, err := op.Lookup(name)
		if !errors.Is(err, errs.Unsupported) || !strings.Contains(err.Error(), use) {
			t.Errorf("%s: %v", name, err)
		}
		if !slices.Contains(op.Elsewhere(), name) || op.Planned(name) {
			t.Errorf("%s is not listed, or is listed as planned", name)
		}
	}
	if all := op.Schemas(); len(all) < 50 {
		t.Errorf("%d operators are registered", len(all))
	}
	for _, s := range op.Schemas() {
		if op.Planned(s.FullName()) || slices.Contains(op.Elsewhere(), s.FullName()) {
			t.Errorf("%s is there and called absent", s.FullName())
		}
		if _, err := op.Lookup(s.FullName()); err != nil {
			t.Error(err)
		}
	}
	for name, near := range map[string]string{"decoders.imagee": `"decoders.image"`, "uniformm": `"uniform"`, "readers.cocoo": ""} {
		if _, err := op.Lookup(name); !errors.Is(err, errs.NotFound) || !strings.Contains(err.Error(), near) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

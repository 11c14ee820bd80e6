package provided

import (
	"errors"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
)

func TestOnePartARole(t *testing.T) {
	var r Registry
	if got := r.Part(Trees); got != nil {
		t.Errorf("the empty registry: want nil, got %v", got)
	}
	r.Enter(Trees, 7)
	r.Enter(Messages, "codec")
	if r.Part(Trees) != 7 || r.Part(Messages) != "codec" {
		t.Errorf("want 7 and codec, got %v and %v", r.Part(Trees), r.Part(Messages))
	}
	defer func() {
		if err, _ := recover().(error); !errors.Is(err, errs.Exists) {
			t.Errorf("a second part: want a panic with errs.Exists, got %v", err)
		}
		if r.Part(Trees) != 7 {
			t.Errorf("the refused part replaced the first: %v", r.Part(Trees))
		}
	}()
	r.Enter(Trees, 8)
}

package checkpoint_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/dynamic/checkpoint"
	"github.com/bivouac-ml/bivouac/errs"
)

func TestEntries(t *testing.T) {
	got, err := checkpoint.Entries(`{"version": 2, "states": {"b": {"state": "s", "type": "RNG"}, "a": {"state": 5}}}`)
	if d := cmp.Diff([]checkpoint.Entry{{Key: "b", State: "s", Type: "RNG"}, {Key: "a", State: "5"}}, got); d != "" || err != nil {
		t.Errorf("%v %s", err, d)
	}
	if _, err := checkpoint.Entries(`{"version": 1, "states": {}}`); !errors.Is(err, errs.Invalid) {
		t.Error(err)
	}
}

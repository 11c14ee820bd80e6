package layout

import (
	"testing"

	"github.com/bivouac-ml/bivouac/store"
)

// odd is a Store that cannot be compared.
type odd struct {
	store.Store
	_ []int
}

// A checkpoint is found open by the path and the store that name it, and by no others.
func TestOpened(t *testing.T) {
	c, one, other := &Checkpoint{}, &struct{ store.Store }{}, &struct{ store.Store }{}
	for _, x := range []struct {
		with, st store.Store
		path     string
		want     bool
	}{
		{nil, nil, "a", true},
		{one, one, "a", true},
		{one, one, "b", false},
		{one, other, "a", false},
		{one, nil, "a", false},
		{nil, one, "a", false},
		{odd{}, odd{}, "a", false},
	} {
		if got := Opened(c.With(t.Context(), "a", x.with), x.path, x.st); (got != nil) != x.want {
			t.Errorf("%+v: %v", x, got)
		}
	}
	if Opened(t.Context(), "a", nil) != nil {
		t.Error("a context without a checkpoint has one")
	}
}

package order_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/order"
)

// many returns a mixture of the given number of sources.
func many(t testing.TB, sources int, phases ...order.Phase) *order.Mixture {
	t.Helper()
	list := make([]order.Source, sources)
	for i := range list {
		list[i] = order.Source{Order: order.NewShuffled(int64(100+i), 7, "source"), Weight: float64(1 + i%5)}
	}
	m, err := order.NewMixture(list, order.CycleOn, phases...)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// The identity of an order is short for any number of sources, and differs for any two orders. It
// is the description itself if that is short.
func TestIdentityIsShort(t *testing.T) {
	seen := map[string]bool{}
	for _, sources := range []int{1, 2, 3, 10, 1000, 1001} {
		m := many(t, sources)
		id := order.Identity(m)
		if len(id) > order.MaxIdentity || seen[id] {
			t.Errorf("%d sources: %d bytes, seen before: %t: %s", sources, len(id), seen[id], id)
		}
		seen[id] = true
		if short := len(m.String()) <= order.MaxIdentity; short != (id == m.String()) || short == order.IsDigest(id) {
			t.Errorf("%d sources: a description of %d bytes has identity %s", sources, len(m.String()), id)
		}
		if order.IdentityOf(id) != id {
			t.Errorf("the identity of %s is another", id)
		}
	}
	if _, err := order.Parse(order.Identity(many(t, 1000))); !errors.Is(err, errs.Unsupported) || !strings.Contains(err.Error(), "Description") {
		t.Errorf("a digest is parsed: %v", err)
	}
}

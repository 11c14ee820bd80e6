package loader_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/loader/timeline"
	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/state"
)

// sourcesOf returns that many sources of 20 samples, and how many samples they have.
func sourcesOf(n int) (list []order.Source, samples int) {
	for i := range n {
		list = append(list, order.Source{Order: order.NewShuffled(20, uint64(i), "source"), Weight: float64(1 + i%3)})
	}
	return list, 20 * n
}

func mixed(t testing.TB, sources []order.Source, phases ...order.Phase) *order.Mixture {
	t.Helper()
	m, err := order.NewMixture(sources, order.CycleOn, phases...)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// The state of a mixture is half a kilobyte, whatever the number of sources. A state that
// holds the whole description, as states did before there were digests, is read as ever.
func TestStateOfAThousandSources(t *testing.T) {
	list, samples := sourcesOf(1000)
	for _, version := range []int{order.Version, 1} {
		o := options{BatchSize: 8, Order: order.At(mixed(t, list), version)}
		l := open(t, ids(samples), o)
		take(t, l, 5)
		saved := snapshot(t, l)
		if len(saved) > 600 {
			t.Errorf("%d bytes: %.700s", len(saved), saved)
		}
		d, err := state.Unmarshal(saved)
		if err != nil {
			t.Fatal(err)
		}
		full := d
		full.Fields = map[string]string{"order": o.Order.String(), "samples": d.Fields["samples"], "seed": "0"}
		full.Config = state.HashFields(full.Fields)
		old, err := json.Marshal(full)
		if err != nil {
			t.Fatal(err)
		}
		want := take(t, l, 5)
		for _, b := range [][]byte{saved, first(t, saved), old, first(t, old)} {
			next := open(t, ids(samples), options{BatchSize: 8, Order: mixed(t, list)})
			if version == 1 {
				next = open(t, ids(samples), o)
			}
			restore(t, next, b)
			if diff := cmp.Diff(want, take(t, next, 5)); diff != "" {
				t.Errorf("version %d: %s", version, diff)
			}
		}
		other := slices.Clone(list)
		other[7].Weight = 9
		if err := open(t, ids(samples), options{BatchSize: 8, Order: mixed(t, other)}).SetState(saved); !errors.Is(err,
			errs.Mismatch) {
			t.Errorf("a mixture of other weights: %v", err)
		}
	}
}

// A state that holds a digest tells of its steps with the order, or with its description,
// and says what it needs without.
func TestDigestNeedsTheDescription(t *testing.T) {
	list, samples := sourcesOf(100)
	l := open(t, ids(samples), options{BatchSize: 8, Order: mixed(t, list)})
	take(t, l, 5)
	saved := snapshot(t, l)
	want := take(t, l, 1)[0]
	if _, err := timeline.Open(saved, timeline.Options{}); !errors.Is(err, errs.Unsupported) ||
		!strings.Contains(err.Error(), "Description") {
		t.Errorf("without a description: %v", err)
	}
	if _, err := timeline.Open(saved, timeline.Options{Description: "sequential(n=2000)"}); !errors.Is(err,
		errs.Mismatch) {
		t.Errorf("with another: %v", err)
	}
	line, err := timeline.Open(saved, timeline.Options{Order: mixed(t, list)})
	if err != nil {
		t.Fatal(err)
	}
	b, err := line.Batch(5)
	if diff := cmp.Diff(want, b.IDs); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if _, err := line.Verify(context.Background(), nil); err != nil {
		t.Error(err)
	}
	if order.IdentityOf(l.Description()) != order.Identity(mixed(t, list)) {
		t.Error("the description of the loader is of another order")
	}
	var none loader.Options[int64, int64]
	if l, err := loader.NewIterable(plain(3), none); err != nil || l.Description() != "" {
		t.Error("an iterable data set has an order", err)
	}
}

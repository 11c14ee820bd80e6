package elastic

import (
	"errors"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/bivouac-ml/bivouac/errs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// quiet is a Screen that shows nothing.
type quiet struct{}

func (quiet) Begin(string, int64)   {}
func (quiet) Advance(int64, string) {}
func (quiet) End()                  {}

// The legs end in mid-epoch, and all together is the uninterrupted run.
func TestRun(t *testing.T) {
	for _, o := range []Options{{Samples: 5_003, Epochs: 2, Seed: 1}, {Samples: 9_973, Epochs: 3, Seed: 2}} {
		r, err := Run(t.Context(), o, quiet{})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Failures) > 0 || r.Elastic.Once != o.Epochs || r.Elastic.Samples != o.Samples*o.Epochs {
			t.Errorf("%+v: %+v", o, r)
		}
		for _, l := range r.Legs[:3] {
			if l.To%o.Samples == 0 || l.To <= l.From {
				t.Errorf("a leg from %d to %d of %d ends with an epoch", l.From, l.To, o.Samples)
			}
		}
		var b strings.Builder
		r.Print(&b)
		if text := b.String(); strings.Contains(text, "DIFFERENT") || !strings.Contains(text, "Nothing lost") {
			t.Error(text)
		}
	}
}

// What differs is said.
func TestReportFindsDifferences(t *testing.T) {
	d := demonstration{Options: Options{Samples: 4, Epochs: 1}, legs: []Leg{{Digest: "a", StateDigest: "b"}}}
	want, got := newLedger(d.Options), newLedger(d.Options)
	want.add([]sample{{0, 1}, {1, 1}, {2, 1}, {3, 1}})
	got.add([]sample{{0, 1}, {1, 1}, {1, 1}, {3, 1}})
	r := d.report(want, got)
	if len(r.Failures) != 5 { // order, once, twice; state; coverage
		t.Errorf("%q", r.Failures)
	}
	var b strings.Builder
	r.Print(&b)
	if strings.Count(b.String(), "DIFFERENT") != 4 || strings.Contains(b.String(), "Nothing lost") {
		t.Error(b.String())
	}
}

func TestOptions(t *testing.T) {
	for _, o := range []Options{{Samples: 10}, {Samples: -1}, {Epochs: -1}, {Epochs: 2000}} {
		if _, err := Run(t.Context(), o, quiet{}); !errors.Is(err, errs.Invalid) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

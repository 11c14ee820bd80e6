package order

import (
	"errors"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
)

func TestParse(t *testing.T) {
	shard, err := NewShard(NewShuffled(100, 1<<63+5, `a "b" c`), 8, 3, 5)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []Order{Sequential(0), Sequential(12), NewCycle(7), NewPermutation(11, 0xfedcba9876543210), NewShuffled(9, 7, ""), NewShuffled(9, 7, "x) y"), shard} {
		got, err := Parse(o.String())
		if err != nil || got.String() != o.String() {
			t.Errorf("%s: %v, %v", o, got, err)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for text, kind := range map[string]errs.Kind{
		"":                                      errs.Invalid,
		"sequential":                            errs.Invalid,
		"sequential()":                          errs.Invalid,
		"sequential(n=012)":                     errs.Invalid,
		"sequential(n=12 )":                     errs.Invalid,
		"sequential(n=-1)x":                     errs.Invalid,
		"permutation(v1 n=1 key=zz)":            errs.Invalid,
		"shuffled(v1 n=3 seed=1)":               errs.Invalid,
		"shuffled(v99 n=3 seed=1 domain=\"\")":  errs.Unsupported,
		"shard(batch=1 rank=2/2 of cycle(n=3))": errs.Invalid,
		"shard(cycle(n=3))":                     errs.Invalid,
		"torchdata.random(n=3)":                 errs.Unsupported,
	} {
		if o, err := Parse(text); !errors.Is(err, kind) {
			t.Errorf("%q: %v, %v, want %v", text, o, err, kind)
		}
	}
}

// Descriptions are anybody's text: what is parsed describes itself so.
func FuzzParse(f *testing.F) {
	f.Add(`shuffled(v1 n=9 seed=7 domain="loader")`)
	f.Add("shard(batch=8 rank=3/5 of cycle(n=100))")
	f.Add("permutation(v1 n=9 key=00000000000000ff)")
	f.Fuzz(func(t *testing.T, text string) {
		o, err := Parse(text)
		if err == nil && o.String() != text {
			t.Errorf("%q became %q", text, o)
		}
	})
}

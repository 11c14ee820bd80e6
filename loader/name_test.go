package loader_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/order"
)

// Loaders of one length and seed are not read in lockstep when they have names, and a
// state belongs to the loader of its name.
func TestNamesTellLoadersApart(t *testing.T) {
	named := func(name string) options { return options{BatchSize: 4, Shuffle: true, Name: name} }
	plain, images, texts := open(t, ids(100), named("")), open(t, ids(100), named("images")),
		open(t, ids(100), named("texts"))
	a, b, c := follows(t, plain), follows(t, images), follows(t, texts)
	if a == b || a == c || b == c {
		t.Errorf("the same order:\n%s\n%s\n%s", a, b, c)
	}
	if err := texts.SetState(snapshot(t, images)); !errors.Is(err, errs.Mismatch) ||
		!strings.Contains(err.Error(), "name") {
		t.Errorf("the state of another name: %v", err)
	}
	if err := images.SetState(snapshot(t, images)); err != nil {
		t.Error(err)
	}
	o, err := loader.FromConfig([]byte("name: images\nshuffle: true"), options{})
	if err != nil || o.Name != "images" {
		t.Errorf("%q, %v", o.Name, err)
	}
}

// A state of version 1 of the order goes on in that order, also with an order of the
// caller's, and the states behind it stay of that version.
func TestFirstVersionOfTheOrderGoesOn(t *testing.T) {
	shuffled := order.NewShuffled(100, 7, "web")
	first := open(t, ids(100), options{BatchSize: 4, Order: order.At(shuffled, 1)})
	take(t, first, 3)
	saved := snapshot(t, first)
	want := follows(t, first)
	l := open(t, ids(100), options{BatchSize: 4, Order: shuffled})
	fresh := snapshot(t, l)
	for range 2 {
		if err := l.SetState(saved); err != nil {
			t.Fatal(err)
		}
		if again := snapshot(t, l); string(again) != string(saved) {
			t.Errorf("state\n%s\nafter\n%s", again, saved)
		}
		if got := follows(t, l); got != want {
			t.Errorf("goes on with\n%s, want\n%s", got, want)
		}
		if err := l.SetState(fresh); err != nil { // of the newest version
			t.Fatal(err)
		}
		if got, want := follows(t, l), follows(t, open(t, ids(100), options{BatchSize: 4, Order: shuffled})); got != want {
			t.Errorf("after a fresh state\n%s, want\n%s", got, want)
		}
	}
	if err := l.SetState(saved[:len(saved)-1]); err == nil {
		t.Error("a cut state is taken")
	}
	if b := snapshot(t, l); !strings.Contains(string(b), "shuffled(v2 ") {
		t.Errorf("a refused state changed the version: %s", b)
	}
}

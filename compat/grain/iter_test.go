package grain

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/rng/numpy"
)

// drawIter returns a function that makes one and the same iterator over and over.
func drawIter(t *rapid.T, depth int) func() Iter[int64] {
	n := rapid.Int64Range(0, 20).Draw(t, "n")
	seed := rapid.Uint32().Draw(t, "seed")
	m := Range(0, n, 1)
	if rapid.IntRange(0, 3).Draw(t, "shuffled") == 0 {
		m = Shuffle(m, seed) // of so few elements each costs a walk of 65536/n rounds
	}
	if rapid.Bool().Draw(t, "filtered") {
		m = Filter(m, "even", even)
	}
	next := func() Iter[int64] { return Iterate(m) }
	must := func(it Iter[int64], err error) Iter[int64] {
		if err != nil {
			t.Fatal(err)
		}
		return it
	}
	for range rapid.IntRange(0, 3).Draw(t, "steps") {
		below, k := next, rapid.Int64Range(1, 5).Draw(t, "k")
		switch rapid.IntRange(0, 8).Draw(t, "step") {
		case 0:
			next = func() Iter[int64] { return must(LimitIter(below(), 2*k)) }
		case 1:
			next = func() Iter[int64] { return must(RepeatIter(below(), k)) }
		case 2:
			if depth == 0 {
				continue
			}
			next = func() Iter[int64] { return must(ShuffleWindowsIter(below(), k, seed)) }
		case 3:
			next = func() Iter[int64] { return FilterIter(below(), even) }
		case 4:
			next = func() Iter[int64] { return ApplyIter(below(), func(x int64) int64 { return x + k }) }
		case 5, 6:
			if depth == 0 {
				continue
			}
			other, mixed := drawIter(t, depth-1), rapid.Bool().Draw(t, "mixed")
			next = func() Iter[int64] {
				if mixed {
					return must(MixIter([]Iter[int64]{below(), other()}, []float64{1, float64(k)}))
				}
				return must(Interleave([]Iter[int64]{below(), other(), below()}, k))
			}
		case 7:
			next = func() Iter[int64] {
				batches, err := BatchIter(below(), k, false)
				if err != nil {
					t.Fatal(err)
				}
				return ApplyIter(batches, func(b []int64) int64 { return b[0] + int64(len(b)) })
			}
		case 8:
			how := rapid.IntRange(0, 2).Draw(t, "packer")
			shuffle, pass := rapid.Bool().Draw(t, "shuffled bins"), rapid.Bool().Draw(t, "pass")
			next = func() Iter[int64] { return drawnPacker(t, below(), how, int(k), shuffle, pass) }
		}
	}
	return next
}

// drawnPacker packs elements of two features whose lengths depend on the elements of an iterator.
func drawnPacker(t *rapid.T, below Iter[int64], how, k int, shuffle, pass bool) Iter[int64] {
	elements := ApplyIter(below, func(x int64) features {
		x &= 1<<40 - 1
		return features{"t": slices.Repeat([]int64{x}, int(x%6)), "u": slices.Repeat([]int64{x}, int(x/3%4))}
	})
	lengths := map[string]int{"t": 5, "u": 3 + k%2}
	o := PackOptions[int64]{Lengths: lengths, Bins: k, Shuffle: shuffle, Seed: uint32(k)}
	it, err := ConcatThenSplitIter(elements, SplitOptions[int64]{Lengths: map[string]int{"t": k, "u": 3}, PassFull: pass})
	switch how {
	case 0:
		it, err = FirstFitPackIter(elements, o)
	case 1:
		it, err = BestFitPackIter(elements, o)
	}
	return ApplyIter(packer(t, it, err), func(p Packed[int64]) int64 {
		sum := int64(0)
		for i, name := range []string{"t", "u"} {
			for j, x := range p.Values[name] {
				sum = sum*31 + x + int64(i) + int64(p.Segments[name][j]) + 7*int64(p.Positions[name][j])
			}
		}
		return sum & (1<<40 - 1)
	})
}

func rest(it Iter[int64]) []int64 {
	var all []int64
	for x, ok := it.Next(); ok; x, ok = it.Next() {
		all = append(all, x)
	}
	return all
}

// From the state before any element a new iterator gives what follows, and a state
// that was taken changes nothing.
func TestIteratorsResume(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		next := drawIter(t, 2)
		want := rest(next())
		it := next()
		states := []json.RawMessage{it.State()}
		for i, x := range want {
			if got, ok := it.Next(); got != x || !ok {
				t.Fatalf("element %d is %d, %t with states, %d without", i, got, ok, x)
			}
			states = append(states, it.State())
		}
		for range 4 {
			k := rapid.IntRange(0, len(want)).Draw(t, "k")
			state, again := states[k], next()
			for range rapid.IntRange(0, 3).Draw(t, "read before") {
				again.Next()
			}
			if err := again.SetState(state); err != nil {
				t.Fatalf("state %s: %v", state, err)
			}
			if got := rest(again); !slices.Equal(got, want[k:]) {
				t.Fatalf("from state %d, %s: %v, want %v", k, state, got, want[k:])
			}
		}
	})
}

func TestIteratorStatesRefused(t *testing.T) {
	m := Range(0, 9, 1)
	must := func(it Iter[int64], err error) Iter[int64] {
		if err != nil {
			t.Fatal(err)
		}
		return it
	}
	at := `{"next_index": 3}`
	for name, c := range map[string]struct {
		it    Iter[int64]
		state string
	}{
		"no state":           {Iterate(m), ``},
		"behind the end":     {Iterate(m), `{"next_index": 10}`},
		"another iterator":   {must(LimitIter(Iterate(m), 5)), at},
		"read more":          {must(LimitIter(Iterate(m), 5)), `{"parent": ` + at + `, "count_elements_read": 6}`},
		"no parent":          {must(LimitIter(Iterate(m), 5)), `{"count_elements_read": 3}`},
		"epoch":              {must(RepeatIter(Iterate(m), 2)), `{"parent": ` + at + `, "epoch": 3}`},
		"window":             {must(ShuffleWindowsIter(Iterate(m), 4, 1)), `{"parent_window_start_state": ` + at + `, "window_index": -1, "pos_in_window": 0}`},
		"place in a window":  {must(ShuffleWindowsIter(Iterate(m), 4, 1)), `{"parent_window_start_state": ` + at + `, "window_index": 1, "pos_in_window": 5}`},
		"window's parent":    {must(ShuffleWindowsIter(Iterate(m), 4, 1)), `{"parent_window_start_state": {}, "window_index": 1, "pos_in_window": 1}`},
		"fewer to mix":       {must(MixIter([]Iter[int64]{Iterate(m)}, nil)), `{"parents": [], "index": 0, "stop": false}`},
		"parent of a mix":    {must(MixIter([]Iter[int64]{Iterate(m)}, nil)), `{"parents": [{}], "index": 0, "stop": false}`},
		"other slots":        {must(Interleave([]Iter[int64]{Iterate(m)}, 1)), `{"next_index_in_cycle": 0, "next_index_in_datasets": 0, "iterators_in_use_indices": [], "iterators_in_use_states": [], "exhausted": []}`},
		"iterator of a slot": {must(Interleave([]Iter[int64]{Iterate(m)}, 1)), `{"next_index_in_cycle": 0, "next_index_in_datasets": 1, "iterators_in_use_indices": [1], "iterators_in_use_states": [` + at + `], "exhausted": [0]}`},
		"state of a slot":    {must(Interleave([]Iter[int64]{Iterate(m)}, 1)), `{"next_index_in_cycle": 0, "next_index_in_datasets": 1, "iterators_in_use_indices": [0], "iterators_in_use_states": [{}], "exhausted": [0]}`},
	} {
		if err := c.it.SetState(json.RawMessage(c.state)); !errors.Is(err, errs.Corrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Whatever a state says, an iterator refuses it or goes on and ends.
func FuzzSetState(f *testing.F) {
	build := func() Iter[int64] {
		windows, err := ShuffleWindowsIter(Iterate(Range(0, 9, 1)), 4, 7)
		if err != nil {
			f.Fatal(err)
		}
		limited, err := LimitIter(windows, 8)
		if err != nil {
			f.Fatal(err)
		}
		between, err := Interleave([]Iter[int64]{limited, Iterate(Range(0, 5, 1))}, 2)
		if err != nil {
			f.Fatal(err)
		}
		mixed, err := MixIter([]Iter[int64]{between, Iterate(Range(0, 6, 1))}, []float64{2, 1})
		if err != nil {
			f.Fatal(err)
		}
		return mixed
	}
	it := build()
	for range 7 {
		f.Add([]byte(it.State()))
		it.Next()
	}
	f.Fuzz(func(t *testing.T, state []byte) {
		it := build()
		if err := it.SetState(state); err != nil {
			if !errors.Is(err, errs.Corrupt) {
				t.Fatal(err)
			}
			return
		}
		if n := len(rest(it)); n > 100 {
			t.Fatalf("%d elements", n)
		}
	})
}

// Random transforms draw the same at an index, whatever came before.
func TestRandomApply(t *testing.T) {
	m := RandomApply(Range(0, 9, 1), "draw", 5, func(x int64, g *numpy.Generator) int64 { return x<<32 + g.Integers(0, 1<<30) })
	a, _ := m.At(4)
	m.At(7)
	b, _ := m.At(4)
	next, _ := m.At(13)
	if a != b || a>>32 != 4 || next>>32 != 4 || next == a {
		t.Errorf("%x, %x, in the next epoch %x", a, b, next)
	}
}

package grain

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
)

type features = map[string][]int64

// sized returns an iterator over elements of the given sizes. Feature j in the order of names of
// element i has the values 100*(i+1) + 10*j and following.
func sized(names string, sizes ...[]int) Iter[features] {
	elements := make([]features, len(sizes))
	for i := range sizes {
		elements[i] = features{}
		for j, name := range strings.Split(names, " ") {
			values := make([]int64, sizes[i][j])
			for k := range values {
				values[k] = int64(100*(i+1) + 10*j + k)
			}
			elements[i][name] = values
		}
	}
	return Iterate(Source("sized", elements))
}

// one has a size for each element with one feature.
func one(sizes ...int) [][]int {
	all := make([][]int, len(sizes))
	for i, n := range sizes {
		all[i] = []int{n}
	}
	return all
}

// texts are the values and segments of each element.
func texts(it Iter[Packed[int64]]) []string {
	var all []string
	for p, ok := it.Next(); ok && len(all) < 100; p, ok = it.Next() {
		all = append(all, fmt.Sprintf("%v %v", p.Values, p.Segments))
	}
	return all
}

type maker = func(Iter[features], PackOptions[int64]) (PackedIter[int64], error)

func packer(t interface{ Fatal(...any) }, it PackedIter[int64], err error) PackedIter[int64] {
	if err != nil {
		t.Fatal(err)
	}
	return it
}

// Grain gave these elements and the state at the end.
func TestPackersAsRecorded(t *testing.T) {
	first, best := FirstFitPackIter[int64], BestFitPackIter[int64]
	pack := func(of maker, it Iter[features], o PackOptions[int64]) PackedIter[int64] {
		p, err := of(it, o)
		return packer(t, p, err)
	}
	split := func(it Iter[features], o SplitOptions[int64]) PackedIter[int64] {
		p, err := ConcatThenSplitIter(it, o)
		return packer(t, p, err)
	}
	same := Source("same", []features{{"t": {9, 9}}, {"t": {2, 2}}, {"t": {5, 5}}, {"t": {2, 2}}, {"t": {0, 0}}})
	ones := features{"t": {1, 2, 3}, "u": {5}}
	three, mixed := map[string]int{"t": 3}, one(0, 0, 0, 1, 1, 1)
	for name, c := range map[string]struct {
		it    PackedIter[int64]
		want  []string
		state string
	}{
		"a rest that is cut at a wrong place": {
			split(sized("t u", []int{10, 5}, []int{2, 1}), SplitOptions[int64]{Lengths: map[string]int{"t": 4, "u": 3}}), []string{
				"map[t:[100 101 102 103] u:[110 111 112]] map[t:[1 1 1 1] u:[1 1 1]]",
				"map[t:[104 105 106 107] u:[0 0 0]] map[t:[1 1 1 1] u:[0 0 0]]",
				"map[t:[108 109 200 201] u:[112 113 114]] map[t:[1 1 2 2] u:[1 1 1]]",
				"map[t:[0 0 0 0] u:[210 0 0]] map[t:[0 0 0 0] u:[1 0 0]]"},
			`{"parent_state":{"next_index": 1},"remainder_slices":{"t":[2,2],"u":[0,1]},"elements_from_buffer_after_checkpoint":1}`},
		"BOS": {
			split(sized("t", one(3, 4, 0, 2)...), SplitOptions[int64]{Lengths: map[string]int{"t": 5}, BOS: map[string]int64{"t": -1}}), []string{
				"map[t:[-1 101 102 -1 201]] map[t:[1 1 1 2 2]]", "map[t:[-1 203 -1 401 0]] map[t:[1 1 3 3 0]]"},
			`{"parent_state":{"next_index": 1},"remainder_slices":{"t":[2,4]},"elements_from_buffer_after_checkpoint":1}`},
		"groups": {
			pack(first, Iterate(same), PackOptions[int64]{Lengths: three, Bins: 4, Shuffle: true, GroupBy: "t", Seed: 1}), []string{
				"map[t:[2 2 0]] map[t:[1 1 0]]", "map[t:[2 2 0]] map[t:[1 1 0]]", "map[t:[5 5 0]] map[t:[1 1 0]]",
				"map[t:[9 9 0]] map[t:[1 1 0]]", "map[t:[0 0 0]] map[t:[1 1 0]]"},
			`{"parent":{"next_index": 5},"next_row":0,"counter":5}`},
		"one sequence for each bin, first fit": {
			pack(first, sized("t", mixed...), PackOptions[int64]{Lengths: three, Bins: 2, MaxSequences: 1}), []string{
				"map[t:[0 0 0]] map[t:[0 0 0]]", "map[t:[0 0 0]] map[t:[0 0 0]]", "map[t:[0 0 0]] map[t:[0 0 0]]",
				"map[t:[400 0 0]] map[t:[1 0 0]]", "map[t:[500 0 0]] map[t:[1 0 0]]", "map[t:[600 0 0]] map[t:[1 0 0]]"},
			`{"parent":{"next_index": 6},"next_row":0,"counter":6}`},
		"one sequence for each bin, best fit": {
			pack(best, sized("t", mixed...), PackOptions[int64]{Lengths: three, Bins: 2, MaxSequences: 1}), []string{
				"map[t:[0 0 0]] map[t:[0 0 0]]", "map[t:[400 0 0]] map[t:[1 0 0]]",
				"map[t:[500 0 0]] map[t:[1 0 0]]", "map[t:[600 0 0]] map[t:[1 0 0]]"},
			`{"parent":{"next_index": 6},"next_row":0,"counter":4}`},
		"alignment and padding": {
			pack(first, Iterate(Source("same", []features{ones, ones, ones})), PackOptions[int64]{Lengths: map[string]int{"t": 10, "u": 3}, Bins: 2,
				Padding: map[string]int64{"t": -1, "u": -2}, Alignments: map[string]int{"t": 4}}), []string{
				"map[t:[1 2 3 -1 1 2 3 -1 -1 -1] u:[5 5 -2]] map[t:[1 1 1 0 2 2 2 0 0 0] u:[1 2 0]]",
				"map[t:[1 2 3 -1 -1 -1 -1 -1 -1 -1] u:[5 -2 -2]] map[t:[1 1 1 0 0 0 0 0 0 0] u:[1 0 0]]"},
			`{"parent":{"next_index": 3},"next_row":0,"counter":2}`},
	} {
		got := texts(c.it)
		if d := cmp.Diff(c.want, got); d != "" || c.it.Err() != nil {
			t.Errorf("%s: %v (-Grain +got):\n%s", name, c.it.Err(), d)
		}
		if state := string(c.it.State()); strings.ReplaceAll(state, ": ", ":") != strings.ReplaceAll(c.state, ": ", ":") {
			t.Errorf("%s: state %s, want %s", name, state, c.state)
		}
	}
}

// A meta feature without a length lists one entry for each element, and has no segments.
func TestMetaFeatures(t *testing.T) {
	it, err := FirstFitPackIter(sized("m t", []int{1, 2}, []int{2, 1}),
		PackOptions[int64]{Lengths: map[string]int{"t": 3}, Bins: 2, Meta: []string{"m"}})
	p, ok := packer(t, it, err).Next()
	d := cmp.Diff(map[string][][]int64{"m": {{100}, {200, 201}}}, p.Meta)
	if !ok || d != "" || len(p.Segments) != 1 || len(p.Values) != 1 {
		t.Errorf("%t, %v (-want +got):\n%s", ok, p, d)
	}
	it, err = ConcatThenSplitIter(sized("m t", []int{1, 4}, []int{1, 2}), SplitOptions[int64]{
		Lengths: map[string]int{"m": 3, "t": 3}, Meta: []string{"m"}})
	// The meta feature of the element that is split comes with both parts.
	want := []string{"map[m:[100 0 0] t:[110 111 112]] map[t:[1 1 1]]",
		"map[m:[100 200 0] t:[113 210 211]] map[t:[1 2 2]]"}
	if d = cmp.Diff(want, texts(packer(t, it, err))); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// An element that cannot be packed ends the iterator with an error, and a state clears the error.
func TestPackersRefuseElements(t *testing.T) {
	lengths := map[string]int{"t": 5}
	packs := func(of maker, names string, meta []string, sizes ...[]int) PackedIter[int64] {
		it, err := of(sized(names, sizes...), PackOptions[int64]{Lengths: lengths, Bins: 1, Meta: meta})
		return packer(t, it, err)
	}
	splits := func(names string, o SplitOptions[int64], sizes ...[]int) PackedIter[int64] {
		it, err := ConcatThenSplitIter(sized(names, sizes...), o)
		return packer(t, it, err)
	}
	both := map[string]int{"t": 5, "u": 1}
	for name, c := range map[string]struct {
		it     PackedIter[int64]
		before int // elements that come before
		text   string
	}{
		"too long for first fit": {packs(FirstFitPackIter[int64], "t", nil, one(4, 3, 6)...), 1, "at most 5"},
		"too long for best fit":  {packs(BestFitPackIter[int64], "t", nil, one(4, 3, 6)...), 1, "at most 5"},
		"no feature":             {packs(FirstFitPackIter[int64], "u", nil, one(4)...), 0, "no such feature"},
		"no meta feature":        {packs(FirstFitPackIter[int64], "t", []string{"m"}, one(4)...), 0, "meta"},
		"another feature":        {splits("t u", SplitOptions[int64]{Lengths: lengths}, []int{1, 1}), 0, "features"},
		"a long meta feature":    {splits("t u", SplitOptions[int64]{Lengths: both, Meta: []string{"u"}}, []int{5, 1}, []int{1, 2}), 1, "meta"},
		"a BOS behind the end":   {splits("t", SplitOptions[int64]{Lengths: lengths, BOS: map[string]int64{"t": 1}}, one(5, 0)...), 0, "at most 5"},
		"a scalar of two":        {splits("t u", SplitOptions[int64]{Lengths: both, Scalars: []string{"u"}}, []int{1, 2}), 0, "scalar"},
		"an element without end": {splits("t u", SplitOptions[int64]{Lengths: map[string]int{"t": 1, "u": 6}}, []int{1, 0}, []int{5, 13}), 2, "without end"},
		"no space for a scalar":  {splits("t u", SplitOptions[int64]{Lengths: both, Scalars: []string{"u"}}, []int{1, 1}, []int{1, 1}), 0, "at most 1"},
	} {
		start := c.it.State()
		got, err := len(texts(c.it)), c.it.Err()
		if got != c.before || !errors.Is(err, errs.Invalid) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %d elements, want %d; %v", name, got, c.before, err)
		}
		if _, ok := c.it.Next(); ok {
			t.Errorf("%s: goes on after the error", name)
		}
		if err := c.it.SetState(start); err != nil || c.it.Err() != nil {
			t.Errorf("%s: SetState: %v, %v", name, err, c.it.Err())
		}
		if got := len(texts(c.it)); got != c.before || c.it.Err() == nil {
			t.Errorf("%s, again: %d elements, want %d; %v", name, got, c.before, c.it.Err())
		}
	}
	words, err := FirstFitPackIter(Iterate(Source("words", []map[string][]string{{"t": {"a"}}})),
		PackOptions[string]{Lengths: lengths, Bins: 1, Shuffle: true, GroupBy: "t"})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := words.Next(); ok || !errors.Is(words.Err(), errs.Invalid) {
		t.Errorf("groups of words: %t, %v", ok, words.Err())
	}
}

func TestPackOptionsRefused(t *testing.T) {
	l := map[string]int{"t": 5}
	for name, o := range map[string]PackOptions[int64]{
		"no lengths":        {Bins: 1},
		"a length of 0":     {Lengths: map[string]int{"t": 0}, Bins: 1},
		"no bins":           {Lengths: l},
		"sequences":         {Lengths: l, Bins: 1, MaxSequences: -1},
		"unknown alignment": {Lengths: l, Bins: 1, Alignments: map[string]int{"u": 1}},
		"alignment of 0":    {Lengths: l, Bins: 1, Alignments: map[string]int{"t": 0}},
		"unknown padding":   {Lengths: l, Bins: 1, Padding: map[string]int64{"u": 1}},
		"unknown group":     {Lengths: l, Bins: 1, Shuffle: true, GroupBy: "u"},
	} {
		for _, of := range []maker{FirstFitPackIter[int64], BestFitPackIter[int64]} {
			if _, err := of(sized("t"), o); !errors.Is(err, errs.Invalid) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	for name, o := range map[string]SplitOptions[int64]{
		"no lengths":            {},
		"unknown meta feature":  {Lengths: l, Meta: []string{"u"}},
		"unknown BOS":           {Lengths: l, BOS: map[string]int64{"u": 1}},
		"BOS of a meta feature": {Lengths: l, Meta: []string{"t"}, BOS: map[string]int64{"t": 1}},
		"unknown padding":       {Lengths: l, Padding: map[string]int64{"u": 1}},
	} {
		if _, err := ConcatThenSplitIter(sized("t"), o); !errors.Is(err, errs.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// drawSizes draws the sizes of elements with one feature of at most most values.
func drawSizes(t *rapid.T, most int) []int {
	return rapid.SliceOfN(rapid.IntRange(0, most), 0, 30).Draw(t, "sizes")
}

// Packers deliver every value once, whole elements in one bin each, and what is split in its order.
func TestPackersKeepEveryValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 9).Draw(t, "length")
		how := rapid.IntRange(0, 2).Draw(t, "how")
		sizes := drawSizes(t, n)
		if how == 2 {
			sizes = drawSizes(t, 3*n)
		}
		o := PackOptions[int64]{Lengths: map[string]int{"t": n}, Bins: rapid.IntRange(1, 4).Draw(t, "bins"),
			Shuffle: rapid.Bool().Draw(t, "shuffle"), MaxSequences: rapid.IntRange(0, 3).Draw(t, "most")}
		it, err := ConcatThenSplitIter(sized("t", one(sizes...)...), SplitOptions[int64]{Lengths: o.Lengths})
		switch how {
		case 0:
			it, err = FirstFitPackIter(sized("t", one(sizes...)...), o)
		case 1:
			it, err = BestFitPackIter(sized("t", one(sizes...)...), o)
		}
		it = packer(t, it, err)
		var got, want []int64
		for i, size := range sizes {
			for k := range size {
				want = append(want, int64(100*(i+1)+k))
			}
		}
		for p, ok := it.Next(); ok; p, ok = it.Next() {
			values, segments, positions := p.Values["t"], p.Segments["t"], p.Positions["t"]
			for i, segment := range segments {
				if segment == 0 {
					if values[i] != 0 || positions[i] != 0 {
						t.Fatalf("padding %d at position %d", values[i], positions[i])
					}
					continue
				}
				got = append(got, values[i])
				if whole := values[i] % 100; how != 2 && int64(positions[i]) != whole {
					t.Fatalf("value %d has position %d", values[i], positions[i])
				}
			}
		}
		if how != 2 {
			slices.Sort(got)
		}
		if it.Err() != nil || !slices.Equal(got, want) {
			t.Fatalf("got %v, %v, want %v", got, it.Err(), want)
		}
	})
}

func TestPackerStatesRefused(t *testing.T) {
	first, err := FirstFitPackIter(sized("t", one(3, 3, 3, 3)...),
		PackOptions[int64]{Lengths: map[string]int{"t": 5}, Bins: 3})
	first = packer(t, first, err)
	split, err := ConcatThenSplitIter(sized("t", one(3, 3, 7)...), SplitOptions[int64]{Lengths: map[string]int{"t": 5}})
	split = packer(t, split, err)
	long, err := FirstFitPackIter(sized("t", one(3, 9)...), PackOptions[int64]{Lengths: map[string]int{"t": 5}, Bins: 3})
	long = packer(t, long, err)
	cut := func(next int, slices string, taken int) string {
		return fmt.Sprintf(`{"parent_state": {"next_index": %d}, "remainder_slices": %s,
			"elements_from_buffer_after_checkpoint": %d}`, next, slices, taken)
	}
	for name, c := range map[string]struct {
		it    PackedIter[int64]
		state string
	}{
		"another iterator":       {first, `{"next_index": 1}`},
		"no parent":              {first, `{"next_row": 0, "counter": 0}`},
		"a row behind the bins":  {first, `{"parent": {"next_index": 0}, "next_row": 3, "counter": 3}`},
		"a row of the last bins": {first, `{"parent": {"next_index": 3}, "next_row": 1, "counter": 4}`},
		"a row at the end":       {first, `{"parent": {"next_index": 4}, "next_row": 1, "counter": 5}`},
		"a negative row":         {first, `{"parent": {"next_index": 0}, "next_row": -1, "counter": 0}`},
		"fewer than the row":     {first, `{"parent": {"next_index": 0}, "next_row": 2, "counter": 1}`},
		"an element too long":    {long, `{"parent": {"next_index": 0}, "next_row": 1, "counter": 1}`},
		"split's parent":         {split, cut(9, `{"t": [-1, -1]}`, 0)},
		"no slices":              {split, cut(0, `{}`, 0)},
		"half a slice":           {split, cut(0, `{"t": [1]}`, 0)},
		"a slice of another":     {split, cut(0, `{"t": [0, 1], "u": [0, 1]}`, 0)},
		"a slice too long":       {split, cut(0, `{"t": [0, 4]}`, 0)},
		"a slice backwards":      {split, cut(0, `{"t": [2, 1]}`, 0)},
		"a rest of nothing":      {split, cut(3, `{"t": [0, 1]}`, 0)},
		"more than is ready":     {split, cut(0, `{"t": [-1, -1]}`, 2)},
		"less than nothing":      {split, cut(0, `{"t": [-1, -1]}`, -1)},
		"some at the end":        {split, cut(3, `{"t": [-1, -1]}`, 1)},
	} {
		if err := c.it.SetState(json.RawMessage(c.state)); !errors.Is(err, errs.Corrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Whatever a state says, a packer refuses it or goes on and ends.
func FuzzSetPackerState(f *testing.F) {
	build := func() []PackedIter[int64] {
		sizes := one(3, 1, 4, 1, 5, 0, 2, 5, 3)
		o := PackOptions[int64]{Lengths: map[string]int{"t": 5}, Bins: 2, Shuffle: true}
		first, err := FirstFitPackIter(sized("t", sizes...), o)
		best, errBest := BestFitPackIter(sized("t", sizes...), o)
		two := make([][]int, len(sizes))
		for i, size := range sizes {
			two[i] = []int{size[0], size[0] * 5 % 7}
		}
		split, errSplit := ConcatThenSplitIter(sized("t u", two...),
			SplitOptions[int64]{Lengths: map[string]int{"t": 4, "u": 2}, PassFull: true})
		if err := errors.Join(err, errBest, errSplit); err != nil {
			f.Fatal(err)
		}
		return []PackedIter[int64]{first, best, split}
	}
	for _, it := range build() {
		for range 6 {
			f.Add([]byte(it.State()))
			it.Next()
		}
	}
	f.Fuzz(func(t *testing.T, state []byte) {
		for _, it := range build() {
			if err := it.SetState(state); err != nil {
				if !errors.Is(err, errs.Corrupt) {
					t.Fatal(err)
				}
				continue
			}
			if n := len(texts(it)); n > 50 || it.Err() != nil && !strings.Contains(it.Err().Error(), "without end") {
				t.Fatalf("%d elements, %v", n, it.Err())
			}
		}
	})
}

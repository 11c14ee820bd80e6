package order

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
)

// drawnTables are the tables that a drawn order refers to.
type drawnTables []Table

// drawOrder draws an order of any kind, with other orders below it, of at most 60 ids.
func (d *drawnTables) drawOrder(t *rapid.T, depth int) Order {
	kinds := []string{"sequential", "cycle", "permutation", "shuffled", "windows"}
	if depth > 0 {
		kinds = append(kinds, "mixture", "packs", "buckets", "selected", "filtered", "segments", "repeat", "rank", "shard", "sharded", "old")
	}
	n := rapid.Int64Range(1, 60).Draw(t, "n")
	seed, domain := rapid.Uint64().Draw(t, "seed"), rapid.SampledFrom([]string{"", "loader", "a (b); c of d", `"\` + "\n"}).Draw(t, "domain")
	below := func() Order { return d.drawOrder(t, depth-1) }
	var o Order
	var err error
	switch rapid.SampledFrom(kinds).Draw(t, "kind") {
	case "sequential":
		return Sequential(n)
	case "cycle":
		return NewCycle(n)
	case "permutation":
		return NewPermutation(n, seed)
	case "shuffled":
		return NewShuffled(n, seed, domain)
	case "windows":
		sizes := rapid.SliceOfN(rapid.Int64Range(0, 9), 0, 7).Draw(t, "sizes")
		if len(sizes) > 0 && rapid.Bool().Draw(t, "equal") {
			for i := range sizes {
				sizes[i] = sizes[0]
			}
			sizes[len(sizes)-1] = sizes[0] / 2
		} else {
			*d = append(*d, sizes)
		}
		o, err = NewWindows(sizes, rapid.Int64Range(1, 4).Draw(t, "window"), seed, domain)
	case "mixture":
		var sources []Source
		weight := rapid.SampledFrom([]float64{0.1, 1, 3, 0.62, 1e21, 1.0 / 3})
		for range rapid.IntRange(1, 4).Draw(t, "sources") {
			if s := (Source{Order: below(), Weight: weight.Draw(t, "weight"), Samples: 60, Name: rapid.SampledFrom([]string{"", "code"}).Draw(t, "name")}); filled(s.Order) {
				sources = append(sources, s)
			}
		}
		if len(sources) == 0 {
			sources = []Source{{Order: NewCycle(n), Weight: 1}}
		}
		var phases []Phase
		if rapid.Bool().Draw(t, "phase") {
			phases = append(phases, Phase{From: 7, Weights: slices.Repeat([]float64{2}, len(sources))})
		}
		m, failed := NewMixture(sources, Exhaustion(rapid.IntRange(0, int(CycleOn)).Draw(t, "policy")), phases...)
		if o, err = m, failed; failed == nil && rapid.Bool().Draw(t, "extended") {
			more, failed := m.Extend(1, Extension{Sources: []Source{{Order: NewShuffled(n, seed, domain), Weight: 9}}})
			if failed == nil { // the source that was added grows
				more, failed = more.Extend(4, Extension{Grown: []Growth{{Source: len(sources), Order: NewShuffled(n+2, seed, domain)}}})
			}
			if failed == nil {
				o = more
			}
		}
	case "packs", "buckets":
		lengths := rapid.SliceOfN(rapid.Int32Range(0, 50), 60, 60).Draw(t, "lengths")
		table := make(Table, len(lengths))
		for i, l := range lengths {
			table[i] = int64(l)
		}
		*d = append(*d, table)
		l, _ := NewLengths(lengths)
		if rapid.Bool().Draw(t, "packs") {
			o, err = NewPacks(below(), l, PackOptions{Capacity: 64, Block: 32, Padded: rapid.Bool().Draw(t, "padded")})
		} else {
			o, err = NewBuckets(below(), l, rapid.SampledFrom([][]int64{nil, {10}, {10, 20, 40}}).Draw(t, "bounds"), 4, 32)
		}
	case "selected":
		ids := rapid.SliceOfN(rapid.Int64Range(0, 59), 1, 20).Draw(t, "ids")
		s, failed := SelectIDs(60, ids)
		*d, err = append(*d, ids), failed
		o = NewSelected(NewShuffled(s.Count(), seed, domain), s)
	case "filtered":
		mask := make(Table, n)
		for i := range mask {
			mask[i] = rapid.Int64Range(0, 1).Draw(t, "selected")
		}
		*d = append(*d, mask)
		o, err = NewFiltered(NewShuffled(n, seed, domain), NewSelection(n, func(id int64) bool { return mask[id] == 1 }))
	case "segments":
		o, err = NewSegments(Segment{NewCycle(n), 3, 10}, Segment{below(), 0, 1}, Segment{Order: below(), First: 1})
	case "repeat":
		o, err = Repeat(below(), rapid.Int64Range(0, 3).Draw(t, "epochs"))
	case "rank":
		var b *Batches
		if b, err = NewBatches(below(), 4, Tail(rapid.IntRange(0, int(Pad)).Draw(t, "tail"))); err == nil {
			o, err = NewRank(b, 1, 3)
		}
	case "shard":
		o, err = NewShard(below(), 4, 1, 3)
	case "sharded":
		o, err = NewSharded(NewShuffled(n, seed, domain), Shards{Samples: n, Count: min(n, 3), Pad: 4, Stick: rapid.Bool().Draw(t, "stick")})
	case "old":
		o = At(below(), 1)
	}
	if err != nil {
		return NewCycle(n) // such a combination is refused
	}
	return o
}

func filled(o Order) bool {
	n, ends := o.Len()
	return (!ends || n > 0) && o.Fill(0, make([]int64, 1)) == 1
}

// Parse reads every order back from its description and tables. The result has the same ids at all
// positions.
func TestParseReadsEveryOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var tables drawnTables
		o := tables.drawOrder(t, 3)
		slices.Reverse(tables)
		got, err := Parse(o.String(), tables...)
		if err != nil || got.String() != o.String() {
			t.Fatalf("%s: %v, %v", o, got, err)
		}
		n, ends := o.Len()
		if m, e := got.Len(); m != n || e != ends {
			t.Fatalf("%s: %d %t, want %d %t", o, m, e, n, ends)
		}
		for _, pos := range []int64{0, 5, 59, 1000} {
			var want, have [40]int64
			a, b := o.Fill(pos, want[:]), got.Fill(pos, have[:])
			if a != b || want != have {
				t.Fatalf("%s at %d: %v, want %v", o, pos, have[:b], want[:a])
			}
		}
	})
}

// The error names all missing tables, and the contents of each.
func TestParseNamesMissingTables(t *testing.T) {
	l, _ := NewLengths([]int32{3, 1, 2, 5, 4, 1})
	w, _ := NewWindows([]int64{1, 3, 2}, 2, 7, "x")
	f, _ := NewFiltered(w, NewSelection(6, func(id int64) bool { return id != 2 }))
	m, err := NewMixture([]Source{{Order: f, Weight: 1, Samples: 6}, {Order: w, Weight: 2}}, CycleOn)
	if err != nil {
		t.Fatal(err)
	}
	o, err := NewPacks(m, l, PackOptions{Capacity: 8})
	if err != nil {
		t.Fatal(err)
	}
	tables := []Table{{3, 1, 2, 5, 4, 1}, {1, 3, 2}, {0, 1, 3, 4, 5}}
	for given := range 1 << len(tables) {
		var some []Table
		for i, table := range tables {
			if given>>i&1 == 1 {
				some = append(some, table)
			}
		}
		_, err := Parse(o.String(), some...)
		var m *MissingTables
		if given == 1<<len(tables)-1 {
			if err != nil {
				t.Fatal(err)
			}
			continue
		}
		if !errors.As(err, &m) || !errors.Is(err, errs.Unsupported) || len(m.Tables) != len(tables)-len(some) {
			t.Fatalf("%d given: %v", len(some), err)
		}
		for i, kind := range []string{"lengths", "shards", "selection"} {
			if has := slices.ContainsFunc(m.Tables, func(t MissingTable) bool { return t.Kind == kind && strings.Contains(err.Error(), t.Name) }); has == (given>>i&1 == 1) {
				t.Errorf("%03b given: %s: %v", given, kind, err)
			}
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
		"shuffled(v0 n=3 seed=1 domain=\"\")":   errs.Unsupported,
		"shard(batch=1 rank=2/2 of cycle(n=3))": errs.Invalid,
		"shard(cycle(n=3))":                     errs.Invalid,
		"torchdata.random(n=3)":                 errs.Unsupported,
		"mixture(v1 exhaustion=9 0:[1]; 1 of cycle(n=1))":                                           errs.Invalid,
		"mixture(v1 exhaustion=0 0:[1 1]; 1 of cycle(n=1))":                                         errs.Invalid,
		"mixture(v1 exhaustion=0 0:[NaN]; 1 of cycle(n=1))":                                         errs.Invalid,
		"grown(0:3 of cycle(n=5))":                                                                  errs.Invalid,
		"grown(1:3 2:5 of cycle(n=5))":                                                              errs.Invalid,
		"grown(0:3 0:5 of cycle(n=5))":                                                              errs.Invalid,
		"grown(0:5 1:5 of cycle(n=5))":                                                              errs.Invalid,
		"grown(0:0 1:5 of cycle(n=5))":                                                              errs.Invalid,
		"grown(0:-1 1:5 of cycle(n=5))":                                                             errs.Invalid,
		"grown(0:3 1:4 of cycle(n=5))":                                                              errs.Invalid,
		"grown(0:3 9223372036854775807:5 of cycle(n=5))":                                            errs.Invalid,
		"grown(0:3 1:5 of grown(0:3 1:5 of cycle(n=5)))":                                            errs.Invalid,
		"mixture(v2 exhaustion=0 0:[1]; 5 of grown(0:3 1:5 of sequential(n=5)); ids 0:3 0:2)":       errs.Invalid,
		"mixture(v2 exhaustion=3 0:[1]; 5 of cycle(n=5); ids 0:5)":                                  errs.Invalid,
		"mixture(v2 exhaustion=3 0:[1]; 5 of cycle(n=5); ids 0:3 0:1)":                              errs.Invalid,
		"mixture(v2 exhaustion=3 0:[1]; 5 of cycle(n=5); ids 0:3 0:3)":                              errs.Invalid,
		"mixture(v2 exhaustion=3 0:[1]; 5 of cycle(n=5); ids 0:5 1:1)":                              errs.Invalid,
		"mixture(v2 exhaustion=3 0:[1 1]; 5 of cycle(n=5); 5 of cycle(n=5); ids 1:5 0:3 0:2)":       errs.Invalid,
		"filtered(selection(1/2 hash=0000000000000000) of sequential(n=2))":                         errs.Invalid,
		strings.Repeat("repeat(epochs=1 of ", 100) + strings.Repeat(")", 100):                       errs.Exhausted,
		"windows(v1 shards=9223372036854775807:0 n=9 window=1 seed=1 domain=\"\")":                  errs.Unsupported,
		"buckets(v1 batch=1 block=1 bounds=[9 1] lengths(n=0 hash=0000000000000000) of cycle(n=3))": errs.Unsupported,
	} {
		if o, err := Parse(text); !errors.Is(err, kind) {
			t.Errorf("%q: %v, %v, want %v", text, o, err, kind)
		}
	}
}

// A text of a few bytes cannot take hours or all memory: the search for equal shards is bounded for
// a whole description.
func TestParseIsBounded(t *testing.T) {
	var sources []string
	for i := range 100 {
		sources = append(sources, fmt.Sprintf(`9 of windows(v1 shards=%d:0000000000000001 n=%d window=1 seed=1 domain="")`, 1<<24+i, int64(1)<<60))
	}
	text := "mixture(v1 exhaustion=3 0:[" + strings.TrimSuffix(strings.Repeat("1 ", 100), " ") + "]; " + strings.Join(sources, "; ") + ")"
	p := parser{text: text, found: map[string]any{}, shards: mostShards}
	if _, err := p.order(); err != nil || len(p.missing) != 100 || p.shards < 0 {
		t.Errorf("%v, %d missing, %d left", err, len(p.missing), p.shards)
	}
	text = "grown("
	for i := range mostStages {
		text += fmt.Sprint(i, ":", i+1, " ")
	}
	w, _ := NewWindows(slices.Repeat([]int64{1}, 1<<16), 1, 1, "")
	if _, err := Parse(text + "of " + w.String() + ")"); !errors.Is(err, errs.Exhausted) {
		t.Error(err)
	}
	if _, err := Parse(text + fmt.Sprintf("%d:%d of %s)", mostStages, 1<<16, NewCycle(1<<16))); !errors.Is(err, errs.Exhausted) {
		t.Error(err)
	}
	text = "mixture(v1 exhaustion=3 0:[1]" + strings.Repeat(" 1:[1]", mostWeights) + "; 1 of cycle(n=1))"
	if _, err := Parse(text); !errors.Is(err, errs.Exhausted) {
		t.Error(err)
	}
}

// A description may be any text: an order that was parsed from it has the same description.
func FuzzParse(f *testing.F) {
	f.Add(`shuffled(v1 n=9 seed=7 domain="loader")`)
	f.Add("shard(batch=8 rank=3/5 of cycle(n=100))")
	f.Add("permutation(v1 n=9 key=00000000000000ff)")
	f.Add("mixture(v1 exhaustion=1 0:[7 2 1] 700:[1 1 2]; 5 of cycle(n=5); 3 of sequential(n=3); 2 of sequential(n=2))")
	f.Add("segments(0+3 of cycle(n=3); 1+4 of repeat(epochs=2 of sequential(n=9)))")
	f.Add("rank(1/3 of batches(size=4 tail=pad of cycle(n=9)))")
	f.Add("mixture(v2 exhaustion=3 0:[2 1]; 5 of grown(0:3 4:5 of cycle(n=5)); 3 of cycle(n=3); ids 0:3 1:3 0:2)")
	l, _ := NewLengths([]int32{1, 2, 3})
	for _, o := range []Order{
		&Packs{planned: planned{order: NewCycle(3), block: 8}, lengths: l, options: PackOptions{Capacity: 9, Block: 8, Most: 3}},
		NewSelected(NewCycle(2), NewSelection(3, func(id int64) bool { return id > 0 })),
	} {
		f.Add(o.String())
	}
	f.Fuzz(func(t *testing.T, text string) {
		o, err := Parse(text, Table{1, 2, 3}, Table{1, 2})
		if err == nil && o.String() != text {
			t.Errorf("%q became %q", text, o)
		}
	})
}

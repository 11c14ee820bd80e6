package order_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/proof/ordertest"
)

// endingKinds and endlessKinds are the kinds of orders that a source of a growing mixture may have.
var (
	endingKinds  = []string{"sequential", "permutation"}
	endlessKinds = []string{"cycle", "shuffled", "windows", "packs", "buckets", "selected", "filtered", "repeated"}
)

// orderOfKind is ordertest.OfKind.
func orderOfKind(t fatal, kind string, n int64, seed uint64) (order.Order, []order.Table) {
	o, tables, err := ordertest.OfKind(kind, n, seed)
	if err != nil {
		t.Fatal(err)
	}
	return o, tables
}

type fatal interface {
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// grownModel computes a mixture of growing sources sample by sample: each source ends its present
// pass with the samples that the pass began with.
type grownModel struct {
	t       fatal
	sources []modelSource
	blocks  [][3]int64 // source, first id in it, number
}

type modelSource struct {
	kind    string
	seed    uint64
	samples int64
	pass    int64
	left    []int64 // of the pass
}

func (m *grownModel) add(kind string, seed uint64, n int64) {
	m.blocks = append(m.blocks, [3]int64{int64(len(m.sources)), 0, n})
	m.sources = append(m.sources, modelSource{kind: kind, seed: seed, samples: n, pass: -1})
}

func (m *grownModel) grow(source int, n int64) {
	s := &m.sources[source]
	m.blocks = append(m.blocks, [3]int64{int64(source), s.samples, n - s.samples})
	s.samples = n
}

// next returns the id that the mixture draws next from a source.
func (m *grownModel) next(source int) int64 {
	s := &m.sources[source]
	if len(s.left) == 0 {
		s.pass++
		o, _ := orderOfKind(m.t, s.kind, s.samples, s.seed)
		if e, ok := o.(order.Epochs); ok {
			s.left = make([]int64, e.EpochLen())
			o.Fill(s.pass*e.EpochLen(), s.left)
		} else {
			n, _ := o.Len()
			s.left = make([]int64, n)
			o.Fill(0, s.left)
		}
	}
	own := s.left[0]
	s.left = s.left[1:]
	id := int64(0)
	for _, b := range m.blocks {
		if b[0] == int64(source) && own >= b[1] && own < b[1]+b[2] {
			return id + own - b[1]
		}
		id += b[2]
	}
	m.t.Fatalf("source %d has no sample %d", source, own)
	return 0
}

// A source of a mixture that gets more samples is unchanged up to the end of its present pass, and
// has all samples in later passes. Nothing changes before the position of the extension, and no id
// changes. Each earlier mixture is named, with the position up to which it is the same.
func TestGrownSources(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kinds := slices.Concat(endingKinds, endlessKinds)
		policy := rapid.SampledFrom([]order.Exhaustion{order.CycleOn, order.StopFirst, order.DropEnded}).Draw(t, "policy")
		if policy != order.CycleOn {
			kinds = endlessKinds
		}
		model := &grownModel{t: t}
		var tables []order.Table
		draw := func(name string) order.Source {
			kind, n, seed := rapid.SampledFrom(kinds).Draw(t, name), rapid.Int64Range(2, 12).Draw(t, name+" samples"), uint64(len(model.sources))
			model.add(kind, seed, n)
			o, more := orderOfKind(t, kind, n, seed)
			tables = append(tables, more...)
			return order.Source{Order: o, Weight: rapid.SampledFrom([]float64{1, 2, .5}).Draw(t, name+" weight"), Samples: n}
		}
		var list []order.Source
		for i := range rapid.IntRange(1, 3).Draw(t, "sources") {
			list = append(list, draw(fmt.Sprint("source ", i)))
		}
		weights := func(name string) []float64 {
			return rapid.SliceOfN(rapid.SampledFrom([]float64{1, 3, .25}), len(model.sources), len(model.sources)).Draw(t, name)
		}
		m, err := order.NewMixture(list, policy, order.Phase{From: 40, Weights: weights("phase")})
		if err != nil {
			t.Fatal(err)
		}
		var want []int64
		play := func(to int64) {
			for pos := int64(len(want)); pos < to; pos++ {
				source, _, _ := m.At(pos)
				want = append(want, model.next(source))
			}
		}
		was := []*order.Mixture{m}
		from := int64(0)
		for leg := range rapid.IntRange(1, 3).Draw(t, "extensions") {
			from += rapid.Int64Range(0, 25).Draw(t, fmt.Sprint("from ", leg))
			from = max(from, 1)
			play(from)
			var e order.Extension
			for i := range sourcesIn(m) {
				if rapid.Bool().Draw(t, fmt.Sprint(leg, " source ", i, " grows")) {
					s := &model.sources[i]
					n := s.samples + rapid.Int64Range(1, 6).Draw(t, fmt.Sprint("by ", i))
					o, more := orderOfKind(t, s.kind, n, s.seed)
					tables = append(tables, more...)
					e.Grown = append(e.Grown, order.Growth{Source: i, Order: o, Samples: n})
					model.grow(i, n)
				}
			}
			if rapid.Bool().Draw(t, fmt.Sprint(leg, " another source")) || len(e.Grown) == 0 {
				e.Sources = append(e.Sources, draw(fmt.Sprint("source ", len(model.sources))))
			}
			if rapid.Bool().Draw(t, fmt.Sprint(leg, " phase")) {
				later := from + rapid.Int64Range(0, 9).Draw(t, fmt.Sprint(leg, " later"))
				e.Phases = append(e.Phases, order.Phase{From: later, Weights: weights(fmt.Sprint(leg, " weights"))})
			}
			if m, err = m.Extend(from, e); err != nil {
				t.Fatalf("%v\n%s", err, was[len(was)-1])
			}
			was = append(was, m)
		}
		play(from + 90)
		if diff := cmp.Diff(want, idsUpTo(m, int64(len(want)))); diff != "" {
			t.Fatalf("%s\n%s", diff, m)
		}
		checkGrown(t, m, was[:len(was)-1], want, tables)
	})
}

// checkGrown checks the ids of a mixture that grew: read from any position, parsed from its
// description, and compared with each earlier form of the mixture.
func checkGrown(t *rapid.T, m *order.Mixture, was []*order.Mixture, want []int64, tables []order.Table) {
	n := len(want)
	for range 3 {
		pos := rapid.IntRange(0, n).Draw(t, "pos")
		got := make([]int64, rapid.IntRange(0, n-pos).Draw(t, "block"))
		if m.Fill(int64(pos), got); !slices.Equal(got, want[pos:pos+len(got)]) {
			t.Fatalf("from %d: %v, want %v\n%s", pos, got, want[pos:pos+len(got)], m)
		}
	}
	slices.Reverse(tables)
	for _, v := range []int{order.Version, 1} {
		as := order.At(m, v)
		parsed, err := order.Parse(as.String(), tables...)
		if err != nil {
			t.Fatalf("%v\n%s", err, as)
		}
		if diff := cmp.Diff(idsUpTo(as, 150), idsUpTo(parsed, 150)); diff != "" || parsed.String() != as.String() {
			t.Fatalf("%s\n%s\n%s", diff, as, parsed)
		}
		for _, earlier := range was {
			old := order.At(earlier, v)
			for _, o := range []order.Order{m, as, parsed} {
				// The notes of Extend are neither in the description nor in another version.
				origins := order.Origins(o)
				named := slices.ContainsFunc(origins, func(o order.Origin) bool { return o.Description == old.String() })
				if v == order.Version && o == m && !named {
					t.Fatalf("%s\ndoes not name\n%s", o, old)
				}
				for _, origin := range origins {
					if k := min(origin.Until, 150); origin.Description == old.String() {
						if diff := cmp.Diff(idsUpTo(old, k), idsUpTo(o, k)); diff != "" {
							t.Fatalf("until %d: %s\n%s\n%s", origin.Until, diff, old, o)
						}
					}
				}
			}
		}
	}
}

// The description of a mixture whose sources only grew shows its earlier forms, so that it accepts
// the state of any earlier form, under any version of this package.
func TestGrownSourcesShowWhatTheyWere(t *testing.T) {
	build := func(version int) (was []order.Order, is *order.Mixture) {
		list := []order.Source{{Order: order.NewShuffled(7, 1, "a"), Weight: 1, Name: "web"}, {Order: order.NewPermutation(5, 2), Weight: 2}}
		m, err := order.NewMixture(list, order.CycleOn)
		if err != nil {
			t.Fatal(err)
		}
		for i, g := range [][]order.Growth{
			{{Source: 0, Order: order.NewShuffled(9, 1, "a")}},
			{{Source: 0, Order: order.NewShuffled(12, 1, "a")}, {Source: 1, Order: order.NewPermutation(8, 2)}},
		} {
			was = append(was, order.At(m, version))
			if m, err = m.Extend(int64(10+30*i), order.Extension{Grown: g}); err != nil {
				t.Fatal(err)
			}
		}
		return was, m
	}
	for _, version := range []int{1, order.Version} {
		was, m := build(version)
		is := order.At(m, version)
		const want = "; 12 of grown(0:7 1:9 2:12 of "
		if got := is.String(); !strings.Contains(got, want) || !strings.HasSuffix(got, "; ids 0:7 1:5 0:2 0:3 1:3)") {
			t.Errorf("%s", got)
		}
		for i, o := range was {
			// Pass 1 over source 0 begins with its index 7 at position 22, and pass 6 over source 1,
			// before pass 2 over source 0, with its index 30.
			until := []int64{22, 45}[i]
			if !slices.Contains(order.Origins(is), order.Origin{Description: o.String(), Until: until}) {
				t.Errorf("version %d: %s\nis not shown up to %d by\n%+v", version, o, until, order.Origins(is))
			}
			a, b := idsUpTo(o, until+1), idsUpTo(is, until+1)
			if !slices.Equal(a[:until], b[:until]) || version == order.Version && a[until] == b[until] {
				t.Errorf("version %d: %v, want %v up to %d", version, b, a, until)
			}
		}
	}
}

// Extend refuses a change that is not growth. The error names the source and the fault.
func TestGrowthRefuses(t *testing.T) {
	nested, err := order.NewMixture([]order.Source{{Order: order.NewCycle(4), Weight: 1}}, order.CycleOn)
	if err != nil {
		t.Fatal(err)
	}
	list := []order.Source{{Order: order.NewShuffled(7, 1, "a"), Weight: 1}, {Order: order.NewPermutation(5, 2), Weight: 1},
		{Order: nested, Weight: 1, Samples: 4}}
	nine := order.Growth{Source: 0, Order: order.NewShuffled(9, 1, "a")}
	most := order.Growth{Source: 0, Order: order.NewShuffled(9, 1, "a"), Samples: 1 << 62}
	for want, c := range map[string]struct {
		policy order.Exhaustion
		grown  []order.Growth
	}{
		"want a source number from 0 to 2, got 3":              {order.CycleOn, []order.Growth{{Source: 3, Order: order.NewCycle(9)}}},
		"want a source number from 0 to 2, got -1":             {order.CycleOn, []order.Growth{{Source: -1, Order: order.NewCycle(9)}}},
		"of source 0: invalid: want an order of all":           {order.CycleOn, []order.Growth{{Source: 0}}},
		"more samples than the source has (7)":                 {order.CycleOn, []order.Growth{{Source: 0, Order: order.NewShuffled(7, 1, "a")}}},
		"an order with more samples than before":               {order.CycleOn, []order.Growth{{Source: 0, Order: order.NewShuffled(7, 1, "a"), Samples: 9}}},
		`shuffled(v2 n=7 seed=1 domain="b")`:                   {order.CycleOn, []order.Growth{{Source: 0, Order: order.NewShuffled(9, 1, "b")}}},
		"got source 0 again":                                   {order.CycleOn, []order.Growth{nine, {Source: 0, Order: order.NewShuffled(10, 1, "a")}}},
		"sum over all sources is below 2^63":                   {order.CycleOn, []order.Growth{most, {Source: 1, Order: order.NewPermutation(9, 2), Samples: 1 << 62}}},
		"an order that order.First supports, got mixture":      {order.CycleOn, []order.Growth{{Source: 2, Order: nested, Samples: 9}}},
		"source 1: invalid: want an order that never ends":     {order.DropEnded, []order.Growth{{Source: 1, Order: order.NewPermutation(9, 2)}}},
		"a mixture that ends at position 16, before that pass": {order.StopFirst, []order.Growth{{Source: 0, Order: order.NewShuffled(9, 1, "a")}}},
	} {
		m, err := order.NewMixture(list, c.policy)
		if err != nil {
			t.Fatal(err)
		}
		next, err := m.Extend(4, order.Extension{Grown: c.grown})
		if !errors.Is(err, errs.Invalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q\ngot %v %v", want, next, err)
		}
	}
}

// A source of which nothing was drawn has all samples from its first pass on, even if it ends.
func TestGrowthOfAnUntouchedSource(t *testing.T) {
	list := []order.Source{{Order: order.NewCycle(3), Weight: 1}, {Order: order.Sequential(2)}}
	m, err := order.NewMixture(list, order.DropEnded, order.Phase{From: 4, Weights: []float64{1, 1}})
	if err != nil {
		t.Fatal(err)
	}
	next, err := m.Extend(4, order.Extension{Grown: []order.Growth{{Source: 1, Order: order.Sequential(4)}}})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(idsUpTo(next, 14)), "[0 1 2 0 1 3 2 4 0 5 1 6 2 0]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if origins := order.Origins(next); !slices.Contains(origins, order.Origin{Description: m.String(), Until: 5}) {
		t.Errorf("%+v", origins)
	}
}

// Packs and buckets of a mixture that grew get the lengths of all samples. They name the packs and
// buckets of the earlier mixture, which are the same up to the block that has changed.
func TestGrownSourcesBelowPacks(t *testing.T) {
	lengthsOf := func(n int) *order.Lengths {
		of := make([]int32, n)
		for i := range of {
			of[i] = int32(1 + i*i%9)
		}
		l, err := order.NewLengths(of)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	over := func(m *order.Mixture, l *order.Lengths) []order.Order {
		p, err := order.NewPacks(m, l, order.PackOptions{Capacity: 20, Block: 16})
		if err != nil {
			t.Fatal(err)
		}
		b, err := order.NewBuckets(m, l, []int64{3, 6}, 4, 16)
		if err != nil {
			t.Fatal(err)
		}
		return []order.Order{p, b}
	}
	list := []order.Source{{Order: order.NewShuffled(50, 7, "a"), Weight: 2}, {Order: order.NewShuffled(50, 7, "b"), Weight: 1}}
	m, err := order.NewMixture(list, order.CycleOn)
	if err != nil {
		t.Fatal(err)
	}
	// Pass 1 over source 0 begins at position 75, pass 1 over source 1 at 151.
	more, err := m.Extend(10, order.Extension{Grown: []order.Growth{{Source: 0, Order: order.NewShuffled(60, 7, "a")}}})
	if err != nil {
		t.Fatal(err)
	}
	most, err := more.Extend(85, order.Extension{Sources: []order.Source{{Order: order.NewShuffled(30, 7, "c"), Weight: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	for i, is := range over(most, lengthsOf(140)) {
		for _, c := range []struct {
			was   order.Order
			until int64
		}{{over(m, lengthsOf(100))[i], 64}, {over(more, lengthsOf(110))[i], 80}, {over(more, lengthsOf(140))[i], 80}} {
			if !slices.Contains(order.Origins(is), order.Origin{Description: c.was.String(), Until: c.until}) {
				t.Errorf("%s\nis not an origin of\n%s:\n%+v", c.was, is, order.Origins(is))
			}
			if diff := cmp.Diff(idsUpTo(c.was, c.until), idsUpTo(is, c.until)); diff != "" {
				t.Error(diff)
			}
		}
	}
}

// Under CycleAll a source has ended once when its first pass is over, even if the source grows. So
// the mixture ends where it ended before.
func TestGrowthUnderCycleAll(t *testing.T) {
	m, err := order.NewMixture([]order.Source{{Order: order.Sequential(2), Weight: 1}, {Order: order.Sequential(9), Weight: 1}}, order.CycleAll)
	if err != nil {
		t.Fatal(err)
	}
	next, err := m.Extend(5, order.Extension{Grown: []order.Growth{{Source: 0, Order: order.Sequential(3)}}})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(idsUpTo(next, 30)), "[0 2 1 3 0 4 1 5 0 6 1 7 11 8 0 9 1 10]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := fmt.Sprint(idsUpTo(m, 30)), "[0 2 1 3 0 4 1 5 0 6 1 7 0 8 1 9 0 10]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if origins := order.Origins(next); len(origins) != 2 || origins[0] != origins[1] || origins[0] != (order.Origin{Description: m.String(), Until: 8}) {
		t.Errorf("%+v", origins)
	}
	_, err = m.Extend(5, order.Extension{Grown: []order.Growth{{Source: 1, Order: order.Sequential(12)}}})
	if !errors.Is(err, errs.Invalid) || !strings.Contains(err.Error(), "ends at position 18") {
		t.Errorf("source 1 does not begin again: %v", err)
	}
}

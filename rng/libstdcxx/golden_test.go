package libstdcxx

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strconv"
	"testing"
)

// golden is one line of testdata/golden.json, which testdata/golden.cc writes.
type golden struct {
	Kind, Engine string
	Params       []float64
	Values       []string
}

func readGolden(t *testing.T) []golden {
	t.Helper()
	b, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []golden
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	if len(all) < 150 {
		t.Fatalf("%d cases", len(all))
	}
	return all
}

func source(t *testing.T, engine string, seed uint64) Source {
	t.Helper()
	switch engine {
	case "minstd":
		g := NewMinstdRand0(seed)
		return &g
	case "mt19937":
		g := NewMT19937(seed)
		return &g
	case "mt19937_64":
		g := NewMT19937x64(seed)
		return &g
	}
	t.Fatalf("engine %q", engine)
	return nil
}

// Distributions of real numbers go on with one engine, as the generator does.
func TestGolden(t *testing.T) {
	engines := map[string]Source{}
	for _, c := range readGolden(t) {
		name := fmt.Sprint(c.Kind, " ", c.Engine, " ", c.Params)
		switch c.Kind {
		case "seed_seq", "seeded", "text":
			continue // TestSeedSeq, TestTextOfCxx
		case "uniform_int", "uniform_int_gcc10":
			g, draw := source(t, c.Engine, 7), UniformInt
			if c.Kind == "uniform_int_gcc10" {
				draw = UniformIntGCC10
			}
			for i, want := range c.Values {
				if got := draw(g, int64(c.Params[0]), integerBound(c.Params[1])); strconv.FormatInt(got, 10) != want {
					t.Errorf("%s: value %d is %d, want %s", name, i, got, want)
				}
			}
		case "shuffle":
			g, v := source(t, c.Engine, 524287), make([]int, int(c.Params[0]))
			for i := range v {
				v[i] = i
			}
			Shuffle(g, v)
			hash := uint64(14695981039346656037)
			for _, x := range v {
				hash = (hash ^ uint64(x)) * 1099511628211
			}
			got := []string{strconv.FormatInt(int64(hash), 10), strconv.FormatInt(int64(g.Next()), 10)}
			if fmt.Sprint(got) != fmt.Sprint(c.Values) {
				t.Errorf("%s: %v, want %v", name, got, c.Values)
			}
		default:
			g := engines[c.Engine]
			if g == nil {
				g = source(t, c.Engine, 11)
				engines[c.Engine] = g
			}
			compareDraws(t, name, c, g)
		}
	}
}

// integerBound undoes what JSON numbers do to the bounds near 2^61 and 2^62: the
// generator gives 3 less than an integer that a float64 holds.
func integerBound(x float64) int64 {
	if x < 1<<53 {
		return int64(x)
	}
	if x == 1<<62 {
		return 1<<62 + 1 - 3
	}
	return int64(x) - 3
}

func compareDraws(t *testing.T, name string, c golden, g Source) {
	t.Helper()
	draw, tolerance := distribution(t, c)
	for i, text := range c.Values {
		got := draw(g)
		var want float64
		if c.Kind == "bernoulli" || c.Kind == "discrete" || c.Kind == "poisson" {
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			want = float64(n)
		} else {
			u, err := strconv.ParseUint(text, 16, 64)
			if err != nil {
				t.Fatal(err)
			}
			want = math.Float64frombits(u)
		}
		if got != want && math.Abs(got-want) > tolerance*math.Abs(want) {
			t.Errorf("%s: value %d is %v, want %v", name, i, got, want)
		}
	}
}

// distribution returns a draw of the kind, and how far it may be off where the
// mathematical functions of the C library enter.
func distribution(t *testing.T, c golden) (draw func(Source) float64, tolerance float64) {
	t.Helper()
	const exact, double, single = 0, 4e-16, 0x1p-22
	p := c.Params
	switch c.Kind {
	case "canonical64":
		return Canonical[float64], exact
	case "canonical32":
		return func(g Source) float64 { return float64(Canonical[float32](g)) }, exact
	case "uniform64":
		return func(g Source) float64 { return UniformReal(g, p[0], p[1]) }, exact
	case "uniform32":
		return func(g Source) float64 { return float64(UniformReal(g, float32(p[0]), float32(p[1]))) }, exact
	case "bernoulli":
		return func(g Source) float64 {
			if Bernoulli(g, p[0]) {
				return 1
			}
			return 0
		}, exact
	case "discrete":
		d := NewDiscrete(p)
		return func(g Source) float64 { return float64(d.Next(g)) }, exact
	case "normal64":
		d := Normal[float64]{Mean: p[0], StdDev: p[1]}
		return d.Next, double
	case "normal32":
		d := Normal[float32]{Mean: float32(p[0]), StdDev: float32(p[1])}
		return func(g Source) float64 { return float64(d.Next(g)) }, single
	case "exponential64":
		return func(g Source) float64 { return Exponential(g, p[0]) }, double
	case "exponential32":
		return func(g Source) float64 { return float64(Exponential(g, float32(p[0]))) }, single
	case "gamma64":
		d := Gamma[float64]{Alpha: p[0], Beta: p[1]}
		return d.Next, double
	case "gamma32":
		d := Gamma[float32]{Alpha: float32(p[0]), Beta: float32(p[1])}
		return func(g Source) float64 { return float64(d.Next(g)) }, single
	case "poisson":
		d := NewPoisson(p[0])
		return func(g Source) float64 { return float64(d.Next(g)) }, exact
	}
	t.Fatalf("kind %q", c.Kind)
	return nil, 0
}

func TestSeedSeq(t *testing.T) {
	for _, c := range readGolden(t) {
		var s SeedSeq
		for _, w := range c.Params {
			s = append(s, uint32(w))
		}
		var got []uint64
		switch c.Kind {
		case "seed_seq":
			words := make([]uint32, len(c.Values))
			s.Generate(words)
			for _, w := range words {
				got = append(got, uint64(w))
			}
		case "seeded":
			minstd, mt, mt64 := s.Minstd(), s.MT19937(), s.MT19937x64()
			g := map[string]Source{"minstd": &minstd, "mt19937": &mt, "mt19937_64": &mt64}[c.Engine]
			for range c.Values {
				got = append(got, g.Next())
			}
		default:
			continue
		}
		for i, want := range c.Values {
			if strconv.FormatInt(int64(got[i]), 10) != want {
				t.Errorf("%s %s %v: word %d of %d is %d, want %s", c.Kind, c.Engine, c.Params, i, len(c.Values), got[i], want)
				break
			}
		}
	}
}

func TestTextOfCxx(t *testing.T) {
	for _, c := range readGolden(t) {
		if c.Kind != "text" {
			continue
		}
		g := source(t, c.Engine, 3)
		for range int(c.Params[0]) {
			g.Next()
		}
		if got := fmt.Sprint(g); got != c.Values[0] {
			t.Errorf("%s: text %.60s…, want %.60s…", c.Engine, got, c.Values[0])
		}
		if got := strconv.FormatUint(g.Next(), 10); got != c.Values[1] {
			t.Errorf("%s: then %s, want %s", c.Engine, got, c.Values[1])
		}
	}
}

// The C++ standard gives the 10000th number of each engine with its default seed.
func TestStandard(t *testing.T) {
	for engine, c := range map[string][2]uint64{
		"minstd":     {1, 1043618065},
		"mt19937":    {5489, 4123659995},
		"mt19937_64": {5489, 9981545732273789042},
	} {
		g := source(t, engine, c[0])
		for range 9999 {
			g.Next()
		}
		if got := g.Next(); got != c[1] {
			t.Errorf("%s: %d, want %d", engine, got, c[1])
		}
	}
	if g := NewMinstdRand0(minstdModulus); g != NewMinstdRand0(1) {
		t.Error("the seed 0 is replaced by 1")
	}
	x := make([]uint64, 3)
	if notAllZero(x, 5); x[0] != 5 {
		t.Error("words that are all zero get a bit")
	}
	x = []uint64{1 << 31, 0, 0}
	if notAllZero(x, 5); x[0] != 1<<31 {
		t.Error("words that are not all zero stay")
	}
}

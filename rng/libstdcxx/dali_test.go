package libstdcxx

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/rng"
)

// sharedVectors holds numbers that DALI's random operators drew. A plain clone lacks this folder
// and tests the copies in testdata.
const sharedVectors = "../../../shared/vectors/dali/rng"

type daliSample struct {
	Data []float64 // integers
	F32  []string  // bits
}

type daliCase struct {
	Params struct {
		Op   string
		Pos  int64
		Args struct {
			Seed             uint64
			P                []float64
			Alpha, Beta      float32
			Factor           float32
			AllowRepetitions bool `json:"allow_repetitions"`
			NoFixedPoints    bool `json:"no_fixed_points"`
		}
		Input struct {
			Dtype    string
			Mul, Mod int
		}
	}
	Iterations [][][]daliSample
	States     [][][2]string
}

// The operators of DALI that draw by the C++ library, from Philox as the
// architecture of DALI's operators has it: element e of sample s starts 257*e
// words into sequence 65537*s of the state.
func TestDALI(t *testing.T) {
	roots := []string{"testdata/dali"}
	if _, err := os.Stat(sharedVectors); err == nil {
		roots = append(roots, sharedVectors)
	} else {
		t.Log("shared vectors are absent, testdata alone is tested")
	}
	tested := map[string]int{}
	for _, root := range roots {
		files, err := filepath.Glob(filepath.Join(root, "*.json"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var c daliCase
			if err := json.Unmarshal(b, &c); err != nil {
				if strings.HasPrefix(filepath.Base(file), "random_choice") {
					t.Fatal(err)
				}
				continue // parameters of operators that do not draw by the C++ library
			}
			if c.check(t, filepath.Base(file)) {
				tested[c.Params.Op]++
			}
		}
	}
	for _, op := range []string{"random.choice", "random.beta", "batch_permutation", "noise.shot"} {
		if tested[op] < 2 {
			t.Errorf("%s: %d cases", op, tested[op])
		}
	}
	t.Log(tested)
}

// check reports whether the operator draws by the C++ library.
func (c *daliCase) check(t *testing.T, name string) bool {
	t.Helper()
	for it, outputs := range c.Iterations {
		state, err := rng.ParsePhilox(c.States[it][0][1])
		if err != nil {
			t.Fatal(err)
		}
		if c.Params.Op == "batch_permutation" {
			c.checkPermutation(t, name, &state, outputs[0])
			continue
		}
		for s, sample := range outputs[0] {
			betas := newBeta(c.Params.Args.Alpha, c.Params.Args.Beta)
			for e := range max(len(sample.Data), len(sample.F32)) {
				p := state
				p.SkipSequence(uint64(s) * 65537)
				p.Skip(uint64(e) * 257)
				got, ok := c.draw(Words{&p}, e, betas)
				if !ok {
					return false
				}
				var want float64
				if sample.F32 != nil {
					u, err := strconv.ParseUint(sample.F32[e], 16, 32)
					if err != nil {
						t.Fatal(err)
					}
					want = float64(math.Float32frombits(uint32(u)))
				} else {
					want = sample.Data[e]
				}
				if got != want && (c.Params.Op != "random.beta" || math.Abs(got-want) > 0x1p-22*math.Abs(want)) {
					t.Errorf("%s: iteration %d sample %d element %d: %v, want %v", name, it, s, e, got, want)
				}
			}
		}
	}
	return len(c.Iterations) > 0
}

// draw is one element of the operators that are element by element.
func (c *daliCase) draw(g Source, element int, betas *beta) (value float64, ok bool) {
	a, in := c.Params.Args, c.Params.Input
	switch c.Params.Op {
	case "random.choice":
		if a.P != nil {
			weights := make([]float64, len(a.P))
			for i, p := range a.P {
				weights[i] = float64(float32(p))
			}
			return float64(NewDiscrete(weights).Next(g)), true
		}
		return float64(UniformInt(g, 0, c.Params.Pos-1)), true
	case "random.beta":
		return float64(betas.next(g)), true
	case "noise.shot":
		mod := in.Mod
		if mod == 0 {
			mod = 256
		}
		x := float32(element * max(in.Mul, 1) % mod)
		n := NewPoisson(float64(max(0, x*(1/a.Factor)))).Next(g)
		y := float64(float32(n) * a.Factor)
		if in.Dtype == "uint8" {
			y = min(math.Round(y), 255)
		}
		return y, true
	}
	return 0, false
}

// beta is DALI's: of two gammas, with the exponent kept apart where both shapes
// are below 1. The normal distributions in them last for a whole sample.
type beta struct {
	alpha, beta float32
	a, b        Gamma[float32]
}

func newBeta(alpha, b float32) *beta {
	d := &beta{alpha: alpha, beta: b, a: Gamma[float32]{Alpha: alpha, Beta: 1}, b: Gamma[float32]{Alpha: b, Beta: 1}}
	if d.small() {
		d.a.Alpha++
		d.b.Alpha++
	}
	return d
}

func (d *beta) small() bool { return d.alpha < 1 && d.beta < 1 }

func (d *beta) next(g Source) float32 {
	a, b := d.a.Next(g), d.b.Next(g)
	if !d.small() {
		return a / (a + b)
	}
	la, lb := -Exponential[float32](g, 1)*(d.beta/d.alpha), -Exponential[float32](g, 1)
	exp := func(x float32) float32 { return float32(math.Exp(float64(x))) }
	if la < lb {
		a *= exp((la - lb) / d.beta)
	} else {
		b *= exp((lb - la) / d.beta)
	}
	return a / (a + b)
}

func (c *daliCase) checkPermutation(t *testing.T, name string, p *rng.Philox, want []daliSample) {
	t.Helper()
	g, n := Words{p}, int64(len(want))
	got := make([]int64, n)
	for i := range got {
		got[i] = int64(i)
	}
	switch {
	case c.Params.Args.AllowRepetitions:
		for i := range got {
			got[i] = UniformInt(g, 0, n-1)
		}
	case c.Params.Args.NoFixedPoints:
		for i := range n - 1 {
			j := UniformInt(g, i+1, n-1)
			got[i], got[j] = got[j], got[i]
		}
	default:
		Shuffle(g, got)
	}
	for i, x := range got {
		if float64(x) != want[i].Data[0] {
			t.Fatalf("%s: %v, want %v", name, got, want)
		}
	}
}

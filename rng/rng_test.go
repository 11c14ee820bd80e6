package rng

import (
	"encoding/json"
	"errors"
	"math"
	"math/bits"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
)

// The known answers of the authors' library Random123 (kat_vectors).
func TestBlockKnownAnswers(t *testing.T) {
	for _, c := range []struct {
		counter [4]uint32
		key     [2]uint32
		want    [4]uint32
	}{
		{want: [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{
			[4]uint32{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
			[2]uint32{0xffffffff, 0xffffffff},
			[4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
		},
		{
			[4]uint32{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
			[2]uint32{0xa4093822, 0x299f31d0},
			[4]uint32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1},
		},
	} {
		if got := Block(c.key, c.counter); got != c.want {
			t.Errorf("key %x counter %x: %x, want %x", c.key, c.counter, got, c.want)
		}
	}
	p := NewPhilox(1234, 0, 0)
	for _, want := range []uint32{0x2090b348, 0xda7cf0ab, 0x4401906f, 0xcbca470e} {
		if got := p.Uint32(); got != want {
			t.Errorf("%x, want %x", got, want)
		}
	}
}

// The files were recorded from DALI's dynamic mode: words, skips and the text
// of the state after each step. Steps of distributions only move the state.
func TestDALI(t *testing.T) {
	files, err := filepath.Glob("testdata/dali/rng_*.json")
	if err != nil || len(files) != 5 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var rec struct {
			Initial string
			Steps   []struct {
				Op         string
				Args       json.RawMessage
				Value      json.RawMessage
				StateAfter string `json:"state_after"`
			}
		}
		if err := json.Unmarshal(b, &rec); err != nil {
			t.Fatal(err)
		}
		p, err := ParsePhilox(rec.Initial)
		if err != nil {
			t.Fatal(err)
		}
		for i, s := range rec.Steps {
			var n uint64
			var want []uint32
			switch s.Op {
			case "call", "clone":
				if err := errors.Join(json.Unmarshal(s.Args, &n), json.Unmarshal(s.Value, &want)); err != nil {
					t.Fatal(err)
				}
				g := &p
				if clone := p; s.Op == "clone" {
					g = &clone
				}
				for j := range want {
					if got := g.Uint32(); got != want[j] {
						t.Errorf("%s: step %d word %d: %d, want %d", name, i, j, got, want[j])
					}
				}
			case "advance":
				if err := json.Unmarshal(s.Args, &n); err != nil {
					t.Fatal(err)
				}
				p.Skip(n)
			default:
				if p, err = ParsePhilox(s.StateAfter); err != nil {
					t.Fatal(err)
				}
			}
			if p.String() != s.StateAfter {
				t.Fatalf("%s: step %d %s: state %s, want %s", name, i, s.Op, p, s.StateAfter)
			}
		}
	}
}

// DALI's random operators draw element e of sample s from sequence 65537*s, 257*e
// words on; recorded with random.coin_flip(seed=1, shape=[9]) and
// random.uniform(seed=1), whose words are scaled by the largest float32 below 1.
func TestDALIOperators(t *testing.T) {
	flips := [4][9]int{{0, 1, 1, 0, 1, 1, 0, 0, 0}, {1, 0, 0, 1, 1, 1, 0, 1, 0}, {1, 1, 1, 1, 1, 0, 0, 1, 0}, {0, 0, 0, 1, 0, 0, 0, 0, 0}}
	uniform := [3][4]uint32{
		{0x3f63e805, 0x3eb5e099, 0x3ca8041d, 0x3f39eb77},
		{0x3f3b3153, 0x3f1a639a, 0x3dcba5a8, 0x3f591635},
		{0x3f2226a8, 0x3f1695ad, 0x3f78de1a, 0x3ec275e1},
	}
	for s, row := range flips {
		p := NewPhilox(1, 0, 0)
		p.SkipSequence(uint64(s) * 65537)
		for e, want := range row {
			q := p
			q.Skip(uint64(e) * 257)
			if got := q.Uint32() <= 0x7fffffff; got != (want == 1) {
				t.Errorf("coin flip: sample %d element %d: %v", s, e, got)
			}
		}
	}
	for it, row := range uniform {
		for s, want := range row {
			p := NewPhilox(1, uint64(4*it+65537*s), 0)
			if got := math.Float32bits(float32(p.Uint32()) * 0x1.fffffep-33); got != want {
				t.Errorf("uniform: iteration %d sample %d: %x, want %x", it, s, got, want)
			}
		}
	}
}

func TestSkipLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		start := rapid.OneOf(rapid.Uint64Range(0, 9), rapid.Uint64Range(math.MaxUint64-9, math.MaxUint64)).Draw(t, "offset")
		a := NewPhilox(rapid.Uint64().Draw(t, "key"), rapid.Uint64().Draw(t, "sequence"), start)
		if rapid.Bool().Draw(t, "at the end of the block counter") {
			a.block = math.MaxUint64
		}
		n := rapid.IntRange(0, 40).Draw(t, "n")
		b := a
		if rapid.Bool().Draw(t, "words drawn before") {
			a.Uint32()
			b.Uint32()
		}
		for range n {
			a.Uint32()
		}
		b.Skip(uint64(n))
		if a.String() != b.String() || a.Uint64() != b.Uint64() {
			t.Fatalf("after %d words: %s, skipped %s", n, a, b)
		}
	})
}

func TestStateLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := NewPhilox(rapid.Uint64().Draw(t, "key"), rapid.Uint64().Draw(t, "sequence"), rapid.Uint64().Draw(t, "offset"))
		for range rapid.IntRange(0, 5).Draw(t, "words") {
			p.Uint32()
		}
		var bin, text Philox
		b, err := p.MarshalBinary()
		if err := errors.Join(err, bin.UnmarshalBinary(b)); err != nil || len(b) != stateSize {
			t.Fatal(err)
		}
		b, err = p.MarshalText()
		if err := errors.Join(err, text.UnmarshalText(b)); err != nil {
			t.Fatal(err)
		}
		want := p.Uint64()
		if bin.Uint64() != want || text.Uint64() != want {
			t.Fatal("a restored generator goes on differently")
		}
	})
}

func TestStateErrors(t *testing.T) {
	good := NewPhilox(1, 2, 3)
	p := good
	for _, b := range [][]byte{nil, make([]byte, stateSize-1), make([]byte, stateSize+1), append(make([]byte, stateSize-1), 4)} {
		if err := p.UnmarshalBinary(b); !errors.Is(err, errs.Corrupt) || p != good {
			t.Errorf("%x: %v", b, err)
		}
	}
	s := good.String()
	for _, bad := range []string{"", s + "0", s[1:] + "0", s[:58] + "4", "Philox_+00000000000001" + s[22:], "Philox_000000000000000x" + s[23:]} {
		if err := p.UnmarshalText([]byte(bad)); !errors.Is(err, errs.Invalid) || p != good {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func FuzzPhiloxState(f *testing.F) {
	f.Add([]byte("Philox_0000000000000001_0000000000000002:0000000000000003_0"))
	f.Add(make([]byte, stateSize))
	f.Fuzz(func(t *testing.T, b []byte) {
		var p, q Philox
		if p.UnmarshalText(b) == nil {
			if err := q.UnmarshalText([]byte(p.String())); err != nil || p != q {
				t.Fatalf("%q: %v", b, err)
			}
		}
		if p.UnmarshalBinary(b) == nil {
			if back, _ := p.MarshalBinary(); string(back) != string(b) {
				t.Fatalf("%x: %x", b, back)
			}
		}
	})
}

func TestDistributions(t *testing.T) {
	p := NewPhilox(7, 0, 0)
	const n = 1 << 18
	var sum, sq, lag, prev float64
	for range n {
		x := p.Normal()
		sum, sq, lag, prev = sum+x, sq+x*x, lag+x*prev, x
	}
	// Each is within five standard deviations of its expectation.
	sd := 1 / math.Sqrt(n)
	if math.Abs(sum/n) > 5*sd || math.Abs(sq/n-1) > 5*math.Sqrt2*sd || math.Abs(lag/n) > 5*sd {
		t.Errorf("normal: mean %g variance %g correlation %g", sum/n, sq/n, lag/n)
	}
	var counts [7]int
	var chi float64
	for range n {
		counts[p.Intn(7)]++
		if f := p.Float32(); f < 0 || f >= 1 {
			t.Fatal(f)
		}
		if f := p.Uniform(-1, 1); f < -1 || f >= 1 {
			t.Fatal(f)
		}
	}
	for _, c := range counts {
		d := float64(c) - n/7.0
		chi += d * d / (n / 7.0)
	}
	if chi > 27.9 { // 6 degrees of freedom, p = 10^-4
		t.Errorf("Intn: chi² = %g, %v", chi, counts)
	}
	if x := p.Uniform(1, math.Nextafter(1, 2)); x != 1 {
		t.Error(x)
	}
	if x := p.Uniform(3, 3); x != 3 {
		t.Error(x)
	}
	// Rejection matters for large bounds: half of the draws are refused here.
	if x := p.Intn(1<<62 + 1); x < 0 || x > 1<<62 {
		t.Error(x)
	}
}

// What a seed means is promised: these numbers change only with Version.
func TestGoldenStreams(t *testing.T) {
	if Version != 1 {
		t.Fatal("new version: make new golden numbers, keep the old ones")
	}
	k := NewKeyer(7)
	for _, c := range []struct {
		pos   int64
		node  string
		call  uint32
		state string
		first uint64
	}{
		{0, "crop", 0, "Philox_6092CB3AB60F7945_0000000000000000:0000000000000000_0", 0xc56ff030dd6ec0b8},
		{0, "crop", 1, "Philox_6092CB3AB60F7945_0000000000000000:0000000100000000_0", 0x258cf84353d6e9c7},
		{1, "crop", 0, "Philox_6092CB3AB60F7945_0000000000000001:0000000000000000_0", 0xcf1ad46216cf87f8},
		{1 << 40, "flip", 3, "Philox_0DD1EB3AB3668539_0000010000000000:0000000300000000_0", 0x413f67b9dac3a766},
	} {
		p := k.Stream(c.pos, 0, NodeKey(c.node), c.call)
		state, first := p.String(), p.Uint64()
		if state != c.state || first != c.first {
			t.Errorf("{%d, %q, %d, %q, %#x},", c.pos, c.node, c.call, state, first)
		}
	}
}

func TestKeyerIndependence(t *testing.T) {
	seen := map[uint64]bool{}
	for seed := range uint64(4) {
		k := NewKeyer(seed)
		for pos := range int64(8) {
			for _, node := range []string{"", "a", "b", "0"} {
				for call := range uint32(4) {
					p := k.Stream(pos, 0, NodeKey(node), call)
					w := p.Uint64()
					if seen[w] {
						t.Fatalf("seed %d position %d node %q call %d repeats", seed, pos, node, call)
					}
					seen[w] = true
				}
			}
		}
	}
}

func TestMixAvalanche(t *testing.T) {
	var flips, count int
	for x := range uint64(200) {
		for bit := range 64 {
			flips += bits.OnesCount64(Mix(x) ^ Mix(x^1<<bit))
			count++
		}
	}
	if mean := float64(flips) / float64(count); math.Abs(mean-32) > 0.25 {
		t.Errorf("a bit flips %g bits", mean)
	}
}

func TestNoAllocation(t *testing.T) {
	k := NewKeyer(1)
	node := NodeKey("crop")
	var sink float64
	pos := int64(0)
	allocs := testing.AllocsPerRun(100, func() {
		p := k.Stream(pos, 0, node, 0)
		sink += p.Float64() + p.Normal() + float64(p.Intn(10))
		pos++
	})
	if allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
	var p Philox
	buf := make([]byte, 0, 64)
	if allocs := testing.AllocsPerRun(100, func() { buf, _ = p.AppendBinary(buf[:0]) }); allocs != 0 {
		t.Errorf("AppendBinary: %v allocations", allocs)
	}
}

func BenchmarkUint32(b *testing.B) {
	b.ReportAllocs()
	p := NewPhilox(1, 0, 0)
	for b.Loop() {
		p.Uint32()
	}
}

func BenchmarkStream(b *testing.B) {
	b.ReportAllocs()
	k, node, pos := NewKeyer(1), NodeKey("crop"), int64(0)
	for b.Loop() {
		p := k.Stream(pos, 0, node, 0)
		p.Float32()
		pos++
	}
}

// TestNormalOfKeyer: a generator of NewKeyer keeps the normal numbers that it had before glibc's
// functions. One of another origin at the same place has the same words, and here and there another
// last bit.
func TestNormalOfKeyer(t *testing.T) {
	differ := 0
	for pos := range int64(2000) {
		own := NewKeyer(3).Stream(pos, 0, NodeKey("normal"), 0)
		other := own
		other.own = false
		u, v := own, own
		log := float32(math.Log(float64(float32(u.Uint32()) * 0x1p-32)))
		v.Uint32()
		cos := float32(math.Cos(float64(float32(2*math.Pi) * (float32(v.Uint32()) * 0x1p-32))))
		got, glibc := Normal32(&own, 0, 1), Normal32(&other, 0, 1)
		if want := float32(math.Sqrt(float64(-2*log))) * cos; got != want {
			t.Fatalf("position %d: got %v, want %v", pos, got, want)
		}
		if math.Abs(float64(got-glibc)) > 1e-5 {
			t.Fatalf("position %d: %v and %v are not the same number", pos, got, glibc)
		}
		if got != glibc {
			differ++
		}
	}
	if differ == 0 {
		t.Error("no number shows which functions were taken")
	}
	t.Logf("%d of 2000 differ", differ)
}

package numpy

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func readVectors[T any](t *testing.T, path string, least int) []T {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Vectors []T }
	if err := json.Unmarshal(b, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Vectors) < least {
		t.Fatalf("%s: %d cases", path, len(file.Vectors))
	}
	return file.Vectors
}

func floats(x ...float64) string {
	var b []byte
	for _, f := range x {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(f))
	}
	return hex.EncodeToString(b)
}

func times[T any](n int, draw func() T) []T {
	x := make([]T, n)
	for i := range x {
		x[i] = draw()
	}
	return x
}

// TestNumPy holds every draw against what NumPy drew from the same seed.
func TestNumPy(t *testing.T) {
	for _, c := range readVectors[map[string]any](t, "../../testdata/streaming/numpy_rng.json", 5) {
		seed := uint64(c["seed"].(float64))
		got := draws(seed)
		got["seed"] = c["seed"]
		if d := cmp.Diff(plain(t, c), plain(t, got)); d != "" {
			t.Errorf("seed %d (-NumPy +got):\n%s", seed, d)
		}
	}
}

func plain(t *testing.T, x map[string]any) map[string]any {
	t.Helper()
	b, err := json.Marshal(x)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func draws(seed uint64) map[string]any {
	pcg := NewPCG64(seed)
	state, inc := pcg.State()
	m := map[string]any{
		"state": decimal(state), "inc": decimal(inc),
		"pcg64_raw":                  times(4, func() string { return fmt.Sprint(pcg.Uint64()) }),
		"choice_10_3":                DefaultRNG(seed).Choice(10, 3),
		"randomstate_permutation_20": NewRandomState(uint32(seed)).Permutation(20),
	}
	for _, n := range []int64{1, 2, 5, 100} {
		m[fmt.Sprint("permutation_", n)] = DefaultRNG(seed).Permutation(n)
		m[fmt.Sprint("shuffle_", n)] = DefaultRNG(seed).Permutation(n)
	}
	list := []string{"0", "1", "2", "3", "4", "5", "6", "7", "8"}
	Shuffle(DefaultRNG(seed), list)
	numbers := make([]json.Number, len(list))
	for i, s := range list {
		numbers[i] = json.Number(s)
	}
	m["shuffle_list_of_9"] = numbers
	for _, r := range [][2]int64{{0, 10}, {3, 4}, {0, 1 << 32}, {0, 1<<33 + 1}, {196608, 327680}} {
		g := DefaultRNG(seed)
		m[fmt.Sprintf("integers_%d_%d", r[0], r[1])] = times(6, func() string { return fmt.Sprint(g.Integers(r[0], r[1])) })
	}
	g := DefaultRNG(seed)
	integers := times(3, func() any { return g.Integers(5, 77) })
	m["integers_scalar_then_uniform"] = append(integers, floats(times(3, func() float64 { return g.Uniform(-3, 2.5) })...))
	g = DefaultRNG(seed)
	m["uniform_hex"] = floats(times(6, func() float64 { return g.Uniform(-1.5, 4) })...)
	return m
}

func decimal(x [2]uint64) string {
	n := new(big.Int).SetUint64(x[0])
	return n.Lsh(n, 64).Or(n, new(big.Int).SetUint64(x[1])).String()
}

func TestPhilox(t *testing.T) {
	type vector struct {
		Key      uint64
		Raw      []string `json:"raw_u64"`
		Integers []int64  `json:"integers_0_1000"`
		Random   string   `json:"random_hex"`
	}
	for _, c := range readVectors[vector](t, "../../testdata/grain/philox.json", 10) {
		raw, drawn := NewPhilox(c.Key), NewPhilox(c.Key)
		g := NewGenerator(&drawn)
		got := vector{
			Key:      c.Key,
			Raw:      times(6, func() string { return fmt.Sprint(raw.Uint64()) }),
			Integers: times(5, func() int64 { return g.Integers(0, 1000) }),
			Random:   floats(times(3, g.Float64)...),
		}
		if d := cmp.Diff(c, got); d != "" {
			t.Errorf("key %d (-NumPy +got):\n%s", c.Key, d)
		}
	}
}

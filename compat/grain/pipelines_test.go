package grain

import (
	"encoding/json"
	"fmt"
	"testing"
)

// anyMap is a map of elements or of batches.
type anyMap struct {
	ids     Map[int64]
	batches Map[[]int64]
}

type mapCase struct {
	Pipeline string
	AST      [][]json.RawMessage
	Len      *number
	GetItem  []json.RawMessage
	Values   []json.RawMessage
	Stop     bool
}

// TestMapVectors builds the pipelines of the vectors. Those with functions of
// elements (map, filter) are left out: they have no part in the order.
func TestMapVectors(t *testing.T) {
	built := 0
	for _, c := range vectors[mapCase](t, "pipelines.json", 30) {
		m, ok := build(t, c.AST)
		if !ok {
			continue
		}
		built++
		check := func(i int64, want json.RawMessage) {
			t.Helper()
			var got any
			if m.batches != nil {
				got, _ = m.batches.At(i)
			} else {
				got, _ = m.ids.At(i)
			}
			if b, _ := json.Marshal(got); string(b) != string(want) {
				t.Errorf("%s: element %d is %s, want %s", c.Pipeline, i, b, want)
			}
		}
		n := int64(0)
		if m.batches != nil {
			n = m.batches.Len()
		} else {
			n = m.ids.Len()
		}
		if c.Len != nil && n != int64(*c.Len) || c.Stop && n != int64(len(c.Values)) {
			t.Errorf("%s: length %d, %d values", c.Pipeline, n, len(c.Values))
		}
		for i, want := range c.GetItem {
			check(int64(i), want)
		}
		for i, want := range c.Values {
			check(int64(i), want)
		}
	}
	if built < 30 {
		t.Errorf("%d pipelines", built)
	}
}

func build(t *testing.T, steps [][]json.RawMessage) (m anyMap, ok bool) {
	t.Helper()
	for _, step := range steps {
		name, args := decode[string](t, step[0]), step[1:]
		var err error
		switch {
		case name == "MapDataset.range":
			r := []int64{0, 0, 1}
			for i, a := range args {
				r[i] = decode[int64](t, a)
			}
			if len(args) == 1 {
				r[0], r[1] = 0, r[0]
			}
			m.ids = Range(r[0], r[1], r[2])
		case name == "shuffle":
			m.ids = Shuffle(m.ids, decode[struct{ Seed uint32 }](t, args[0]).Seed)
		case name == "repeat" && m.batches != nil:
			m.batches, err = Repeat(m.batches, epochs(t, args))
		case name == "repeat":
			m.ids, err = Repeat(m.ids, epochs(t, args))
		case name == "slice":
			bounds := [3]int64{0, Endless, 1}
			for i := range bounds {
				if v := decode[*int64](t, args[i]); v != nil {
					bounds[i] = *v
				}
			}
			m.ids, err = Slice(m.ids, bounds[0], bounds[1], bounds[2])
		case name == "batch":
			drop := len(args) > 1 && decode[struct {
				Drop bool `json:"drop_remainder"`
			}](t, args[1]).Drop
			m.batches, err = Batch(m.ids, decode[int64](t, args[0]), drop)
		case name == "MapDataset.mix", name == "grain.IterDataset.mix":
			var parts []Map[int64]
			for _, p := range decode[[]struct{ Pipeline [][]json.RawMessage }](t, args[0]) {
				part, ok := build(t, p.Pipeline)
				if !ok {
					return m, false
				}
				parts = append(parts, part.ids)
			}
			weights := decode[struct{ Weights []float64 }](t, args[1]).Weights
			if name == "MapDataset.mix" {
				m.ids, err = Mix(parts, weights)
			} else {
				m.ids, err = MixIterators(parts, weights)
			}
		case name == "to_iter_dataset":
		default:
			return m, false
		}
		if err != nil {
			t.Fatal(fmt.Errorf("%s: %w", name, err))
		}
	}
	return m, true
}

func epochs(t *testing.T, args []json.RawMessage) int64 {
	t.Helper()
	if len(args) == 0 {
		return 0
	}
	return decode[int64](t, args[0])
}

func decode[T any](t *testing.T, raw json.RawMessage) (v T) {
	t.Helper()
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

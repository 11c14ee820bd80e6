package recording

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// What is encoded is decoded: ids and losses keep every bit.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOf(rapid.Int64()).Draw(t, "ids")
		got, err := DecodeIDs(EncodeIDs(ids), len(ids))
		if err != nil || !slices.Equal(got, ids) {
			t.Fatalf("%v: %v", got, err)
		}
		bits := rapid.Uint64().Draw(t, "loss")
		loss, err := DecodeLoss(EncodeLoss(math.Float64frombits(bits)))
		if err != nil || math.Float64bits(loss) != bits {
			t.Fatalf("%x: %v", math.Float64bits(loss), err)
		}
	})
}

const header = `{"format":"bivouac.record","version":1,"pid":7,"rank":2}` + "\n"

// A file that is cut anywhere gives the whole lines before the cut.
func TestTornLine(t *testing.T) {
	step := int64(3)
	text := []byte(header)
	for range 3 {
		var err error
		line := Line{Step: &step, Count: 2, IDs: EncodeIDs([]int64{5, 9}), Loss: []string{EncodeLoss(1)}}
		if text, err = Append(text, line); err != nil {
			t.Fatal(err)
		}
	}
	for cut := range len(text) + 1 {
		f, err := Parse(text[:cut])
		whole := -1
		for _, c := range text[:cut] {
			if c == '\n' {
				whole++
			}
		}
		torn := cut > 0 && text[cut-1] != '\n'
		if err != nil || len(f.Entries) != max(whole, 0) || f.Torn != torn {
			t.Fatalf("cut at %d: %d entries, torn %v: %v", cut, len(f.Entries), f.Torn, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(header + `{"step":1,"n":2,"ids":"AgQ="}` + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		whole, err := Parse(data)
		if err != nil {
			return
		}
		var r Reader
		for i := range data {
			if err := r.Feed(data[i : i+1]); err != nil {
				t.Fatal(err)
			}
		}
		if len(r.Entries) != len(whole.Entries) || r.Torn != whole.Torn {
			t.Fatalf("%d entries by bytes, %d as a whole", len(r.Entries), len(whole.Entries))
		}
	})
}

package state

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
)

// sealed is a document of version 2, whose checksum was checked with a second
// implementation, in Python.
const sealed = `{"batch":3,"checksum":"aeef5a34","kind":"k","position":12,"version":2}`

func TestSealIsACRC(t *testing.T) {
	b, err := Document{Version: 2, Kind: "k", Position: 12, Batch: 3}.Marshal()
	if want := sealed; string(b) != want || err != nil {
		t.Errorf("%s, want %s, %v", b, want, err)
	}
	again := append([]byte(nil), b...)
	Seal(again)
	if string(again) != string(b) {
		t.Errorf("sealed twice: %s", again)
	}
	for _, other := range []string{``, `{}`, `{"batch":1}`, `{"batch":1,"checksum":"`, `{"kind":"k"}`} {
		b := []byte(other)
		if Seal(b); string(b) != other {
			t.Errorf("%s became %s", other, b)
		}
	}
	if n := testing.AllocsPerRun(100, func() { Seal(again) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// The checksum covers the contents of a document: the same contents in another form keep the
// checksum.
func TestSealOutlivesOtherForms(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := genDocument().Draw(t, "document")
		d.Version = 2
		b, err := d.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		var v map[string]json.RawMessage
		if err := json.Unmarshal(b, &v); err != nil {
			t.Fatal(err)
		}
		spaced, err := json.MarshalIndent(v, "", "\t")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Unmarshal(spaced); err != nil {
			t.Fatalf("%v\n%s", err, spaced)
		}
		if _, err := CheckSeal(spaced); err != nil {
			t.Fatal(err)
		}
		at := rapid.IntRange(0, len(b)-1).Draw(t, "at")
		b[at] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		got, err := Unmarshal(b)
		switch k := errs.KindOf(err); {
		case err != nil && k != errs.Corrupt && k != errs.Unsupported:
			t.Fatal(err)
		case err == nil && !cmp.Equal(got, d): // 1E9 is 1e9
			t.Fatalf("a flipped bit is accepted: %+v from %s", got, b)
		}
	})
}

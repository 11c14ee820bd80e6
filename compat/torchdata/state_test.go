package torchdata

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/bivouac-ml/bivouac/compat/torchdata/internal/leap"
	"github.com/bivouac-ml/bivouac/errs"
)

func TestStatesThatNoGeneratorWrites(t *testing.T) {
	fresh := NewGenerator(3)
	good, err := fresh.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(b []byte) []byte{
		"short":             func(b []byte) []byte { return b[:StateSize-1] },
		"long":              func(b []byte) []byte { return append(b, 0) },
		"empty":             func([]byte) []byte { return nil },
		"unseeded":          func(b []byte) []byte { b[seededAt] = 0; return b },
		"no rest":           func(b []byte) []byte { b[leftAt] = 0; return b },
		"next out of range": func(b []byte) []byte { b[nextAt+7] = 0x80; return b },
		"place and rest":    func(b []byte) []byte { b[nextAt] = 5; return b },
		"wide word":         func(b []byte) []byte { binary.LittleEndian.PutUint64(b[wordsAt+8:], 1<<32); return b },
	} {
		g := NewGenerator(9)
		before, _ := g.MarshalBinary()
		err := g.UnmarshalBinary(change(bytes.Clone(good)))
		if !errors.Is(err, errs.Corrupt) {
			t.Errorf("%s: %v", name, err)
		}
		if after, _ := g.MarshalBinary(); !bytes.Equal(before, after) {
			t.Errorf("%s: the generator is changed", name)
		}
	}
}

// At every place in the words a state comes back and goes on alike.
func TestStateAtEveryPlace(t *testing.T) {
	g := NewGenerator(77)
	for draws := range 2 * leap.Size {
		b, err := g.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		var read Generator
		if err := read.UnmarshalBinary(b); err != nil {
			t.Fatalf("after %d numbers: %v", draws, err)
		}
		if got, want := read.Uint32(), g.Uint32(); got != want || read.Seed() != 77 {
			t.Fatalf("number %d is %d, want %d", draws, got, want)
		}
	}
}

func FuzzGeneratorState(f *testing.F) {
	g := NewGenerator(DefaultSeed)
	for _, words := range []uint64{0, 1, 624, 10000} {
		g.Discard(words)
		b, err := g.MarshalBinary()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var g Generator
		if err := g.UnmarshalBinary(b); err != nil {
			if !errors.Is(err, errs.Corrupt) {
				t.Fatalf("%v", err)
			}
			return
		}
		if again, err := g.MarshalBinary(); err != nil || !bytes.Equal(again, b) {
			t.Fatalf("is written otherwise: %v", err)
		}
		g.Discard(1000)
		g.Int63()
	})
}

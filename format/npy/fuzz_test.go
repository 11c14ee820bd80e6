package npy

import (
	"bytes"
	"testing"
)

// FuzzNpy reads a file; what it reads is written and read again.
func FuzzNpy(f *testing.F) {
	for _, v := range recorded(f) {
		if !v.isArchive() && len(v.content) < 1000 {
			f.Add(v.content)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		x, err := Decode(b)
		if err != nil {
			return
		}
		if err := x.Check(); err != nil || len(x.Data) > len(b) {
			t.Fatalf("%d bytes of %d: %v", len(x.Data), len(b), err)
		}
		again, err := Encode(x, nil)
		if err != nil {
			t.Fatal(err)
		}
		if y, err := Decode(again); err != nil || !y.Equal(x) {
			t.Fatalf("%v, %v", y, err)
		}
	})
}

// FuzzHeader gives the fuzzer the text of the header alone.
func FuzzHeader(f *testing.F) {
	for _, s := range []string{
		dictionary("'<f8'", "False", "(1,)"), dictionary("u'>c16'", "True", "(0x1L, 00 ,)"), dictionary("[('a', '<i4')]", "False", "()"),
		dictionary(`'''\74f8''' r"" #c`+"\n", "False", "(-0, 1.5e3, 1j)"), dictionary("('<f8', (1,))", "None", "[{1: b''}]"),
	} {
		f.Add(byte(1), s)
		f.Add(byte(3), s)
	}
	f.Fuzz(func(_ *testing.T, version byte, text string) {
		_, _ = Decode(file(1+version%3, text, 64))
	})
}

func FuzzArchive(f *testing.F) {
	for _, v := range recorded(f) {
		if v.isArchive() {
			f.Add(v.content)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := OpenArchive(bytes.NewReader(b), int64(len(b)), Options{Budget: 1 << 20})
		if err != nil {
			return
		}
		for _, name := range a.Names() {
			if x, err := a.Read(name); err == nil && len(x.Data) > plausible*len(b)+1<<20 {
				t.Fatalf("%d bytes of %d", len(x.Data), len(b))
			}
		}
	})
}

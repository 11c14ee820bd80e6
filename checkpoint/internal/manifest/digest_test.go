package manifest

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
)

// Runs cover every byte once, none is longer than RunBytes, and a part that is
// not short begins with a run.
func TestRunsLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := make([]byte, rapid.IntRange(0, 3*RunBytes).Draw(t, "bytes"))
		parts := rapid.SliceOf(rapid.IntRange(0, len(b))).Draw(t, "parts")
		slices.Sort(parts)
		const off = 4096
		runs := Runs(b, off, parts...)
		at := int64(off)
		begins := map[int64]bool{}
		for _, r := range runs {
			if r.Off != at || r.Size > RunBytes || r.Size == 0 && len(b) > 0 || !r.Check(b[at-off:at-off+r.Size]) {
				t.Fatalf("run %d+%d at %d", r.Off, r.Size, at)
			}
			begins[at] = true
			at += r.Size
		}
		if at != off+int64(len(b)) {
			t.Fatalf("runs end at %d of %d", at-off, len(b))
		}
		for i, p := range append(parts, len(b))[:len(parts)] {
			if end := append(parts, len(b))[i+1]; end-p >= shortRun && !begins[off+int64(p)] {
				t.Errorf("no run begins with the part at %d of %d bytes", p, end-p)
			}
		}
	})
}

func TestTouched(t *testing.T) {
	f := File{Size: 10, Runs: []Run{{Off: 0, Size: 4}, {Off: 4, Size: 4}, {Off: 8, Size: 2}}}
	for _, c := range []struct{ off, end, first, n int64 }{{0, 10, 0, 3}, {3, 5, 0, 2}, {4, 8, 4, 1}, {8, 9, 8, 1},
		{5, 5, 0, 0}, {10, 10, 0, 0}} {
		got := f.Touched(c.off, c.end)
		if c.n > 0 && (int64(len(got)) != c.n || got[0].Off != c.first) {
			t.Errorf("%d to %d: %v", c.off, c.end, got)
		}
	}
}

// A signature over checksums only, as earlier versions made it, does not count.
func TestSignatureWithoutDigests(t *testing.T) {
	public, private := key(1)
	m, err := Parse(Sign((&Manifest{Files: []File{{Name: "a", Size: 3, CRC: 1}}}).Append(nil), private))
	if err != nil {
		t.Fatal(err)
	}
	if err := m.CheckSignature(public); errs.KindOf(err) != errs.Corrupt {
		t.Errorf("%v, want Corrupt", err)
	}
}

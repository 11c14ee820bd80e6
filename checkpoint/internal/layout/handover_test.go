package layout

import (
	"context"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/internal/crc"
)

// However memory is filled from a file, in pieces that join, leave gaps, overlap or go beyond it,
// the checksum that update returns is the checksum of what the memory holds, and the ranges that
// are noted have their checksums.
func TestHandoverIsTheChecksum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOfN(rapid.Byte(), 1, 300).Draw(t, "file")
		o := newOnce(nil, "")
		r := notingReader{&countingFile{b: b, times: make([]int, len(b))}, o, "f", o.spans("f")}
		var h handover
		ctx := h.with(t.Context())
		memory, sum, all := make([]byte, len(b)), uint32(0), []byte(nil)
		for range rapid.IntRange(1, 8).Draw(t, "parts") {
			from := rapid.IntRange(0, len(b)).Draw(t, "from")
			want := memory[from:rapid.IntRange(from, len(b)).Draw(t, "to")]
			if rapid.Bool().Draw(t, "expected") {
				h.expect(want)
			}
			at := from
			for range rapid.IntRange(0, 4).Draw(t, "reads") {
				if rapid.Bool().Draw(t, "elsewhere") {
					at = rapid.IntRange(0, len(b)).Draw(t, "at")
				}
				end := rapid.IntRange(at, len(b)).Draw(t, "end")
				if err := r.ReadAt(ctx, memory[at:end], int64(at)); err != nil {
					t.Fatal(err)
				}
				at = end
			}
			all = append(all, want...)
			if sum = h.update(sum, want); sum != crc.Sum(all) {
				t.Fatalf("the checksum %08x, want %08x", sum, crc.Sum(all))
			}
		}
		for _, s := range r.into.list {
			if s.sum != crc.Sum(b[s.off:s.end]) {
				t.Fatalf("the range %v, want the checksum %08x", s, crc.Sum(b[s.off:s.end]))
			}
		}
	})
}

// Memory that the store has filled is not summed again; other memory is.
func TestHandoverSumsOnce(t *testing.T) {
	b := []byte("0123456789abcdef")
	o := newOnce(nil, "")
	r := notingReader{&countingFile{b: b, times: make([]int, len(b))}, o, "f", o.spans("f")}
	var h handover
	ctx := h.with(t.Context())
	memory := make([]byte, len(b))
	read := func(ctx context.Context, from, to int) {
		if err := r.ReadAt(ctx, memory[from:to], int64(from)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name   string
		fill   func()
		handed bool
	}{
		{"at once", func() { read(ctx, 0, 8) }, true},
		{"in pieces", func() { read(ctx, 0, 3); read(ctx, 3, 8) }, true},
		{"and what follows", func() { read(ctx, 0, 16) }, true},
		{"and something else", func() { read(ctx, 10, 12); read(ctx, 0, 8); read(ctx, 10, 12) }, true},
		{"without the end", func() { read(ctx, 0, 7) }, false},
		{"without the start", func() { read(ctx, 1, 8) }, false},
		{"from the end", func() { read(ctx, 4, 8); read(ctx, 0, 4) }, false},
		{"with another context", func() { read(t.Context(), 0, 8) }, false},
		{"not at all", func() {}, false},
	} {
		h.expect(memory[:8])
		c.fill()
		clear(memory) // update does not see what was read, unless it was told
		if got := h.update(0, memory[:8]); (got == crc.Sum(b[:8])) != c.handed {
			t.Errorf("%s: the checksum %08x, and the checksum of what was read is %08x", c.name, got, crc.Sum(b[:8]))
		}
		if got := h.update(0, memory[:8]); got != crc.Zeros(8) {
			t.Errorf("%s: a second time the checksum is %08x, want that of the memory, %08x", c.name, got, crc.Zeros(8))
		}
	}
	h.expect(memory[:8])
	read(ctx, 0, 8)
	clear(memory)
	if got := h.update(0, memory[8:]); got != crc.Zeros(8) {
		t.Errorf("other memory of the same length: %08x, want %08x", got, crc.Zeros(8))
	}
}

package layout

import (
	"context"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/format/zarr"
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

// notedFile is a directory of one file, whose reads are noted.
type notedFile struct{ notingReader }

func (f notedFile) ReadFile(ctx context.Context, _ string) ([]byte, error) {
	b := make([]byte, f.notingReader.Size())
	return b, f.notingReader.ReadAt(ctx, b, 0)
}

func (f notedFile) ReadAt(ctx context.Context, _ string, p []byte, off int64) error {
	return f.notingReader.ReadAt(ctx, p, off)
}

func (f notedFile) Size(context.Context, string) (int64, error) { return f.notingReader.Size(), nil }

// The manifest has the checksums of elements. Where the stored bytes are not the elements, as of
// another byte order, their checksum is not taken for it.
func TestOnlySumsOfElementsAreHandedOver(t *testing.T) {
	b := []byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
	for _, c := range []struct {
		dtype, endian string
		elements      []byte
	}{
		{"uint16", "little", b},
		{"uint16", "big", []byte{2, 1, 4, 3, 6, 5, 8, 7, 10, 9, 12, 11, 14, 13, 16, 15}},
		{"uint8", "big", b},
		{"int4", "little", []byte{1, 2, 3, 4, 5, 6, 7, 0xf8, 0xf9, 0xfa, 0xfb, 0xfc, 0xfd, 0xfe, 0xff, 0}},
	} {
		n := len(b)
		if c.dtype == "uint16" {
			n /= 2
		}
		m, err := zarr.ParseMetadata(fmt.Appendf(nil, `{"zarr_format":3,"node_type":"array","shape":[%d],"data_type":%q,
			"chunk_grid":{"name":"regular","configuration":{"chunk_shape":[%d]}},"fill_value":0,
			"chunk_key_encoding":{"name":"default"},"codecs":[{"name":"bytes","configuration":{"endian":%q}}]}`,
			n, c.dtype, n, c.endian), "zarr.json")
		if err != nil {
			t.Fatal(err)
		}
		o := newOnce(nil, "")
		file := &countingFile{b: b, times: make([]int, len(b))}
		values := zarr.NewFiles(notedFile{notingReader{file, o, "f", o.spans("f")}})
		array, err := zarr.New(values, "a", m)
		if err != nil {
			t.Fatal(err)
		}
		whole := zarr.WholeBox(m.Shape)
		for _, sum := range []uint32{crc.Sum(c.elements), crc.Sum(b)} {
			l := &zarrArray{stored: &stored{values: values}, array: array,
				sums: newSums(manifest.Leaf{CRC: sum, Size: int64(len(b))}, m, m.ChunkShape)}
			w := worker{pool: newPool(budget), sumsOnly: true}
			dst := make([]byte, len(b))
			err := l.readPart(w.handed.with(t.Context()), firstPart(t, l, whole), whole, dst, &w)
			if (err == nil) != (sum == crc.Sum(c.elements)) {
				t.Errorf("%s, %s-endian, checksum %08x: %v", c.dtype, c.endian, sum, err)
			}
			w.release()
		}
	}
}

// firstPart returns the first part of a box of an array.
func firstPart(t *testing.T, l *zarrArray, box zarr.Box) *zarr.Part {
	for p, err := range l.plan(t.Context(), box) {
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	t.Fatal("no part")
	return nil
}

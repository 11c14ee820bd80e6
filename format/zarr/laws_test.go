package zarr

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/crc"
	"github.com/bivouac-ml/bivouac/tensor"
)

// zarrTypes are the types that zarr has a name for.
func zarrTypes() []tensor.DType {
	var out []tensor.DType
	for _, d := range tensor.DTypes() {
		if _, ok := d.Zarr(); ok {
			out = append(out, d)
		}
	}
	return out
}

// drawArray makes an array of any shape, cut in any way, and its elements.
func drawArray(t *rapid.T) (*Metadata, []byte) {
	d := rapid.SampledFrom(zarrTypes()).Draw(t, "dtype")
	rank := rapid.IntRange(0, 4).Draw(t, "rank")
	shape, chunk, sub := make([]int, rank), make([]int, rank), make([]int, rank)
	for i := range shape {
		shape[i] = rapid.IntRange(0, 9).Draw(t, "extent")
		sub[i] = rapid.IntRange(1, 4).Draw(t, "sub-chunk")
		chunk[i] = sub[i] * rapid.IntRange(1, 3).Draw(t, "sub-chunks")
	}
	layout := Layout{Chunk: chunk, SubChunk: sub, Codecs: rapid.SampledFrom([][]CodecSpec{
		nil, {CRC32C()}, {Zstd(3)}, {Zstd(-1), CRC32C()}, {CRC32C(), Zstd(1)}, {CRC32C(), CRC32C()},
		{GZip(1)}, {GZip(0), CRC32C()}, {Blosc(BloscOptions{})}, {Blosc(BloscOptions{Codec: "zstd", Shuffle: BitShuffle}), CRC32C()},
	}).Draw(t, "codecs")}
	switch rapid.IntRange(0, 3).Draw(t, "plain") {
	case 0:
		layout.Plain, layout.SubChunk = true, nil
		layout.Fortran = rapid.Bool().Draw(t, "fortran")
	case 1:
		layout.Format, layout.SubChunk = V2, nil
		layout.Fortran = rapid.Bool().Draw(t, "fortran")
		layout.Codecs = rapid.SampledFrom([][]CodecSpec{
			nil, {Zstd(1)}, {GZip(6)}, {Zlib(1)}, {LZ4()}, {Blosc(BloscOptions{Codec: "snappy", Shuffle: NoShuffle})}, {Blosc(BloscOptions{Codec: "blosclz"})},
		}).Draw(t, "compressor")
	}
	m, err := NewMetadata(d, shape, layout)
	if err != nil {
		t.Fatal(err)
	}
	if m.Format == V2 {
		if name, _ := d.ZarrV2(); name[0] == '<' && rapid.Bool().Draw(t, "big-endian") {
			m.Codecs[len(m.Codecs)-1-len(layout.Codecs)].Config = map[string]any{"endian": "big"}
		}
		if rapid.Bool().Draw(t, "slash") {
			m.Keys.Separator = "/"
		}
		if d != tensor.Bool && rapid.Bool().Draw(t, "filled") {
			m.Fill = elements(t, d, 1)
		}
		return m, elements(t, d, m.Shape.Len())
	}
	if !layout.Plain {
		drawNesting(t, m, chunk, sub)
	}
	if !layout.Plain && m.Codecs[0].Name != "transpose" && rapid.Bool().Draw(t, "index at start") {
		m.Codecs[0].Config["index_location"] = "start"
	}
	if layout.Plain && !layout.Fortran && rapid.Bool().Draw(t, "big-endian") {
		m.Codecs[0].Config = map[string]any{"endian": "big"}
	}
	if d != tensor.Bool && rapid.Bool().Draw(t, "filled") {
		m.Fill = elements(t, d, 1)
	}
	return m, elements(t, d, m.Shape.Len())
}

// drawNesting makes something else of the shard of m, or leaves it.
func drawNesting(t *rapid.T, m *Metadata, chunk, sub []int) {
	rank := len(chunk)
	inner := m.Codecs[0].Config["codecs"].([]CodecSpec)
	switch rapid.IntRange(0, 5).Draw(t, "nesting") {
	case 0: // a shard in a shard
		ones := make([]int, rank)
		for i := range ones {
			ones[i] = 1
		}
		m.Codecs = []CodecSpec{Sharding(sub, Sharding(ones, inner...))}
	case 1: // transposed sub-chunks, compressed shard
		m.Codecs = []CodecSpec{Sharding(sub, append([]CodecSpec{Fortran(rank)}, inner...)...), Zstd(1)}
	case 2: // a transposed shard
		order := rapid.Permutation(identity(rank)).Draw(t, "order")
		m.Codecs = []CodecSpec{{Name: "transpose", Config: map[string]any{"order": order}}, Sharding(pick(sub, order), inner...)}
	}
}

// elements draws n valid elements.
func elements(t *rapid.T, d tensor.DType, n int) []byte {
	seed := rapid.Uint64().Draw(t, "seed")
	p := make([]byte, n*d.Size())
	for i := range p {
		seed = seed*6364136223846793005 + 1442695040888963407
		p[i] = byte(seed >> 56)
		if d == tensor.Bool {
			p[i] &= 1
		}
	}
	if err := (&chain{dtype: d}).finish(p); err != nil {
		t.Fatal(err)
	}
	return p
}

// store encodes all chunks of the array.
func store(t rapid.TB, e *Encoder, data []byte) *mem {
	m := e.Metadata()
	b, err := m.JSON()
	if err != nil {
		t.Fatal(err)
	}
	kv := &mem{values: map[string][]byte{"a/" + m.Format.MetadataKey(): b}}
	source := Source{Data: data, Box: WholeBox(m.Shape)}
	for cell := range cells(make([]int, len(m.Shape)), m.Shape, m.ChunkShape) {
		sums := make([]uint32, e.SubChunks())
		dst := bytes.Repeat([]byte{0xaa}, e.MaxChunkSize(cell))
		n, sum, err := e.EncodeChunk(dst, cell, source, sums)
		if err != nil {
			t.Fatal(err)
		}
		if size, ok := e.ChunkSize(cell); ok && size != n {
			t.Fatalf("chunk %v has %d bytes, announced %d", cell, n, size)
		}
		if want := crc.Sum(dst[:n]); sum != want {
			t.Fatalf("chunk %v: combined CRC-32C %08x, of the bytes %08x", cell, sum, want)
		}
		if e.Fixed() {
			pieces := pieceByPiece(t, e, cell, source, sums)
			if !bytes.Equal(pieces, dst[:n]) {
				t.Fatalf("chunk %v piece by piece\n% x\nat once\n% x", cell, pieces, dst[:n])
			}
		}
		kv.values["a/"+e.Key(cell)] = bytes.Clone(dst[:n])
	}
	return kv
}

// pieceByPiece encodes a chunk as concurrent writers would.
func pieceByPiece(t rapid.TB, e *Encoder, cell []int, source Source, sums []uint32) []byte {
	size, _ := e.ChunkSize(cell)
	out := make([]byte, size)
	for i := e.SubChunks() - 1; i >= 0; i-- {
		offset, length, ok := e.SubChunk(cell, i)
		region, inside := e.Region(cell, i)
		if ok != inside {
			t.Fatalf("sub-chunk %d of %v: stored %v, inside %v", i, cell, ok, inside)
		}
		if !ok {
			continue
		}
		// A source that holds no more than it must.
		own := Source{Data: cut(source.Data, source.Box.Shape, region, e.meta.DType.Size()), Box: region}
		n, sum, err := e.EncodeSubChunk(out[offset:offset+length], cell, i, own)
		if err != nil || n != length || sum != sums[i] {
			t.Fatalf("sub-chunk %d of %v: %d bytes, sum %08x, %v; want %d, %08x", i, cell, n, sum, err, length, sums[i])
		}
	}
	offset, length, ok := e.IndexPlace(cell)
	if !ok {
		t.Fatal("no place for the index")
	}
	if n, err := e.EncodeIndex(out[offset:offset+length], cell); err != nil || n != length {
		t.Fatalf("index of %d bytes, %v; want %d", n, err, length)
	}
	return out
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, data := drawArray(t)
		e, err := NewEncoder(m, EncoderOptions{Align: rapid.SampledFrom([]int{0, 1, 8, 64}).Draw(t, "align")})
		if err != nil {
			t.Fatal(err)
		}
		kv := store(t, e, data)
		a, err := Open(context.Background(), kv, "a")
		if err != nil {
			t.Fatal(err)
		}
		got, want := a.Metadata(), m
		if !got.Shape.Equal(want.Shape) || got.DType != want.DType || cmp.Diff(want.ChunkShape, got.ChunkShape) != "" {
			t.Fatalf("metadata %+v, want %+v", got, want)
		}
		box := WholeBox(m.Shape)
		for i, n := range m.Shape {
			box.Origin[i] = rapid.IntRange(0, n).Draw(t, "origin")
			box.Shape[i] = rapid.IntRange(0, n-box.Origin[i]).Draw(t, "length")
		}
		for _, b := range []Box{WholeBox(m.Shape), box} {
			out := bytes.Repeat([]byte{0xaa}, b.Len()*m.DType.Size())
			if err := a.ReadBox(context.Background(), b, out, nil); err != nil {
				t.Fatalf("%v: %v", b, err)
			}
			if want := cut(data, m.Shape, b, m.DType.Size()); !bytes.Equal(out, want) {
				t.Fatalf("%v:\n% x\nwant\n% x", b, out, want)
			}
		}
	})
}

// A scheduler that reads parts by itself gets what ReadBox gets.
func TestPlanAndDecode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, data := drawArray(t)
		e, err := NewEncoder(m, EncoderOptions{})
		if err != nil {
			t.Fatal(err)
		}
		kv := store(t, e, data)
		a, err := Open(context.Background(), kv, "a")
		if err != nil {
			t.Fatal(err)
		}
		box := WholeBox(m.Shape)
		out := make([]byte, len(data))
		var parts []*Part
		for p, err := range a.Plan(context.Background(), box, nil) {
			if err != nil {
				t.Fatal(err)
			}
			parts = append([]*Part{p}, parts...) // any order will do
		}
		for _, p := range parts {
			b := p.Data
			if b == nil {
				b = bytes.Clone(kv.values[p.Key][p.Offset : p.Offset+p.Length])
			}
			if place, ok := p.Direct(box); ok {
				target := out[place.Offset : place.Offset+place.Length]
				err = p.Finish(target, b[copy(target, b):])
			} else if count, size, ok := p.Rows(); ok && rapid.Bool().Draw(t, "by rows") {
				suffix, sum := b[count*size:], crc.Sum(b[:count*size])
				for first := 0; first < count && err == nil; {
					n := rapid.IntRange(1, count-first).Draw(t, "rows")
					err = p.PlaceRows(first, b[first*size:(first+n)*size], box, out)
					first += n
				}
				if err == nil {
					err = p.FinishSummed(nil, suffix, sum)
				}
			} else {
				err = a.Decode(p, b, box, out, nil)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(out, data) {
			t.Fatalf("% x\nwant\n% x", out, data)
		}
	})
}

// With checksums, every flipped bit of a chunk is an error, or lies in a gap.
func TestBitFlips(t *testing.T) {
	m, err := NewMetadata(tensor.Float32, tensor.Shape{5, 6}, Layout{Chunk: []int{4, 6}, SubChunk: []int{2, 3}, Codecs: []CodecSpec{CRC32C()}})
	if err != nil {
		t.Fatal(err)
	}
	e, err := NewEncoder(m, EncoderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	data := make([]byte, 5*6*4)
	for i := range data {
		data[i] = byte(i * 37)
	}
	kv := store(t, e, data)
	a, err := Open(t.Context(), kv, "a")
	if err != nil {
		t.Fatal(err)
	}
	out := make([]byte, len(data))
	for key, value := range kv.values {
		if key == "a/"+MetadataKey {
			continue
		}
		for bit := range 8 * len(value) {
			value[bit/8] ^= 1 << (bit % 8)
			if err := a.ReadBox(t.Context(), WholeBox(m.Shape), out, nil); !errors.Is(err, errs.Corrupt) {
				t.Errorf("%s: bit %d flipped: %v, want an error of kind corrupt", key, bit, err)
			}
			value[bit/8] ^= 1 << (bit % 8)
		}
	}
	if err := a.ReadBox(t.Context(), WholeBox(m.Shape), out, nil); err != nil || !bytes.Equal(out, data) {
		t.Fatalf("unharmed: %v", err)
	}
}

func TestResidue(t *testing.T) {
	for _, s := range []string{"", "a", "123456789"} {
		b := binary.LittleEndian.AppendUint32([]byte(s), crc.Sum([]byte(s)))
		if got := crc.Sum(b); got != residue {
			t.Errorf("%q with its checksum: %08x, want %08x", s, got, uint32(residue))
		}
	}
}

// A box reads only the sub-chunks that it touches, and of uncompressed ones
// without checksum only the rows.
func TestReadsNoMoreThanNeeded(t *testing.T) {
	for _, c := range []struct {
		name   string
		codecs []CodecSpec
		box    Box
		want   int // bytes besides metadata and index
	}{
		{"one sub-chunk", []CodecSpec{CRC32C()}, Box{[]int{256, 0}, []int{256, 256}}, 256*256*4 + 4},
		{"a row of a checked one", []CodecSpec{CRC32C()}, Box{[]int{3, 0}, []int{1, 256}}, 256*256*4 + 4},
		{"a row of a bare one", nil, Box{[]int{3, 0}, []int{1, 256}}, 256 * 4},
		{"all", nil, Box{[]int{0, 0}, []int{1024, 1024}}, 1024 * 1024 * 4},
	} {
		m, err := NewMetadata(tensor.Int32, tensor.Shape{1024, 1024}, Layout{SubChunk: []int{256, 256}, Codecs: c.codecs})
		if err != nil {
			t.Fatal(err)
		}
		e, err := NewEncoder(m, EncoderOptions{})
		if err != nil {
			t.Fatal(err)
		}
		kv := store(t, e, make([]byte, 4<<20))
		a, err := Open(t.Context(), kv, "a")
		if err != nil {
			t.Fatal(err)
		}
		kv.read = 0
		if err := a.ReadBox(t.Context(), c.box, make([]byte, c.box.Len()*4), nil); err != nil {
			t.Fatal(err)
		}
		if got := kv.read - (16*16 + 4); got != c.want {
			t.Errorf("%s: %d bytes read, want %d", c.name, got, c.want)
		}
	}
}

func TestMissingChunks(t *testing.T) {
	m, err := NewMetadata(tensor.Int16, tensor.Shape{6}, Layout{Chunk: []int{2}})
	if err != nil {
		t.Fatal(err)
	}
	m.Fill = []byte{7, 1}
	e, err := NewEncoder(m, EncoderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	kv := store(t, e, []byte{1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0})
	delete(kv.values, "a/c/1")
	a, err := Open(t.Context(), kv, "a")
	if err != nil {
		t.Fatal(err)
	}
	out := make([]byte, 12)
	if err := a.ReadBox(t.Context(), WholeBox(m.Shape), out, nil); !errors.Is(err, errs.NotFound) {
		t.Errorf("missing chunk: %v, want not found", err)
	}
	if err := a.ReadBox(t.Context(), WholeBox(m.Shape), out, &ReadOptions{FillMissing: true}); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]byte{1, 0, 2, 0, 7, 1, 7, 1, 5, 0, 6, 0}, out); d != "" {
		t.Error(d)
	}
}

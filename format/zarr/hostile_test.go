package zarr

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/internal/zframe"
	"github.com/bivouac-ml/bivouac/internal/crc"
	"github.com/bivouac-ml/bivouac/tensor"
)

// sealedIndex returns a shard index of the given offsets and lengths.
func sealedIndex(entries ...uint64) []byte {
	var b []byte
	for _, e := range entries {
		b = binary.LittleEndian.AppendUint64(b, e)
	}
	return binary.LittleEndian.AppendUint32(b, crc.Sum(b))
}

func TestHostileChunks(t *testing.T) {
	frame := zframe.NewEncoder(3, false).Append(nil, make([]byte, 8))
	large := zframe.NewEncoder(3, false).Append(nil, make([]byte, 1<<20))
	with := func(data []byte, entries ...uint64) []byte {
		return append(append([]byte(nil), data...), sealedIndex(entries...)...)
	}
	n := uint64(len(frame))
	for _, c := range []struct {
		name   string
		codecs []CodecSpec
		value  []byte
		want   errs.Kind
	}{
		{"sound", []CodecSpec{Zstd(3)}, with(frame, 0, n, 0, n), errs.Other},
		{"empty", nil, nil, errs.Corrupt},
		{"no room for the index", nil, make([]byte, 35), errs.Corrupt},
		{"index checksum", nil, make([]byte, 36), errs.Corrupt},
		{"beyond the end", nil, with(make([]byte, 16), 0, 8, 48, 8), errs.Corrupt},
		{"offset overflows", nil, with(make([]byte, 16), 0, 8, 1<<63, 1<<63), errs.Corrupt},
		{"length alone is missing", nil, with(make([]byte, 16), 0, 8, 8, noEntry), errs.Corrupt},
		{"too short", nil, with(make([]byte, 16), 0, 8, 8, 7), errs.Corrupt},
		{"too long", nil, with(make([]byte, 32), 0, 8, 8, 9), errs.Corrupt},
		{"sub-chunk missing", nil, with(make([]byte, 16), 0, 8, noEntry, noEntry), errs.NotFound},
		{"no frame", []CodecSpec{Zstd(3)}, with(make([]byte, 16), 0, 8, 8, 8), errs.Corrupt},
		{"decompression bomb", []CodecSpec{Zstd(3)}, with(large, 0, uint64(len(large)), 0, uint64(len(large))), errs.Corrupt},
		{"frame of too little", []CodecSpec{Zstd(3)}, with(zframe.NewEncoder(3, false).Append(nil, make([]byte, 7)), 0, n-1, 0, n-1), errs.Corrupt},
		{"no room for a checksum", []CodecSpec{Zstd(3), CRC32C()}, with(frame, 0, 3, 0, 3), errs.Corrupt},
	} {
		m, err := NewMetadata(tensor.Int32, tensor.Shape{4}, Layout{SubChunk: []int{2}, Codecs: c.codecs})
		if err != nil {
			t.Fatal(err)
		}
		a, err := New(&mem{values: map[string][]byte{"k/c/0": c.value}}, "k", m)
		if err != nil {
			t.Fatal(err)
		}
		err = a.ReadBox(t.Context(), WholeBox(m.Shape), make([]byte, 16), nil)
		if c.want == errs.Other && err != nil || c.want != errs.Other && !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
		if err != nil && !strings.Contains(err.Error(), "k/c/0") {
			t.Errorf("%s: %v does not name the key", c.name, err)
		}
	}
}

// A few bytes of metadata and of chunk that speak of terabytes cost nothing.
func TestAbsurdChunksCostNothing(t *testing.T) {
	bomb := []byte{0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0, 0, 0, 0, 0, 1, 0, 0, 0x0b, 0, 0, 'a'} // declares 2^40 bytes
	for _, codecs := range [][]CodecSpec{nil, {CRC32C()}, {Zstd(3)}, {Zstd(3), CRC32C()}} {
		for _, value := range [][]byte{{}, {1, 2, 3}, bomb, append(bomb[:len(bomb):len(bomb)], 0, 0, 0, 0)} {
			for _, plain := range []bool{true, false} {
				m, err := NewMetadata(tensor.Uint8, tensor.Shape{1 << 20, 1 << 20}, Layout{Plain: plain, Codecs: codecs})
				if err != nil {
					t.Fatal(err)
				}
				a, err := New(&mem{values: map[string][]byte{"c/0/0": value}}, "", m)
				if err != nil {
					t.Fatal(err)
				}
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				err = a.ReadBox(t.Context(), Box{[]int{0, 0}, []int{1, 1}}, make([]byte, 1), &ReadOptions{MaxChunkBytes: 1 << 62})
				runtime.ReadMemStats(&after)
				if err == nil {
					t.Errorf("%v, %d bytes: read", codecs, len(value))
				}
				if n := after.TotalAlloc - before.TotalAlloc; n > 4<<20 {
					t.Errorf("%v, %d bytes: %d bytes allocated", codecs, len(value), n)
				}
			}
		}
	}
}

func TestChunkBudget(t *testing.T) {
	m, err := NewMetadata(tensor.Uint8, tensor.Shape{1 << 20}, Layout{Codecs: []CodecSpec{Zstd(3)}})
	if err != nil {
		t.Fatal(err)
	}
	e, err := NewEncoder(m, EncoderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	a, err := Open(t.Context(), store(t, e, make([]byte, 1<<20)), "a")
	if err != nil {
		t.Fatal(err)
	}
	part := Box{[]int{0}, []int{1}}
	if err := a.ReadBox(t.Context(), part, make([]byte, 1), &ReadOptions{MaxChunkBytes: 1 << 19}); !errors.Is(err, errs.Exhausted) {
		t.Errorf("a part of a large chunk: %v, want exhausted", err)
	}
	// The whole goes straight into the caller's memory.
	if err := a.ReadBox(t.Context(), WholeBox(m.Shape), make([]byte, 1<<20), &ReadOptions{MaxChunkBytes: 1 << 19}); err != nil {
		t.Errorf("the whole of it: %v", err)
	}
}

func TestBadArguments(t *testing.T) {
	m, err := NewMetadata(tensor.Bool, tensor.Shape{4}, Layout{Codecs: []CodecSpec{CRC32C()}})
	if err != nil {
		t.Fatal(err)
	}
	e, err := NewEncoder(m, EncoderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	a, err := New(&mem{}, "", m)
	if err != nil {
		t.Fatal(err)
	}
	whole := WholeBox(m.Shape)
	encode := func(size int, src Source) error {
		_, _, err := e.EncodeChunk(make([]byte, size), []int{0}, src, nil)
		return err
	}
	for name, err := range map[string]error{
		"box outside":         a.ReadBox(t.Context(), Box{[]int{2}, []int{3}}, make([]byte, 3), nil),
		"box of another rank": a.ReadBox(t.Context(), Box{[]int{2, 0}, []int{1, 1}}, make([]byte, 1), nil),
		"memory":              a.ReadBox(t.Context(), whole, make([]byte, 3), nil),
		"memory to encode":    encode(27, Source{make([]byte, 4), whole}),
		"source too small":    encode(28, Source{make([]byte, 3), Box{[]int{0}, []int{3}}}),
		"source of no box":    encode(28, Source{make([]byte, 3), whole}),
		"bool of value 2":     encode(28, Source{[]byte{0, 1, 2, 0}, whole}),
	} {
		if !errors.Is(err, errs.Invalid) {
			t.Errorf("%s: %v, want invalid", name, err)
		}
	}
	if err := encode(28, Source{make([]byte, 4), whole}); err != nil {
		t.Error(err)
	}
	_, err = Open(t.Context(), &mem{values: map[string][]byte{"x/.zarray": {}}}, "x")
	if !errors.Is(err, errs.Corrupt) || !strings.Contains(err.Error(), "x/.zarray") {
		t.Errorf("empty metadata of format 2: %v, want corrupt", err)
	}
	_, err = Open(t.Context(), &mem{}, "x")
	if !errors.Is(err, errs.NotFound) {
		t.Errorf("nothing: %v, want not found", err)
	}
}

func FuzzParseMetadata(f *testing.F) {
	f.Add([]byte(plainMetadata))
	for _, dir := range vectorCases(f) {
		for _, format := range []Format{V3, V2} {
			if b, err := os.ReadFile(filepath.Join(dir, "checkpoint", format.MetadataKey())); err == nil {
				f.Add(b)
			}
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, format := range []Format{V3, V2} {
			m, err := parserOf(format)(b, MetadataKey)
			if err != nil {
				continue
			}
			out, err := m.JSON()
			if err != nil {
				t.Fatal(err)
			}
			again, err := parserOf(format)(out, MetadataKey)
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if !bytes.Equal(m.Fill, again.Fill) {
				t.Fatalf("fill % x, then % x: %s", m.Fill, again.Fill, out)
			}
		}
	})
}

// fuzzChains are the arrays whose chunks FuzzReadChunk decodes.
var fuzzChains = []string{
	`"codecs":[{"configuration":{"endian":"little"},"name":"bytes"}],"data_type":"int32"`,
	`"codecs":["bytes","crc32c"],"data_type":"bool"`,
	`"codecs":[{"configuration":{"endian":"big"},"name":"bytes"},"zstd"],"data_type":"float64"`,
	`"codecs":[{"name":"sharding_indexed","configuration":{"chunk_shape":[1,2],"codecs":["bytes","zstd"],"index_codecs":[{"name":"bytes","configuration":{"endian":"little"}}]}}],"data_type":"int4"`,
	`"codecs":[{"name":"sharding_indexed","configuration":{"chunk_shape":[2,1],"codecs":["bytes"],"index_codecs":[{"name":"bytes","configuration":{"endian":"big"}}],"index_location":"start"}},"zstd"],"data_type":"int8"`,
	`"codecs":["bytes","gzip"],"data_type":"int8"`,
	`"codecs":["bytes",{"name":"blosc","configuration":{"typesize":2}}],"data_type":"int8"`,
	`"codecs":[{"name":"transpose","configuration":{"order":[1,0]}},{"name":"sharding_indexed","configuration":{"chunk_shape":[2,1],"codecs":["bytes"],"index_codecs":[{"name":"bytes","configuration":{"endian":"little"}}]}}],"data_type":"uint8"`,
}

func FuzzReadChunk(f *testing.F) {
	frame := zframe.NewEncoder(3, true).Append(nil, make([]byte, 8))
	for i := range fuzzChains {
		f.Add(byte(i), make([]byte, 16))
		f.Add(byte(i), append(frame, sealedIndex(0, 8, 8, 8)...))
	}
	f.Fuzz(func(t *testing.T, which byte, value []byte) {
		doc := strings.Replace(plainMetadata, `"codecs":[{"configuration":{"endian":"little"},"name":"bytes"}],"data_type":"int32"`, fuzzChains[int(which)%len(fuzzChains)], 1)
		if strings.Contains(doc, `"bool"`) {
			doc = strings.Replace(doc, `"fill_value":0`, `"fill_value":false`, 1)
		}
		m, err := ParseMetadata([]byte(doc), MetadataKey)
		if err != nil {
			t.Fatal(err)
		}
		kv := &mem{values: map[string][]byte{}}
		for _, k := range []string{"c/0/0", "c/0/1", "c/1/0", "c/1/1"} {
			kv.values[k] = value
		}
		a, err := New(kv, "", m)
		if err != nil {
			t.Fatal(err)
		}
		for _, box := range []Box{WholeBox(m.Shape), {[]int{1, 0}, []int{2, 3}}} {
			_ = a.ReadBox(t.Context(), box, make([]byte, box.Len()*m.DType.Size()), &ReadOptions{FillMissing: true})
		}
	})
}

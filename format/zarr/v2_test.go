package zarr

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

const metadataV2 = `{"chunks":[2,2],"compressor":null,"dimension_separator":".","dtype":"<i4","fill_value":null,"filters":null,"order":"C","shape":[4,4],"zarr_format":2}`

// What Orbax's own arrays say, we say.
func TestMetadataV2AsOrbaxWritesIt(t *testing.T) {
	m, err := NewMetadata(tensor.Int32, tensor.Shape{8}, Layout{Format: V2, Codecs: []CodecSpec{Zstd(1)}})
	if err != nil {
		t.Fatal(err)
	}
	b, err := m.JSON()
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"chunks":[8],"compressor":{"id":"zstd","level":1},"dimension_separator":".","dtype":"<i4","fill_value":null,"filters":null,"order":"C","shape":[8],"zarr_format":2}`
	if d := cmp.Diff(want, string(b)); d != "" {
		t.Error(d)
	}
}

func TestMetadataV2Faults(t *testing.T) {
	compressor := func(config string) string { return `"compressor":` + config }
	const none = `"compressor":null`
	for _, c := range []struct {
		name, old, new string
		want           errs.Kind // Other: accepted
	}{
		{"as it is", "", "", errs.Other},
		{"unknown member", `"shape"`, `"extra":1,"shape"`, errs.Other},
		{"duplicate member", `"shape"`, `"order":"C","shape"`, errs.Corrupt},
		{"no separator", `"dimension_separator":".",`, ``, errs.Other},
		{"separator", `"dimension_separator":"."`, `"dimension_separator":"-"`, errs.Corrupt},
		{"format 3", `"zarr_format":2`, `"zarr_format":3`, errs.Corrupt},
		{"no compressor", none + `,`, ``, errs.Corrupt},
		{"filters", `"filters":null`, `"filters":[{"id":"delta"}]`, errs.Unsupported},
		{"no filters", `"filters":null`, `"filters":[]`, errs.Other},
		{"order", `"order":"C"`, `"order":"A"`, errs.Corrupt},
		{"structured dtype", `"<i4"`, `[["a","<i4"]]`, errs.Unsupported},
		{"string dtype", `"<i4"`, `"|S4"`, errs.Unsupported},
		{"empty chunk", `"chunks":[2,2]`, `"chunks":[2,0]`, errs.Corrupt},
		{"rank of the chunk", `"chunks":[2,2]`, `"chunks":[2]`, errs.Corrupt},
		{"absurd shape", `"shape":[4,4]`, `"shape":[9000000000000000000,9000000000000000000]`, errs.Corrupt},
		{"absurd chunk", `"chunks":[2,2]`, `"chunks":[9000000000000000000,9000000000000000000]`, errs.Corrupt},
		{"fill value", `"fill_value":null`, `"fill_value":true`, errs.Corrupt},
		{"blosc", none, compressor(`{"id":"blosc","cname":"lz4","clevel":5,"shuffle":-1,"blocksize":0}`), errs.Other},
		{"blosc shuffle by name", none, compressor(`{"id":"blosc","cname":"lz4","clevel":5,"shuffle":"shuffle"}`), errs.Corrupt},
		{"blosc shuffle", none, compressor(`{"id":"blosc","shuffle":3}`), errs.Corrupt},
		{"blosc codec", none, compressor(`{"id":"blosc","cname":"lzma"}`), errs.Corrupt},
		{"blosc with a type size", none, compressor(`{"id":"blosc","typesize":4}`), errs.Corrupt},
		{"zstd with checksum", none, compressor(`{"id":"zstd","level":0,"checksum":false}`), errs.Other},
		{"bz2", none, compressor(`{"id":"bz2","level":9}`), errs.Other},
		{"bz2 level", none, compressor(`{"id":"bz2","level":0}`), errs.Corrupt},
		{"unknown compressor", none, compressor(`{"id":"lzma"}`), errs.Unsupported},
		{"a codec of format 3", none, compressor(`{"id":"crc32c"}`), errs.Unsupported},
		{"a codec of arrays", none, compressor(`{"id":"transpose","order":[1,0]}`), errs.Corrupt},
		{"compressor without id", none, compressor(`{}`), errs.Unsupported},
		{"compressor of another kind", none, compressor(`"zlib"`), errs.Corrupt},
	} {
		doc := metadataV2
		if c.old != "" {
			doc = strings.Replace(doc, c.old, c.new, 1)
		}
		_, err := ParseMetadataV2([]byte(doc), "k/.zarray")
		switch {
		case c.want == errs.Other && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.want != errs.Other && !errors.Is(err, c.want):
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		case err != nil && !strings.Contains(err.Error(), "k/.zarray"):
			t.Errorf("%s: %v does not name the key", c.name, err)
		}
	}
}

func TestFillValuesV2(t *testing.T) {
	for _, c := range []struct {
		dtype     tensor.DType
		json      string
		want      []byte
		canonical string // "": as given
	}{
		{tensor.Int32, `null`, nil, ""},
		{tensor.Int32, `0`, []byte{0, 0, 0, 0}, ""},
		{tensor.Int32, `"BQAAAA=="`, []byte{5, 0, 0, 0}, `5`},
		{tensor.Bool, `true`, []byte{1}, ""},
		{tensor.Float32, `"NaN"`, []byte{0, 0, 0xc0, 0x7f}, ""},
		{tensor.Float32, `-0.0`, []byte{0, 0, 0, 0x80}, ""},
		{tensor.Float32, `"AQDAfw=="`, []byte{1, 0, 0xc0, 0x7f}, ""},
		{tensor.Complex64, `[1.0,"Infinity"]`, []byte{0, 0, 0x80, 0x3f, 0, 0, 0x80, 0x7f}, ""},
		{tensor.Float4E2M1FN, `"BQ=="`, []byte{5}, ""},
		{tensor.Float4E2M1FN, `1.0`, []byte{2}, `"Ag=="`},
	} {
		d := &document{}
		got := d.fillValueV2(d.parseJSON([]byte(c.json)), c.dtype)
		if diff := cmp.Diff(c.want, got); d.err != nil || diff != "" {
			t.Errorf("%v %s: %v %s", c.dtype, c.json, d.err, diff)
		}
		b, err := marshal(fillJSONV2(got, c.dtype))
		if c.canonical == "" {
			c.canonical = c.json
		}
		if err != nil || string(b) != c.canonical {
			t.Errorf("%v %s: written as %s, %v; want %s", c.dtype, c.json, b, err, c.canonical)
		}
	}
	for _, c := range []struct {
		dtype tensor.DType
		json  string
	}{
		{tensor.Int32, `"BQAA"`}, {tensor.Bool, `"Ag=="`}, {tensor.Float32, `"nan"`}, {tensor.Float64, `false`}, {tensor.Int8, `128`}, {tensor.Int8, `[]`},
	} {
		d := &document{}
		if got := d.fillValueV2(d.parseJSON([]byte(c.json)), c.dtype); d.err == nil {
			t.Errorf("%v %s: accepted as % x", c.dtype, c.json, got)
		}
	}
}

// Every bit pattern survives being written and read, in this format too.
func TestFillRoundTripV2(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dtype := rapid.SampledFrom(zarrTypes()).Draw(t, "dtype")
		fill := elements(t, dtype, 1)
		b, err := marshal(fillJSONV2(fill, dtype))
		if err != nil {
			t.Fatal(err)
		}
		d := &document{}
		if got := d.fillValueV2(d.parseJSON(b), dtype); d.err != nil || !bytes.Equal(fill, got) {
			t.Fatalf("%v % x written as %s, read as % x, %v", dtype, fill, b, got, d.err)
		}
	})
}

// compressorsV2 are all of them, by name, with eight bytes 0 … 7 as others
// compressed them.
var compressorsV2 = map[string]string{
	`{"id":"zlib","level":1}`:       "789c63606462666165630700005c001d",
	`{"id":"gzip","level":1}`:       "1f8b0800000000000403636064626661656307009f68aa8808000000",
	`{"id":"bz2","level":1}`:        "425a6831314159265359b53523ed00000040007f802000310c08191a69933573f945dc914e14242d4d48fb40",
	`{"id":"lz4","acceleration":1}`: "08000000" + "80" + "0001020304050607",
	`{"id":"blosc"}`:                "0201330408000000080000001800" + "0000" + "0001020304050607",
	`{"id":"zstd","level":1}`:       "28b52ffd2008410000" + "0001020304050607",
}

// readV2 reads an array of two int32 in one chunk of that value.
func readV2(t *testing.T, compressor string, value []byte) ([]byte, error) {
	t.Helper()
	doc := strings.NewReplacer(`"compressor":null`, `"compressor":`+compressor, `[2,2]`, `[2]`, `[4,4]`, `[2]`).Replace(metadataV2)
	a, err := Open(t.Context(), &mem{values: map[string][]byte{"k/.zarray": []byte(doc), "k/0": value}}, "k")
	if err != nil {
		t.Fatal(err)
	}
	out := make([]byte, 8)
	return out, a.ReadBox(t.Context(), WholeBox(a.Metadata().Shape), out, nil)
}

func TestHostileChunksV2(t *testing.T) {
	for compressor, golden := range compressorsV2 {
		sound, err := hex.DecodeString(golden)
		if err != nil {
			t.Fatal(err)
		}
		got, err := readV2(t, compressor, sound)
		if err != nil || hex.EncodeToString(got) != "0001020304050607" {
			t.Errorf("%s: % x, %v", compressor, got, err)
		}
		for n := range len(sound) {
			if _, err := readV2(t, compressor, sound[:n]); !errors.Is(err, errs.Corrupt) {
				t.Errorf("%s cut to %d bytes: %v, want corrupt", compressor, n, err)
			}
		}
		if _, err := readV2(t, compressor, append(sound[:len(sound):len(sound)], 0)); !errors.Is(err, errs.Corrupt) {
			t.Errorf("%s with a byte more: %v, want corrupt", compressor, err)
		}
	}
}

// A chunk that decompresses to more than its shape holds is refused early.
func TestBombs(t *testing.T) {
	const size = 64 << 20
	zeros := make([]byte, size)
	for _, c := range []CodecSpec{GZip(1), Zlib(1), LZ4(), Zstd(1), Blosc(BloscOptions{Codec: "lz4"}), Blosc(BloscOptions{Codec: "zlib"})} {
		d := &document{format: V2, made: true}
		f := byteCodecs[V2][c.Name](object{d, c.Name, c.Config}, 4)
		bomb := f.(byteEncoder).encode(nil, zeros)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := f.decode(nil, bomb, 8)
		runtime.ReadMemStats(&after)
		if err == nil {
			t.Errorf("%s: a bomb of %d bytes was read", c.Name, len(bomb))
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 4<<20 {
			t.Errorf("%s: %d bytes allocated", c.Name, n)
		}
	}
}

// A size that is announced, but not there, costs nothing.
func TestAnnouncedSizes(t *testing.T) {
	lie := binary.LittleEndian.AppendUint32(nil, 1<<31)
	blosc := append([]byte{2, 1, 0x30, 4, 0, 0, 0, 0x40, 0, 0, 0, 0x40, 40, 0, 0, 0, 20, 0, 0, 0}, make([]byte, 20)...)
	var empty bytes.Buffer
	if err := gzip.NewWriter(&empty).Close(); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string][]byte{"lz4": append(lie, 0x10, 7), "blosc": blosc, "gzip": empty.Bytes(), "zlib": {0x78, 0x9c}, "bz2": []byte("BZh9")} {
		f := byteCodecs[V2][name](object{&document{format: V2}, name, nil}, 4)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		out, err := f.decode(nil, value, 1<<40)
		runtime.ReadMemStats(&after)
		if err == nil && len(out) > 0 {
			t.Errorf("%s: read", name)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 8<<20 {
			t.Errorf("%s: %d bytes allocated", name, n)
		}
	}
}

// bz2 can be read alone; the encoder says so.
func TestReadOnlyCodec(t *testing.T) {
	m, err := NewMetadata(tensor.Int32, tensor.Shape{4}, Layout{Format: V2, Codecs: []CodecSpec{{Name: "bz2", Config: map[string]any{"level": 1}}}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = NewEncoder(m, EncoderOptions{})
	if !errors.Is(err, errs.Unsupported) || !strings.Contains(err.Error(), "bz2") {
		t.Errorf("%v, want that bz2 is unsupported", err)
	}
}

func FuzzReadChunkV2(f *testing.F) {
	for compressor, golden := range compressorsV2 {
		value, err := hex.DecodeString(golden)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(compressor, value)
	}
	f.Fuzz(func(t *testing.T, compressor string, value []byte) {
		if _, ok := compressorsV2[compressor]; ok {
			_, _ = readV2(t, compressor, value)
		}
	})
}

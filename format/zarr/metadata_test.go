package zarr

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// What Orbax's own arrays say, we say.
func TestMetadataAsOrbaxWritesIt(t *testing.T) {
	for _, c := range []struct {
		dtype  tensor.DType
		shape  tensor.Shape
		layout Layout
		want   string
	}{
		{tensor.Float32, tensor.Shape{16, 24}, Layout{Chunk: []int{8, 6}, Codecs: []CodecSpec{Zstd(3)}},
			`{"chunk_grid":{"configuration":{"chunk_shape":[8,6]},"name":"regular"},"chunk_key_encoding":{"name":"default"},` +
				`"codecs":[{"configuration":{"chunk_shape":[8,6],"codecs":[{"configuration":{"endian":"little"},"name":"bytes"},` +
				`{"configuration":{"checksum":false,"level":3},"name":"zstd"}],"index_codecs":[{"configuration":{"endian":"little"},"name":"bytes"},` +
				`{"name":"crc32c"}]},"name":"sharding_indexed"}],"data_type":"float32","fill_value":0.0,"node_type":"array","shape":[16,24],"zarr_format":3}`},
		{tensor.Bool, tensor.Shape{}, Layout{Plain: true, Codecs: []CodecSpec{CRC32C()}},
			`{"chunk_grid":{"configuration":{"chunk_shape":[]},"name":"regular"},"chunk_key_encoding":{"name":"default"},` +
				`"codecs":[{"name":"bytes"},{"name":"crc32c"}],"data_type":"bool","fill_value":false,"node_type":"array","shape":[],"zarr_format":3}`},
	} {
		m, err := NewMetadata(c.dtype, c.shape, c.layout)
		if err != nil {
			t.Fatal(err)
		}
		b, err := m.JSON()
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.want, string(b)); d != "" {
			t.Error(d)
		}
	}
}

const plainMetadata = `{"chunk_grid":{"configuration":{"chunk_shape":[2,2]},"name":"regular"},"chunk_key_encoding":{"name":"default"},` +
	`"codecs":[{"configuration":{"endian":"little"},"name":"bytes"}],"data_type":"int32","fill_value":0,"node_type":"array","shape":[4,4],"zarr_format":3}`

func TestMetadataFaults(t *testing.T) {
	shard := func(config string) string {
		return `"codecs":[{"name":"sharding_indexed","configuration":{` + config + `}}],"data_type"`
	}
	const inner, index = `"codecs":[{"name":"bytes","configuration":{"endian":"little"}}]`, `"index_codecs":[{"name":"bytes","configuration":{"endian":"little"}}]`
	codecs := `"codecs":[{"configuration":{"endian":"little"},"name":"bytes"}],"data_type"`
	for _, c := range []struct {
		name, old, new string
		want           errs.Kind // Other: accepted
	}{
		{"as it is", "", "", errs.Other},
		{"unknown member", `"shape"`, `"extra":1,"shape"`, errs.Corrupt},
		{"unknown member that may be ignored", `"shape"`, `"extra":{"must_understand":false},"shape"`, errs.Other},
		{"duplicate member", `"shape"`, `"fill_value":0,"shape"`, errs.Corrupt},
		{"trailing data", `"zarr_format":3}`, `"zarr_format":3}{}`, errs.Corrupt},
		{"cut short", `,"zarr_format":3}`, ``, errs.Corrupt},
		{"invalid UTF-8", `int32`, "int\xff32", errs.Corrupt},
		{"format 2", `"zarr_format":3`, `"zarr_format":2`, errs.Corrupt},
		{"a group", `"node_type":"array"`, `"node_type":"group"`, errs.Corrupt},
		{"no fill value", `"fill_value":0,`, ``, errs.Corrupt},
		{"fill value of another type", `"fill_value":0`, `"fill_value":"0"`, errs.Corrupt},
		{"fill value out of range", `"fill_value":0`, `"fill_value":2147483648`, errs.Corrupt},
		{"fill value null", `"fill_value":0`, `"fill_value":null`, errs.Corrupt},
		{"data type", `"int32"`, `"r24"`, errs.Unsupported},
		{"structured data type", `"int32"`, `{"name":"struct"}`, errs.Unsupported},
		{"negative extent", `"shape":[4,4]`, `"shape":[4,-4]`, errs.Corrupt},
		{"fractional extent", `"shape":[4,4]`, `"shape":[4,4.5]`, errs.Corrupt},
		{"absurd shape", `"shape":[4,4]`, `"shape":[9000000000000000000,9000000000000000000]`, errs.Corrupt},
		{"absurd chunk", `[2,2]`, `[9000000000000000000,9000000000000000000]`, errs.Corrupt},
		{"empty chunk", `[2,2]`, `[2,0]`, errs.Corrupt},
		{"rank of the chunk", `[2,2]`, `[2]`, errs.Corrupt},
		{"grid", `"regular"`, `"rectilinear"`, errs.Unsupported},
		{"key encoding", `"default"`, `"v3"`, errs.Unsupported},
		{"separator", `"name":"default"`, `"name":"default","configuration":{"separator":".."}`, errs.Corrupt},
		{"codec by name alone", codecs + `:"int32"`, `"codecs":["bytes"],"data_type":"int8"`, errs.Other},
		{"unknown codec", `"codecs":[`, `"codecs":["lzma",`, errs.Unsupported},
		{"no codecs", codecs, `"codecs":[],"data_type"`, errs.Corrupt},
		{"bytes twice", `"codecs":[`, `"codecs":[{"name":"bytes","configuration":{"endian":"little"}},`, errs.Corrupt},
		{"bytes without endian", `"configuration":{"endian":"little"},"name":"bytes"`, `"name":"bytes"`, errs.Corrupt},
		{"bytes of middle endian", `"little"`, `"middle"`, errs.Corrupt},
		{"unknown member of a codec", `"endian":"little"`, `"endian":"little","x":1`, errs.Corrupt},
		{"compressed before it is bytes", `"codecs":[`, `"codecs":["zstd",`, errs.Corrupt},
		{"transpose that is no permutation", `"codecs":[`, `"codecs":[{"name":"transpose","configuration":{"order":[0,0]}},`, errs.Corrupt},
		{"zstd level", `"name":"bytes"}]`, `"name":"bytes"},{"name":"zstd","configuration":{"level":99}}]`, errs.Corrupt},
		{"shard", codecs, shard(`"chunk_shape":[1,2],` + inner + `,` + index), errs.Other},
		{"shard in a shard", codecs, shard(`"chunk_shape":[1,2],"codecs":[{"name":"sharding_indexed","configuration":{"chunk_shape":[1,1],` + inner + `,` + index + `}}],` + index), errs.Other},
		{"sub-chunks do not divide", codecs, shard(`"chunk_shape":[1,3],` + inner + `,` + index), errs.Corrupt},
		{"shard without index codecs", codecs, shard(`"chunk_shape":[1,2],` + inner), errs.Corrupt},
		{"compressed index", codecs, shard(`"chunk_shape":[1,2],` + inner + `,"index_codecs":[{"name":"bytes","configuration":{"endian":"little"}},"zstd"]`), errs.Unsupported},
		{"index in the middle", codecs, shard(`"chunk_shape":[1,2],` + inner + `,` + index + `,"index_location":"middle"`), errs.Corrupt},
		{"storage transformers", `"shape"`, `"storage_transformers":[{}],"shape"`, errs.Unsupported},
		{"no storage transformers", `"shape"`, `"storage_transformers":[],"shape"`, errs.Other},
		{"too few names", `"shape"`, `"dimension_names":["x"],"shape"`, errs.Corrupt},
		{"nested too deep", `"shape"`, `"attributes":` + strings.Repeat(`{"a":`, 99) + `1` + strings.Repeat(`}`, 99) + `,"shape"`, errs.Corrupt},
	} {
		doc := plainMetadata
		if c.old != "" {
			doc = strings.Replace(doc, c.old, c.new, 1)
		}
		_, err := ParseMetadata([]byte(doc), "k/zarr.json")
		switch {
		case c.want == errs.Other && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.want != errs.Other && !errors.Is(err, c.want):
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		case err != nil && !strings.Contains(err.Error(), "k/zarr.json"):
			t.Errorf("%s: %v does not name the key", c.name, err)
		}
	}
}

func TestAttributesStay(t *testing.T) {
	const attributes = `"attributes":{"a":[1,2.50,9007199254740993],"b":{"<":"é"}}`
	doc := strings.Replace(plainMetadata, `{"chunk_grid"`, `{`+attributes+`,"chunk_grid"`, 1)
	m, err := ParseMetadata([]byte(doc), MetadataKey)
	if err != nil {
		t.Fatal(err)
	}
	b, err := m.JSON()
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(doc, string(b)); d != "" {
		t.Error(d)
	}
}

func TestFillValues(t *testing.T) {
	for _, c := range []struct {
		dtype     tensor.DType
		json      string
		want      []byte
		canonical string // "": as given
	}{
		{tensor.Bool, `true`, []byte{1}, ""},
		{tensor.Int4, `-8`, []byte{0xf8}, ""},
		{tensor.Int8, `-128`, []byte{0x80}, ""},
		{tensor.Uint64, `18446744073709551615`, []byte{255, 255, 255, 255, 255, 255, 255, 255}, ""},
		{tensor.Int64, `-9007199254740993`, []byte{255, 255, 255, 255, 255, 255, 0xdf, 255}, ""},
		{tensor.Float16, `1.0`, []byte{0, 0x3c}, ""},
		{tensor.Float16, `65504.0`, []byte{0xff, 0x7b}, ""},
		{tensor.Float16, `"-Infinity"`, []byte{0, 0xfc}, ""},
		{tensor.BFloat16, `0.1`, []byte{0xcd, 0x3d}, `0.10009765625`},
		{tensor.BFloat16, `"NaN"`, []byte{0xc0, 0x7f}, ""},
		{tensor.Float32, `0.1`, []byte{0xcd, 0xcc, 0xcc, 0x3d}, ""},
		{tensor.Float32, `"0x7fc00001"`, []byte{1, 0, 0xc0, 0x7f}, ""},
		{tensor.Float32, `1e-45`, []byte{1, 0, 0, 0}, ""},
		{tensor.Float32, `-0.0`, []byte{0, 0, 0, 0x80}, ""},
		{tensor.Float64, `1e+300`, []byte{0x9c, 0x75, 0x00, 0x88, 0x3c, 0xe4, 0x37, 0x7e}, ""},
		{tensor.Complex64, `[1.0,"NaN"]`, []byte{0, 0, 0x80, 0x3f, 0, 0, 0xc0, 0x7f}, ""},
		{tensor.Float8E4M3FN, `448.0`, []byte{0x7e}, ""},
		{tensor.Float8E4M3FN, `"NaN"`, []byte{0x7f}, ""},
		{tensor.Float8E4M3FN, `1.07`, []byte{0x39}, `1.125`},
		{tensor.Float8E4M3FN, `1.0625`, []byte{0x38}, `1.0`}, // a tie goes to the even mantissa
		{tensor.Float8E5M2, `"Infinity"`, []byte{0x7c}, ""},
		{tensor.Float8E4M3FNUZ, `"NaN"`, []byte{0x80}, ""},
		{tensor.Float8E5M2FNUZ, `-1.0`, []byte{0xc0}, ""},
		{tensor.Float8E8M0FNU, `4.0`, []byte{0x81}, ""},
		{tensor.Float4E2M1FN, `-6.0`, []byte{0x0f}, ""},
	} {
		d := &document{}
		got, ok := parseFill(d.parseJSON([]byte(c.json)), c.dtype)
		if !ok {
			t.Errorf("%v %s: refused", c.dtype, c.json)
			continue
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%v %s: %s", c.dtype, c.json, diff)
		}
		b, err := marshal(fillJSON(got, c.dtype))
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
		{tensor.Bool, `0`}, {tensor.Int4, `8`}, {tensor.Uint8, `-1`}, {tensor.Int32, `1.0`}, {tensor.Float32, `"nan"`},
		{tensor.Float32, `"0x7fc0"`}, {tensor.Float16, `70000`}, {tensor.Float8E4M3FN, `"Infinity"`}, {tensor.Float4E2M1FN, `"NaN"`},
		{tensor.Complex64, `1.0`}, {tensor.Float8E8M0FNU, `-1.0`}, {tensor.Float64, `null`},
	} {
		d := &document{}
		if got, ok := parseFill(d.parseJSON([]byte(c.json)), c.dtype); ok {
			t.Errorf("%v %s: accepted as % x", c.dtype, c.json, got)
		}
	}
}

// Every bit pattern survives being written and read.
func TestFillRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dtype := rapid.SampledFrom(zarrTypes()).Draw(t, "dtype")
		fill := elements(t, dtype, 1)
		b, err := marshal(fillJSON(fill, dtype))
		if err != nil {
			t.Fatal(err)
		}
		got, ok := parseFill((&document{}).parseJSON(b), dtype)
		if !ok || cmp.Diff(fill, got) != "" {
			t.Fatalf("%v % x written as %s, read as % x", dtype, fill, b, got)
		}
		if !json.Valid(b) {
			t.Fatalf("%s is not JSON", b)
		}
	})
}

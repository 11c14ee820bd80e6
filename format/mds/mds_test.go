package mds

import (
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"

	"github.com/bivouac-ml/bivouac/errs"
)

func columns(t testing.TB, pairs ...string) (list []Column) {
	for i := 0; i < len(pairs); i += 2 {
		c, err := ParseColumn(pairs[i], pairs[i+1])
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, c)
	}
	return list
}

// What AppendShard writes, ParseTable and Split find again.
func TestShards(t *testing.T) {
	list := columns(t, "id", "int", "text", "str", "x", "ndarray:int16:2,3")
	for _, n := range []int{0, 1, 5} {
		var samples [][]byte
		var want [][][]byte
		for i := range n {
			data := [][]byte{{byte(i), 0, 0, 0, 0, 0, 0, 0}, bytes.Repeat([]byte("a"), i), make([]byte, 12)}
			want, samples = append(want, data), append(samples, AppendSample(nil, list, data))
		}
		b, err := AppendShard(nil, list, samples)
		if err != nil {
			t.Fatal(err)
		}
		table, err := ParseTable(b[:TableSize(int64(n))], int64(n), int64(len(b)))
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			got, err := Split(nil, b[table[i]:table[i+1]], list)
			if err != nil || fmt.Sprint(got) != fmt.Sprint(want[i]) {
				t.Errorf("sample %d: %v, %v; want %v", i, got, err, want[i])
			}
		}
	}
}

// Values come with type and shape. The bytes are those that MosaicML Streaming writes.
func TestDecode(t *testing.T) {
	for _, c := range []struct{ encoding, datum, want string }{
		{"int", "fbffffffffffffff", "int64[] fbffffffffffffff"},
		{"uint8", "07", "uint8[] 07"},
		{"float16", "0038", "float16[] 0038"},
		{"str", "e4b8ad", "uint8[3] e4b8ad"},
		{"bytes", "", "uint8[0] "},
		{"str_decimal", "302e3132", "uint8[4] 302e3132"},
		{"str_int", "2d35", "int64[] fbffffffffffffff"},
		{"str_float", "302e3235", "float64[] 000000000000d03f"},
		{"str_float", "2d696e66", "float64[] 000000000000f0ff"},
		{"ndarray:int16:2,1", "01000200", "int16[2 1] 01000200"},
		{"ndarray", "2108010203000000ffffffff", "int32[1 2] 03000000ffffffff"},
		{"ndarray:uint8", "050300010203", "uint8[3] 010203"},
		{"pil", "0200000001000000030000005247420102030405" + "06", "uint8[1 2 3] 010203040506"},
	} {
		datum, err := hex.DecodeString(c.datum)
		if err != nil {
			t.Fatal(err)
		}
		v, err := columns(t, "c", c.encoding)[0].Decode(datum, nil)
		if got := fmt.Sprintf("%s%v %x", v.DType, []int(v.Shape), v.Data); err != nil || got != c.want {
			t.Errorf("%s of %s: got %q, %v; want %q", c.encoding, c.datum, got, err, c.want)
		}
	}
}

// Data that are not of their encoding are refused, with the name of the column.
func TestDecodeRefuses(t *testing.T) {
	for _, c := range []struct {
		encoding, datum string
		kind            errs.Kind
	}{
		{"int", "00", errs.Corrupt}, {"str_int", "78", errs.Corrupt}, {"str_int",
			"3939393939393939393939393939393939393939", errs.Corrupt},
		{"str_float", "", errs.Corrupt}, {"ndarray", "", errs.Corrupt}, {"ndarray", "07", errs.Corrupt}, {"ndarray",
			"21", errs.Corrupt},
		{"ndarray", "2108", errs.Corrupt}, {"ndarray", "21080102", errs.Corrupt}, {"ndarray:int16:2", "010203",
			errs.Corrupt},
		{"ndarray", "080fffffffffffffff7fffffffffffffff7fffffffffffffff7f", errs.Corrupt},
		{"pil", "00", errs.Corrupt}, {"pil", "0200000001000000ffffffff52474201020304050607", errs.Corrupt},
		{"pil", "02000000010000000300000052474201", errs.Corrupt}, {"pil", "ffffffffffffffff01000000" + "4c01",
			errs.Corrupt},
		{"pil", "010000000100000001000000" + "4600000000", errs.Unsupported}, {"pkl", "80",
			errs.Unsupported}, {"list[jpeg]", "80", errs.Unsupported},
	} {
		datum, err := hex.DecodeString(c.datum)
		if err != nil {
			t.Fatal(err)
		}
		if v, err := columns(t, "col", c.encoding)[0].Decode(datum, nil); !errors.Is(err, c.kind) ||
			!strings.Contains(err.Error(), `"col"`) {
			t.Errorf("%s of %s: got %v, %v; want %s", c.encoding, c.datum, v, err, c.kind)
		}
	}
	for _, encoding := range []string{"int128", "ndarray:int128", "ndarray:int8:0", "ndarray:int8:x", "ndarray:int8:",
		"ndarray:float64:4294967295,4294967295"} {
		if _, err := ParseColumn("c", encoding); err == nil {
			t.Errorf("%s: no error", encoding)
		}
	}
}

const shardJSON = `{"column_encodings": ["int"], "column_names": ["a"], "column_sizes": [8], "compression": null,
 "format": "mds", "hashes": [], "raw_data": {"basename": "shard.00000.mds", "bytes": 300, "hashes": {}}, "samples": 3,
 "size_limit": 1, "version": 2, "zip_data": null}`

// An index is read, and an index that contradicts itself is refused.
func TestIndex(t *testing.T) {
	whole := `{"version": 2, "shards": [` + shardJSON + `,` + shardJSON + `]}`
	x, err := ParseIndex([]byte(whole))
	if err != nil || len(x.Shards) != 2 || x.Shards[1].Samples != 3 || x.Shards[0].Raw.Bytes != 300 ||
		x.Shards[0].Columns[0].Size() != 8 {
		t.Fatalf("%+v, %v", x, err)
	}
	b, err := FormatIndex(x)
	if err != nil {
		t.Fatal(err)
	}
	if y, err := ParseIndex(b); err != nil || fmt.Sprint(y) != fmt.Sprint(x) {
		t.Errorf("written and read: %v, %v; want %v", y, err, x)
	}
	if x, err := ParseIndex([]byte(`{"shards": [], "version": 2}`)); err != nil || len(x.Shards) != 0 {
		t.Errorf("an empty data set: %v, %v", x, err)
	}
	for _, c := range []struct {
		old, new string
		kind     errs.Kind
	}{
		{whole, ``, errs.Corrupt}, {whole, `[]`, errs.Corrupt}, {whole, `{}`, errs.Unsupported},
		{`"version": 2, "shards"`, `"version": 3, "shards"`, errs.Unsupported}, {`"version": 2, "zip`,
			`"version": 1, "zip`, errs.Unsupported},
		{`"format": "mds"`, `"format": "csv"`, errs.Unsupported}, {`["int"]`, `["what"]`, errs.Unsupported}, {`["a"]`,
			`["a", "b"]`, errs.Corrupt},
		{`"column_sizes": [8]`, `"column_sizes": [4]`, errs.Corrupt}, {`"column_sizes": [8]`, `"column_sizes": [null]`,
			errs.Corrupt},
		{`["int"], "column_names": ["a"], "column_sizes": [8]`,
			`["int","int"], "column_names": ["a","a"], "column_sizes": [8,8]`, errs.Corrupt},
		{`"shard.00000.mds"`, `"../shard.00000.mds"`, errs.Corrupt}, {`"shard.00000.mds"`, `"/etc/passwd"`,
			errs.Corrupt},
		{`"samples": 3`, `"samples": 76`, errs.Corrupt}, {`"samples": 3`, `"samples": -1`,
			errs.Corrupt}, {`"bytes": 300`, `"bytes": -1`, errs.Corrupt},
		{`"compression": null`, `"compression": "lzma"`, errs.Unsupported}, {`"hashes": {}`, `"hashes": {"crc": "00"}`,
			errs.Unsupported},
		{`"zip_data": null`, `"zip_data": {"basename": "x", "bytes": 1, "hashes": {}}`, errs.Corrupt},
	} {
		if _, err := ParseIndex([]byte(strings.Replace(whole, c.old, c.new, 1))); !errors.Is(err, c.kind) {
			t.Errorf("%s instead of %s: %v; want %s", c.new, c.old, err, c.kind)
		}
	}
}

// A table that leads out of the shard or backwards is refused, and so are samples of wrong sizes.
func TestTableRefuses(t *testing.T) {
	list := columns(t, "a", "str")
	b, err := AppendShard(nil, list, [][]byte{AppendSample(nil, list, [][]byte{[]byte("abc")}),
		AppendSample(nil, list, [][]byte{nil})})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 16 {
		damaged := bytes.Clone(b)
		damaged[i] ^= 0x40
		table, err := ParseTable(damaged[:16], 2, int64(len(b)))
		if err == nil {
			for s := range 2 {
				_, e := Split(nil, damaged[table[s]:table[s+1]], list)
				err = errors.Join(err, e)
			}
		}
		if err == nil {
			t.Errorf("byte %d of the table: no error", i)
		}
	}
	for _, sample := range []string{"", "\x01\x00\x00\x00", "\x01\x00\x00\x00ab", "\xff\xff\xff\xffab"} {
		if _, err := Split(nil, []byte(sample), list); !errors.Is(err, errs.Corrupt) {
			t.Errorf("sample %q: %v", sample, err)
		}
	}
	if _, err := ParseTable(b[:12], 2, int64(len(b))); !errors.Is(err, errs.Corrupt) {
		t.Errorf("a short table: %v", err)
	}
}

func compressed(t testing.TB, name string, b []byte) []byte {
	var out bytes.Buffer
	switch name {
	case "br":
		w := brotli.NewWriter(&out)
		w.Write(b)
		w.Close()
	case "gz":
		w := gzip.NewWriter(&out)
		w.Write(b)
		w.Close()
	case "snappy":
		return snappy.Encode(nil, b)
	case "zstd":
		w, err := zstd.NewWriter(nil)
		if err != nil {
			t.Fatal(err)
		}
		return w.EncodeAll(b, nil)
	}
	return out.Bytes()
}

// Expand returns the bytes, and refuses damage and other sizes.
func TestExpand(t *testing.T) {
	b := []byte(strings.Repeat("one two three ", 1000))
	for _, name := range []string{"br", "gz", "snappy", "zstd"} {
		z := compressed(t, name, b)
		if got, err := Expand(name, z, int64(len(b))); err != nil || !bytes.Equal(got, b) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
		for _, size := range []int64{0, 1, int64(len(b)) - 1, int64(len(b)) + 1, 1 << 31} {
			if _, err := Expand(name, z, size); !errors.Is(err, errs.Corrupt) {
				t.Errorf("%s as %d bytes: %v", name, size, err)
			}
		}
		if _, err := Expand(name, z[:len(z)/2], int64(len(b))); !errors.Is(err, errs.Corrupt) {
			t.Errorf("%s, cut: %v", name, err)
		}
	}
	if _, err := Expand("bz2", []byte("BZh9"), 10); !errors.Is(err, errs.Corrupt) {
		t.Errorf("bz2: %v", err)
	}
	if _, err := Expand("lzma", nil, 0); !errors.Is(err, errs.Unsupported) {
		t.Errorf("lzma: %v", err)
	}
}

// The digests are those that Python's hashlib and xxhash give for the bytes 0 to 99.
func TestHashes(t *testing.T) {
	b := make([]byte, 100)
	for i := range b {
		b[i] = byte(i)
	}
	want := map[string]string{
		"xxh32":    "7f89ba44",
		"xxh64":    "6ac1e58032166597",
		"xxh3_64":  "004e4f921a64bd1c",
		"xxh3_128": "da95ef16fd9566f329b20ba5f03ec01e",
		"xxh128":   "da95ef16fd9566f329b20ba5f03ec01e",
		"md5":      "7acedd1a84a4cfcb6e7a16003242945e",
		"sha1":     "1e6634bfaebc0348298105923d0f26e47aa33ff5",
		"sha224":   "6e08215b5470ddeb67e44a494e52e259a9c2c4fbed4af5dc6db3e92a",
		"sha256":   "bce0aff19cf5aa6a7469a30d61d04e4376e4bbf6381052ee9e7f33925c954d52",
		"sha384":   "3d20e33ba4d52a8c374878f1a624a907132264d0c831c64fc51ed8e1cdb75d11c3fc78d4c3cfbf99d7f0bea9829b725c",
		"sha512":   "af216a7122d29d6a7dc7b89c8b41c111e7c9a00781d4a867a1d75110b48a5a9c92a15d1dc2aeabb53b83bcffc50f44cfdcae29dc9984c8c84febd0189322be25",
		"sha3_224": "21649ac9d0430d74d5f5261653da46c87ac1560540b4579101083461",
		"sha3_256": "8c46d8901ae6919eb001cd4a9907a22aaa47954630099a473d2d5336ea7689e1",
		"sha3_384": "f433c88078c2baf1a5818887f8c36d34fa62561ce3db34eb3c9f8331a357895dd29dc98286a0ecb64601b177873ff813",
		"sha3_512": "6286a3e2a02236f45739be74f1d1d83cc55c7dca0018f852ac52b5f5ed9b3d1728fa4eb2087e87f16fbbdd64abef783f1953f20d06cf271b8f2fce2a3beb76ff",
		"blake2b":  "6f793eb4374a48b0775acaf9adcf8e45e54270c9475f004ad8d5973e2aca52747ff4ed04ae967275b9f9eb0e1ff75fb4f794fa8be9add7a41304868d103fab10",
		"blake2s":  "81dcc3a505eace3f879d8f702776770f9df50e521d1428a85daf04f9ad2150e0",
	}
	for _, name := range Hashes() {
		for _, part := range []int{1, 7, 100} {
			f := File{Name: "f", Hashes: map[string]string{name: strings.ToUpper(want[name])}}
			v := f.Verify()
			for i := 0; i < len(b); i += part {
				v.Write(b[i:min(len(b), i+part)])
			}
			if err := v.Close(); err != nil {
				t.Error(err)
			}
			v.Write([]byte{0})
			if err := v.Close(); !errors.Is(err, errs.Corrupt) {
				t.Errorf("%s of other bytes: %v", name, err)
			}
		}
	}
	if len(want) != len(Hashes()) {
		t.Errorf("%d digests, want those of %v", len(want), Hashes())
	}
}

func FuzzParseIndex(f *testing.F) {
	f.Add([]byte(`{"version": 2, "shards": [` + shardJSON + `]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		x, err := ParseIndex(b)
		if err != nil {
			return
		}
		for _, s := range x.Shards {
			if s.Samples < 0 || len(s.Columns) == 0 || strings.HasPrefix(s.Raw.Name, "/") {
				t.Errorf("%+v", s)
			}
		}
	})
}

func FuzzShard(f *testing.F) {
	list := columns(f, "a", "str", "b", "ndarray", "c", "pil", "d", "int", "e", "str_int", "g", "str_float", "h",
		"ndarray:int16")
	data := [][]byte{[]byte("text"), {0x21, 8, 1, 1, 0, 0, 0, 0}, {1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 'L', 7},
		make([]byte, 8), []byte("12"), []byte("0.5"), {4, 1, 1, 1}}
	b, err := AppendShard(nil, list, [][]byte{AppendSample(nil, list, data)})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b, uint16(1))
	f.Fuzz(func(t *testing.T, b []byte, samples uint16) {
		n := TableSize(int64(samples))
		if n > int64(len(b)) {
			return
		}
		table, err := ParseTable(b[:n], int64(samples), int64(len(b)))
		if err != nil {
			return
		}
		for i := range int(samples) {
			data, err := Split(nil, b[table[i]:table[i+1]], list)
			if err != nil {
				continue
			}
			for j, c := range list {
				v, err := c.Decode(data[j], nil)
				if err != nil {
					continue
				}
				if size, err := v.Shape.Bytes(v.DType); err != nil || size != len(v.Data) {
					t.Errorf("%s%v of %d bytes: %v", v.DType, v.Shape, len(v.Data), err)
				}
			}
		}
	})
}

func FuzzExpand(f *testing.F) {
	for _, name := range []string{"br", "gz", "snappy", "zstd"} {
		f.Add(name, compressed(f, name, []byte("some bytes some bytes")), int64(21))
	}
	f.Add("bz2", []byte("BZh9"), int64(3))
	f.Fuzz(func(t *testing.T, name string, b []byte, size int64) {
		if size > 1<<20 {
			return
		}
		if out, err := Expand(name, b, size); err == nil && int64(len(out)) != size {
			t.Errorf("%d bytes, want %d", len(out), size)
		}
	})
}

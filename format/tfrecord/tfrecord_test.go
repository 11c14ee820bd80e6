package tfrecord

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/crc"
)

// file returns a file with the given payloads, and where its records lie.
func file(payloads ...[]byte) (b []byte, places [][2]int64) {
	for _, p := range payloads {
		at := int64(len(b))
		b = Append(b, p)
		places = append(places, [2]int64{at, int64(len(b)) - at})
	}
	return b, places
}

func scanned(b []byte) (places [][2]int64, err error) {
	err = Scan(bytes.NewReader(b), int64(len(b)), func(offset, length int64) error {
		places = append(places, [2]int64{offset, length})
		return nil
	})
	return places, err
}

func readAll(b []byte) (payloads [][]byte, err error) {
	r, err := NewReader(bytes.NewReader(b))
	for err == nil {
		var p []byte
		if p, err = r.Next(); err == nil {
			payloads = append(payloads, bytes.Clone(p))
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return payloads, err
}

// What Append writes is found by Scan, Payload and Reader, of any sizes, compressed or not.
func TestRecordsComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.OneOf(rapid.IntRange(0, 40), rapid.SampledFrom([]int{5000, 70_000, 300_000, 600_000}))
		var payloads [][]byte
		for i := range rapid.IntRange(0, 12).Draw(t, "records") {
			payloads = append(payloads, bytes.Repeat([]byte{byte(i)}, size.Draw(t, "size")))
		}
		b, want := file(payloads...)
		got, err := scanned(b)
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("scanned: %v, %v, want %v", got, err, want)
		}
		for i, p := range got {
			if payload, err := Payload(b[p[0] : p[0]+p[1]]); err != nil || !bytes.Equal(payload, payloads[i]) {
				t.Fatalf("record %d: %v", i, err)
			}
		}
		var packed bytes.Buffer
		method := rapid.SampledFrom([]Compression{Uncompressed, Gzip, Zlib}).Draw(t, "compression")
		switch method {
		case Gzip:
			w := gzip.NewWriter(&packed)
			w.Write(b) //nolint:errcheck // into memory
			w.Close()
		case Zlib:
			w := zlib.NewWriter(&packed)
			w.Write(b) //nolint:errcheck // into memory
			w.Close()
		default:
			packed.Write(b)
		}
		all, err := readAll(packed.Bytes())
		if err != nil || len(all) != len(payloads) {
			t.Fatalf("%s: read %d of %d records: %v", method, len(all), len(payloads), err)
		}
		for i := range all {
			if !bytes.Equal(all[i], payloads[i]) {
				t.Fatalf("%s: record %d differs", method, i)
			}
		}
		if method != Uncompressed && len(payloads) > 0 {
			if _, err := scanned(packed.Bytes()); !errors.Is(err, errs.Unsupported) ||
				!strings.Contains(err.Error(), method.String()) {
				t.Fatalf("scanned a file compressed with %s: %v", method, err)
			}
			if !Detect(packed.Bytes()) {
				t.Fatalf("not detected when compressed with %s", method)
			}
		}
	})
}

// Every flipped bit and every cut is an error that names the record, and the records before it are
// read.
func TestDamage(t *testing.T) {
	b, places := file([]byte("one"), nil, []byte("three"))
	for i := range b {
		for bit := range 8 {
			bad := bytes.Clone(b)
			bad[i] ^= 1 << bit
			got, err := readAll(bad)
			if err == nil {
				t.Fatalf("byte %d bit %d: accepted", i, bit)
			}
			record := slices.IndexFunc(places, func(p [2]int64) bool { return int64(i) < p[0]+p[1] })
			if len(got) != record || !strings.Contains(err.Error(), place(int64(record), places[record][0])) && i > 1 {
				t.Fatalf("byte %d bit %d: %d records, %v", i, bit, len(got), err)
			}
		}
	}
	for n := range b {
		_, err1 := readAll(b[:n])
		_, err2 := scanned(b[:n])
		whole := n == 0 || slices.ContainsFunc(places, func(p [2]int64) bool { return int64(n) == p[0]+p[1] })
		if (err1 == nil) != whole || (err2 == nil) != whole || !whole &&
			(!errors.Is(err1, errs.Corrupt) || !errors.Is(err2, errs.Corrupt)) {
			t.Fatalf("cut to %d bytes: %v, %v", n, err1, err2)
		}
	}
}

// A huge length costs no memory.
func TestHugeLength(t *testing.T) {
	for _, n := range []uint64{1 << 40, math.MaxInt64, math.MaxUint64, math.MaxUint64 - 15} {
		b := binary.LittleEndian.AppendUint64(nil, n)
		b = binary.LittleEndian.AppendUint32(b, Mask(crc.Sum(b)))
		b = append(b, "abc"...)
		if _, err := readAll(b); !errors.Is(err, errs.Corrupt) {
			t.Errorf("%d: %v", n, err)
		}
		if _, err := scanned(b); !errors.Is(err, errs.Corrupt) {
			t.Errorf("scan of %d: %v", n, err)
		}
		if _, err := RecordSize(b[:HeaderSize]); (err == nil) != (n == 1<<40) {
			t.Errorf("size of %d: %v", n, err)
		}
		if _, err := Payload(append(b, 0)); !errors.Is(err, errs.Mismatch) {
			t.Errorf("payload of %d: %v", n, err)
		}
	}
	if _, err := Payload(make([]byte, 15)); !errors.Is(err, errs.Corrupt) {
		t.Errorf("a record of 15 bytes: %v", err)
	}
}

// Errors of add and of the file end a scan.
func TestScanStops(t *testing.T) {
	b, _ := file([]byte("a"), []byte("b"))
	stop := errors.New("stop")
	n := 0
	if err := Scan(bytes.NewReader(b), int64(len(b)),
		func(int64, int64) error { n++; return stop }); !errors.Is(err, stop) || n != 1 {
		t.Errorf("%d records, %v", n, err)
	}
	if err := Scan(bytes.NewReader(b[:5]), int64(len(b)), func(int64, int64) error { return nil }); err == nil {
		t.Error("a file that is shorter than its size was accepted")
	}
}

// Lines of an index come back, and others are refused with their number.
func TestIndexLines(t *testing.T) {
	var b []byte
	b = AppendIndex(b, 0, 16)
	b = AppendIndex(b, 16, 1<<40)
	var got [][2]int64
	add := func(offset, length int64) error { got = append(got, [2]int64{offset, length}); return nil }
	if err := ReadIndex(bytes.NewReader(append(b, "\n  7  8 \n"...)), add); err != nil ||
		!slices.Equal(got, [][2]int64{{0, 16}, {16, 1 << 40}, {7, 8}}) {
		t.Errorf("%v, %v", got, err)
	}
	for _, line := range []string{"1", "x 1", "1 x", "-1 2", "1 2 3", "1 99999999999999999999",
		strings.Repeat("1", 100_000)} {
		if err := ReadIndex(strings.NewReader("0 1\n"+line+"\n"), add); !errors.Is(err, errs.Corrupt) ||
			!strings.Contains(err.Error(), "line 2") && len(line) < 1000 {
			t.Errorf("%.20q: %v", line, err)
		}
	}
	stop := errors.New("stop")
	if err := ReadIndex(bytes.NewReader(b), func(int64, int64) error { return stop }); !errors.Is(err, stop) {
		t.Error(err)
	}
}

// message builds messages of Protocol Buffers.
func varint(v uint64) []byte { return binary.AppendUvarint(nil, v) }

func chunk(field uint64, parts ...[]byte) []byte {
	b := slices.Concat(parts...)
	return slices.Concat(varint(field<<3|wireBytes), varint(uint64(len(b))), b)
}

// example returns an Example with features by name, each a message Feature.
func example(features ...any) []byte {
	var b []byte
	for i := 0; i < len(features); i += 2 {
		b = append(b, chunk(1, chunk(1, []byte(features[i].(string))), chunk(2, features[i+1].([]byte)))...)
	}
	return chunk(1, b)
}

func ints(v ...int64) []byte {
	var b []byte
	for _, x := range v {
		b = append(b, varint(uint64(x))...)
	}
	return chunk(3, chunk(1, b))
}

func floats(v ...float32) []byte {
	var b []byte
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return chunk(2, chunk(1, b))
}

func texts(v ...string) []byte {
	var b []byte
	for _, x := range v {
		b = append(b, chunk(1, []byte(x))...)
	}
	return chunk(1, b)
}

// The decoder finds what was asked for, and forgets the example before.
func TestDecoder(t *testing.T) {
	d := NewDecoder([]string{"label", "image", "box", "none"})
	first := example("image", texts("abc"), "other", ints(1, 2), "label", ints(-5), "box", floats(1, 2.5))
	if err := d.Decode(first); err != nil {
		t.Fatal(err)
	}
	one, two := make([]int64, 3), make([]float32, 1)
	if n := d.Feature(0).CopyInts(one); n != 1 || one[0] != -5 {
		t.Errorf("label: %d, %v", n, one)
	}
	if n := d.Feature(2).CopyFloats(two); n != 1 || two[0] != 1 || d.Feature(2).Len() != 2 {
		t.Errorf("box: %d, %v", n, two)
	}
	if f := d.Feature(1); string(f.Bytes(0)) != "abc" || f.Bytes(1) != nil || f.Bytes(-1) != nil ||
		f.Kind() != Bytes || !f.Present() {
		t.Errorf("image: %q, %v", f.Bytes(0), f.Kind())
	}
	if f := d.Feature(3); f.Present() || f.Kind() != None || f.Len() != 0 {
		t.Errorf("none: %v", f.Kind())
	}
	if f := d.Feature(0); f.CopyFloats(two) != 0 || f.Bytes(0) != nil || d.Feature(1).CopyInts(one) != 0 {
		t.Error("values of another kind")
	}
	if err := d.Decode(example("none", ints())); err != nil || d.Feature(0).Present() || !d.Feature(3).Present() ||
		d.Feature(3).Len() != 0 {
		t.Errorf("the second example: %v", err)
	}
	if n := testing.AllocsPerRun(100, func() {
		if err := d.Decode(first); err != nil {
			t.Fatal(err)
		}
		d.Feature(0).CopyInts(one)
		d.Feature(2).CopyFloats(two)
		d.Feature(1).Bytes(0)
	}); n != 0 {
		t.Errorf("%v allocations an example", n)
	}
}

// Messages that Protocol Buffers refuses are refused with the byte.
func TestHostileMessages(t *testing.T) {
	feature := func(b ...byte) []byte { return example("x", slices.Clone(b)) }
	deep := bytes.Repeat([]byte{3<<3 | wireGroup}, 200)
	for name, b := range map[string][]byte{
		"a field beyond the end":       {1<<3 | wireBytes, 5, 0},
		"a length of 2^63":             {1<<3 | wireBytes, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f},
		"a number of 11 bytes":         append(bytes.Repeat([]byte{0xff}, 10), 1),
		"field 0":                      {0<<3 | wireVarint, 1},
		"wire type 7":                  {1<<3 | 7, 1},
		"a tag of 40 bits":             {0x88, 0x80, 0x80, 0x80, 0x80, 0x10, 1},
		"the end of no group":          {4<<3 | wireEnd},
		"a group without end":          {3<<3 | wireGroup, 1<<3 | wireVarint, 1},
		"the end of another group":     {3<<3 | wireGroup, 4<<3 | wireEnd},
		"groups in groups":             append(deep, bytes.Repeat([]byte{3<<3 | wireEnd}, 200)...),
		"a cut number of 8 bytes":      {1<<3 | wire64, 1, 2},
		"a cut number of 4 bytes":      {1<<3 | wire32, 1, 2},
		"a tag without value":          {1<<3 | wireVarint},
		"a list beyond its feature":    feature(3<<3|wireBytes, 9, 1),
		"floats of 3 bytes":            feature(2<<3|wireBytes, 5, 1<<3|wireBytes, 3, 1, 2, 3),
		"a packed number without end":  feature(3<<3|wireBytes, 3, 1<<3|wireBytes, 1, 0x80),
		"an unpacked float that's cut": feature(2<<3|wireBytes, 3, 1<<3|wire32, 1, 2),
		"a name that is not UTF-8":     example("\xff", ints(1)),
		"a cut entry":                  chunk(1, []byte{1<<3 | wireBytes, 4, 1<<3 | wireBytes, 9, 'a', 'b'}),
	} {
		_, err := ParseExample(b)
		if !errors.Is(err, errs.Corrupt) || !strings.Contains(err.Error(), "byte ") {
			t.Errorf("%s: %v", name, err)
		}
		if err := NewDecoder([]string{"x"}).Decode(b); !errors.Is(err, errs.Corrupt) {
			t.Errorf("%s: decoder: %v", name, err)
		}
		if _, _, err := ParseSequence(chunk(2,
			chunk(1, chunk(1, []byte("a")), chunk(2, []byte{1<<3 | wireBytes, 9})))); !errors.Is(err, errs.Corrupt) {
			t.Errorf("a cut step: %v", err)
		}
	}
}

// What is legal and rare is read as Protocol Buffers reads it.
func TestRareMessages(t *testing.T) {
	group := []byte{3<<3 | wireGroup, 1<<3 | wireVarint, 1, 9<<3 | wireBytes, 1, 'x', 3<<3 | wireEnd}
	for name, c := range map[string]struct {
		message []byte
		want    string
	}{
		"unknown fields":          {slices.Concat(group, example("x", slices.Concat(group, ints(1), group)), chunk(15, []byte("zz"))), "int64 [1]"},
		"two lists of one kind":   {example("x", slices.Concat(ints(1, 2), ints(3))), "int64 [1 2 3]"},
		"two lists of two kinds":  {example("x", slices.Concat(ints(1, 2), floats(7))), "float32 [7]"},
		"a kind that comes again": {example("x", slices.Concat(ints(1), floats(7), ints(2))), "int64 [2]"},
		"a name that comes again": {slices.Concat(example("x", ints(1)), example("x", ints(2))), "int64 [2]"},
		"two values of an entry":  {chunk(1, chunk(1, chunk(1, []byte("x")), chunk(2, ints(1)), chunk(2, ints(2)))), "int64 [1 2]"},
		"a list of another wire":  {example("x", chunk(3, []byte{1<<3 | wire64, 1, 2, 3, 4, 5, 6, 7, 8, 1<<3 | wireVarint, 4})), "int64 [4]"},
		"a feature of no kind":    {example("x", []byte{}), "nothing []"},
	} {
		features, err := ParseExample(c.message)
		if err != nil || features["x"] == nil {
			t.Errorf("%s: %v, %v", name, features, err)
			continue
		}
		d := NewDecoder([]string{"x"})
		if err := d.Decode(c.message); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, f := range []*Feature{features["x"], d.Feature(0)} {
			list := []any{}
			i, fl := make([]int64, f.Len()), make([]float32, f.Len())
			for k := range f.CopyInts(i) {
				list = append(list, i[k])
			}
			for k := range f.CopyFloats(fl) {
				list = append(list, fl[k])
			}
			if got := fmt.Sprint(f.Kind(), " ", list); got != c.want {
				t.Errorf("%s: got %s, want %s", name, got, c.want)
			}
		}
	}
}

// What EncodeExample writes is read back.
func TestEncodeExample(t *testing.T) {
	b, err := EncodeExample(map[string]any{"s": "text", "b": []byte{1}, "l": [][]byte{{2}, nil},
		"f": []float32{1.5, -2}, "i": []int64{-3, 1 << 40}, "n": nil, "e": []int64{}})
	if err != nil {
		t.Fatal(err)
	}
	features, err := ParseExample(b)
	if err != nil || len(features) != 7 {
		t.Fatalf("%v, %v", features, err)
	}
	i, f := make([]int64, 2), make([]float32, 2)
	features["i"].CopyInts(i)
	features["f"].CopyFloats(f)
	got := fmt.Sprint(string(features["s"].Bytes(0)), features["b"].Bytes(0), features["l"].Len(),
		features["l"].Bytes(1), f, i, features["n"].Kind(), features["e"].Kind(), features["e"].Len())
	if want := "text[1] 2 [] [1.5 -2] [-3 1099511627776] nothing int64 0"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if _, err := EncodeExample(map[string]any{"x": 1}); !errors.Is(err, errs.Invalid) {
		t.Error(err)
	}
}

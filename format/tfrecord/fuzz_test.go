package tfrecord

import (
	"bytes"
	"reflect"
	"testing"
)

// FuzzFile reads any bytes in both ways: what Scan finds, Reader reads.
func FuzzFile(f *testing.F) {
	b, _ := file([]byte("one"), nil, []byte("three"))
	f.Add(b)
	f.Add(b[:30])
	f.Add([]byte{0x1f, 0x8b, 8, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		payloads, err1 := readAll(b)
		places, err2 := scanned(b)
		if err1 == nil && DetectCompression(b) == Uncompressed && (err2 != nil || len(places) != len(payloads)) {
			t.Fatalf("read %d records, scanned %d: %v", len(payloads), len(places), err2)
		}
		for _, p := range places {
			Payload(b[p[0] : p[0]+p[1]]) //nolint:errcheck // only panics count
		}
	})
}

// FuzzExample parses any message in both ways, which agree.
func FuzzExample(f *testing.F) {
	f.Add(example("x", ints(1, -2), "y", floats(1.5), "z", texts("a", "")))
	f.Add(chunk(2, chunk(1, chunk(1, []byte("a")), chunk(2, chunk(1, ints(1))))))
	f.Add([]byte{3<<3 | wireGroup, 3<<3 | wireEnd})
	f.Fuzz(func(t *testing.T, b []byte) {
		features, err := ParseExample(b)
		d := NewDecoder([]string{"x", "y", "z"})
		if again := d.Decode(b); (again == nil) != (err == nil) {
			t.Fatalf("ParseExample: %v, Decode: %v", err, again)
		}
		ParseSequence(b) //nolint:errcheck // only panics count
		if err != nil {
			return
		}
		for i, name := range []string{"x", "y", "z"} {
			got, want := d.Feature(i), features[name]
			if want == nil {
				want = &Feature{message: b}
			}
			if got.Kind() != want.Kind() || got.Len() != want.Len() || got.Present() != want.Present() {
				t.Fatalf("%s: %v with %d values, want %v with %d", name, got.Kind(), got.Len(), want.Kind(), want.Len())
			}
			if got.Len() > len(b) {
				t.Fatalf("%d values in %d bytes", got.Len(), len(b))
			}
			all := make([]int64, got.Len())
			if n := got.CopyInts(all); got.Kind() == Int64 && n != got.Len() {
				t.Fatalf("%s: %d of %d values", name, n, got.Len())
			}
			for k := range got.Len() {
				if !bytes.Equal(got.Bytes(k), want.Bytes(k)) || got.Kind() == Bytes && got.Bytes(k) == nil {
					t.Fatalf("%s: value %d", name, k)
				}
			}
			if !reflect.DeepEqual(got.lists, want.lists) && len(got.lists)+len(want.lists) > 0 {
				t.Fatalf("%s: lists %v, want %v", name, got.lists, want.lists)
			}
		}
	})
}

// FuzzIndex reads lines of an index.
func FuzzIndex(f *testing.F) {
	f.Add([]byte("0 16\n16 17\n"))
	f.Add([]byte("x\n"))
	f.Add([]byte(" 1   2\r\n\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var again []byte
		err := ReadIndex(bytes.NewReader(b), func(offset, length int64) error {
			if offset < 0 || length < 0 {
				t.Fatalf("%d %d", offset, length)
			}
			again = AppendIndex(again, offset, length)
			return nil
		})
		if err != nil {
			return
		}
		var twice []byte
		if err := ReadIndex(bytes.NewReader(again), func(offset, length int64) error {
			twice = AppendIndex(twice, offset, length)
			return nil
		}); err != nil || !bytes.Equal(again, twice) {
			t.Fatalf("%v: %q, %q", err, again, twice)
		}
	})
}

package arrayrecord

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
)

func written(t testing.TB, group int, records [][]byte) []byte {
	var out bytes.Buffer
	w := NewWriter(&out, group)
	for _, r := range records {
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); !errors.Is(err, errs.Closed) {
		t.Errorf("a second Close: %v", err)
	}
	return out.Bytes()
}

// readAll returns all records of a file.
func readAll(b []byte) (records [][]byte, err error) {
	f, err := Open(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return nil, err
	}
	for i := range f.Chunks() {
		from, to := f.Range(i)
		c, err := Decode(bytes.Clone(b[from:to]), from, 1<<24)
		if err != nil {
			return nil, err
		}
		if want := f.First(i+1) - f.First(i); int64(c.Len()) != want {
			return nil, fmt.Errorf("chunk %d has %d records, want %d", i, c.Len(), want)
		}
		for j := range c.Len() {
			if chunk, place := f.Find(int64(len(records))); chunk != i || place != j {
				return nil, fmt.Errorf("record %d is found at %d of chunk %d, want %d of %d", len(records), place,
					chunk, j, i)
			}
			records = append(records, bytes.Clone(c.Record(j)))
		}
	}
	if int64(len(records)) != f.Records {
		return nil, fmt.Errorf("%d records, want %d", len(records), f.Records)
	}
	return records, nil
}

// What the Writer writes is read again: records of all sizes up to several blocks, in groups of all
// sizes.
func TestWrittenIsRead(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, group := range []int{1, 3, 100} {
		for _, n := range []int{0, 1, 2, 7, 100} {
			var want [][]byte
			for range n {
				r := make([]byte, random.IntN(1<<random.IntN(18)))
				for i := range r {
					r[i] = byte(random.Uint32())
				}
				want = append(want, r)
			}
			got, err := readAll(written(t, group, want))
			if err != nil || len(got) != n {
				t.Errorf("group %d, %d records: %d, %v", group, n, len(got), err)
				continue
			}
			for i := range want {
				if !bytes.Equal(got[i], want[i]) {
					t.Errorf("group %d, record %d of %d bytes differs", group, i, len(want[i]))
				}
			}
		}
	}
}

// The real package wrote these transposed chunks: protocol buffers with numbers, texts, messages
// within messages and groups, and records of other bytes. See testdata/README.md.
func TestTransposed(t *testing.T) {
	files, err := filepath.Glob("testdata/*.array_record.gz")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		got, err := readAll(mustRead(t, name))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want, err := readAll(mustRead(t, "testdata/plain.array_record.gz"))
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != len(want) {
			t.Errorf("%s: %d records, want %d", name, len(got), len(want))
			continue
		}
		for i := range want {
			if !bytes.Equal(got[i], want[i]) {
				t.Errorf("%s: record %d is %x, want %x", name, i, got[i], want[i])
			}
		}
	}
}

func mustRead(t testing.TB, name string) []byte {
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	if b, err = io.ReadAll(z); err != nil {
		t.Fatal(err)
	}
	return b
}

// Every byte of records, headers and footer is covered by a hash; only zeros between chunks and
// headers of blocks are not.
func TestDamageIsFound(t *testing.T) {
	want := [][]byte{[]byte("one record"), []byte("another"), bytes.Repeat([]byte("long"), 1000)}
	b := written(t, 1, want)
	f, err := Open(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	for i := range f.Chunks() {
		from, to := f.Range(i)
		for at := range to - from {
			c := bytes.Clone(b[from:to])
			c[at] ^= 4
			if _, err := Decode(c, from, 1<<20); !errors.Is(err, errs.Corrupt) {
				t.Errorf("chunk %d, byte %d: %v", i, at, err)
			}
		}
	}
	for _, n := range []int{0, 100, blockSize, len(b) - 1, len(b) - blockSize} {
		if _, err := Open(bytes.NewReader(b[:n]), int64(n)); !errors.Is(err, errs.Corrupt) {
			t.Errorf("cut to %d bytes: %v", n, err)
		}
	}
	from, to := f.Range(0)
	if _, err := Decode(bytes.Clone(b[from:to]), from, 5); !errors.Is(err, errs.Exhausted) {
		t.Errorf("above the limit: %v", err)
	}
}

// Every part of a chunk may lie: the decoders return an error and take no more memory than the
// bytes that are there call for.
func FuzzDecode(f *testing.F) {
	f.Add(byte(simple), uint64(2), uint64(3), []byte{0, 2, 1, 2, 'a', 'b', 'c'})
	f.Add(byte(transposed), uint64(1), uint64(3), []byte{0, 8, 0, 0, 1, 3, 1, 0, 0, 0})
	f.Add(byte('z'), uint64(1), uint64(1), []byte{})
	f.Fuzz(func(t *testing.T, typ byte, records, decoded uint64, data []byte) {
		h := header{typ: typ, records: int64(records >> 8), decoded: int64(decoded >> 1)}
		c, err := decode(h, data, 1<<20)
		if err != nil {
			return
		}
		total := int64(0)
		for i := range c.Len() {
			total += int64(len(c.Record(i)))
		}
		if total != h.decoded || int64(c.Len()) != h.records {
			t.Errorf("%d records of %d bytes, want %d of %d", c.Len(), total, h.records, h.decoded)
		}
	})
}

func FuzzOpen(f *testing.F) {
	f.Add([]byte("a footer"), uint64(64))
	f.Add(mustRead(f, "testdata/plain.array_record.gz")[64:300], uint64(64))
	f.Fuzz(func(t *testing.T, b []byte, footer uint64) {
		// The hashes are made right: a fuzzer cannot.
		var out bytes.Buffer
		w := NewWriter(&out, 1)
		place := w.at
		w.simple([]byte{byte(min(len(b), 127))}, b[:min(len(b), 127)], 1)
		w.pad()
		if footer%4 > 0 {
			place = int64(footer)
		}
		record := appendNumbers(nil, uint64(place), magic)
		w.simple([]byte{byte(len(record))}, record, 1)
		w.pad()
		file, err := Open(bytes.NewReader(out.Bytes()), int64(out.Len()))
		if err == nil && (file.Records < 0 || file.Chunks() < 0) {
			t.Errorf("%+v", file)
		}
	})
}

package parquet

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/reader"
	"github.com/bivouac-ml/bivouac/reader/parquet/parquettest"
)

// A dictionary page of byte strings is split where it lies. With any fault it is left to the
// library.
func TestSplit(t *testing.T) {
	page := func(strings ...string) (b []byte) {
		for _, s := range strings {
			b = append(binary.LittleEndian.AppendUint32(b, uint32(len(s))), s...)
		}
		return b
	}
	good := page("abc", "", "defgh")
	header := func(b []byte, n int) *format.PageHeader {
		size := int32(len(b))
		h := &format.PageHeader{Type: format.DictionaryPage, UncompressedPageSize: size, CompressedPageSize: size}
		h.DictionaryPageHeader.Valid = true
		h.DictionaryPageHeader.V = format.DictionaryPageHeader{NumValues: int32(n), Encoding: oldPlain}
		return h
	}
	cases := map[string]struct {
		data   []byte
		n      int
		change func(h *format.PageHeader)
		want   int
	}{
		"good":                 {good, 3, nil, 3},
		"plain":                {good, 3, func(h *format.PageHeader) { h.DictionaryPageHeader.V.Encoding = format.Plain }, 3},
		"with its checksum":    {good, 3, func(h *format.PageHeader) { h.CRC = int32(crc32.ChecksumIEEE(good)) }, 3},
		"with another":         {good, 3, func(h *format.PageHeader) { h.CRC = 7 }, 0},
		"another encoding":     {good, 3, func(h *format.PageHeader) { h.DictionaryPageHeader.V.Encoding = format.DeltaByteArray }, 0},
		"another size":         {good, 3, func(h *format.PageHeader) { h.UncompressedPageSize++ }, 0},
		"no value":             {nil, 0, nil, 0},
		"fewer than its bytes": {good, 2, nil, 0},
		"more than its bytes":  {good, 4, nil, 0},
		"far more":             {good, 1 << 30, nil, 0},
		"negative":             {good, -1, nil, 0},
		"a length too long":    {append(page("abc"), 255, 255, 255, 255), 2, nil, 0},
		"a length by one":      {append(page("abc"), 1, 0, 0, 0), 2, nil, 0},
		"a length cut":         {append(page("abc"), 1, 0), 2, nil, 0},
	}
	for name, c := range cases {
		h := header(c.data, c.n)
		if c.change != nil {
			c.change(h)
		}
		d := &dictionary{page: c.data}
		d.split(h, c.data)
		if len(d.from) != c.want || len(d.to) != c.want || c.want == 0 && len(d.page) != len(c.data) {
			t.Errorf("%s: %d values", name, len(d.from))
		}
		if c.want == 3 && string(d.data[d.from[0]:d.to[0]])+"|"+string(d.data[d.from[1]:d.to[1]])+"|"+
			string(d.data[d.from[2]:d.to[2]]) != "abc||defgh" {
			t.Errorf("%s: from %v to %v of %q", name, d.from, d.to, d.data)
		}
	}
}

// Rows of lists have their lengths, nulls and faults, in whatever pages their levels come.
func TestLevelsOfLists(t *testing.T) {
	const null, empty, isNull, isValue = 0, 1, 2, 3 // definition levels
	r := rand.New(rand.NewPCG(1, 1))
	for range 300 {
		var reps, defs []byte
		var dims []int32
		var faults []fault
		var present []bool
		nulls := r.IntN(3) == 0
		for range r.IntN(8) + 1 {
			n := r.IntN(20)
			dims, faults = append(dims, int32(n)), append(faults, sound)
			if n == 0 {
				level := byte(r.IntN(2)) // null or empty
				reps, defs = append(reps, 0), append(defs, level)
				if level == null {
					faults[len(faults)-1] = missing
				}
			}
			for i := range n {
				level := byte(isValue)
				if nulls && r.IntN(5) == 0 {
					level = isNull
				}
				reps, defs, present = append(reps, byte(min(i, 1))), append(defs, level), append(present, level == isValue)
			}
		}
		d := &decoder{column: &column{lists: []int{empty + 1}, defined: isValue}, v: &values{}}
		var got []bool
		for from := 0; from < len(reps); {
			to := from + r.IntN(len(reps)-from) + 1
			p, n, err := d.addLists(reps[from:to], defs[from:to])
			if err != nil {
				t.Fatal(err)
			}
			if p == nil {
				p = slices.Repeat([]bool{true}, n)
			}
			if len(p) != n {
				t.Fatalf("%d entries, %d of them noted", n, len(p))
			}
			d.count += n
			got, from = append(got, p...), to
		}
		d.endRow()
		if !slices.Equal(got, present) || !slices.Equal(d.v.dims, dims) || !slices.Equal(d.v.faults, faults) {
			t.Fatalf("levels %v and %v: lengths %v, faults %v, present %v\nwant lengths %v, faults %v, present %v", reps, defs,
				d.v.dims, d.v.faults, got, dims, faults, present)
		}
	}
}

// Byte strings with a dictionary are the same whether they are compressed or not, with nulls and
// empty strings, for any budget of the cache.
func TestDictionariesOfByteStrings(t *testing.T) {
	type row struct {
		Text  []byte  `parquet:"text,dict"`
		Maybe *string `parquet:"maybe,optional,dict"`
	}
	rows := make([]row, 300)
	for i := range rows {
		rows[i].Text = []byte(fmt.Sprintf("%0*d", i%37, i%50))
		if i%37 == 0 {
			rows[i].Text = nil
		}
		if i%3 > 0 {
			rows[i].Maybe = ptr(fmt.Sprint("m", i%7))
		}
	}
	for name, options := range map[string][]parquet.WriterOption{
		"version 1": {parquet.DataPageVersion(1)}, "version 2": {parquet.DataPageVersion(2)},
		"small pages": {parquet.PageBufferSize(100)}, "snappy": {parquet.Compression(&parquet.Snappy)},
	} {
		path := filepath.Join(t.TempDir(), "x.parquet")
		if err := parquettest.Write(path, 100, rows, options...); err != nil {
			t.Fatal(err)
		}
		for _, budget := range []int{0, 1 << 20} {
			d, err := reader.Open(t.Context(), "parquet", op.Args{"paths": path, "nulls": 0.0, "cache_bytes": budget})
			if err != nil {
				t.Fatal(err)
			}
			for k := range 2 * len(rows) {
				id := k * 61 % len(rows)
				f, err := d.Sample(t.Context(), int64(id))
				if err != nil {
					t.Fatalf("%s, row %d: %v", name, id, err)
				}
				maybe := ""
				if rows[id].Maybe != nil {
					maybe = *rows[id].Maybe
				}
				if string(f.Values[0].Data) != string(rows[id].Text) || string(f.Values[1].Data) != maybe {
					t.Fatalf("%s, row %d: %q, %q", name, id, f.Values[0].Data, f.Values[1].Data)
				}
			}
			d.Close()
		}
	}
}

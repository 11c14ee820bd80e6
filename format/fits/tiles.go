package fits

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
)

// tiling says how an image is cut into tiles that are compressed, and where they lie in the table.
type tiling struct {
	kind      string  // the algorithm
	axes      []int64 // of the image; the first is the one whose elements are adjacent
	tile      []int64 // of a tile
	rows      int64
	row       int64 // bytes of a row
	heap      int64 // where the heap begins, from the start of the data
	size      int64 // of the data
	columns   map[string]column
	blockSize int
	bytePix   int
	scale     float64 // of floats that were quantized, for tables without a column
	zero      float64
	quantized bool
	blank     float64 // the integer of no value; NaN: none
	dither    int     // 0: none, or 1 or 2
	seed      int64   // of dithering
}

// column is a column of the table.
type column struct {
	kind   byte // 'P' or 'Q': data in the heap; else 'D', 'E', 'J', …
	of     byte // the type of data in the heap
	offset int64
}

// columnSizes are the bytes of elements by their types.
var columnSizes = map[byte]int64{'L': 1, 'X': 1, 'B': 1, 'I': 2, 'J': 4, 'K': 8, 'A': 1, 'E': 4, 'D': 8, 'C': 8,
	'M': 16, 'P': 8, 'Q': 16}

var columnForm = regexp.MustCompile(`^(\d*)([LXBIJKAEDCMPQ])([LXBIJKAEDCM]?)`)

// newTiling reads the keywords of a compressed image.
func newTiling(h *header, bitpix int, axes []int64, data int64) (*tiling, error) {
	t := &tiling{kind: h.values["ZCMPTYPE"], axes: axes, size: data, columns: map[string]column{},
		blank: math.NaN(), blockSize: 32, bytePix: 4}
	switch t.kind {
	case "RICE_1", "RICE_ONE", "GZIP_1", "GZIP_2", "NOCOMPRESS":
	default:
		return nil, h.unsupported("the compression RICE_1, GZIP_1, GZIP_2 or NOCOMPRESS", strconv.Quote(t.kind))
	}
	table, err := h.axes("NAXIS")
	if err != nil {
		return nil, err
	}
	if len(table) != 2 {
		return nil, h.fail("a table of two axes", fmt.Sprint(len(table)))
	}
	t.row, t.rows = table[0], table[1]
	if t.heap, err = h.integer("THEAP", t.row*t.rows); err != nil {
		return nil, err
	}
	if t.heap < t.row*t.rows || t.heap > data {
		return nil, h.fail("a heap behind the rows", fmt.Sprint(t.heap))
	}
	for i, n := range axes {
		one := int64(1)
		if i == 0 {
			one = n
		}
		v, err := h.integer(fmt.Sprintf("ZTILE%d", i+1), one)
		if err != nil {
			return nil, err
		}
		if v < 1 && n > 0 {
			return nil, h.fail("tiles of at least one element", fmt.Sprint(v))
		}
		t.tile = append(t.tile, min(v, n))
	}
	if n := t.count(); n != t.rows && !emptyAxes(axes) {
		return nil, h.fail(fmt.Sprintf("a row for each of %d tiles", n), fmt.Sprint(t.rows))
	}
	if err := t.readColumns(h); err != nil {
		return nil, err
	}
	return t, t.readParameters(h, bitpix)
}

func emptyAxes(axes []int64) bool {
	n, ok := product(axes)
	return ok && n == 0
}

// count returns the number of tiles.
func (t *tiling) count() int64 {
	n := int64(1)
	for i, a := range t.axes {
		if t.tile[i] > 0 {
			n *= (a + t.tile[i] - 1) / t.tile[i] // at most the elements of the image
		}
	}
	return n
}

// readColumns reads where the columns lie in a row.
func (t *tiling) readColumns(h *header) error {
	fields, err := h.integer("TFIELDS", 0)
	if err != nil {
		return err
	}
	if fields < 1 || fields > maxAxes {
		return h.fail("columns", h.values["TFIELDS"])
	}
	at := int64(0)
	for i := range fields {
		form := h.values[fmt.Sprintf("TFORM%d", i+1)]
		part := columnForm.FindStringSubmatch(form)
		if part == nil {
			return h.fail(fmt.Sprintf("TFORM%d of a table", i+1), strconv.Quote(form))
		}
		repeat := int64(1)
		if part[1] != "" {
			if repeat, err = strconv.ParseInt(part[1], 10, 32); err != nil {
				return h.fail(fmt.Sprintf("TFORM%d of a table", i+1), strconv.Quote(form))
			}
		}
		c := column{kind: part[2][0], offset: at}
		if part[3] != "" {
			c.of = part[3][0]
		}
		if repeat > 0 {
			t.columns[strings.ToUpper(h.values[fmt.Sprintf("TTYPE%d", i+1)])] = c
		}
		size := columnSizes[c.kind] * repeat
		if c.kind == 'X' {
			size = (repeat + 7) / 8
		}
		if at += size; at > t.row {
			return h.fail(fmt.Sprintf("columns of %d bytes", t.row), fmt.Sprintf("more in TFORM%d", i+1))
		}
	}
	if c, ok := t.columns["COMPRESSED_DATA"]; !ok || c.kind != 'P' && c.kind != 'Q' {
		return h.fail("a column COMPRESSED_DATA in the heap", "none")
	}
	return nil
}

// readParameters reads the parameters of the algorithm and of quantization.
func (t *tiling) readParameters(h *header, bitpix int) error {
	if bitpix > 0 && bitpix < 32 {
		t.bytePix = bitpix / 8
	}
	for i := 1; ; i++ {
		name, ok := h.values[fmt.Sprintf("ZNAME%d", i)]
		if !ok {
			break
		}
		v, err := h.integer(fmt.Sprintf("ZVAL%d", i), 0)
		switch {
		case name == "BLOCKSIZE" && err == nil && v > 0 && v <= 1<<16:
			t.blockSize = int(v)
		case name == "BYTEPIX" && err == nil && (v == 1 || v == 2 || v == 4):
			t.bytePix = int(v)
		case name == "BLOCKSIZE" || name == "BYTEPIX":
			return h.fail(name+" of the algorithm", h.values[fmt.Sprintf("ZVAL%d", i)])
		}
	}
	if bitpix == 64 && strings.HasPrefix(t.kind, "RICE") {
		return h.unsupported("elements of at most 32 bits with "+t.kind, "64 bits")
	}
	var err error
	if t.scale, err = h.real("ZSCALE", 1); err != nil {
		return err
	}
	if t.zero, err = h.real("ZZERO", 0); err != nil {
		return err
	}
	_, scaled := h.values["ZSCALE"]
	_, column := t.columns["ZSCALE"]
	t.quantized = bitpix < 0 && (scaled || column)
	if _, ok := h.values["ZBLANK"]; ok {
		v, err := h.integer("ZBLANK", 0)
		if err != nil {
			return err
		}
		t.blank = float64(v)
	}
	switch q := h.values["ZQUANTIZ"]; q {
	case "SUBTRACTIVE_DITHER_1":
		t.dither = 1
	case "SUBTRACTIVE_DITHER_2":
		t.dither = 2
	case "", "NO_DITHER", "NONE":
	default:
		return h.unsupported("ZQUANTIZ NO_DITHER, SUBTRACTIVE_DITHER_1 or SUBTRACTIVE_DITHER_2", strconv.Quote(q))
	}
	if t.dither > 0 {
		t.seed, err = h.integer("ZDITHER0", 1)
		if err == nil && (t.seed < 1 || t.seed > randomNumbers) {
			err = h.fail(fmt.Sprintf("ZDITHER0 from 1 to %d", randomNumbers), fmt.Sprint(t.seed))
		}
	}
	return err
}

// tileReader reads tiles of an image.
type tileReader struct {
	t   *tiling
	m   *Image
	r   io.ReaderAt
	row []byte
	in  []byte // compressed
	raw []byte // big-endian elements of the image
}

// read reads all tiles to dst.
func (t *tiling) read(r io.ReaderAt, m *Image, dst []byte) error {
	if len(dst) == 0 {
		return nil
	}
	x := &tileReader{t: t, m: m, r: r, row: make([]byte, t.row)}
	place := make([]int64, len(t.axes)) // of the tile, in elements
	for number := int64(0); number < t.rows; number++ {
		if err := x.tile(number, place, dst); err != nil {
			return errs.Wrap("fits", fmt.Sprintf("HDU %d, tile %d", m.header.number, number), err)
		}
		for i := range place {
			if place[i] += t.tile[i]; place[i] < t.axes[i] {
				break
			}
			place[i] = 0
		}
	}
	return nil
}

// tile reads a tile and writes its values.
func (x *tileReader) tile(number int64, place []int64, dst []byte) error {
	t, m := x.t, x.m
	extent, n := make([]int64, len(place)), int64(1)
	for i := range place {
		extent[i] = min(t.tile[i], t.axes[i]-place[i])
		n *= extent[i]
	}
	if err := m.fill(x.r, x.row, m.header.data+number*t.row); err != nil {
		return err
	}
	if err := x.elements(number, n); err != nil {
		return err
	}
	from, to := int64(m.scale.width()), int64(m.DType.Size())
	raw := x.raw
	inner := make([]int64, len(place)) // in the tile
	for {
		at, stride := int64(0), int64(1)
		for i := range place {
			at += (place[i] + inner[i]) * stride
			stride *= t.axes[i]
		}
		if err := m.scale.convert(dst[at*to:(at+extent[0])*to], raw[:extent[0]*from]); err != nil {
			return err
		}
		raw = raw[extent[0]*from:]
		i := 1
		for ; i < len(inner); i++ {
			if inner[i]++; inner[i] < extent[i] {
				break
			}
			inner[i] = 0
		}
		if i >= len(inner) {
			return nil
		}
	}
}

// elements fills raw with the n elements of a tile.
func (x *tileReader) elements(number, n int64) error {
	t, width := x.t, int64(x.m.scale.width())
	if int64(cap(x.raw)) < n*width {
		x.raw = make([]byte, n*width)
	}
	x.raw = x.raw[:n*width]
	if ok, err := x.load("COMPRESSED_DATA"); ok || err != nil {
		switch {
		case err != nil:
			return err
		case t.quantized:
			return x.floats(number, n)
		case strings.HasPrefix(t.kind, "RICE") && x.m.scale.bitpix < 0:
			return &errs.Error{Kind: errs.Corrupt, Want: "ZSCALE, for floats with " + t.kind, Got: "none"}
		case strings.HasPrefix(t.kind, "RICE"):
			return rice(x.raw, x.in, int(width), t.bytePix, t.blockSize)
		case t.kind == "NOCOMPRESS":
			return x.plain(x.raw)
		}
		return inflate(x.raw, x.in, int(width), t.kind == "GZIP_2")
	}
	if ok, err := x.load("GZIP_COMPRESSED_DATA"); ok || err != nil { // floats that cannot be quantized
		if err != nil {
			return err
		}
		return inflate(x.raw, x.in, int(width), false)
	}
	if ok, err := x.load("UNCOMPRESSED_DATA"); ok || err != nil {
		if err != nil {
			return err
		}
		return x.plain(x.raw)
	}
	return &errs.Error{Kind: errs.Corrupt, Want: "data", Got: "an empty row"}
}

// plain copies elements that are not compressed.
func (x *tileReader) plain(dst []byte) error {
	if len(x.in) != len(dst) {
		return &errs.Error{Kind: errs.Corrupt, Want: fmt.Sprintf("%d bytes", len(dst)), Got: fmt.Sprint(len(x.in))}
	}
	copy(dst, x.in)
	return nil
}

// load reads the data of a column in the heap. ok is false if the row has no data there.
func (x *tileReader) load(name string) (ok bool, err error) {
	c, ok := x.t.columns[name]
	if !ok || c.kind != 'P' && c.kind != 'Q' {
		return false, nil
	}
	be := binary.BigEndian
	var n, at int64
	if c.kind == 'P' {
		n, at = int64(int32(be.Uint32(x.row[c.offset:]))), int64(int32(be.Uint32(x.row[c.offset+4:])))
	} else {
		n, at = int64(be.Uint64(x.row[c.offset:])), int64(be.Uint64(x.row[c.offset+8:]))
	}
	width := max(1, columnSizes[c.of])
	room := x.t.size - x.t.heap
	if n < 0 || at < 0 || at > room || n > (room-at)/width {
		return false, &errs.Error{Kind: errs.Corrupt, Subject: "column " + name,
			Want: fmt.Sprintf("data in the heap of %d bytes", room),
			Got:  fmt.Sprintf("%d elements at %d", n, at)}
	}
	if n == 0 {
		return false, nil
	}
	if n *= width; int64(cap(x.in)) < n {
		x.in = make([]byte, n)
	}
	x.in = x.in[:n]
	return true, x.m.fill(x.r, x.in, x.m.header.data+x.t.heap+at)
}

// real returns the number of a column, or other without the column.
func (x *tileReader) real(name string, other float64) float64 {
	c, ok := x.t.columns[name]
	if !ok {
		return other
	}
	b := x.row[c.offset:]
	switch c.kind {
	case 'D':
		return math.Float64frombits(binary.BigEndian.Uint64(b))
	case 'E':
		return float64(math.Float32frombits(binary.BigEndian.Uint32(b)))
	case 'J':
		return float64(int32(binary.BigEndian.Uint32(b)))
	}
	return other
}

// inflate decompresses elements of the given width. shuffled says that their first bytes come
// first, then their second, and so on.
func inflate(dst, src []byte, width int, shuffled bool) error {
	z, err := gzip.NewReader(bytes.NewReader(src))
	if err != nil {
		return &errs.Error{Kind: errs.Corrupt, Want: "gzip", Err: err}
	}
	to := dst
	if shuffled && width > 1 {
		to = make([]byte, len(dst))
	}
	if _, err := io.ReadFull(z, to); err != nil {
		return &errs.Error{Kind: errs.Corrupt, Want: fmt.Sprintf("%d bytes in gzip", len(dst)), Err: err}
	}
	if shuffled && width > 1 {
		n := len(dst) / width
		for i := range n {
			for b := range width {
				dst[i*width+b] = to[b*n+i]
			}
		}
	}
	return nil
}

package fits

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
)

const (
	block = 2880
	card  = 80
	// maxHeader is the largest size of a header.
	maxHeader = 1 << 20
	// maxAxes is the largest number of axes that the standard allows.
	maxAxes = 999
)

// header is the values of a header by their keywords, as they are written.
type header struct {
	number int // of the HDU, from 1
	start  int64
	data   int64 // where the data begins
	first  string
	values map[string]string
}

// readHeader reads the header at an offset. The first line must have the keyword first, or
// XTENSION.
func readHeader(r io.ReaderAt, size, at int64, number int) (*header, error) {
	h := &header{number: number, start: at, values: map[string]string{}}
	b := make([]byte, block)
	for lines := 0; ; {
		if at-h.start >= maxHeader {
			return nil, h.fail(fmt.Sprintf("a header of at most %d bytes", maxHeader), "a longer one")
		}
		if at+block > size {
			return nil, h.fail("a header with an END", fmt.Sprintf("the end of the file at %d", size))
		}
		if _, err := r.ReadAt(b, at); err != nil && err != io.EOF {
			return nil, errs.Wrap("fits", "", err)
		}
		at += block
		for line := b; len(line) > 0; line = line[card:] {
			key := strings.TrimRight(string(line[:8]), " ")
			if lines == 0 {
				want := "XTENSION"
				if number == 1 {
					want = "SIMPLE"
				}
				if h.first = key; key != want {
					return nil, h.fail("a header that begins with "+want, strconv.Quote(key))
				}
			}
			lines++
			if key == "END" {
				h.data = at
				return h, nil
			}
			if !bytes.Equal(line[8:10], []byte("= ")) {
				continue
			}
			if _, ok := h.values[key]; !ok { // the first counts
				h.values[key] = value(string(line[10:card]))
			}
		}
	}
}

// value returns a value without its comment. A text is without quotes and blanks at its end.
func value(text string) string {
	text = strings.TrimLeft(text, " ")
	if !strings.HasPrefix(text, "'") {
		text, _, _ = strings.Cut(text, "/")
		return strings.TrimRight(text, " ")
	}
	var b strings.Builder
	for text = text[1:]; text != ""; text = text[1:] {
		if text[0] == '\'' {
			if !strings.HasPrefix(text, "''") {
				break
			}
			text = text[1:]
		}
		b.WriteByte(text[0])
	}
	return strings.TrimRight(b.String(), " ")
}

// fail returns an error about the HDU.
func (h *header) fail(want, got string) error {
	return &errs.Error{Kind: errs.Corrupt, Op: "fits", Subject: fmt.Sprintf("HDU %d, offset %d", h.number, h.start),
		Want: want, Got: got}
}

// unsupported returns an error about the HDU.
func (h *header) unsupported(want, got string) error {
	return &errs.Error{Kind: errs.Unsupported, Op: "fits",
		Subject: fmt.Sprintf("HDU %d, offset %d", h.number, h.start), Want: want, Got: got}
}

// integer returns the integer of a keyword, or other if the header does not have it.
func (h *header) integer(key string, other int64) (int64, error) {
	text, ok := h.values[key]
	if !ok {
		return other, nil
	}
	v, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, h.fail("an integer "+key, strconv.Quote(text))
	}
	return v, nil
}

// real returns the number of a keyword, or other if the header does not have it.
func (h *header) real(key string, other float64) (float64, error) {
	text, ok := h.values[key]
	if !ok {
		return other, nil
	}
	v, err := strconv.ParseFloat(strings.Map(func(r rune) rune {
		if r == 'D' || r == 'd' {
			return 'e'
		}
		return r
	}, text), 64)
	if err != nil || strings.ContainsAny(text, "xX_pPnN") {
		return 0, h.fail("a number "+key, strconv.Quote(text))
	}
	return v, nil
}

// axes returns the extents of prefix1, prefix2, … The first axis is the one whose elements are
// adjacent.
func (h *header) axes(prefix string) ([]int64, error) {
	n, err := h.integer(prefix, -1)
	if err != nil {
		return nil, err
	}
	if n < 0 || n > maxAxes {
		return nil, h.fail(fmt.Sprintf("%s from 0 to %d", prefix, maxAxes), h.values[prefix])
	}
	list := make([]int64, n)
	for i := range list {
		key := fmt.Sprintf("%s%d", prefix, i+1)
		if list[i], err = h.integer(key, -1); err != nil {
			return nil, err
		}
		if list[i] < 0 {
			return nil, h.fail(key+" of 0 or more", strconv.Quote(h.values[key]))
		}
	}
	return list, nil
}

// dataSize returns the bytes of the data, without what fills the last block.
func (h *header) dataSize() (int64, error) {
	bitpix, err := h.bitpix("BITPIX")
	if err != nil {
		return 0, err
	}
	axes, err := h.axes("NAXIS")
	if err != nil || len(axes) == 0 {
		return 0, err
	}
	pcount, err := h.integer("PCOUNT", 0)
	if err != nil {
		return 0, err
	}
	gcount, err := h.integer("GCOUNT", 1)
	if err != nil {
		return 0, err
	}
	if h.values["GROUPS"] == "T" && axes[0] == 0 {
		return 0, h.unsupported("images", "random groups")
	}
	n, ok := product(append([]int64(nil), axes...))
	if ok && pcount >= 0 && gcount >= 0 && n <= 1<<62-pcount {
		n, ok = product([]int64{n + pcount, gcount, int64(max(bitpix, -bitpix) / 8)})
	} else {
		ok = false
	}
	if !ok {
		return 0, h.fail("a size of the data below 2^62", "a larger one, or one below 0")
	}
	return n, nil
}

// product multiplies numbers of 0 or more. ok is false above 2^62.
func product(list []int64) (n int64, ok bool) {
	n = 1
	for _, v := range list {
		if v != 0 && n > (1<<62)/v {
			return 0, false
		}
		n *= v
	}
	return n, true
}

// bitpix returns the type of elements.
func (h *header) bitpix(key string) (int, error) {
	v, err := h.integer(key, 0)
	if err != nil {
		return 0, err
	}
	switch v {
	case 8, 16, 32, 64, -32, -64:
		return int(v), nil
	}
	return 0, h.fail(key+" 8, 16, 32, 64, -32 or -64", strconv.Quote(h.values[key]))
}

// padded returns the size of data with what fills its last block.
func padded(n int64) int64 { return (n + block - 1) / block * block }

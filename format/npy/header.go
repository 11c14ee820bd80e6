package npy

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

const (
	magic = "\x93NUMPY"

	// maxHeader is the largest number of characters that numpy allows in a header.
	maxHeader = 10_000
	// maxRank is the largest number of axes that numpy allows.
	maxRank = 64
	// align is the alignment of the start of the data.
	align = 64
	// growth is the space that numpy reserves for the digits of the first extent.
	growth = 21
)

// Header is the information before the data of an npy file.
type Header struct {
	Version   int // major version: 1, 2 or 3
	DType     tensor.DType
	BigEndian bool
	Fortran   bool // the data is in Fortran order
	Shape     tensor.Shape
	DataStart int64 // bytes in front of the data
}

// Size returns the bytes of the data.
func (h Header) Size() int64 { return int64(h.Shape.Len()) * int64(h.DType.Size()) }

// ReadHeader reads the header from the start of a file and leaves r at the data. limit is an upper
// bound of the bytes that r delivers, usually the length of the file. The data must fit.
//
// Errors: errs.Corrupt for input that numpy would refuse, errs.Unsupported for types that tensors
// do not have.
func ReadHeader(r io.Reader, limit int64) (Header, error) {
	text, version, start, err := readText(r, limit)
	if err != nil {
		return Header{}, err
	}
	v, err := parseLiteral(text, version < 3)
	if err != nil {
		return Header{}, corrupt("header "+err.Error(), "a dictionary as Python prints it")
	}
	h, err := parseHeader(v)
	if err != nil {
		return Header{}, err
	}
	h.Version, h.DataStart = version, start
	if h.Size() > limit-start {
		return Header{}, corrupt(fmt.Sprintf("at most %d bytes of data", limit-start), fmt.Sprintf("%d for %s%s", h.Size(), h.DType, h.Shape))
	}
	return h, nil
}

// readText returns the text of the header, and the number of bytes before the data.
func readText(r io.Reader, limit int64) (text string, version int, start int64, err error) {
	var b [len(magic) + 6]byte
	first := b[:len(magic)+2]
	if err := fill(r, first, "8 bytes of magic and version"); err != nil {
		return "", 0, 0, err
	}
	if string(first[:len(magic)]) != magic {
		return "", 0, 0, corrupt(fmt.Sprintf("magic % x", first[:len(magic)]), fmt.Sprintf("% x", magic))
	}
	version = int(first[len(magic)])
	if version < 1 || version > 3 || first[len(magic)+1] != 0 {
		return "", 0, 0, corrupt(fmt.Sprintf("version %d.%d", version, first[len(magic)+1]), "1.0, 2.0 or 3.0")
	}
	width := 4
	if version == 1 {
		width = 2
	}
	if err := fill(r, b[len(first):len(first)+width], "the length of the header"); err != nil {
		return "", 0, 0, err
	}
	n := int64(binary.LittleEndian.Uint32(b[len(first):])) // the rest of b is zero
	start = int64(len(first)+width) + n
	if start > limit || n > maxHeader*utf8.UTFMax {
		return "", 0, 0, corrupt(fmt.Sprintf("a header of %d bytes", n), fmt.Sprintf("at most %d characters, inside of the file", maxHeader))
	}
	raw := make([]byte, n)
	if err := fill(r, raw, "the header"); err != nil {
		return "", 0, 0, err
	}
	if text = string(raw); version < 3 {
		text = latin1(raw)
	}
	switch {
	case !utf8.ValidString(text):
		return "", 0, 0, corrupt("a header that is not UTF-8", "")
	case utf8.RuneCountInString(text) > maxHeader:
		return "", 0, 0, corrupt(fmt.Sprintf("a header of %d characters", utf8.RuneCountInString(text)), fmt.Sprintf("at most %d", maxHeader))
	}
	return text, version, start, nil
}

func latin1(b []byte) string {
	var s strings.Builder
	for _, c := range b {
		s.WriteRune(rune(c))
	}
	return s.String()
}

// fill fills p, or returns the error that the file ends inside what.
func fill(r io.Reader, p []byte, what string) error {
	n, err := io.ReadFull(r, p)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return corrupt(fmt.Sprintf("an end after %d bytes of it", n), what)
	}
	return errs.Wrap("npy", "", err)
}

// parseHeader reads the three members. If a name occurs twice, the last one counts.
func parseHeader(v literal) (h Header, err error) {
	if v.kind != kindDict {
		return h, corrupt("a header that is no dictionary", "")
	}
	members := map[string]literal{}
	for i := 0; i < len(v.items); i += 2 {
		key := v.items[i]
		if key.kind != kindStr || key.text != "descr" && key.text != "fortran_order" && key.text != "shape" {
			return h, corrupt("header with the key "+brief(key.text), "descr, fortran_order, shape")
		}
		members[key.text] = v.items[i+1]
	}
	if len(members) != 3 {
		return h, corrupt(fmt.Sprintf("a header with %d keys", len(members)), "descr, fortran_order, shape")
	}
	order := members["fortran_order"]
	if order.kind != kindBool {
		return h, corrupt("a fortran_order that is no bool", "")
	}
	h.Fortran = order.truth
	if h.Shape, err = parseShape(members["shape"]); err != nil {
		return h, err
	}
	if h.DType, h.BigEndian, err = parseType(members["descr"]); err != nil {
		return h, err
	}
	if _, err := h.Shape.Bytes(h.DType); err != nil {
		return h, corrupt("shape "+h.Shape.String(), "no more bytes than can be addressed")
	}
	return h, nil
}

func parseShape(v literal) (tensor.Shape, error) {
	if v.kind != kindTuple {
		return nil, corrupt("a shape that is no tuple", "")
	}
	if len(v.items) > maxRank {
		return nil, corrupt(fmt.Sprintf("a shape of %d axes", len(v.items)), fmt.Sprintf("at most %d", maxRank))
	}
	shape := make(tensor.Shape, len(v.items))
	for i, n := range v.items {
		if n.kind != kindInt || n.int.Sign() < 0 || !n.int.IsInt64() || int64(int(n.int.Int64())) != n.int.Int64() {
			return nil, corrupt(fmt.Sprintf("a shape with a fault in axis %d", i), "integers of 0 or more")
		}
		shape[i] = int(n.int.Int64())
	}
	return shape, nil
}

func parseType(v literal) (tensor.DType, bool, error) {
	switch v.kind {
	case kindStr:
		d, big, foreign := parseDescr(v.text)
		switch {
		case foreign:
			return d, big, unsupported(brief(v.text))
		case d == tensor.Invalid:
			return d, big, corrupt("descr "+brief(v.text), "the name of a numpy type")
		}
		return d, big, nil
	case kindList, kindDict:
		return tensor.Invalid, false, unsupported("a record of " + strconv.Itoa(len(v.items)) + " fields")
	case kindTuple:
		if len(v.items) == 2 && isSingle(v.items[1]) { // an array of one element is the element
			return parseType(v.items[0])
		}
		return tensor.Invalid, false, unsupported("a sub-array")
	}
	return tensor.Invalid, false, corrupt("a descr that is no text", "the name of a numpy type")
}

// isSingle reports whether v is the shape of an array of one element: 1, (), (1,)
// and so on.
func isSingle(v literal) bool {
	if v.kind == kindInt {
		return v.int.IsInt64() && v.int.Int64() == 1
	}
	return v.kind == kindTuple && !slices.ContainsFunc(v.items, func(n literal) bool { return n.kind != kindInt || !isSingle(n) })
}

func corrupt(got, want string) error {
	return &errs.Error{Kind: errs.Corrupt, Op: "npy", Want: want, Got: got}
}

func unsupported(descr string) error {
	return &errs.Error{Kind: errs.Unsupported, Op: "npy", Want: "an element type of tensors", Got: "dtype " + descr}
}

// Append appends to dst all bytes before the data, as numpy writes them; a Version of 0 is 1. It
// ignores DataStart. Types for which numpy has no name are errs.Unsupported.
func (h Header) Append(dst []byte) ([]byte, error) {
	name, ok := descr(h.DType, h.BigEndian)
	if !ok {
		return nil, &errs.Error{Kind: errs.Unsupported, Op: "npy", Want: "a type that numpy has", Got: h.DType.String(),
			Remedy: "write its bits: see tensor.Tensor.As"}
	}
	if _, err := h.Shape.Bytes(h.DType); err != nil {
		return nil, err
	}
	version := h.Version
	if version == 0 {
		version = 1
	}
	if version < 0 || version > 3 || len(h.Shape) > maxRank {
		return nil, &errs.Error{Kind: errs.Invalid, Op: "npy", Want: fmt.Sprintf("version 1, 2 or 3 and at most %d axes", maxRank),
			Got: fmt.Sprintf("version %d and %d axes", version, len(h.Shape))}
	}
	order := "False"
	if h.Fortran {
		order = "True"
	}
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': %s, }", name, order, pythonTuple(h.Shape))
	if len(h.Shape) > 0 {
		grows := h.Shape[0]
		if h.Fortran {
			grows = h.Shape[len(h.Shape)-1]
		}
		text += strings.Repeat(" ", growth-len(strconv.Itoa(grows)))
	}
	front := len(magic) + 2 + 4
	if version == 1 {
		front -= 2
	}
	n := len(text) + 1
	pad := align - (front+n)%align // numpy adds a whole block if no padding is needed
	dst = append(append(dst, magic...), byte(version), 0)
	if version == 1 {
		dst = binary.LittleEndian.AppendUint16(dst, uint16(n+pad))
	} else {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(n+pad))
	}
	return append(append(dst, text...), strings.Repeat(" ", pad)+"\n"...), nil
}

func pythonTuple(shape tensor.Shape) string {
	parts := make([]string, len(shape))
	for i, n := range shape {
		parts[i] = strconv.Itoa(n)
	}
	if len(parts) == 1 {
		return "(" + parts[0] + ",)"
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

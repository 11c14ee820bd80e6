package tokens

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"sort"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

const (
	mapped   = "MMIDIDX\x00\x00" // the magics of the two kinds
	cached   = "TNTIDX\x00\x00"
	version  = 1
	maxHead  = 56
	piece    = 256 << 10 // what is read of an array at once
	mappedAt = 26        // where the arrays of MMIDIDX begin, without the number of ends
	cachedAt = 48        // likewise of TNTIDX
)

// codes are the dtypes by their code in an index.
var codes = []tensor.DType{
	tensor.Invalid, tensor.Uint8, tensor.Int8, tensor.Int16, tensor.Int32, tensor.Int64, tensor.Float64, tensor.Float32,
	tensor.Uint16, tensor.Uint32, tensor.Uint64,
}

// Head is the start of an index.
type Head struct {
	Cached    bool // the index is of the older kind, TNTIDX
	DType     tensor.DType
	Sequences int64
	Modes     bool // each sequence has a mode, as in data of text and pictures

	extents int64 // of TNTIDX
	marks   int64 // number of ends; < 0: the file has no ends, each sequence is a document
	arrays  int64 // where the arrays begin
}

// Index says where the documents of a .bin file lie. It does not change.
type Index struct {
	Head
	Tokens int64
	ends   []int64 // of documents, in tokens
}

// IsIndex reports whether a file that begins with head, of at least 9 bytes, is an index.
func IsIndex(head []byte) bool {
	return len(head) >= len(mapped) && (string(head[:len(mapped)]) == mapped || string(head[:len(cached)]) == cached)
}

func corrupt(subject, want, got string) error {
	return &errs.Error{Kind: errs.Corrupt, Op: "tokens", Subject: subject, Want: want, Got: got}
}

// ReadHead reads the start of an index of size bytes and checks that its arrays fill the file. The
// dtype of floats is known only to ReadIndex.
func ReadHead(r io.ReaderAt, size int64) (h Head, err error) {
	b := make([]byte, min(maxHead, max(0, size)))
	if n, err := r.ReadAt(b, 0); n < len(b) {
		return h, errs.Wrap("tokens", "header", err)
	}
	if !IsIndex(b) {
		return h, corrupt("header", "an index, which begins with MMIDIDX or TNTIDX",
			fmt.Sprintf("%q", b[:min(len(b), len(mapped))]))
	}
	h.Cached = string(b[:len(cached)]) == cached
	at := len(mapped)
	h.arrays = mappedAt
	if h.Cached {
		at, h.arrays = len(cached), cachedAt
	}
	if int64(len(b)) < h.arrays {
		return h, corrupt("header", fmt.Sprintf("a header of at least %d bytes", h.arrays),
			fmt.Sprintf("a file of %d bytes", size))
	}
	next := func() uint64 { at += 8; return binary.LittleEndian.Uint64(b[at-8:]) }
	if v := next(); v != version {
		return h, &errs.Error{Kind: errs.Unsupported, Op: "tokens", Subject: "header",
			Want: fmt.Sprintf("version %d", version), Got: fmt.Sprint(v)}
	}
	code, width := uint64(0), uint64(0)
	if h.Cached {
		code, width = next(), next()
	} else {
		code = uint64(b[at])
		at++
	}
	if code == 0 || code >= uint64(len(codes)) {
		return h, corrupt("header", fmt.Sprintf("a code of a dtype from 1 to %d", len(codes)-1), fmt.Sprint(code))
	}
	h.DType = codes[code]
	if h.Cached {
		if h.DType.IsFloat() {
			h.DType = floatOf(int64(width))
		}
		if width != uint64(h.DType.Size()) {
			return h, corrupt("header", fmt.Sprintf("elements of %d bytes for %s", h.DType.Size(), h.DType), fmt.Sprint(width))
		}
	}
	sequences, extents := next(), uint64(0)
	if h.Cached {
		extents = next()
	}
	// Comparing with the size of the file first keeps the products below small.
	if sequences > uint64(size)/12 || extents > uint64(size)/8 {
		return h, corrupt("header", fmt.Sprintf("arrays within a file of %d bytes", size),
			fmt.Sprintf("%d sequences and %d extents", sequences, extents))
	}
	h.Sequences, h.extents, h.marks = int64(sequences), int64(extents), -1
	arrays := 12 * h.Sequences
	if h.Cached {
		arrays = 16*(h.Sequences+1) + 8*h.extents
	}
	if size == h.arrays+arrays {
		return h, nil
	}
	h.arrays += 8
	if size < h.arrays {
		return h, corrupt("header", fmt.Sprintf("a header of %d bytes", h.arrays), fmt.Sprintf("a file of %d bytes", size))
	}
	ends := next()
	if ends > uint64(size)/8 {
		return h, corrupt("header", fmt.Sprintf("arrays within a file of %d bytes", size),
			fmt.Sprintf("%d ends of documents", ends))
	}
	h.marks = int64(ends)
	arrays += 8 * h.marks
	h.Modes = !h.Cached && h.Sequences > 0 && size == h.arrays+arrays+h.Sequences
	if want := h.arrays + arrays; size != want && !h.Modes {
		return h, corrupt("header", fmt.Sprintf("a file of %d bytes, which %d sequences and %d ends take", want,
			h.Sequences, h.marks),
			fmt.Sprintf("%d bytes", size))
	}
	return h, nil
}

// floatOf returns the float of a width.
func floatOf(width int64) tensor.DType {
	if width == 4 {
		return tensor.Float32
	}
	return tensor.Float64
}

// ReadIndex reads an index of size bytes and checks it against the size of its .bin file.
func ReadIndex(r io.ReaderAt, size, bin int64) (*Index, error) {
	h, err := ReadHead(r, size)
	if err != nil {
		return nil, err
	}
	x := &Index{Head: h}
	at := h.arrays
	array := func(n, width int64) *numbers {
		a := &numbers{r: bufio.NewReaderSize(io.NewSectionReader(r, at, n*width), int(min(piece, max(16, n*width)))),
			width: int(width)}
		at += n * width
		return a
	}
	var next func(i int64) (int64, error) // returns the tokens of sequence i
	if h.Cached {
		next = x.cachedSequences(array(h.Sequences+1, 8), array(h.Sequences+1, 8), array(h.extents, 8), bin)
	} else {
		next = x.mappedSequences(array(h.Sequences, 4), array(h.Sequences, 8), bin)
	}
	if err := x.documents(next, array(max(0, h.marks), 8)); err != nil {
		return nil, err
	}
	if want := x.Tokens * int64(x.DType.Size()); want != bin {
		return nil, &errs.Error{Kind: errs.Corrupt, Op: "tokens", Subject: ".bin",
			Want: fmt.Sprintf("%d bytes for %d tokens of %s, as its index says", want, x.Tokens, x.DType),
			Got:  fmt.Sprintf("%d bytes", bin), Remedy: "the .bin file was cut, or the index belongs to another one"}
	}
	return x, nil
}

// numbers is an array that is read from its start to its end.
type numbers struct {
	r     *bufio.Reader
	width int
	b     [8]byte
}

// next returns the next number, which must not be negative.
func (a *numbers) next(what string, i int64) (int64, error) {
	b := a.b[:a.width]
	if _, err := io.ReadFull(a.r, b); err != nil {
		return 0, errs.Wrap("tokens", fmt.Sprintf("%s %d", what, i), err)
	}
	v := int64(0)
	if a.width == 4 {
		v = int64(int32(binary.LittleEndian.Uint32(b)))
	} else {
		v = int64(binary.LittleEndian.Uint64(b))
	}
	if v < 0 {
		return 0, corrupt(fmt.Sprintf("%s %d", what, i), "0 or more", fmt.Sprint(v))
	}
	return v, nil
}

// mappedSequences returns a function that returns the lengths of the sequences of MMIDIDX, one
// after the other. It checks that each sequence begins where the one before ends.
func (x *Index) mappedSequences(lengths, places *numbers, bin int64) func(i int64) (int64, error) {
	width, tokens := int64(0), int64(0)
	if !x.DType.IsFloat() {
		width = int64(x.DType.Size())
	}
	return func(i int64) (int64, error) {
		n, err := lengths.next("length", i)
		if err != nil {
			return 0, err
		}
		place, err := places.next("place", i)
		if err != nil {
			return 0, err
		}
		if width == 0 && tokens > 0 { // the place after the first floats tells how wide they are
			if width = place / tokens; width != 4 && width != 8 {
				return 0, corrupt(fmt.Sprintf("sequence %d", i), fmt.Sprintf("place %d or %d, after %d floats", 4*tokens,
					8*tokens, tokens), fmt.Sprint(place))
			}
			x.DType = floatOf(width)
		}
		if want := tokens * width; place != want {
			return 0, corrupt(fmt.Sprintf("sequence %d", i), fmt.Sprintf("place %d, where the sequence before ends", want),
				fmt.Sprint(place))
		}
		tokens += n
		if width == 0 && i == x.Sequences-1 && tokens > 0 { // only the last sequence has tokens
			x.DType = floatOf(bin / tokens)
		}
		return n, nil
	}
}

// cachedSequences works like mappedSequences for TNTIDX.
func (x *Index) cachedSequences(dims, places, extents *numbers, _ int64) func(i int64) (int64, error) {
	var dim, place, used int64
	begin := func(i int64) (d, p int64, err error) {
		if d, err = dims.next("start of extents", i); err == nil {
			p, err = places.next("place", i)
		}
		return d, p, err
	}
	return func(i int64) (int64, error) {
		if i == 0 {
			d, p, err := begin(0)
			if err != nil {
				return 0, err
			}
			if d != 0 || p != 0 {
				return 0, corrupt("sequence 0", "extents and elements from 0 on", fmt.Sprintf("%d and %d", d, p))
			}
		}
		d, p, err := begin(i + 1)
		if err != nil {
			return 0, err
		}
		if d < dim || d > x.extents || p < place {
			return 0, corrupt(fmt.Sprintf("sequence %d", i), fmt.Sprintf("ends from %d to %d and from %d on", dim, x.extents,
				place), fmt.Sprintf("%d and %d", d, p))
		}
		n := int64(1)
		for ; used < d; used++ {
			e, err := extents.next("extent", used)
			if err != nil {
				return 0, err
			}
			if e > 0 && n > math.MaxInt64/e {
				return 0, corrupt(fmt.Sprintf("sequence %d", i), "extents of at most 2^63 elements", "more")
			}
			n *= e
		}
		if d == dim {
			n = 0
		}
		if p-place != n {
			return 0, corrupt(fmt.Sprintf("sequence %d", i), fmt.Sprintf("%d elements, the product of its extents", n),
				fmt.Sprint(p-place))
		}
		dim, place = d, p
		return n, nil
	}
}

// documents joins sequences to documents.
func (x *Index) documents(next func(i int64) (int64, error), ends *numbers) error {
	limit := x.promised()
	x.ends = make([]int64, 0, limit)
	sequence := int64(0)
	upTo := func(end int64) error {
		for ; sequence < end; sequence++ {
			n, err := next(sequence)
			if err != nil {
				return err
			}
			if n > math.MaxInt64/8-x.Tokens {
				return corrupt(fmt.Sprintf("sequence %d", sequence), "at most 2^60 tokens", "more")
			}
			x.Tokens += n
		}
		return nil
	}
	if x.marks < 0 {
		for i := range x.Sequences {
			if err := upTo(i + 1); err != nil {
				return err
			}
			x.ends = append(x.ends, x.Tokens)
		}
		return nil
	}
	for i := range x.marks {
		end, err := ends.next("end of document", i)
		if err != nil {
			return err
		}
		if i == 0 && end != 0 || end < sequence || end > x.Sequences {
			want := fmt.Sprintf("%d to %d", sequence, x.Sequences)
			if i == 0 {
				want = "0"
			}
			return corrupt(fmt.Sprintf("end %d of documents", i), want, fmt.Sprint(end))
		}
		if err := upTo(end); err != nil {
			return err
		}
		if i > 0 {
			x.ends = append(x.ends, x.Tokens)
		}
	}
	if sequence != x.Sequences {
		return corrupt("ends of documents", fmt.Sprintf("a last end of %d, the number of sequences", x.Sequences),
			fmt.Sprint(sequence))
	}
	return nil
}

// promised returns the number of documents that the header promises.
func (x *Index) promised() int64 {
	if x.marks < 0 {
		return x.Sequences
	}
	return max(0, x.marks-1)
}

// Documents returns the number of documents.
func (x *Index) Documents() int64 { return int64(len(x.ends)) }

// Document returns the first token of document i and the number of its tokens.
func (x *Index) Document(i int64) (first, n int64) {
	if i > 0 {
		first = x.ends[i-1]
	}
	return first, x.ends[i] - first
}

// Ends appends where documents end within n tokens from token first on, counted from first: each
// place once, in ascending order. A document that ends with the last of the n tokens counts.
func (x *Index) Ends(dst []int64, first, n int64) []int64 {
	at := sort.Search(len(x.ends), func(i int) bool { return x.ends[i] > first })
	for ; at < len(x.ends) && x.ends[at] <= first+n; at++ {
		if end := x.ends[at] - first; len(dst) == 0 || dst[len(dst)-1] != end {
			dst = append(dst, end)
		}
	}
	return dst
}

// AppendIndex appends the MMIDIDX index of sequences of the given lengths. ends are the ends of
// documents, 0 first, as in the file.
func AppendIndex(dst []byte, d tensor.DType, lengths []int32, ends []int64) ([]byte, error) {
	code := slices.Index(codes, d)
	if code <= 0 {
		return nil, &errs.Error{Kind: errs.Unsupported, Op: "tokens.AppendIndex", Want: "a dtype that has a code",
			Got: d.String()}
	}
	le := binary.LittleEndian
	dst = le.AppendUint64(append(dst, mapped...), version)
	dst = le.AppendUint64(append(dst, byte(code)), uint64(len(lengths)))
	dst = le.AppendUint64(dst, uint64(len(ends)))
	for _, n := range lengths {
		dst = le.AppendUint32(dst, uint32(n))
	}
	place := uint64(0)
	for _, n := range lengths {
		dst = le.AppendUint64(dst, place)
		place += uint64(n) * uint64(d.Size())
	}
	for _, e := range ends {
		dst = le.AppendUint64(dst, uint64(e))
	}
	return dst, nil
}

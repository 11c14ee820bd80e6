package layout

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"syscall"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/zarr"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// Kind says what a leaf is.
type Kind uint8

// The kinds of leaves.
const (
	Array Kind = iota
	Scalar
	String
	None
	EmptyDict
	EmptyList
	EmptyTuple
	EmptyNamed
	PRNGKey
	Foreign // read by a leaf handler
)

// String returns what checkpoint.LeafKind calls the kind.
func (k Kind) String() string {
	return [...]string{"array", "scalar", "string", "none", "empty_dict", "empty_list", "empty_tuple", "empty_namedtuple",
		"prng_key", "handled"}[k]
}

// Leaf is one leaf or empty container of a tree.
type Leaf struct {
	Path  tree.Path
	Param string
	Kind  Kind
	*Form // of this leaf, or of several leaves that are alike

	array source
}

// Form holds the properties that leaves of one tree may share. A tree of a million leaves has a few
// forms. A form that several leaves share must not be changed. A form with an Err belongs to one
// leaf.
type Form struct {
	ValueType  string
	WriteShape []int
	Text       string // of a String
	KeyImpl    string // of a PRNGKey
	Err        error  // why the leaf cannot be read, of a tree that was opened with Describe

	// Of a leaf with an array.
	DType      tensor.DType
	Shape      tensor.Shape
	ChunkShape []int       // shape of a chunk of the grid
	ReadShape  []int       // shape of the smallest part that can be read by itself
	File       string      // the file that holds the array, if the array has its own file
	Format     zarr.Format // of its metadata, if it is stored as zarr

	slab int // bytes that are read at once directly into place; at least slabBytes
}

// source reads the bytes of one array.
type source interface {
	// unit is the shape of the smallest region that is worth reading by itself.
	unit() []int
	// readRegion reads a region inside box into dst, the memory of box, and compares it with the
	// checksums of its parts.
	readRegion(ctx context.Context, region, box zarr.Box, dst []byte, w *worker) error
	// checkBox compares a box that was read with the checksum of the whole array.
	checkBox(box zarr.Box, dst []byte) error
	// entire reports whether checkBox has a checksum, and it covers only the whole array.
	entire() bool
}

// HasArray reports whether the leaf has an array to Read.
func (l *Leaf) HasArray() bool { return l.array != nil }

// Forget releases what reading the array needs. Afterwards the leaf has no array.
func (l *Leaf) Forget() { l.array = nil }

// Bytes returns the size of the array in memory, or 0 without an array.
func (l *Leaf) Bytes() int {
	if l.array == nil {
		return 0
	}
	return l.Shape.Len() * l.DType.Size()
}

// Read reads the whole array into dst, which has its size. It works like ReadBox for the whole
// array.
func (l *Leaf) Read(ctx context.Context, dst []byte) error {
	return l.ReadBox(ctx, zarr.WholeBox(l.Shape), dst)
}

// ReadBox reads the elements of box into dst, which has its size, in C order,
// little-endian. Sub-chunks that the box does not touch are not read. Boxes may
// be read concurrently. After an error the content of dst is undefined.
//
// If the checkpoint has a manifest, the bytes are compared with it: each sub-chunk with the
// checksum of that sub-chunk of that array, so that a whole sub-chunk in the wrong place is noticed
// too. So a sub-chunk of which the box needs a part is read as a whole. If the manifest has one
// checksum for an array of several sub-chunks, only a read of the whole array is compared with it.
// A read of a part is checked only by the format itself.
//
// A box that is not inside the array, or a dst of another size, is errs.Invalid.
func (l *Leaf) ReadBox(ctx context.Context, box zarr.Box, dst []byte) error {
	err := l.admit(box, len(dst))
	if err == nil {
		w := worker{pool: newPool(budget)}
		defer w.release()
		err = l.array.readRegion(ctx, box, box, dst, &w)
	}
	if err == nil {
		err = l.array.checkBox(box, dst)
	}
	return l.wrap(err)
}

func (l *Leaf) wrap(err error) error {
	if err == nil {
		return nil
	}
	return errs.Wrap("", "array "+strconv.Quote(l.Param), err)
}

func (l *Leaf) admit(box zarr.Box, bytes int) error {
	if !box.Inside(l.Shape) {
		return &errs.Error{Kind: errs.Invalid, Want: "a box inside of " + l.Shape.String(), Got: box.String()}
	}
	if n := box.Len() * l.DType.Size(); n != bytes {
		return &errs.Error{Kind: errs.Invalid, Want: strconv.Itoa(n) + " bytes of memory", Got: strconv.Itoa(bytes)}
	}
	return nil
}

// forms finds leaves that share a form while a tree is opened.
type forms struct {
	spare *Form     // not used by a leaf
	known [16]*Form // the last different forms
	at    int
}

// next returns an empty form for the next leaf.
func (f *forms) next() *Form {
	if f.spare == nil {
		return new(Form)
	}
	form := f.spare
	f.spare = nil
	*form = Form{}
	return form
}

// share looks among the forms of the last leaves for one that equals form, and returns
// it. If it finds none, it returns form.
func (f *forms) share(form *Form) *Form {
	if form.Err != nil {
		return form
	}
	for _, k := range f.known {
		if k != nil && k.like(form) {
			f.spare = form
			return k
		}
	}
	f.known[f.at%len(f.known)] = form
	f.at++
	return form
}

// like reports whether two forms without an Err are equal.
func (f *Form) like(g *Form) bool {
	return f.ValueType == g.ValueType && f.Text == g.Text && f.KeyImpl == g.KeyImpl && f.DType == g.DType &&
		f.File == g.File &&
		f.Format == g.Format && f.slab == g.slab && same(f.WriteShape, g.WriteShape) && same(f.Shape, g.Shape) &&
		same(f.ChunkShape, g.ChunkShape) && same(f.ReadShape, g.ReadShape)
}

// same reports whether two lists are equal; nil differs from an empty list.
func same(a, b []int) bool { return (a == nil) == (b == nil) && slices.Equal(a, b) }

// made is an array that no file holds: a function fills boxes of it.
type made struct {
	shape tensor.Shape
	size  int // bytes of an element
	read  func(ctx context.Context, box zarr.Box, dst []byte) error
}

// Make gives the leaf, which has a DType and a Shape, an array. read fills boxes of it in C order,
// is called from several goroutines, and verifies what it reads.
func (l *Leaf) Make(read func(ctx context.Context, box zarr.Box, dst []byte) error) {
	l.array = made{l.Shape, l.DType.Size(), read}
}

// unit implements source: the unit is one element.
func (m made) unit() []int { return slices.Repeat([]int{1}, len(m.shape)) }

// readRegion implements source.
func (m made) readRegion(ctx context.Context, region, box zarr.Box, dst []byte, w *worker) error {
	if place, ok := box.Run(region, m.size); ok {
		return m.read(ctx, region, dst[place.Offset:place.Offset+place.Length])
	}
	b := w.take(&w.whole, region.Len()*m.size)
	if err := m.read(ctx, region, b); err != nil {
		return err
	}
	zarr.CopyBox(box, dst, region, b, m.size)
	return nil
}

// checkBox implements source.
func (m made) checkBox(zarr.Box, []byte) error { return nil }

// entire implements source.
func (m made) entire() bool { return false }

// IsDamage reports whether an error is about what was read, and not about reading.
func IsDamage(err error) bool {
	kind := errs.KindOf(err)
	return kind == errs.Corrupt || kind == errs.NotFound
}

// IsUnreadable reports whether an error says that the disk cannot read bytes back. That is damage
// too.
func IsUnreadable(err error) bool {
	return errors.Is(err, syscall.EIO) || errors.Is(err, syscall.EBADMSG)
}

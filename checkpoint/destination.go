package checkpoint

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/layout"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/arena"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// destination is the memory of the caller that arrays are read into; nil if the caller gave no
// memory.
type destination struct {
	dst   any
	views map[string]tensor.Tensor // key: the names of the keys of the path, see names
}

// newDestination finds the memory in dst. Memory that overlaps other memory is left out: two arrays
// cannot be read into one place.
func newDestination(dst any) *destination {
	d := &destination{dst: dst, views: map[string]tensor.Tensor{}}
	for _, e := range distinct(tree.Views(dst)) {
		d.views[names(e.Path)] = e.Node.Value.(tensor.Tensor)
	}
	return d
}

// distinct returns the views that share no memory with an earlier one.
func distinct(views []tree.Entry) []tree.Entry {
	span := func(e tree.Entry) (low, high uintptr) {
		data := e.Node.Value.(tensor.Tensor).Data
		low = uintptr(unsafe.Pointer(unsafe.SliceData(data)))
		return low, low + uintptr(len(data))
	}
	slices.SortStableFunc(views, func(a, b tree.Entry) int {
		x, _ := span(a)
		y, _ := span(b)
		return cmp.Compare(x, y)
	})
	end := uintptr(0)
	return slices.DeleteFunc(views, func(e tree.Entry) bool {
		low, high := span(e)
		if low < end {
			return true
		}
		end = high
		return false
	})
}

// names returns one string, a map key, for the names in a path.
func names(p tree.Path) string {
	var b []byte
	for _, k := range p {
		b = strconv.AppendQuote(b, k.Name)
	}
	return string(b)
}

// view returns the memory that the destination has for a leaf.
func (d *destination) view(l *layout.Leaf) (t tensor.Tensor, ok bool) {
	if d == nil || len(d.views) == 0 {
		return tensor.Tensor{}, false
	}
	t, ok = d.views[names(l.Path)]
	return t, ok
}

// memory returns the place that the destination has for a box of an array, if its type and shape
// agree.
func (d *destination) memory(l *layout.Leaf, box tensor.Spec) (mem []byte, ok bool) {
	if l.Kind != layout.Array {
		return nil, false
	}
	t, ok := d.view(l)
	return t.Data, ok && t.DType == box.DType && t.Shape.Equal(box.Shape)
}

// allocate returns new memory for a box of an array, whose bytes come over a network if far is set.
func (o *LoadOptions) allocate(l *layout.Leaf, box tensor.Spec, far bool) ([]byte, error) {
	n := box.Shape.Len() * box.DType.Size()
	if o.Allocate == nil {
		mem, err := newMemory(n, far)
		return mem, errs.Wrap("", "array "+strconv.Quote(l.Param), err)
	}
	mem, err := o.Allocate(n)
	if err == nil && len(mem) != n {
		err = &errs.Error{Kind: errs.Invalid, Subject: "LoadOptions.Allocate", Want: strconv.Itoa(n) + " bytes",
			Got: strconv.Itoa(len(mem))}
	}
	return mem, errs.Wrap("", "array "+strconv.Quote(l.Param), err)
}

// kept returns the value of a leaf that is not read.
func (d *destination) kept(l *layout.Leaf) any {
	if t, ok := d.view(l); ok {
		return t
	}
	return Placeholder{}
}

// newMemory returns n bytes of any content, aligned for every type. It does not clear them: that
// would take half as long as reading into them. It does not touch them either, so metadata that
// lies about a shape costs no memory before the first chunk is found missing. If the system has too
// little memory, newMemory fails with errs.Exhausted.
//
// far says that the bytes come over a network. While requests wait for it, the system has time to
// make small pages, and a large one may hold them all up. Reads from a disk are faster with large
// pages.
func newMemory(n int, far bool) ([]byte, error) {
	if n < unclearedBytes {
		return tensor.New(tensor.Uint8, n).Data, nil
	}
	if err := obtainable(n); err != nil {
		return nil, err
	}
	var b strings.Builder // the one allocation of the standard library that does not clear
	b.Grow(n)
	b.WriteByte(0)
	mem := unsafe.Slice(unsafe.StringData(b.String()), n)
	if !far {
		arena.Advise(mem)
	}
	return mem, nil
}

// obtainable asks the system whether it has n bytes. The process would end if the runtime asked and
// were refused.
func obtainable(n int) error {
	if n < askBytes {
		return nil
	}
	a, err := arena.Open(n, arena.Options{})
	if err == nil {
		err = a.Close()
	}
	if err != nil {
		return &errs.Error{Kind: errs.Exhausted, Want: strconv.Itoa(n) + " bytes of memory", Err: err,
			Remedy: "load boxes of the array, or skip it (LoadOptions.Want)"}
	}
	return nil
}

// askBytes is the size from which the system is asked for memory before it is allocated.
const askBytes = 1 << 30

// unclearedBytes is the size from which clearing costs noticeable time. Memory of that size begins
// on a page.
const unclearedBytes = 256 << 10

package heif

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/bivouac-ml/bivouac/codec/raster"
)

// file is what the boxes of a file say.
type file struct {
	op         string
	data       []byte
	primary    uint32
	items      map[uint32]*item
	properties []property
	links      []link
	inside     []byte // the data in the box of metadata
}

type item struct {
	id      uint32
	kind    string
	located bool
	method  uint64 // where its data is
	parts   [][2]uint64
	// What its properties say.
	width, height int
	config        []byte
	colours       []byte
	use           string // what an auxiliary image is for
	turns         []byte // each a quarter to the left (1..3), or a mirror (mirrorRows, mirrorColumns)
	clip          [4]int // of the clean aperture: x, y, width, height; all 0 without one
}

const (
	mirrorRows    = 4
	mirrorColumns = 5
)

type property struct {
	kind string
	body []byte
}

// link is a reference from an item to others.
type link struct {
	kind string
	from uint32
	to   []uint32
}

// Limits of what is read, far more than files have.
const (
	mostItems = 1 << 14
	mostParts = 1 << 10
)

// fields reads numbers. bad says that they end early.
type fields struct {
	b   []byte
	bad bool
}

// take returns the next n bytes.
func (r *fields) take(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.bad, r.b = true, nil
		return nil
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

// number reads a number of size bytes, at most 8.
func (r *fields) number(size uint64) (v uint64) {
	for _, b := range r.take(size) {
		v = v<<8 | uint64(b)
	}
	return v
}

func (r *fields) id(wide bool) uint32 {
	if wide {
		return uint32(r.number(4))
	}
	return uint32(r.number(2))
}

// boxes calls each with every box.
func (f *file) boxes(b []byte, each func(kind string, body []byte) error) error {
	for len(b) >= 8 {
		size, head := uint64(binary.BigEndian.Uint32(b)), uint64(8)
		kind := string(b[4:8])
		switch {
		case size == 1 && len(b) >= 16:
			size, head = binary.BigEndian.Uint64(b[8:]), 16
		case size == 0:
			size = uint64(len(b))
		}
		if size < head {
			return f.corrupt("complete boxes", "box %q of %d bytes", kind, size)
		}
		if size > uint64(len(b)) {
			if kind == "mdat" {
				return nil // the parts of items are looked at
			}
			return f.corrupt("complete boxes", "box %q of %d bytes in %d", kind, size, len(b))
		}
		if err := each(kind, b[head:size]); err != nil {
			return err
		}
		b = b[size:]
	}
	return nil
}

// read reads the metadata.
func (f *file) read() error {
	found := false
	err := f.boxes(f.data, func(kind string, body []byte) error {
		if kind != "meta" || found {
			return nil
		}
		found = true
		if len(body) < 4 {
			return f.corrupt("metadata", "%d bytes", len(body))
		}
		return f.boxes(body[4:], f.meta)
	})
	if err == nil && !found {
		err = f.corrupt("metadata of an image", "%d bytes without it", len(f.data))
	}
	return err
}

func (f *file) meta(kind string, body []byte) error {
	if kind == "idat" {
		f.inside = body
		return nil
	}
	if kind == "iprp" {
		return f.boxes(body, func(kind string, body []byte) error {
			if kind == "ipma" {
				return f.ipma(body)
			}
			if kind != "ipco" {
				return nil
			}
			return f.boxes(body, func(kind string, body []byte) error {
				f.properties = append(f.properties, property{kind, body})
				return nil
			})
		})
	}
	r := &fields{b: body}
	version := r.number(1)
	r.number(3)
	switch kind {
	case "pitm":
		f.primary = r.id(version > 0)
	case "iloc":
		f.iloc(r, version)
	case "iinf":
		count := r.number(2 + 2*min(version, 1))
		if r.bad || count > mostItems {
			return f.corrupt(fmt.Sprintf("at most %d items", mostItems), "%d", count)
		}
		return f.boxes(r.b, f.infe)
	case "iref":
		return f.boxes(r.b, func(kind string, body []byte) error {
			b := &fields{b: body}
			l := link{kind: kind, from: b.id(version > 0)}
			for range b.number(2) {
				if b.bad {
					break
				}
				l.to = append(l.to, b.id(version > 0))
			}
			f.links = append(f.links, l)
			return f.complete(b, "references")
		})
	}
	return f.complete(r, kind)
}

func (f *file) complete(r *fields, what string) error {
	if r.bad {
		return f.corrupt("a complete box", "box %s that is cut", what)
	}
	return nil
}

// at returns an item, which it makes if it is new.
func (f *file) at(id uint32) *item {
	it := f.items[id]
	if it == nil {
		it = &item{id: id}
		f.items[id] = it
	}
	return it
}

// iloc reads where the data of items is.
func (f *file) iloc(r *fields, version uint64) {
	sizes := r.number(2)
	offset, length, base, index := sizes>>12, sizes>>8&15, sizes>>4&15, sizes&15
	count := r.number(2 + 2*min(version>>1, 1))
	if offset > 8 || length > 8 || base > 8 || index > 8 || count > mostItems {
		r.bad = true
		return
	}
	for range count {
		it := f.at(r.id(version > 1))
		if version > 0 {
			it.method = r.number(2) & 15
		}
		r.number(2)
		start := r.number(base)
		parts := r.number(2)
		if r.bad || parts > mostParts {
			r.bad = true
			return
		}
		it.located, it.parts = true, nil
		for range parts {
			if version > 0 {
				r.number(index)
			}
			at := start + r.number(offset)
			it.parts = append(it.parts, [2]uint64{at, r.number(length)})
		}
	}
}

// infe reads the type of an item.
func (f *file) infe(kind string, body []byte) error {
	if kind != "infe" {
		return nil
	}
	r := &fields{b: body}
	version := r.number(1)
	r.number(3)
	if version < 2 {
		return raster.Unsupported(f.op, fmt.Sprintf("entries of items of version %d", version))
	}
	it := f.at(r.id(version > 2))
	r.number(2)
	it.kind = string(r.take(4))
	return f.complete(r, kind)
}

// ipma reads which properties items have.
func (f *file) ipma(body []byte) error {
	r := &fields{b: body}
	version := r.number(1)
	wide := r.number(3)&1 != 0
	count := r.number(4)
	for i := uint64(0); i < count && !r.bad; i++ {
		it := f.at(r.id(version > 0))
		for range r.number(1) {
			n := r.number(1)
			essential := n&0x80 != 0
			n &= 0x7f
			if wide {
				n = n<<8 | r.number(1)
			}
			if n == 0 {
				continue
			}
			if n > uint64(len(f.properties)) {
				return f.corrupt(fmt.Sprintf("one of %d properties", len(f.properties)), "property %d", n)
			}
			if err := f.apply(it, f.properties[n-1], essential); err != nil {
				return err
			}
		}
	}
	return f.complete(r, "ipma")
}

// apply gives a property to an item.
func (f *file) apply(it *item, p property, essential bool) error {
	r := &fields{b: p.body}
	switch p.kind {
	case "ispe":
		r.number(4)
		it.width, it.height = int(r.number(4)), int(r.number(4))
	case "av1C", "hvcC":
		it.config = p.body
	case "colr":
		if bytes.HasPrefix(p.body, []byte("nclx")) {
			it.colours = p.body
		}
	case "auxC":
		r.number(4)
		use, _, _ := bytes.Cut(r.b, []byte{0})
		it.use = string(use)
	case "irot":
		if turn := byte(r.number(1)) & 3; turn != 0 {
			it.turns = append(it.turns, turn)
		}
	case "imir":
		it.turns = append(it.turns, mirrorRows+byte(r.number(1))&1)
	case "clap":
		return f.clean(it, r)
	case "pixi", "pasp", "clli", "mdcv", "a1lx", "lsel":
	case "a1op":
		if r.number(1) != 0 {
			return raster.Unsupported(f.op, "an image of several operating points (a1op)")
		}
	default:
		if essential {
			return raster.Unsupported(f.op, fmt.Sprintf("an essential property %q", p.kind))
		}
	}
	return f.complete(r, p.kind)
}

// clean reads a clean aperture. It is a window of whole pixels, whose centre has a distance from
// the centre of the image.
func (f *file) clean(it *item, r *fields) error {
	var v [4][2]int64
	for i := range v {
		v[i] = [2]int64{int64(int32(r.number(4))), int64(int32(r.number(4)))}
	}
	if r.bad {
		return f.complete(r, "clap")
	}
	for i, size := range [2]int{it.width, it.height} {
		n, d, offN, offD := v[i][0], v[i][1], v[2+i][0], v[2+i][1]
		if d < 1 || offD < 1 || n < 1 || n%d != 0 || n/d > int64(size) {
			return f.corrupt(fmt.Sprintf("a clean aperture of whole pixels within %d", size),
				"%d/%d pixels at %d/%d", n, d, offN, offD)
		}
		twice := int64(size) - n/d // the start without an offset, times two
		if 2*offN%offD != 0 || (twice+2*offN/offD)%2 != 0 {
			return raster.Unsupported(f.op, "a clean aperture between pixels")
		}
		start := (twice + 2*offN/offD) / 2
		if start < 0 || start+n/d > int64(size) {
			return f.corrupt(fmt.Sprintf("a clean aperture within %d", size), "%d pixels from %d on", n/d, start)
		}
		it.clip[i], it.clip[2+i] = int(start), int(n/d)
	}
	return nil
}

// item returns an item that must be there.
func (f *file) item(id uint32) (*item, error) {
	it := f.items[id]
	if it == nil || it.kind == "" {
		return nil, f.corrupt(fmt.Sprintf("item %d", id), "no such item")
	}
	return it, nil
}

// references returns the items to which an item refers.
func (f *file) references(kind string, from uint32) []uint32 {
	for _, l := range f.links {
		if l.kind == kind && l.from == from {
			return l.to
		}
	}
	return nil
}

// alpha returns the item that is the alpha of the primary item, or nil.
func (f *file) alpha() *item {
	for _, l := range f.links {
		if l.kind != "auxl" {
			continue
		}
		it := f.items[l.from]
		if it == nil || it.use != "urn:mpeg:mpegB:cicp:systems:auxiliary:alpha" && it.use != "urn:mpeg:hevc:2015:auxid:1" {
			continue
		}
		for _, to := range l.to {
			if to == f.primary {
				return it
			}
		}
	}
	return nil
}

// bytes returns the data of an item.
func (f *file) bytes(it *item) ([]byte, error) {
	from := f.data
	switch {
	case !it.located:
		return nil, f.corrupt(fmt.Sprintf("the place of item %d", it.id), "none")
	case it.method == 1:
		from = f.inside
	case it.method != 0:
		return nil, raster.Unsupported(f.op, fmt.Sprintf("an item made of others (method %d)", it.method))
	}
	var all []byte
	for i, p := range it.parts {
		at, size := p[0], p[1]
		if size == 0 && at <= uint64(len(from)) {
			size = uint64(len(from)) - at
		}
		if at > uint64(len(from)) || size > uint64(len(from))-at || uint64(len(all))+size > uint64(len(from)) {
			return nil, f.corrupt(fmt.Sprintf("the data of item %d within %d bytes", it.id, len(from)),
				"%d bytes at %d", size, at)
		}
		part := from[at : at+size]
		if i == 0 && len(it.parts) == 1 {
			return part, nil
		}
		all = append(all, part...)
	}
	if len(all) == 0 {
		return nil, f.corrupt(fmt.Sprintf("data of item %d", it.id), "none")
	}
	return all, nil
}

// orientation returns the turns of an item as a number of EXIF.
func (it *item) orientation() int {
	// Where corners of the image are shown: a matrix of the axes.
	a, b, c, d := 1, 0, 0, 1 // shown x = a x + b y, shown y = c x + d y
	for _, t := range it.turns {
		switch t {
		case mirrorRows:
			c, d = -c, -d
		case mirrorColumns:
			a, b = -a, -b
		default:
			for range t { // a quarter to the left: x becomes y, y becomes -x
				a, b, c, d = c, d, -a, -b
			}
		}
	}
	for i, m := range [8][4]int{{1, 0, 0, 1}, {-1, 0, 0, 1}, {-1, 0, 0, -1}, {1, 0, 0, -1},
		{0, 1, 1, 0}, {0, -1, 1, 0}, {0, -1, -1, 0}, {0, 1, -1, 0}} {
		if m == [4]int{a, b, c, d} {
			return i + 1
		}
	}
	return 1
}

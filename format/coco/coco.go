// Package coco reads annotation files of object detection in COCO's format.
//
// A file is one JSON object with the lists images, annotations and categories, in any order.
// [Parse] reads it as a stream into arrays: an annotation takes some 50 bytes and no pointer, and
// its segmentation as much as its numbers. [Join] makes a [Dataset] of it: the boxes, the labels
// and the masks of each image. A Dataset is kept in a folder of binary files, and read back fast.
package coco

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/internal/jsonstream"
)

// Options say what Parse keeps.
type Options struct {
	// Segmentations keeps the segmentations, which otherwise are skipped.
	Segmentations bool
	// SkipCrowd leaves annotations out that are of a crowd.
	SkipCrowd bool
	// MinSize leaves annotations out whose box is narrower or lower.
	MinSize float32
}

// File is what a file of annotations says. The slices of images have the same length, and so have
// the slices of annotations.
type File struct {
	ImageIDs   []int64
	Widths     []int32 // 0 where the file does not say
	Heights    []int32
	names      []byte // all names, back to back
	nameEnds   []int64
	Categories []int64 // ids

	Boxes        [][4]float32 // x, y, width, height
	AnnotationID []int64      // NoID where the file does not say
	ImageOf      []int64      // the id of the image
	CategoryOf   []int64      // the id of the category
	partEnds     []int64      // with Options.Segmentations: where each annotation's parts end
	parts        []part
	coords       []float32
	counts       []uint32
}

// NoID is the id of an annotation without one.
const NoID = math.MinInt64

// part is a polygon or the runs of a mask.
type part struct {
	from, to      int64 // in coords, or in counts
	height, width int32 // of runs
	runs          bool
}

// Name returns the name of image i.
func (f *File) Name(i int) string {
	start := int64(0)
	if i > 0 {
		start = f.nameEnds[i-1]
	}
	return string(f.names[start:f.nameEnds[i]])
}

// partsOf returns the parts of the segmentation of annotation a.
func (f *File) partsOf(a int) []part {
	start := int64(0)
	if len(f.partEnds) == 0 {
		return nil
	}
	if a > 0 {
		start = f.partEnds[a-1]
	}
	return f.parts[start:f.partEnds[a]]
}

// Parse reads a file. An error names the element of the list, its id and the field.
func Parse(r io.Reader, o Options) (*File, error) {
	p := parser{s: jsonstream.New(r), o: o, f: &File{}}
	err := p.s.Object(func(key []byte) error {
		switch string(key) {
		case "images":
			return p.list("image", p.image)
		case "annotations":
			return p.list("annotation", p.annotation)
		case "categories":
			return p.list("category", p.category)
		}
		return nil
	})
	if err == nil {
		err = p.s.End()
	}
	if err == nil && !p.images {
		err = &errs.Error{Kind: errs.Invalid, Want: "a list of images", Got: "none",
			Remedy: "give a file of annotations in COCO's format"}
	}
	if err == nil {
		err = p.unique("image", p.f.ImageIDs)
	}
	if err == nil {
		err = p.unique("annotation", p.f.AnnotationID)
	}
	if err == nil {
		err = p.unique("category", p.f.Categories)
	}
	if err != nil {
		return nil, errs.Wrap("coco", "", err)
	}
	return p.f, nil
}

type parser struct {
	s      *jsonstream.Scanner
	o      Options
	f      *File
	kind   string // of the element
	index  int    // of the element in its list
	id     int64
	images bool
}

// list reads a list of elements.
func (p *parser) list(kind string, element func() error) error {
	p.kind, p.index = kind, 0
	if kind == "image" {
		p.images = true
	}
	return p.s.Array(func() error {
		p.id = NoID
		if p.s.Kind() != jsonstream.Object {
			return p.bad("", "an object", p.s.Kind().String())
		}
		err := element()
		p.index++
		return err
	})
}

// bad returns the error of a field of the element.
func (p *parser) bad(field, want, got string) error {
	subject := fmt.Sprintf("%s %d of the list", p.kind, p.index)
	if p.id != NoID {
		subject += fmt.Sprintf(", id %d", p.id)
	}
	if field != "" {
		subject += ", field " + field
	}
	return &errs.Error{Kind: errs.Invalid, Subject: subject, Want: want, Got: got, Remedy: "correct the file"}
}

// integer reads an integer from min to max.
func (p *parser) integer(field string, min, max int64) (int64, error) {
	if k := p.s.Kind(); k != jsonstream.Number {
		return 0, p.bad(field, "an integer", k.String())
	}
	v, err := p.s.Float()
	if err != nil {
		return 0, err
	}
	// Some files write 3 as 3.0. A float64 tells all integers up to 2^53 apart.
	if n := int64(v); float64(n) != v || n < -1<<53 || n > 1<<53 || n < min || n > max {
		return 0, p.bad(field, fmt.Sprintf("an integer of %d to %d", min, max), fmt.Sprint(v))
	}
	return int64(v), nil
}

const maxID = 1 << 53

// image reads an element of images.
func (p *parser) image() error {
	f := p.f
	width, height, named := int64(0), int64(0), false
	start := len(f.names)
	err := p.s.Object(func(key []byte) (err error) {
		switch string(key) {
		case "id":
			p.id, err = p.integer("id", -maxID, maxID)
		case "width":
			width, err = p.integer("width", 0, math.MaxInt32)
		case "height":
			height, err = p.integer("height", 0, math.MaxInt32)
		case "file_name":
			if k := p.s.Kind(); k != jsonstream.String {
				return p.bad("file_name", "a string", k.String())
			}
			name, err := p.s.String()
			f.names, named = append(f.names[:start], name...), true
			return err
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case p.id == NoID:
		return p.bad("id", "an integer", "no such field")
	case !named || len(f.names) == start:
		return p.bad("file_name", "the name of a file", "none")
	}
	f.ImageIDs = append(f.ImageIDs, p.id)
	f.Widths, f.Heights = append(f.Widths, int32(width)), append(f.Heights, int32(height))
	f.nameEnds = append(f.nameEnds, int64(len(f.names)))
	return nil
}

// category reads an element of categories.
func (p *parser) category() error {
	err := p.s.Object(func(key []byte) (err error) {
		if string(key) == "id" {
			p.id, err = p.integer("id", math.MinInt32, math.MaxInt32)
		}
		return err
	})
	if err == nil && p.id == NoID {
		err = p.bad("id", "an integer", "no such field")
	}
	p.f.Categories = append(p.f.Categories, p.id)
	return err
}

// annotation reads an element of annotations.
func (p *parser) annotation() error {
	f := p.f
	image, category, crowd := int64(NoID), int64(NoID), false
	var box [4]float32
	sides := -1
	parts, coords, counts := len(f.parts), len(f.coords), len(f.counts)
	err := p.s.Object(func(key []byte) (err error) {
		switch string(key) {
		case "id":
			p.id, err = p.integer("id", -maxID, maxID)
		case "image_id":
			image, err = p.integer("image_id", -maxID, maxID)
		case "category_id":
			category, err = p.integer("category_id", math.MinInt32, math.MaxInt32)
		case "iscrowd":
			crowd, err = p.truth("iscrowd")
		case "bbox":
			sides, err = p.box(&box)
		case "segmentation":
			if p.o.Segmentations {
				f.parts, f.coords, f.counts = f.parts[:parts], f.coords[:coords], f.counts[:counts]
				err = p.segmentation()
			}
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case image == NoID:
		return p.bad("image_id", "an integer", "no such field")
	case category == NoID:
		return p.bad("category_id", "an integer", "no such field")
	case sides < 0:
		return p.bad("bbox", "x, y, width and height", "no such field")
	}
	if crowd && p.o.SkipCrowd || box[2] < p.o.MinSize || box[3] < p.o.MinSize {
		f.parts, f.coords, f.counts = f.parts[:parts], f.coords[:coords], f.counts[:counts]
		return nil
	}
	f.AnnotationID, f.ImageOf, f.CategoryOf = append(f.AnnotationID, p.id), append(f.ImageOf,
		image), append(f.CategoryOf, category)
	f.Boxes = append(f.Boxes, box)
	if p.o.Segmentations {
		f.partEnds = append(f.partEnds, int64(len(f.parts)))
	}
	return nil
}

// truth reads a bool, which may be a number.
func (p *parser) truth(field string) (bool, error) {
	switch k := p.s.Kind(); k {
	case jsonstream.True, jsonstream.False:
		return p.s.Bool()
	case jsonstream.Number:
		v, err := p.integer(field, 0, 1)
		return v == 1, err
	default:
		return false, p.bad(field, "0 or 1", k.String())
	}
}

// box reads the four numbers of a box.
func (p *parser) box(box *[4]float32) (n int, err error) {
	if k := p.s.Kind(); k != jsonstream.Array {
		return 0, p.bad("bbox", "x, y, width and height", k.String())
	}
	err = p.s.Array(func() error {
		if n == 4 {
			return p.bad("bbox", "4 numbers", "more")
		}
		v, err := p.number("bbox")
		box[n], n = v, n+1
		return err
	})
	if err == nil && n != 4 {
		err = p.bad("bbox", "4 numbers", fmt.Sprint(n))
	}
	return n, err
}

// number reads a number that a float32 holds.
func (p *parser) number(field string) (float32, error) {
	if k := p.s.Kind(); k != jsonstream.Number {
		return 0, p.bad(field, "a number", k.String())
	}
	v, err := p.s.Float()
	if err == nil && math.Abs(v) > math.MaxFloat32 {
		err = p.bad(field, "a number that a float32 holds", fmt.Sprint(v))
	}
	return float32(v), err
}

// segmentation reads polygons or a mask.
func (p *parser) segmentation() error {
	switch k := p.s.Kind(); k {
	case jsonstream.Array:
		return p.s.Array(p.polygon)
	case jsonstream.Object:
		return p.runs()
	case jsonstream.Null:
		return p.s.Null()
	default:
		return p.bad("segmentation", "a list of polygons, or an object with size and counts", k.String())
	}
}

// polygon reads a polygon.
func (p *parser) polygon() error {
	f := p.f
	if k := p.s.Kind(); k != jsonstream.Array {
		return p.bad("segmentation", "a polygon, a list of numbers", k.String())
	}
	start := len(f.coords)
	err := p.s.Array(func() error {
		v, err := p.number("segmentation")
		f.coords = append(f.coords, v)
		return err
	})
	if n := len(f.coords) - start; err == nil && n%2 != 0 {
		err = p.bad("segmentation", "a polygon, x and y of each corner", fmt.Sprintf("%d numbers", n))
	}
	f.parts = append(f.parts, part{from: int64(start), to: int64(len(f.coords))})
	return err
}

// runs reads a mask in runs.
func (p *parser) runs() error {
	f := p.f
	var size []int64
	start, has := len(f.counts), false
	err := p.s.Object(func(key []byte) error {
		switch string(key) {
		case "size":
			if k := p.s.Kind(); k != jsonstream.Array {
				return p.bad("segmentation.size", "height and width", k.String())
			}
			size = size[:0]
			return p.s.Array(func() error {
				if len(size) == 2 {
					return p.bad("segmentation.size", "height and width", "more than 2 numbers")
				}
				v, err := p.integer("segmentation.size", 0, math.MaxInt32)
				size = append(size, v)
				return err
			})
		case "counts":
			f.counts, has = f.counts[:start], true
			return p.readCounts()
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(size) != 2 {
		return p.bad("segmentation.size", "height and width", fmt.Sprintf("%d numbers", len(size)))
	}
	if !has {
		return p.bad("segmentation.counts", "the lengths of runs", "no such field")
	}
	if err := CheckRuns(f.counts[start:], int(size[0]), int(size[1])); err != nil {
		return p.bad("segmentation.counts", err.(*errs.Error).Want, err.(*errs.Error).Got)
	}
	f.parts = append(f.parts, part{from: int64(start), to: int64(len(f.counts)), height: int32(size[0]),
		width: int32(size[1]), runs: true})
	return nil
}

// readCounts reads the lengths of runs, which are a list or a text.
func (p *parser) readCounts() error {
	f := p.f
	switch k := p.s.Kind(); k {
	case jsonstream.Array:
		return p.s.Array(func() error {
			v, err := p.integer("segmentation.counts", 0, math.MaxUint32)
			f.counts = append(f.counts, uint32(v))
			return err
		})
	case jsonstream.String:
		text, err := p.s.String()
		if err != nil {
			return err
		}
		counts, err := AppendRuns(f.counts, text)
		if err != nil {
			return p.bad("segmentation.counts", err.(*errs.Error).Want, err.(*errs.Error).Got)
		}
		f.counts = counts
		return nil
	default:
		return p.bad("segmentation.counts", "a list or a string", k.String())
	}
}

// unique returns an error if an id comes twice.
func (p *parser) unique(kind string, ids []int64) error {
	order := make([]int32, 0, len(ids))
	for i, id := range ids {
		if id != NoID {
			order = append(order, int32(i))
		}
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Or(cmp.Compare(ids[a], ids[b]), cmp.Compare(a, b)) })
	for i := 1; i < len(order); i++ {
		if a, b := order[i-1], order[i]; ids[a] == ids[b] {
			return &errs.Error{Kind: errs.Invalid, Subject: fmt.Sprintf("%s id %d", kind, ids[a]), Want: "one of this id",
				Got: fmt.Sprintf("several, number %d and number %d", a, b), Remedy: "give each an id of its own"}
		}
	}
	return nil
}

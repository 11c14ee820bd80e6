package coco

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
)

// Dataset is the boxes, labels and masks of images, in the order of the images. It has no pointer
// per image.
type Dataset struct {
	names    []byte // of the files, back to back
	nameEnds []int64
	IDs      []int32 // of images
	Heights  []int32
	Widths   []int32

	BoxEnds []int64 // where the boxes of each image end
	Boxes   [][4]float32
	Labels  []int32 // of boxes

	PolygonEnds []int64 // where the polygons of each image end
	Polygons    []Polygon
	VertexEnds  []int64 // where the vertices of each image end
	Vertices    [][2]float32

	ratio   bool    // vertices are fractions of the image
	runEnds []int64 // where the masks in runs of each image end
	runs    []runs
	counts  []uint32
}

// Polygon is a polygon of an image: the number of its box in the image, and its vertices among the
// vertices of the image.
type Polygon struct{ Box, First, End int32 }

// runs is a mask of an image: the number of its box in the image, and its size and counts.
type runs struct {
	box, height, width int32
	from, to           int64
}

// JoinOptions say what Join makes.
type JoinOptions struct {
	Images    []string // the names of the images, in this order; without them all images, by id
	SkipEmpty bool     // leaves images without a box out
	LTRB      bool     // boxes are left, top, right and bottom instead of x, y, width and height
	Ratio     bool     // boxes and vertices of polygons are fractions of the image
	// Verbatim takes the ids of categories as labels. Otherwise labels count from 1, in the order of
	// the categories in the file.
	Verbatim  bool
	Polygons  bool // keeps polygons
	Pixelwise bool // keeps polygons and runs, to draw them
}

// Len returns the number of images.
func (d *Dataset) Len() int { return len(d.nameEnds) }

// Name returns the name of the file of an image.
func (d *Dataset) Name(i int) string {
	from, to := span(d.nameEnds, i)
	return string(d.names[from:to])
}

// Span returns the range that element i has, where ends says where each element's range ends.
func span(ends []int64, i int) (from, to int64) {
	if i > 0 {
		from = ends[i-1]
	}
	return from, ends[i]
}

// BoxesOf returns the boxes of an image and their labels.
func (d *Dataset) BoxesOf(i int) ([][4]float32, []int32) {
	from, to := span(d.BoxEnds, i)
	return d.Boxes[from:to], d.Labels[from:to]
}

// PolygonsOf returns the polygons of an image and their vertices.
func (d *Dataset) PolygonsOf(i int) ([]Polygon, [][2]float32) {
	from, to := span(d.PolygonEnds, i)
	first, end := span(d.VertexEnds, i)
	return d.Polygons[from:to], d.Vertices[first:end]
}

// joiner makes a Dataset of a File.
type joiner struct {
	f      *File
	o      JoinOptions
	d      *Dataset
	byID   []int32 // the images, by id
	labels map[int64]int32
	first  []int64 // of each image, in annotations
	order  []int32 // the annotations, image by image
}

// Join makes a Dataset of a file. An error names the annotation and the field.
func Join(f *File, o JoinOptions) (*Dataset, error) {
	j := joiner{f: f, o: o, d: &Dataset{ratio: o.Ratio}, labels: map[int64]int32{}}
	for i, id := range f.Categories {
		j.labels[id] = int32(i + 1)
	}
	for i := range f.ImageIDs {
		j.byID = append(j.byID, int32(i))
	}
	slices.SortFunc(j.byID, func(a, b int32) int { return cmp.Compare(f.ImageIDs[a], f.ImageIDs[b]) })
	if err := j.group(); err != nil {
		return nil, err
	}
	images := j.byID
	if o.Images != nil {
		var err error
		if images, err = j.named(); err != nil {
			return nil, err
		}
	}
	for _, i := range images {
		if err := j.image(int(i)); err != nil {
			return nil, err
		}
	}
	return j.d, nil
}

// group sorts the annotations by image, and leaves their order as it is within an image.
func (j *joiner) group() error {
	f := j.f
	of := make([]int32, len(f.ImageOf))
	j.first = make([]int64, len(f.ImageIDs)+1)
	for a, id := range f.ImageOf {
		at, ok := slices.BinarySearchFunc(j.byID, id, func(i int32, id int64) int { return cmp.Compare(f.ImageIDs[i], id) })
		if !ok {
			return j.bad(a, "image_id", "the id of an image of the file", fmt.Sprint(id))
		}
		of[a] = j.byID[at]
		j.first[of[a]+1]++
	}
	for i := range f.ImageIDs {
		j.first[i+1] += j.first[i]
	}
	next := slices.Clone(j.first)
	j.order = make([]int32, len(of))
	for a, i := range of {
		j.order[next[i]] = int32(a)
		next[i]++
	}
	return nil
}

// named returns the images that the options name.
func (j *joiner) named() ([]int32, error) {
	places := make(map[string]int32, len(j.o.Images))
	for _, name := range j.o.Images {
		places[name] = -1
	}
	for i := range j.f.ImageIDs {
		name := j.f.Name(i)
		if at, ok := places[name]; ok && at < 0 {
			places[name] = int32(i)
		}
	}
	var list []int32
	for _, name := range j.o.Images {
		at := places[name]
		if at < 0 {
			return nil, &errs.Error{Kind: errs.NotFound, Op: "coco", Subject: "image " + name,
				Want: "an image that the file of annotations has",
				Got: fmt.Sprintf("none of its %d images has this file_name",
					len(j.f.ImageIDs)), Remedy: "leave it out of the list of images"}
		}
		list = append(list, at)
	}
	return list, nil
}

// bad returns the error of a field of annotation a.
func (j *joiner) bad(a int, field, want, got string) error {
	who := fmt.Sprintf("annotation id %d", j.f.AnnotationID[a])
	if j.f.AnnotationID[a] == NoID {
		who = fmt.Sprintf("annotation number %d of those that are kept", a)
	}
	return &errs.Error{Kind: errs.Invalid, Op: "coco", Subject: who + ", field " + field, Want: want, Got: got,
		Remedy: "correct the annotation or leave it out"}
}

// image adds an image and its annotations.
func (j *joiner) image(i int) error {
	f, d := j.f, j.d
	annotations := j.order[j.first[i]:j.first[i+1]]
	if j.o.SkipEmpty && len(annotations) == 0 {
		return nil
	}
	width, height, id := f.Widths[i], f.Heights[i], f.ImageIDs[i]
	if (j.o.Ratio || j.o.Pixelwise) && (width == 0 || height == 0) {
		return &errs.Error{Kind: errs.Invalid, Op: "coco", Subject: fmt.Sprintf("image id %d, fields width and height", id),
			Want: "at least 1", Got: fmt.Sprintf("%d and %d", width,
				height), Remedy: "correct the image, or use neither ratio nor pixelwise_masks"}
	}
	if id != int64(int32(id)) {
		return &errs.Error{Kind: errs.Unsupported, Op: "coco", Subject: fmt.Sprintf("image id %d", id),
			Want: "an id of 32 bits", Got: "a larger one"}
	}
	d.names = append(d.names, f.Name(i)...)
	d.nameEnds = append(d.nameEnds, int64(len(d.names)))
	d.IDs, d.Heights, d.Widths = append(d.IDs, int32(id)), append(d.Heights, height), append(d.Widths, width)
	vertices := len(d.Vertices)
	for box, a := range annotations {
		if err := j.annotation(int(a), int32(box), vertices, float32(width), float32(height)); err != nil {
			return err
		}
	}
	d.BoxEnds = append(d.BoxEnds, int64(len(d.Boxes)))
	if j.o.Polygons || j.o.Pixelwise {
		d.PolygonEnds, d.VertexEnds = append(d.PolygonEnds, int64(len(d.Polygons))), append(d.VertexEnds,
			int64(len(d.Vertices)))
	}
	if j.o.Pixelwise {
		d.runEnds = append(d.runEnds, int64(len(d.runs)))
	}
	return nil
}

// annotation adds a box with its label and its masks. vertices is where the vertices of the image
// begin.
func (j *joiner) annotation(a int, number int32, vertices int, width, height float32) error {
	f, d, box := j.f, j.d, j.f.Boxes[a]
	if x, y := box[0], box[1]; width > 0 && height > 0 && (x >= width || y >= height || x+box[2] <= 0 || y+box[3] <= 0) {
		return j.bad(a, "bbox", fmt.Sprintf("a box that touches its image of %v x %v", width, height), fmt.Sprint(box))
	}
	if j.o.LTRB {
		box[2] += box[0]
		box[3] += box[1]
	}
	if j.o.Ratio {
		box = [4]float32{box[0] / width, box[1] / height, box[2] / width, box[3] / height}
	}
	label := int32(f.CategoryOf[a])
	if !j.o.Verbatim {
		var ok bool
		if label, ok = j.labels[f.CategoryOf[a]]; !ok {
			return j.bad(a, "category_id", "the id of a category of the file", fmt.Sprint(f.CategoryOf[a]))
		}
	}
	d.Boxes, d.Labels = append(d.Boxes, box), append(d.Labels, label)
	if !j.o.Polygons && !j.o.Pixelwise {
		return nil
	}
	for _, p := range f.partsOf(a) {
		switch {
		case !p.runs:
			first := len(d.Vertices) - vertices
			for k := p.from; k < p.to; k += 2 {
				v := [2]float32{f.coords[k], f.coords[k+1]}
				if j.o.Ratio {
					v = [2]float32{v[0] / width, v[1] / height}
				}
				d.Vertices = append(d.Vertices, v)
			}
			d.Polygons = append(d.Polygons, Polygon{number, int32(first), int32(len(d.Vertices) - vertices)})
		case j.o.Pixelwise:
			if float32(p.height) != height || float32(p.width) != width {
				return j.bad(a, "segmentation.size", fmt.Sprintf("%v x %v, the height and width of the image", height, width),
					fmt.Sprintf("%d x %d", p.height, p.width))
			}
			at := int64(len(d.counts))
			d.counts = append(d.counts, f.counts[p.from:p.to]...)
			d.runs = append(d.runs, runs{number, p.height, p.width, at, int64(len(d.counts))})
		}
	}
	return nil
}

// Paint sets the pixels of the boxes' masks in image i to their labels, and all others to 0. The
// image is row by row, of the size that Heights and Widths say.
//
// Labels are drawn in ascending order, so that where masks overlap the largest label wins. A label
// has either its polygons or, if it has none, the last of its masks in runs. If the smallest label
// has neither, no mask is drawn. At the end of the image, down the columns, is a run of pixels in
// which no mask begins or ends any more: there the first label that was drawn stays. This is what
// another loader draws, bit for bit.
func (m *Painter) Paint(d *Dataset, i int, pixels []int32) {
	clear(pixels)
	_, labels := d.BoxesOf(i)
	if len(pixels) == 0 || len(labels) == 0 {
		return
	}
	m.height, m.width = int(d.Heights[i]), int(d.Widths[i])
	m.pixels = pixels[:m.height*m.width]
	m.scale = [2]float32{1, 1}
	if d.ratio {
		m.scale = [2]float32{float32(m.width), float32(m.height)}
	}
	polygons, vertices := d.PolygonsOf(i)
	from, to := span(d.runEnds, i)
	masks := d.runs[from:to]
	m.order = m.order[:0]
	for k := range len(polygons) + len(masks) {
		m.order = append(m.order, int32(k))
	}
	label := func(k int32) int32 {
		if n := int(k) - len(polygons); n >= 0 {
			return labels[masks[n].box]
		}
		return labels[polygons[k].Box]
	}
	slices.SortFunc(m.order, func(a, b int32) int { return cmp.Or(cmp.Compare(label(a), label(b)), cmp.Compare(a, b)) })
	if len(m.order) == 0 || label(m.order[0]) != slices.Min(labels) {
		return
	}
	bottom, rest := int32(0), 0 // the label of the last run, and where that run begins
	for at := 0; at < len(m.order); {
		end, l := at+1, label(m.order[at])
		m.end = 0
		for end < len(m.order) && label(m.order[end]) == l {
			end++
		}
		if n := int(m.order[at]) - len(polygons); n >= 0 { // runs alone
			r := masks[int(m.order[end-1])-len(polygons)]
			m.draw(d.counts[r.from:r.to], l)
		}
		for _, k := range m.order[at:end] {
			if int(k) < len(polygons) {
				m.draw(m.outline(vertices[polygons[k].First:polygons[k].End]), l)
			}
		}
		at, rest = end, max(rest, m.settled(l))
		for k := rest; bottom != 0 && k < len(m.pixels); k++ {
			m.pixels[m.at(k)] = bottom
		}
		if bottom == 0 && m.end == len(m.pixels) {
			bottom = l
		}
	}
}

// CheckMask returns an error if the image that Paint draws is too large.
func (d *Dataset) CheckMask(i int) error {
	if n := int64(d.Heights[i]) * int64(d.Widths[i]); n > math.MaxUint32 {
		return &errs.Error{Kind: errs.Exhausted, Op: "coco", Subject: fmt.Sprintf("image id %d", d.IDs[i]),
			Want: "a mask of at most 4 G pixels", Got: fmt.Sprintf("%d x %d", d.Heights[i], d.Widths[i])}
	}
	return nil
}

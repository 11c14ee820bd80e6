package coco

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/bivouac-ml/bivouac/errs"
)

// Parts of a Dataset that a folder of binary files has besides names, boxes and labels.
type Parts struct {
	IDs       bool // ids of the images
	Polygons  bool // polygons
	Pixelwise bool // polygons, runs, and the sizes of the images
}

var le = binary.LittleEndian

// The files of a Dataset. Each begins with the number of its elements, in 4 bytes. A file without
// elements is not written.
const (
	fileOffsets        = "offsets.dat"         // int32 of each image: its first box
	fileBoxes          = "boxes.dat"           // float32, 4 of each box
	fileLabels         = "labels.dat"          // int32 of each box
	fileCounts         = "counts.dat"          // int32 of each image: its boxes
	fileNames          = "filenames.dat"       // a line of each image; without the number of elements
	fileIDs            = "original_ids.dat"    // int32 of each image
	fileHeights        = "heights.dat"         // int32 of each image
	fileWidths         = "widths.dat"          // int32 of each image
	filePolygons       = "polygon_data.dat"    // 3 int32 of each polygon: its box, first vertex and end
	filePolygonOffsets = "polygon_offset.dat"  // int64 of each image
	filePolygonCounts  = "polygons_count.dat"  // int64 of each image
	fileVertices       = "vertices.dat"        // 2 float32 of each vertex
	fileVertexOffsets  = "vertices_offset.dat" // int64 of each image
	fileVertexCounts   = "vertices_count.dat"  // int64 of each image
	fileRuns           = "masks_rles.dat"      // int64 height, width and number, and as many uint32, of each mask
	fileRunBoxes       = "masks_rles_idx.dat"  // int32 of each mask: its box
	fileRunOffsets     = "masks_offset.dat"    // int64 of each image
	fileRunCounts      = "mask_count.dat"      // int64 of each image
)

// number appends an integer of a width.
func number(b []byte, v int64, width int) []byte {
	if width == 4 {
		return le.AppendUint32(b, uint32(v))
	}
	return le.AppendUint64(b, uint64(v))
}

// Write calls put with the name and the contents of each file of d.
func (d *Dataset) Write(parts Parts, put func(name string, contents []byte) error) error {
	var err error
	file := func(name string, n int, element func(b []byte, i int) []byte) {
		if err != nil || n == 0 {
			return
		}
		b := le.AppendUint32(nil, uint32(n))
		for i := range n {
			b = element(b, i)
		}
		err = put(name, b)
	}
	table := func(offsets, counts string, width int, ends []int64) {
		file(offsets, len(ends), func(b []byte, i int) []byte { from, _ := span(ends, i); return number(b, from, width) })
		file(counts, len(ends), func(b []byte, i int) []byte { from, to := span(ends, i); return number(b, to-from, width) })
	}
	table(fileOffsets, fileCounts, 4, d.BoxEnds)
	file(fileBoxes, 4*len(d.Boxes), func(b []byte, i int) []byte {
		return le.AppendUint32(b,
			math.Float32bits(d.Boxes[i/4][i%4]))
	})
	file(fileLabels, len(d.Labels), func(b []byte, i int) []byte { return number(b, int64(d.Labels[i]), 4) })
	if err == nil && d.Len() > 0 {
		var names []byte
		for i := range d.Len() {
			from, to := span(d.nameEnds, i)
			names = append(append(names, d.names[from:to]...), '\n')
		}
		err = put(fileNames, names)
	}
	if parts.IDs {
		file(fileIDs, len(d.IDs), func(b []byte, i int) []byte { return number(b, int64(d.IDs[i]), 4) })
	}
	if parts.Polygons || parts.Pixelwise {
		file(filePolygons, len(d.Polygons), func(b []byte, i int) []byte {
			p := d.Polygons[i]
			return number(number(number(b, int64(p.Box), 4), int64(p.First), 4), int64(p.End), 4)
		})
		table(filePolygonOffsets, filePolygonCounts, 8, d.PolygonEnds)
		file(fileVertices, len(d.Vertices), func(b []byte, i int) []byte {
			return le.AppendUint32(le.AppendUint32(b, math.Float32bits(d.Vertices[i][0])), math.Float32bits(d.Vertices[i][1]))
		})
		table(fileVertexOffsets, fileVertexCounts, 8, d.VertexEnds)
	}
	if parts.Pixelwise {
		file(fileRuns, len(d.runs), func(b []byte, i int) []byte {
			r := d.runs[i]
			b = number(number(number(b, int64(r.height), 8), int64(r.width), 8), r.to-r.from, 8)
			for _, n := range d.counts[r.from:r.to] {
				b = le.AppendUint32(b, n)
			}
			return b
		})
		file(fileRunBoxes, len(d.runs), func(b []byte, i int) []byte { return number(b, int64(d.runs[i].box), 4) })
		table(fileRunOffsets, fileRunCounts, 8, d.runEnds)
		file(fileHeights, len(d.Heights), func(b []byte, i int) []byte { return number(b, int64(d.Heights[i]), 4) })
		file(fileWidths, len(d.Widths), func(b []byte, i int) []byte { return number(b, int64(d.Widths[i]), 4) })
	}
	return err
}

// loader reads the files of a Dataset.
type loader struct {
	get func(name string) ([]byte, error)
	d   *Dataset
	err error
}

// Read makes a Dataset of the files that Write makes. get returns the contents of a file, and nil
// if the file does not exist. Files that contradict each other are an error of kind errs.Corrupt.
func Read(parts Parts, get func(name string) ([]byte, error)) (*Dataset, error) {
	l := loader{get: get, d: &Dataset{}}
	d := l.d
	l.names()
	n := int64(d.Len())
	for b := l.file(fileBoxes, 16, 4); len(b) > 0; b = b[16:] {
		var box [4]float32
		for k := range box {
			box[k] = math.Float32frombits(le.Uint32(b[4*k:]))
		}
		d.Boxes = append(d.Boxes, box)
	}
	d.Labels = l.ints(fileLabels, int64(len(d.Boxes)), "as many labels as boxes")
	d.BoxEnds = l.table(fileOffsets, fileCounts, 4, n, int64(len(d.Boxes)))
	d.IDs, d.Heights, d.Widths = make([]int32, n), make([]int32, n), make([]int32, n)
	if parts.IDs {
		d.IDs = l.ints(fileIDs, n, "as many ids as images")
	}
	if parts.Polygons || parts.Pixelwise {
		l.polygons(n)
	}
	if parts.Pixelwise {
		d.Heights, d.Widths = l.ints(fileHeights, n, "as many heights as images"), l.ints(fileWidths, n,
			"as many widths as images")
		l.runs(n)
	}
	if l.err != nil {
		return nil, errs.Wrap("coco", "", l.err)
	}
	return d, nil
}

// bad remembers the error of a file.
func (l *loader) bad(name, want, got string) {
	if l.err == nil {
		l.err = &errs.Error{Kind: errs.Corrupt, Subject: name, Want: want, Got: got,
			Remedy: "make the preprocessed annotations again"}
	}
}

// contents returns a file, or nil.
func (l *loader) contents(name string) []byte {
	if l.err != nil {
		return nil
	}
	b, err := l.get(name)
	if err != nil {
		l.err = err
		return nil
	}
	return b
}

// names reads the names of the images.
func (l *loader) names() {
	b := l.contents(fileNames)
	for len(b) > 0 {
		line, rest, ok := bytes.Cut(b, []byte("\n"))
		if !ok || len(line) == 0 {
			l.bad(fileNames, "lines of names", fmt.Sprintf("line %d is empty or cut", l.d.Len()))
			return
		}
		l.d.names = append(l.d.names, line...)
		l.d.nameEnds = append(l.d.nameEnds, int64(len(l.d.names)))
		b = rest
	}
}

// file returns the elements of a file. width is the size of an element, and unit the size of what
// the number in the file counts.
func (l *loader) file(name string, width, unit int) []byte {
	b := l.contents(name)
	if l.err != nil || len(b) == 0 {
		return nil
	}
	if len(b) < 4 || int64(le.Uint32(b))*int64(unit) != int64(len(b)-4) || (len(b)-4)%width != 0 {
		want := "the number of elements in 4 bytes"
		if len(b) >= 4 {
			want = fmt.Sprintf("%d elements of %d bytes", le.Uint32(b), unit)
		}
		l.bad(name, want, fmt.Sprintf("a file of %d bytes", len(b)))
		return nil
	}
	return b[4:]
}

// ints reads a file of n int32.
func (l *loader) ints(name string, n int64, want string) []int32 {
	b := l.file(name, 4, 4)
	if l.err == nil && int64(len(b)/4) != n {
		l.bad(name, fmt.Sprintf("%s, %d", want, n), fmt.Sprint(len(b)/4))
	}
	if l.err != nil {
		return nil
	}
	list := make([]int32, 0, n)
	for ; len(b) > 0; b = b[4:] {
		list = append(list, int32(le.Uint32(b)))
	}
	return list
}

// table reads where the range of each of n images ends, within total elements.
func (l *loader) table(offsets, counts string, width int, n, total int64) []int64 {
	o, c := l.file(offsets, width, width), l.file(counts, width, width)
	if l.err == nil && (int64(len(o)/width) != n || len(o) != len(c)) {
		l.bad(offsets+" and "+counts, fmt.Sprintf("an element for each of %d images", n),
			fmt.Sprintf("%d and %d", len(o)/width, len(c)/width))
	}
	if l.err != nil {
		return nil
	}
	read := func(b []byte) int64 {
		if width == 4 {
			return int64(int32(le.Uint32(b)))
		}
		return int64(le.Uint64(b))
	}
	ends, at := make([]int64, 0, n), int64(0)
	for ; len(o) > 0; o, c = o[width:], c[width:] {
		from, count := read(o), read(c)
		if from != at || count < 0 || count > total-at {
			l.bad(offsets+" and "+counts, fmt.Sprintf("image %d to begin at %d, within %d elements", len(ends), at, total),
				fmt.Sprintf("%d elements at %d", count, from))
			return nil
		}
		at += count
		ends = append(ends, at)
	}
	if at != total {
		l.bad(counts, fmt.Sprintf("%d elements in all", total), fmt.Sprint(at))
	}
	return ends
}

// boxOf checks that an image has a box with a number.
func (l *loader) boxOf(name string, image int, box int32) bool {
	from, to := span(l.d.BoxEnds, image)
	if box < 0 || int64(box) >= to-from {
		l.bad(name, fmt.Sprintf("a box below %d of image %d", to-from, image), fmt.Sprint(box))
		return false
	}
	return true
}

func (l *loader) polygons(n int64) {
	d := l.d
	for b := l.file(filePolygons, 12, 12); len(b) > 0; b = b[12:] {
		d.Polygons = append(d.Polygons, Polygon{int32(le.Uint32(b)), int32(le.Uint32(b[4:])), int32(le.Uint32(b[8:]))})
	}
	for b := l.file(fileVertices, 8, 8); len(b) > 0; b = b[8:] {
		d.Vertices = append(d.Vertices, [2]float32{math.Float32frombits(le.Uint32(b)),
			math.Float32frombits(le.Uint32(b[4:]))})
	}
	for i, v := range d.Vertices {
		for _, x := range v {
			if l.err == nil && !(math.Abs(float64(x)) <= math.MaxFloat32) {
				l.bad(fileVertices, "finite numbers", fmt.Sprintf("%v in vertex %d", x, i))
			}
		}
	}
	d.PolygonEnds = l.table(filePolygonOffsets, filePolygonCounts, 8, n, int64(len(d.Polygons)))
	d.VertexEnds = l.table(fileVertexOffsets, fileVertexCounts, 8, n, int64(len(d.Vertices)))
	for i := 0; l.err == nil && i < int(n); i++ {
		polygons, vertices := d.PolygonsOf(i)
		for _, p := range polygons {
			if !l.boxOf(filePolygons, i, p.Box) {
				return
			}
			if p.First < 0 || p.End < p.First || int(p.End) > len(vertices) {
				l.bad(filePolygons, fmt.Sprintf("a polygon within %d vertices of image %d", len(vertices), i),
					fmt.Sprintf("%d to %d", p.First, p.End))
				return
			}
		}
	}
}

func (l *loader) runs(n int64) {
	d := l.d
	b := l.contents(fileRuns)
	boxes := l.file(fileRunBoxes, 4, 4)
	total := int64(len(boxes) / 4)
	if l.err == nil && len(b) > 0 && (len(b) < 4 || int64(le.Uint32(b)) != total) || l.err == nil && len(b) == 0 &&
		total > 0 {
		l.bad(fileRuns, fmt.Sprintf("%d masks", total), fmt.Sprintf("a file of %d bytes", len(b)))
	}
	ends := l.table(fileRunOffsets, fileRunCounts, 8, n, total)
	if l.err != nil {
		return
	}
	b = b[min(4, len(b)):]
	image := 0
	for i := int64(0); i < total; i++ {
		for ends[image] <= i {
			image++
		}
		if len(b) < 24 || le.Uint64(b[16:]) > uint64(len(b)-24)/4 {
			l.bad(fileRuns, fmt.Sprintf("%d masks", total), fmt.Sprintf("a file that is cut in mask %d", i))
			return
		}
		r := runs{box: int32(le.Uint32(boxes[4*i:])), height: d.Heights[image], width: d.Widths[image],
			from: int64(len(d.counts))}
		if h, w := le.Uint64(b), le.Uint64(b[8:]); h != uint64(r.height) || w != uint64(r.width) {
			l.bad(fileRuns, fmt.Sprintf("mask %d of %d x %d, as its image", i, r.height, r.width), fmt.Sprintf("%d x %d", h, w))
			return
		}
		if !l.boxOf(fileRunBoxes, image, r.box) {
			return
		}
		m := int(le.Uint64(b[16:]))
		for b = b[24:]; m > 0; m-- {
			d.counts = append(d.counts, le.Uint32(b))
			b = b[4:]
		}
		r.to = int64(len(d.counts))
		if err := CheckRuns(d.counts[r.from:], int(r.height), int(r.width)); err != nil {
			l.bad(fileRuns, err.(*errs.Error).Want, err.(*errs.Error).Got)
			return
		}
		d.runs = append(d.runs, r)
	}
	if len(b) > 0 {
		l.bad(fileRuns, fmt.Sprintf("%d masks", total), fmt.Sprintf("%d more bytes", len(b)))
	}
	d.runEnds = ends
}

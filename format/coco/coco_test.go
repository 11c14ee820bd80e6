package coco

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
)

// small is a file of two images, with polygons and runs.
const small = `{"info": {"x": [1, {"y": null}]}, "annotations": [
 {"id": 1, "image_id": 20, "category_id": 7, "bbox": [1, 0, 2, 2], "iscrowd": 0, "segmentation": [[1, 0, 3, 0, 3, 2, 1, 2]]},
 {"id": 2, "image_id": 10, "category_id": 3, "bbox": [0, 0, 4, 3], "iscrowd": 1, "segmentation": {"counts": [3, 2, 7], "size": [3, 4]}},
 {"segmentation": {"size": [3, 4], "counts": "327"}, "bbox": [0, 0.5, 4, 2.5], "category_id": 7, "image_id": 10, "id": 3},
 {"id": 4, "image_id": 20, "category_id": 3, "bbox": [0, 0, 0.05, 3], "segmentation": []}],
 "categories": [{"id": 7, "name": "b"}, {"id": 3, "name": "a"}],
 "images": [{"id": 20, "width": 5, "height": 4, "file_name": "b.jpg"}, {"id": 10, "file_name": "a\u002ejpg", "height": 3, "width": 4}]}`

func join(text string, o Options, j JoinOptions) (*Dataset, error) {
	f, err := Parse(strings.NewReader(text), o)
	if err != nil {
		return nil, err
	}
	return Join(f, j)
}

// TestJoin: images come by id, their annotations in the order of the file, and labels in the order
// of the categories.
func TestJoin(t *testing.T) {
	d, err := join(small, Options{Segmentations: true, MinSize: 0.1}, JoinOptions{Pixelwise: true})
	if err != nil {
		t.Fatal(err)
	}
	if d.Len() != 2 || d.Name(0) != "a.jpg" || d.Name(1) != "b.jpg" || !slices.Equal(d.IDs, []int32{10, 20}) {
		t.Fatalf("images %v: %s, %s", d.IDs, d.Name(0), d.Name(1))
	}
	boxes, labels := d.BoxesOf(0)
	if !reflect.DeepEqual(boxes, [][4]float32{{0, 0, 4, 3}, {0, 0.5, 4, 2.5}}) || !slices.Equal(labels, []int32{2, 1}) {
		t.Fatalf("boxes %v, labels %v", boxes, labels)
	}
	if boxes, _ := d.BoxesOf(1); len(boxes) != 1 {
		t.Fatalf("%d boxes of the second image, want 1: the other one is too small", len(boxes))
	}
	pixels := make([]int32, 12)
	var p Painter
	p.Paint(d, 0, pixels)
	if want := []int32{0, 2, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0}; !slices.Equal(pixels, want) {
		t.Fatalf("mask %v, want %v", pixels, want)
	}
	pixels = make([]int32, 20)
	p.Paint(d, 1, pixels)
	if want := []int32{0, 1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}; !slices.Equal(pixels, want) {
		t.Fatalf("mask %v, want %v", pixels, want)
	}
	d, err = join(small, Options{SkipCrowd: true, MinSize: 0.1}, JoinOptions{Images: []string{"b.jpg", "a.jpg"},
		LTRB: true, Ratio: true, Verbatim: true})
	if err != nil {
		t.Fatal(err)
	}
	boxes, labels = d.BoxesOf(0)
	if !slices.Equal(d.IDs, []int32{20, 10}) || !reflect.DeepEqual(boxes, [][4]float32{{0.2, 0, 0.6, 0.5}}) ||
		!slices.Equal(labels, []int32{7}) {
		t.Fatalf("ids %v, boxes %v, labels %v", d.IDs, boxes, labels)
	}
	d, err = join(small, Options{MinSize: 3.5}, JoinOptions{SkipEmpty: true})
	if err != nil || d.Len() != 0 {
		t.Fatalf("%d images without large boxes, %v", d.Len(), err)
	}
}

// TestReadsOfAnySize: the file is read as a stream.
func TestReadsOfAnySize(t *testing.T) {
	want, err := Parse(strings.NewReader(small), Options{Segmentations: true})
	if err != nil {
		t.Fatal(err)
	}
	got, err := Parse(iotest.OneByteReader(strings.NewReader(small)), Options{Segmentations: true})
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("byte by byte: %+v %v, want %+v", got, err, want)
	}
}

// TestMistakes: an error names the annotation or the image, and the field.
func TestMistakes(t *testing.T) {
	all := Options{Segmentations: true, MinSize: 0.1}
	for _, c := range []struct{ old, new, want string }{
		{`"image_id": 20, "category_id": 7`, `"image_id": 21, "category_id": 7`, "annotation id 1, field image_id"},
		{`"category_id": 7, "bbox": [1`, `"category_id": 8, "bbox": [1`, "annotation id 1, field category_id"},
		{`"bbox": [1, 0, 2, 2]`, `"bbox": [5, 0, 2, 2]`, "annotation id 1, field bbox"},
		{`"bbox": [1, 0, 2, 2]`, `"bbox": [-2, 0, 2, 2]`, "annotation id 1, field bbox"},
		{`"bbox": [1, 0, 2, 2]`, `"bbox": [1, 0, 2]`, "annotation 0 of the list, id 1, field bbox"},
		{`"bbox": [1, 0, 2, 2]`, `"bbox": [1, 0, 2, 2, 3]`, "id 1, field bbox"},
		{`"bbox": [1, 0, 2, 2]`, `"bbox": [1, 0, 2, 1e39]`, "id 1, field bbox"},
		{`"bbox": [1, 0, 2, 2]`, `"bbox": "1 0 2 2"`, "id 1, field bbox"},
		{`"bbox": [1, 0, 2, 2], `, ``, "id 1, field bbox"},
		{`"image_id": 20, "category_id": 7, `, ``, "id 1, field image_id"},
		{`"category_id": 7, "bbox": [1`, `"bbox": [1`, "id 1, field category_id"},
		{`"category_id": 7, "bbox": [1`, `"category_id": 7.5, "bbox": [1`, "id 1, field category_id"},
		{`{"id": 2, "image_id": 10`, `{"id": 1, "image_id": 10`, "annotation id 1: invalid: want one of this id"},
		{`{"id": 10,`, `{"id": 20,`, "image id 20"},
		{`{"id": 3, "name": "a"}`, `{"id": 7}`, "category id 7"},
		{`{"id": 3, "name": "a"}`, `{"name": "a"}`, "category 1 of the list, field id"},
		{`{"id": 20, "width": 5`, `{"width": 5`, "image 0 of the list, field id"},
		{`, "file_name": "b.jpg"`, ``, "id 20, field file_name"},
		{`"file_name": "b.jpg"`, `"file_name": 7`, "id 20, field file_name"},
		{`"width": 5`, `"width": -5`, "id 20, field width"},
		{`"width": 5`, `"width": 0`, "image id 20, fields width and height"},
		{`"counts": [3, 2, 7]`, `"counts": [3, 2, 6]`, "id 2, field segmentation.counts"},
		{`"counts": [3, 2, 7]`, `"counts": [3, 2, -7]`, "id 2, field segmentation.counts"},
		{`"counts": [3, 2, 7], `, ``, "id 2, field segmentation.counts"},
		{`"counts": [3, 2, 7], "size": [3, 4]`, `"counts": [3, 2, 7]`, "id 2, field segmentation.size"},
		{`"counts": [3, 2, 7], "size": [3, 4]`, `"counts": [3, 2, 7], "size": [4, 3]`, "id 2, field segmentation.size"},
		{`"counts": "327"`, `"counts": "32W"`, "annotation 2 of the list, field segmentation.counts"},
		{`"counts": "327"`, `"counts": "32~"`, "annotation 2 of the list, field segmentation.counts"},
		{`"counts": "327"`, `"counts": 327`, "field segmentation.counts"},
		{`[[1, 0, 3, 0, 3, 2, 1, 2]]`, `[[1, 0, 3, 0, 3, 2, 1]]`, "id 1, field segmentation"},
		{`[[1, 0, 3, 0, 3, 2, 1, 2]]`, `[1, 0, 3, 0]`, "id 1, field segmentation"},
		{`[[1, 0, 3, 0, 3, 2, 1, 2]]`, `"x"`, "id 1, field segmentation"},
		{`"iscrowd": 1`, `"iscrowd": 2`, "id 2, field iscrowd"},
		{`"images":`, `"pictures":`, "a list of images"},
		{`"annotations": [`, `"annotations": [7, `, "annotation 0 of the list"},
		{`"info": {`, `"info": {{`, "offset"},
	} {
		if !strings.Contains(small, c.old) {
			t.Fatalf("%s is not in the file", c.old)
		}
		_, err := join(strings.Replace(small, c.old, c.new, 1), all, JoinOptions{Pixelwise: true, Ratio: true})
		kind := errs.KindOf(err)
		if err == nil || !strings.Contains(err.Error(), c.want) || kind != errs.Invalid && kind != errs.Corrupt {
			t.Errorf("%s -> %s: got %v, want %q", c.old, c.new, err, c.want)
		}
	}
	if _, err := join(small, all, JoinOptions{Images: []string{"a.jpg",
		"c.jpg"}}); errs.KindOf(err) != errs.NotFound || !strings.Contains(err.Error(), "c.jpg") {
		t.Errorf("an image that is not there: %v", err)
	}
	if _, err := join(strings.Replace(small, `"category_id": 7, "bbox": [1`, `"category_id": 8, "bbox": [1`, 1), all,
		JoinOptions{Verbatim: true}); err != nil {
		t.Errorf("a category that is not listed, with its id as label: %v", err)
	}
}

// files keeps what a Dataset writes.
type files map[string][]byte

func (f files) put(name string, b []byte) error           { f[name] = b; return nil }
func (f files) get(name string) (b []byte, missing error) { return f[name], nil }

// TestWrittenIsRead: a Dataset is equal after it was written and read.
func TestWrittenIsRead(t *testing.T) {
	want, err := join(small, Options{Segmentations: true}, JoinOptions{Pixelwise: true})
	if err != nil {
		t.Fatal(err)
	}
	f := files{}
	parts := Parts{IDs: true, Pixelwise: true}
	if err := want.Write(parts, f.put); err != nil {
		t.Fatal(err)
	}
	got, err := Read(parts, f.get)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("got %+v %v, want %+v", got, err, want)
	}
	stop := fmt.Errorf("stop")
	if err := want.Write(parts, func(name string, _ []byte) error {
		if name == fileLabels {
			return stop
		}
		return nil
	}); err != stop {
		t.Fatalf("got %v, want the function's error", err)
	}
}

// TestDamagedFiles: files that are cut, that lack, or that contradict each other are refused by
// name.
func TestDamagedFiles(t *testing.T) {
	d, err := join(small, Options{Segmentations: true}, JoinOptions{Pixelwise: true})
	if err != nil {
		t.Fatal(err)
	}
	parts := Parts{IDs: true, Pixelwise: true}
	whole := files{}
	if err := d.Write(parts, whole.put); err != nil {
		t.Fatal(err)
	}
	for name, b := range whole {
		if name == fileNames {
			continue
		}
		for _, damage := range []struct {
			what string
			b    []byte
		}{
			{"cut", b[:len(b)-1]}, {"empty", nil}, {"count", append([]byte{b[0] + 1}, b[1:]...)}, {"longer", append(slices.Clone(b), 0, 0, 0, 0)},
		} {
			f := files{}
			for n, b := range whole {
				f[n] = b
			}
			f[name] = damage.b
			if _, err := Read(parts, f.get); errs.KindOf(err) != errs.Corrupt {
				t.Errorf("%s, %s: %v", name, damage.what, err)
			}
		}
	}
}

// cover returns the pixels inside runs, down the columns.
func cover(runs []uint32) (list []bool) {
	for i, n := range runs {
		for range n {
			list = append(list, i%2 == 1)
		}
	}
	return list
}

// TestOutlineCoversSquares: a rectangle with corners between pixels covers the pixels within it,
// and an outline far away costs no more than one near by.
func TestOutlineCoversSquares(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, h := rapid.IntRange(1, 12).Draw(t, "w"), rapid.IntRange(1, 12).Draw(t, "h")
		x0, y0 := rapid.IntRange(-20, 20).Draw(t, "x0"), rapid.IntRange(-20, 20).Draw(t, "y0")
		x1, y1 := x0+rapid.IntRange(0, 30).Draw(t, "dx"), y0+rapid.IntRange(0, 30).Draw(t, "dy")
		far := rapid.SampledFrom([]int{0, 1, 1e6, 1e15}).Draw(t, "far")
		l, r, top, bottom := x0-far, x1+far, y0-far, y1+far
		p := Painter{height: h, width: w, scale: [2]float32{1, 1}}
		runs := p.outline([][2]float32{{float32(l), float32(top)}, {float32(r), float32(top)},
			{float32(r), float32(bottom)}, {float32(l), float32(bottom)}})
		got := cover(runs)
		if len(got) != w*h {
			t.Fatalf("%d pixels, want %d", len(got), w*h)
		}
		for i, in := range got {
			x, y := i/h, i%h
			if want := x >= l && x < r && y >= top && y < bottom; in != want {
				t.Fatalf("pixel %d %d of %d to %d, %d to %d: %t", x, y, l, r, top, bottom, in)
			}
		}
	})
}

// text returns runs as AppendRuns reads them.
func text(runs []uint32) (b []byte) {
	for i, n := range runs {
		v := int64(n)
		if i > 2 {
			v -= int64(runs[i-2])
		}
		for more := true; more; {
			c := v & 31
			v >>= 5
			if more = v != -(c >> 4); more {
				c |= 32
			}
			b = append(b, byte('0'+c))
		}
	}
	return b
}

// TestRunsAsText: the text of runs is read as they were.
func TestRunsAsText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		runs := rapid.SliceOf(rapid.Uint32Range(0, 1<<30)).Draw(t, "runs")
		got, err := AppendRuns([]uint32{7}, text(runs))
		if err != nil || !slices.Equal(got[1:], runs) {
			t.Fatalf("got %v %v, want %v", got, err, runs)
		}
	})
}

// paintAll draws the masks of all small images.
func paintAll(d *Dataset) {
	var p Painter
	for i := range d.Len() {
		if n := int64(d.Heights[i]) * int64(d.Widths[i]); n < 1<<16 {
			p.Paint(d, i, make([]int32, n))
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(small))
	f.Add([]byte(`{"images": []}`))
	f.Add([]byte(`{"images": [{"id": 1, "file_name": "a", "width": 9, "height": 9}], "categories": [{"id": 1}],
		"annotations": [{"image_id": 1, "category_id": 1, "bbox": [0,0,1,1], "segmentation": [[0,0,9,1e30,-1e30,4],[]]}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		file, err := Parse(bytes.NewReader(b), Options{Segmentations: true})
		if err != nil {
			return
		}
		if !json.Valid(b) {
			t.Fatal("it is no JSON")
		}
		d, err := Join(file, JoinOptions{Pixelwise: true})
		if err != nil {
			return
		}
		paintAll(d)
		kept := files{}
		if err := d.Write(Parts{IDs: true, Pixelwise: true}, kept.put); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(Parts{IDs: true, Pixelwise: true}, kept.get); err != nil && !bytes.ContainsRune(d.names, '\n') {
			t.Fatalf("not read again: %v", err)
		}
	})
}

// FuzzRead reads files that are cut out of one text, at the places that its first bytes name.
func FuzzRead(f *testing.F) {
	names := []string{fileOffsets, fileBoxes, fileLabels, fileCounts, fileNames, fileIDs, fileHeights, fileWidths,
		filePolygons, filePolygonOffsets, filePolygonCounts, fileVertices, fileVertexOffsets, fileVertexCounts,
		fileRuns, fileRunBoxes, fileRunOffsets, fileRunCounts}
	d, err := join(small, Options{Segmentations: true}, JoinOptions{Pixelwise: true})
	if err != nil {
		f.Fatal(err)
	}
	whole := files{}
	if err := d.Write(Parts{IDs: true, Pixelwise: true}, whole.put); err != nil {
		f.Fatal(err)
	}
	var seed, rest []byte
	for _, n := range names {
		seed, rest = append(seed, byte(len(whole[n]))), append(rest, whole[n]...)
	}
	f.Add(append(seed, rest...))
	f.Add([]byte{})
	f.Add(make([]byte, 40))
	f.Fuzz(func(t *testing.T, b []byte) {
		kept := files{}
		if len(b) < len(names) {
			return
		}
		lengths, rest := b[:len(names)], b[len(names):]
		for i, n := range names {
			k := min(int(lengths[i]), len(rest))
			kept[n], rest = rest[:k], rest[k:]
		}
		if d, err := Read(Parts{IDs: true, Pixelwise: true}, kept.get); err == nil {
			paintAll(d)
		}
	})
}

// BenchmarkParse reads a file of boxes, with and without segmentations.
func BenchmarkParse(b *testing.B) {
	comma := map[bool]string{true: ","}
	var text bytes.Buffer
	text.WriteString(`{"images": [`)
	for i := range 5000 {
		fmt.Fprintf(&text, `%s{"license": 3,"file_name": "COCO_val2014_%012d.jpg","height": 427,"width": 640,`+
			`"coco_url": "http://images.cocodataset.org/val2014/%012d.jpg","date_captured": "2013-11-14 17:02:52","id": %d}`,
			comma[i > 0], i, i, i)
	}
	text.WriteString(`],"categories": [{"supercategory": "person","id": 58,"name": "hot dog"}],"annotations": [`)
	for i := range 30000 {
		fmt.Fprintf(&text, `%s{"segmentation": [[239.97,260.24,222.04,270.49,199.84,253.41,213.5,227.79,259.62,200.46]],`+
			`"area": 2765.1486500000005,"iscrowd": 0,"image_id": %d,"bbox": [199.84,200.46,77.71,70.88],`+
			`"category_id": 58,"id": %d}`,
			comma[i > 0], i%5000, i)
	}
	text.WriteString(`]}`)
	for _, segmentations := range []bool{false, true} {
		b.Run(fmt.Sprintf("segmentations=%t", segmentations), func(b *testing.B) {
			b.SetBytes(int64(text.Len()))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Parse(bytes.NewReader(text.Bytes()), Options{Segmentations: segmentations}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

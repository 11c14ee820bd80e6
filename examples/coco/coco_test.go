package coco

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/tensor"
)

// colours has a colour for each category, in their order: a label is the place of its colour,
// from 1.
var colours = []color.RGBA{{255, 0, 0, 255}, {0, 255, 0, 255}, {0, 0, 255, 255}}

// dataset writes n images with one or two rectangles, each in the colour of its category.
func dataset(t *testing.T, n int) (root, annotations string) {
	t.Helper()
	type object = map[string]any
	root = t.TempDir()
	var images, marks, categories []object
	for i := range colours {
		categories = append(categories, object{"id": 10 * (i + 1), "name": fmt.Sprint("colour ", i)})
	}
	for i := range n {
		w, h := 90+5*i, 80
		m := image.NewRGBA(image.Rect(0, 0, w, h))
		draw.Draw(m, m.Rect, image.White, image.Point{}, draw.Src)
		for k := range 1 + i%2 {
			box := image.Rect(k*w/2+4, 6+i, k*w/2+4+w/3, 6+i+40)
			c := (i + k) % len(colours)
			draw.Draw(m, box, image.NewUniform(colours[c]), image.Point{}, draw.Src)
			marks = append(marks, object{"id": len(marks) + 1, "image_id": i, "category_id": 10 * (c + 1), "iscrowd": 0,
				"bbox": []int{box.Min.X, box.Min.Y, box.Dx(), box.Dy()}})
		}
		var b bytes.Buffer
		if err := png.Encode(&b, m); err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprintf("%03d.png", i)
		if err := os.WriteFile(filepath.Join(root, name), b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
		images = append(images, object{"id": i, "file_name": name, "width": w, "height": h})
	}
	b, err := json.Marshal(object{"images": images, "annotations": marks, "categories": categories})
	if err != nil {
		t.Fatal(err)
	}
	annotations = filepath.Join(root, "annotations.json")
	if err := os.WriteFile(annotations, b, 0o666); err != nil {
		t.Fatal(err)
	}
	return root, annotations
}

func start(t *testing.T, root, annotations string) *pipeline.Pipeline {
	t.Helper()
	def, err := Define(pipeline.Options{BatchSize: 4, Seed: 3}, root, annotations)
	if err != nil {
		t.Fatal(err)
	}
	p, err := def.New(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// TestBoxesFollowTheirObjects: in the middle of every box is the colour of its label, whatever
// window the pipeline chose.
func TestBoxesFollowTheirObjects(t *testing.T) {
	root, annotations := dataset(t, 12)
	p := start(t, root, annotations)
	checked := 0
	for range 9 { // three epochs
		batch, err := p.Next(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		for s := range batch.Outputs[0].NumSamples() {
			checked += check(t, batch.Outputs[0].Sample(s), batch.Outputs[1].Sample(s), batch.Outputs[2].Sample(s))
		}
	}
	if checked < 36 {
		t.Errorf("%d boxes in 36 samples", checked)
	}
}

// check checks the boxes of an image and returns their number.
func check(t *testing.T, picture, boxes, labels tensor.Tensor) int {
	t.Helper()
	pixels, err := tensor.Of[float32](picture)
	if err != nil || len(pixels) != 3*Size*Size {
		t.Fatalf("image %v: %v", picture.Shape, err)
	}
	sides, err := tensor.Of[float32](boxes)
	if err != nil {
		t.Fatal(err)
	}
	names, err := tensor.Of[int32](labels)
	if err != nil || len(sides) != 4*len(names) || len(names) == 0 {
		t.Fatalf("%d numbers of boxes, %d labels, %v", len(sides), len(names), err)
	}
	for i, label := range names {
		b := sides[4*i : 4*i+4]
		if !(b[0] >= 0 && b[0] < b[2] && b[2] <= 1 && b[1] >= 0 && b[1] < b[3] && b[3] <= 1) {
			t.Fatalf("box %v", b)
		}
		x, y := int((b[0]+b[2])/2*Size), int((b[1]+b[3])/2*Size)
		want := colours[label-1]
		for c, v := range []uint8{want.R, want.G, want.B} {
			if got := pixels[c*Size*Size+y*Size+x]; got < float32(v)/127.5-1.2 || got > float32(v)/127.5-0.8 {
				t.Errorf("label %d, box %v: channel %d of its middle is %v, want %v", label, b, c, got, float32(v)/127.5-1)
			}
		}
	}
	return len(names)
}

// TestResume: a pipeline that begins at a saved state delivers the same batches.
func TestResume(t *testing.T) {
	root, annotations := dataset(t, 12)
	ctx := context.Background()
	p := start(t, root, annotations)
	if _, err := p.Next(ctx); err != nil {
		t.Fatal(err)
	}
	saved, err := p.AppendState(nil)
	if err != nil {
		t.Fatal(err)
	}
	q := start(t, root, annotations)
	if err := q.SetState(saved); err != nil {
		t.Fatal(err)
	}
	for range 4 {
		want, err := p.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		got, err := q.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for o := range want.Outputs {
			for s := range want.Outputs[o].NumSamples() {
				if !bytes.Equal(got.Outputs[o].Sample(s).Data, want.Outputs[o].Sample(s).Data) {
					t.Fatalf("output %d of sample %d differs after the resume", o, s)
				}
			}
		}
	}
}

package boxes

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/tensor"
)

func start(t *testing.T, define func(pipeline.Options, int64) (*pipeline.Definition, error), batch,
	workers int) *pipeline.Pipeline {
	t.Helper()
	def, err := define(pipeline.Options{BatchSize: batch, Workers: workers, Seed: 5}, 10)
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

// read returns all samples of n batches, each output in one text.
func read(t *testing.T, p *pipeline.Pipeline, n int) (all []string) {
	t.Helper()
	for range n {
		b, err := p.Next(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		for s := range b.Outputs[0].NumSamples() {
			text := ""
			for _, o := range b.Outputs {
				text += fmt.Sprint(o.Sample(s).Shape, o.Sample(s).Data)
			}
			all = append(all, text)
		}
	}
	return all
}

// In the middle of each box is the colour of its label.
func TestBoxesFollowTheirObjects(t *testing.T) {
	p := start(t, Mosaics, 5, 2)
	checked := 0
	for range 8 {
		b, err := p.Next(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		for s := range b.Outputs[0].NumSamples() {
			image := b.Outputs[0].Sample(s)
			boxes, _ := tensor.Of[float32](b.Outputs[1].Sample(s))
			labels, _ := tensor.Of[int32](b.Outputs[2].Sample(s))
			if len(boxes) != 4*len(labels) {
				t.Fatalf("%d numbers, %d labels", len(boxes), len(labels))
			}
			for i, label := range labels {
				x, y := int((boxes[4*i]+boxes[4*i+2])/2*Side), int((boxes[4*i+1]+boxes[4*i+3])/2*Side)
				if got := image.Data[(y*Side+x)*3]; int32(got) != 50*label {
					t.Errorf("label %d at %d, %d: %d", label, x, y, got)
				}
				checked++
			}
		}
	}
	if checked < 60 {
		t.Errorf("%d boxes in 40 mosaics", checked)
	}
}

// A mosaic depends on its position alone: not on the batch, nor on the workers, nor on where the
// stream began.
func TestMosaicsDependOnTheirPosition(t *testing.T) {
	want := read(t, start(t, Mosaics, 2, 1), 12)
	got := read(t, start(t, Mosaics, 6, 2), 4)
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("mosaic %d differs in batches of 6", i)
		}
	}
	p := start(t, Mosaics, 6, 2)
	read(t, p, 2)
	state, err := p.AppendState(nil)
	if err != nil {
		t.Fatal(err)
	}
	late := start(t, Mosaics, 6, 1)
	if err := late.SetState(state); err != nil {
		t.Fatal(err)
	}
	for i, text := range read(t, late, 2) {
		if text != want[12+i] {
			t.Fatalf("mosaic %d differs after a resume", 12+i)
		}
	}
}

// The image of an object shows it and nothing else.
func TestObjectsAreCutOut(t *testing.T) {
	p := start(t, Objects, 4, 2)
	for range 3 {
		b, err := p.Next(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		for s := range b.Outputs[0].NumSamples() {
			image, mask, class := b.Outputs[0].Sample(s), b.Outputs[1].Sample(s), b.Outputs[2].Sample(s)
			label := class.Data[0]
			if len(mask.Data) == 0 || !bytes.Equal(mask.Data, bytes.Repeat([]byte{label}, len(mask.Data))) ||
				!bytes.Equal(image.Data, bytes.Repeat([]byte{50 * label}, 3*len(mask.Data))) {
				t.Fatalf("label %d: image %v, mask %v", label, image, mask)
			}
		}
	}
}

// Boxes, points and mask show the same object after the transform.
func TestAllFollow(t *testing.T) {
	p := start(t, Follow, 5, 2)
	boxes, points := 0, 0
	for range 6 {
		b, err := p.Next(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		for s := range b.Outputs[0].NumSamples() {
			image, mask := b.Outputs[0].Sample(s), b.Outputs[1].Sample(s)
			box, _ := tensor.Of[float32](b.Outputs[2].Sample(s))
			point, _ := tensor.Of[float32](b.Outputs[3].Sample(s))
			labels, _ := tensor.Of[int32](b.Outputs[4].Sample(s))
			if x, y := int(point[0]*Side), int(point[1]*Side); point[2] != 0 && x < Side && y < Side {
				label := mask.Data[y*Side+x]
				if got := image.Data[(y*Side+x)*3]; label == 0 || got != 50*label {
					t.Errorf("under the point %v: %d in the image, %d in the mask", point, got, label)
				}
				points++
			}
			for i, label := range labels {
				boxes++
				for at, v := range mask.Data {
					x, y := float32(at%Side), float32(at/Side)
					inside := x+1 > box[4*i]*Side && y+1 > box[4*i+1]*Side && x < box[4*i+2]*Side && y < box[4*i+3]*Side
					if v != 0 && (int32(v) != label || !inside) {
						t.Fatalf("pixel %v, %v of the mask has %d, the box is %v of %d", x, y, v, box, label)
					}
				}
			}
		}
	}
	if boxes < 20 || points < 20 {
		t.Errorf("%d boxes and %d points in 30 scenes", boxes, points)
	}
}

// A transform depends on its position alone.
func TestFollowDependsOnThePosition(t *testing.T) {
	want := read(t, start(t, Follow, 2, 1), 12)
	for i, got := range read(t, start(t, Follow, 6, 2), 4) {
		if got != want[i] {
			t.Fatalf("sample %d differs in batches of 6", i)
		}
	}
}

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/tensor"
)

func start(t *testing.T, o pipeline.Options) *pipeline.Pipeline {
	t.Helper()
	def, err := define(o, 50)
	if err != nil {
		t.Fatal(err)
	}
	p, err := def.New(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// crops returns n crops with their masks.
func crops(t *testing.T, p *pipeline.Pipeline, n int) (list [][2]tensor.Tensor) {
	t.Helper()
	if err := each(t.Context(), p, n, func(picture, mask tensor.Tensor) {
		list = append(list, [2]tensor.Tensor{picture.Clone(), mask.Clone()})
	}); err != nil {
		t.Fatal(err)
	}
	return list
}

// The pixel in the middle of a crop belongs to an object. Where a pixel and all pixels around it
// have one class, the picture has the colour of that class.
func TestMasksFollowTheirPictures(t *testing.T) {
	seen := [classes]int{}
	edges := 0
	for _, c := range crops(t, start(t, pipeline.Options{BatchSize: 5, Workers: 2, Seed: 3}), 60) {
		picture, mask := c[0], c[1].Data
		if len(mask) != crop*crop || len(picture.Data) != 3*crop*crop {
			t.Fatalf("%v and %v", picture, c[1])
		}
		if v := mask[crop/2*crop+crop/2]; v == 0 || v >= classes {
			t.Errorf("class %d in the middle", v)
		}
		for y := 2; y < crop-2; y++ {
			for x := 2; x < crop-2; x++ {
				i := y*crop + x
				class, same := mask[i], true
				for j := range 25 { // pixels at an edge are mixed
					same = same && mask[i+(j/5-2)*crop+j%5-2] == class
				}
				if class == outside {
					edges++
				}
				if !same || class == outside {
					continue
				}
				if class >= classes {
					t.Fatalf("class %d", class)
				}
				seen[class]++
				for k, want := range palette[class] {
					if d := int(picture.Data[3*i+k]) - want; d < -16 || d > 16 {
						t.Fatalf("class %d at %d, %d: %v", class, y, x, picture.Data[3*i:3*i+3])
					}
				}
			}
		}
	}
	for class, n := range seen {
		if n < 500 {
			t.Errorf("class %d has %d pixels", class, n)
		}
	}
	if edges == 0 {
		t.Error("no crop reaches out of its picture")
	}
}

// A crop depends on its position alone: not on the batch, nor on the workers, nor on where the
// stream began.
func TestCropsDependOnTheirPosition(t *testing.T) {
	want := crops(t, start(t, pipeline.Options{BatchSize: 2, Workers: 1, Seed: 3}), 24)
	same := func(what string, got, want [][2]tensor.Tensor) {
		t.Helper()
		for i := range got {
			for k := range got[i] {
				if !bytes.Equal(got[i][k].Data, want[i][k].Data) {
					t.Fatalf("%s: output %d of crop %d differs", what, k, i)
				}
			}
		}
	}
	p := start(t, pipeline.Options{BatchSize: 6, Workers: 2, Seed: 3})
	same("batches of 6", crops(t, p, 12), want)
	state, err := p.AppendState(nil)
	if err != nil {
		t.Fatal(err)
	}
	late := start(t, pipeline.Options{BatchSize: 6, Workers: 1, Seed: 3})
	if err := late.SetState(state); err != nil {
		t.Fatal(err)
	}
	same("after a resume", crops(t, late, 12), want[12:])
}

// The model names nearly all pixels rightly, and is the same for any size of batches.
func TestTrain(t *testing.T) {
	one, err := train(t.Context(), pipeline.Options{BatchSize: 4, Seed: 7}, 80)
	if err != nil {
		t.Fatal(err)
	}
	other, err := train(t.Context(), pipeline.Options{BatchSize: 8, Seed: 7, Workers: 2}, 80)
	if err != nil {
		t.Fatal(err)
	}
	if one.right < 0.95 || one.model != other.model || !bytes.Equal(one.sheet.Pix, other.sheet.Pix) {
		t.Errorf("%.3f of the pixels are right; the models are the same: %t", one.right, one.model == other.model)
	}
	blind, err := train(t.Context(), pipeline.Options{BatchSize: 4, Seed: 7}, 0)
	if err != nil || blind.right >= one.right {
		t.Errorf("without crops %.3f are right, %v", blind.right, err)
	}
	path := filepath.Join(t.TempDir(), "sheet.png")
	if err := write(path, 8, 7); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Size() < 1000 {
		t.Errorf("%v %v", info, err)
	}
	if err := write(filepath.Join(path, "nowhere.png"), 8, 7); err == nil {
		t.Error("a folder that is a file: no error")
	}
}

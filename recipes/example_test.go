package recipes_test

import (
	"context"
	"fmt"
	"log"

	"github.com/bivouac-ml/bivouac/op/augment"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/pipeline/fn"
	"github.com/bivouac-ml/bivouac/recipes"
	"github.com/bivouac-ml/bivouac/tensor"
)

// squares gives two gray images.
func squares(context.Context, pipeline.BatchInfo) ([]pipeline.Data, error) {
	var list []tensor.Tensor
	for _, v := range []byte{50, 200} {
		t := tensor.New(tensor.Uint8, 2, 2, 3)
		t.Layout = "HWC"
		for i := range t.Data {
			t.Data[i] = v
		}
		list = append(list, t)
	}
	return []pipeline.Data{list}, nil
}

// warm moves colours from blue to red.
func warm(out, in tensor.Tensor, magnitude float64) error {
	for i := 0; i < len(in.Data); i += 3 {
		shift := int(magnitude)
		out.Data[i] = byte(min(int(in.Data[i])+shift, 255))
		out.Data[i+1] = in.Data[i+1]
		out.Data[i+2] = byte(max(int(in.Data[i+2])-shift, 0))
	}
	return nil
}

func init() { augment.Register("warm", true, warm) }

func Example_own() {
	ctx := context.Background()
	def, err := pipeline.Define(pipeline.Options{BatchSize: 2, Seed: 3}, func(p *pipeline.Builder) []pipeline.Node {
		images := pipeline.ExternalSource(p, pipeline.BatchFunc(squares), pipeline.SourceOptions{})[0]
		images = fn.AutoAugment(p, images, fn.AutoAugmentArgs{
			Augmentations: []string{"warm 0 50", "invert"},
			Policy:        []string{"warm 1 4; invert 1"},
		})
		return []pipeline.Node{images}
	})
	if err != nil {
		log.Fatal(err)
	}
	pipe, err := def.New(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer pipe.Close()
	batch, err := pipe.Next(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for i := range 2 {
		fmt.Println(batch.Outputs[0].Sample(i).Data[:3])
	}
	// Output:
	// [185 205 225]
	// [35 55 75]
}

func Example_policy() {
	ctx := context.Background()
	def, err := pipeline.Define(pipeline.Options{BatchSize: 2, Seed: 3}, func(p *pipeline.Builder) []pipeline.Node {
		images := pipeline.ExternalSource(p, pipeline.BatchFunc(squares), pipeline.SourceOptions{})[0]
		images = fn.AutoAugment(p, images, fn.AutoAugmentArgs{
			Augmentations: []string{"brightness 0.5 1.5", "invert"},
			Policy:        []string{"brightness 1 10; invert 0.5", "invert 1"},
		})
		return []pipeline.Node{images}
	})
	if err != nil {
		log.Fatal(err)
	}
	pipe, err := def.New(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer pipe.Close()
	batch, err := pipe.Next(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for i := range 2 {
		fmt.Println(batch.Outputs[0].Sample(i).Data[:3])
	}
	// Output:
	// [180 180 180]
	// [55 55 55]
}

func Example_recipe() {
	r, err := recipes.Get("timm-train")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.Inputs(), "magnitude", r.Settings()["magnitude"])
	def, err := pipeline.Define(pipeline.Options{BatchSize: 1}, func(p *pipeline.Builder) []pipeline.Node {
		jpegs, labels := fn.ReadersFile(p, fn.ReadersFileArgs{FileRoot: "train"})
		return append(r.Append(p, map[string]any{"size": 160, "magnitude": 7}, jpegs), labels)
	})
	fmt.Println(def != nil, err)
	// Output:
	// [files] magnitude 9
	// true <nil>
}

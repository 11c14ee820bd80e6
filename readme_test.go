package bivouac_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/pipeline/fn"
)

// weights stands for the trainer of the README's example.
type weights struct{ W []float32 }

func (m *weights) Train(*pipeline.Batch) {}

// The lines between the marks are the example of the README.
func readme(ctx context.Context, model *weights) error {
	// begin
	def, err := pipeline.Define(pipeline.Options{BatchSize: 64, Seed: 7}, func(p *pipeline.Builder) []pipeline.Node {
		jpegs, labels := fn.ReadersFile(p, fn.ReadersFileArgs{FileRoot: "digits/train", RandomShuffle: true})
		images := fn.DecodersImage(p, jpegs, fn.DecodersImageArgs{})
		images = fn.RandomResizedCrop(p, images, fn.RandomResizedCropArgs{Size: []int{28}, RandomArea: []float64{0.8, 1}})
		return []pipeline.Node{fn.CropMirrorNormalize(p, images, fn.CropMirrorNormalizeArgs{}), labels}
	})
	if err != nil {
		return err
	}
	pipe, err := def.New(ctx, nil)
	if err != nil {
		return err
	}
	job, err := bivouac.Open(ctx, "runs/digits", pipe, bivouac.Options{State: model, SaveEvery: 100, Keep: 3, Steps: 1000})
	if err != nil {
		return err
	}
	defer job.Close()
	for batch, err := range job.Steps(ctx) { // carries on after the last committed step, whatever happened
		if err != nil {
			return err
		}
		model.Train(batch)
	}
	// end
	return nil
}

var _ = readme

// The README shows the code above, which compiles.
func TestReadmeExample(t *testing.T) {
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := 0
	for _, file := range []string{"readme_test.go", "readme_data_test.go"} {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range strings.Split(string(source), "\t// begin\n")[1:] {
			code, _, ok := strings.Cut(part, "\t// end\n")
			if !ok {
				t.Fatalf("%s: no end of an example", file)
			}
			var want strings.Builder
			for line := range strings.Lines(code) {
				want.WriteString(strings.TrimPrefix(line, "\t"))
			}
			if !strings.Contains(string(page), "```go\n"+want.String()+"```\n") {
				t.Errorf("README.md does not show the example as it compiles:\n%s", want.String())
			}
			examples++
		}
	}
	if examples != 3 {
		t.Errorf("%d examples, want 3", examples)
	}
}

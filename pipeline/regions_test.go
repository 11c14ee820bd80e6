package pipeline_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/pipeline/fn"
	"github.com/bivouac-ml/bivouac/proof/photos"
)

// Decoding only what a crop will read gives what decoding the whole image gives: in
// the second pipeline the whole images are delivered as well.
func TestRegionsChangeNothing(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "photos"), 0o777); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		b, err := photos.JPEG(i)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "photos", fmt.Sprintf("%d.jpg", i)), b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	crops := map[string]func(p *pipeline.Builder, images pipeline.Node) pipeline.Node{
		"crop": func(p *pipeline.Builder, images pipeline.Node) pipeline.Node {
			return fn.Crop(p, images, fn.CropArgs{Crop: op.Const([]float64{101, 77}),
				CropPosX: op.Of[float64](fn.RandomUniform(p, fn.RandomUniformArgs{Range: op.Const([]float64{0, 1})}))})
		},
		"mirrored": func(p *pipeline.Builder, images pipeline.Node) pipeline.Node {
			return fn.CropMirrorNormalize(p, images, fn.CropMirrorNormalizeArgs{Crop: op.Const([]float64{64, 64}), Mirror: op.Const(1)})
		},
	}
	for kind := op.InterpNN; kind <= op.InterpGaussian; kind++ {
		for _, antialias := range []bool{false, true} {
			crops[fmt.Sprintf("%v %v", kind, antialias)] = func(p *pipeline.Builder, images pipeline.Node) pipeline.Node {
				return fn.RandomResizedCrop(p, images, fn.RandomResizedCropArgs{Size: []int{60, 300},
					RandomArea: []float64{0.01, 0.6},
					InterpType: op.Const(kind), Antialias: op.Const(antialias)})
			}
		}
	}
	for name, crop := range crops {
		deliver := func(images bool) []string {
			return digests(t, 9, func(p *pipeline.Builder) []pipeline.Node {
				jpegs, _ := fn.ReadersFile(p, fn.ReadersFileArgs{FileRoot: dir, RandomShuffle: true})
				decoded := fn.DecodersImage(p, jpegs, fn.DecodersImageArgs{})
				out := []pipeline.Node{crop(p, decoded)}
				if images {
					out = append(out, decoded)
				}
				return out
			})
		}
		if d := cmp.Diff(deliver(true), deliver(false)); d != "" {
			t.Errorf("%s: results differ:\n%s", name, d)
		}
	}
}

// digests runs a graph for n samples and returns a digest of each of its first output's.
func digests(t *testing.T, n int, define func(p *pipeline.Builder) []pipeline.Node) []string {
	t.Helper()
	def, err := pipeline.Define(pipeline.Options{BatchSize: 4, Workers: 2, Seed: 5, Tail: order.Span}, define)
	if err != nil {
		t.Fatal(err)
	}
	p, err := def.New(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close() //nolint:errcheck // nothing was written
	var list []string
	for len(list) < n {
		b, err := p.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for s := range b.Outputs[0].NumSamples() {
			x := b.Outputs[0].Sample(s)
			list = append(list, fmt.Sprintf("%v %x", slices.Clone(x.Shape), sha256.Sum256(x.Data)))
		}
	}
	return list
}

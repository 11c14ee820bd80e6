package pipeline_test

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"image"
	"image/color"
	"image/jpeg"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/pipeline/fn"
	"github.com/bivouac-ml/bivouac/tensor"
)

func TestMain(m *testing.M) {
	if name := os.Getenv(killedReader); name != "" {
		os.Exit(killedMain(name))
	}
	goleak.VerifyTestMain(m)
}

// classes of the generated data sets.
var classes = []string{"ant", "bee", "cow"}

// dataset writes n small JPEGs of different sizes into class folders.
func dataset(t testing.TB, n int) string {
	t.Helper()
	dir := t.TempDir()
	random := rand.New(rand.NewPCG(1, uint64(n)))
	for i := range n {
		img := image.NewRGBA(image.Rect(0, 0, 12+random.IntN(20), 10+random.IntN(24)))
		for y := range img.Rect.Max.Y {
			for x := range img.Rect.Max.X {
				img.Set(x, y, color.RGBA{uint8(7*x + i), uint8(5*y + 3*i), uint8(x * y), 255})
			}
		}
		path := filepath.Join(dir, classes[i%len(classes)], fmt.Sprintf("%04d.jpg", i))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := jpeg.Encode(f, img, nil); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// training is the pipeline of an image classifier, and more: an output whose
// shape differs from sample to sample, one that no kernel makes, and random
// numbers by themselves. Some samples take another branch than others.
func training(dir string) func(p *pipeline.Builder) []pipeline.Node {
	return func(p *pipeline.Builder) []pipeline.Node {
		jpegs, labels := fn.ReadersFile(p, fn.ReadersFileArgs{FileRoot: dir, RandomShuffle: true})
		decoded := fn.DecodersImage(p, jpegs, fn.DecodersImageArgs{})
		images := fn.RandomResizedCrop(p, decoded, fn.RandomResizedCropArgs{Size: []int{9, 8}, RandomArea: []float64{0.5, 1}})
		images = fn.BrightnessContrast(p, images, fn.BrightnessContrastArgs{
			Brightness: op.Of[float64](fn.RandomUniform(p, fn.RandomUniformArgs{Range: op.Const([]float64{0.8, 1.2})})),
			Contrast:   op.Of[float64](fn.RandomUniform(p, fn.RandomUniformArgs{Range: op.Const([]float64{0.8, 1.2})})),
		})
		images = fn.CropMirrorNormalize(p, images, fn.CropMirrorNormalizeArgs{
			Mirror: op.Of[int](fn.RandomCoinFlip(p, fn.RandomCoinFlipArgs{})),
			Mean:   op.Const([]float64{120, 110, 100}), Std: op.Const([]float64{60}),
		})
		images = p.If(fn.RandomUniform(p, fn.RandomUniformArgs{}).Less(0.4),
			func() []pipeline.Node {
				return []pipeline.Node{images.Add(fn.RandomUniform(p, fn.RandomUniformArgs{}).Mul(images.Index(0, 0, 0)))}
			},
			func() []pipeline.Node { return []pipeline.Node{images} })[0]
		return []pipeline.Node{images, labels, decoded, jpegs,
			fn.RandomUniform(p, fn.RandomUniformArgs{Name: "noise", Shape: op.Const([]int{3})})}
	}
}

func start(t testing.TB, o pipeline.Options, define func(p *pipeline.Builder) []pipeline.Node) *pipeline.Pipeline {
	t.Helper()
	d, err := pipeline.Define(o, define)
	if err != nil {
		t.Fatal(err)
	}
	p, err := d.New(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

func next(t testing.TB, p *pipeline.Pipeline) *pipeline.Batch {
	t.Helper()
	b, err := p.Next(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func save(t testing.TB, p *pipeline.Pipeline) []byte {
	t.Helper()
	b, err := p.AppendState(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// consumer hashes everything about the batches it is given.
type consumer struct{ h hash.Hash }

func newConsumer() consumer { return consumer{sha256.New()} }

func (c consumer) take(b *pipeline.Batch) {
	word := func(v ...int64) { binary.Write(c.h, binary.LittleEndian, v) }
	word(b.Epoch, b.Index, b.Position, int64(len(b.IDs)))
	word(b.IDs...)
	for _, out := range b.Outputs {
		word(int64(out.DType), int64(out.NumSamples()))
		for s := range out.NumSamples() {
			t := out.Sample(s)
			for _, d := range t.Shape {
				word(int64(d))
			}
			c.h.Write(t.Data)
		}
	}
}

func (c consumer) sum() string { return hex.EncodeToString(c.h.Sum(nil)[:8]) }

// digestOf returns the hash of one batch.
func digestOf(b *pipeline.Batch) string {
	c := newConsumer()
	c.take(b)
	return c.sum()
}

func ints(v ...int32) tensor.Tensor { return tensor.FromSlice(v, len(v)) }

// firsts returns the first number of each sample.
func firsts(t testing.TB, b *pipeline.Batch) []any {
	t.Helper()
	list := []any{}
	for s := range b.Outputs[0].NumSamples() {
		v, err := tensor.Of[int32](b.Outputs[0].Sample(s))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, float64(v[0]))
	}
	return list
}

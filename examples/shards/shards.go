// Package shards is an example of classification: images and labels in WebDataset archives go
// through a pipeline that decodes random windows and flips them.
package shards

import (
	"strconv"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/pipeline/fn"
)

// Size is the height and width of the images.
const Size = 32

// Define returns a pipeline over archives whose samples are an image (jpg or png) and its label as
// text (cls). Its outputs are images of shape [3, Size, Size] from -1 to 1, and the texts. The
// samples come in a new random order in each epoch, from all archives.
func Define(o pipeline.Options, archives []string) (*pipeline.Definition, error) {
	return pipeline.Define(o, func(p *pipeline.Builder) []pipeline.Node {
		read := fn.ReadersWebdataset(p, fn.ReadersWebdatasetArgs{
			Paths: archives, Ext: []string{"jpg;png", "cls"}, MissingComponentBehavior: "error", RandomShuffle: true,
		})
		encoded, labels := read[0], read[1]
		window := fn.DecodersImageRandomCrop(p, encoded, fn.DecodersImageRandomCropArgs{RandomArea: []float64{0.3, 1}})
		resized := fn.Resize(p, window, fn.ResizeArgs{Size: op.Const([]float64{Size, Size})})[0]
		flip := fn.RandomCoinFlip(p, fn.RandomCoinFlipArgs{})
		normal := fn.CropMirrorNormalize(p, resized, fn.CropMirrorNormalizeArgs{
			Mean: op.Const([]float64{127.5}), Std: op.Const([]float64{127.5}), Mirror: op.Of[int](flip),
		})
		return []pipeline.Node{normal, labels}
	})
}

// Label returns the label that a text says.
func Label(text []byte) (int, error) {
	label, err := strconv.Atoi(string(text))
	if err != nil || label < 0 {
		return 0, &errs.Error{Kind: errs.Invalid, Op: "shards.Label", Want: "a number of at least 0",
			Got: strconv.Quote(string(text))}
	}
	return label, nil
}

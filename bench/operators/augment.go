package main

import (
	"github.com/bivouac-ml/bivouac/bench/internal/turns"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/pipeline/fn"
	"github.com/bivouac-ml/bivouac/tensor"
)

// onAugment are the comparisons of automatic augmentation, on images of 224x224.
var onAugment = []turns.Comparison{
	compare("rand-augment", "rand_augment(n=2, m=9), 224x224", "sample", dali(1)),
	compare("trivial-augment", "trivial_augment_wide, 224x224", "sample", dali(1)),
	compare("auto-augment", "auto_augment with the policy image_net, 224x224", "sample", dali(1)),
}

// square is the image that augment.py makes.
func square() tensor.Tensor {
	const side = 224
	t := tensor.New(tensor.Uint8, side, side, 3)
	t.Layout = "HWC"
	for y := range side {
		for x := range side {
			for c := range 3 {
				t.Data[(y*side+x)*3+c] = byte(x + y*(c+1)/2 + (x*7^y*5)%32)
			}
		}
	}
	return t
}

var augmentGraphs = map[string]func(p *pipeline.Builder) []pipeline.Node{
	"rand-augment": func(p *pipeline.Builder) []pipeline.Node {
		return []pipeline.Node{fn.RandAugment(p, fixed(p, square()), fn.RandAugmentArgs{N: op.Const(2), M: op.Const(9.0)})}
	},
	"trivial-augment": func(p *pipeline.Builder) []pipeline.Node {
		return []pipeline.Node{fn.TrivialAugmentWide(p, fixed(p, square()), fn.TrivialAugmentWideArgs{})}
	},
	"auto-augment": func(p *pipeline.Builder) []pipeline.Node {
		return []pipeline.Node{fn.AutoAugment(p, fixed(p, square()), fn.AutoAugmentArgs{})}
	},
}

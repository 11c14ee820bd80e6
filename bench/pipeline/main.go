// Pipeline measures pipelines against DALI, torchvision, OpenCV, Pillow and the
// limits of the machine.
//
//	go run ./bench/pipeline                                Bivouac and the limits
//	go run ./bench/pipeline -python .peers-pipeline/bin/python   and DALI, OpenCV, Pillow (bench/pipeline/peers)
//	go run ./bench/pipeline -only train,decode -threads 1  less of it
//
// The data set is 512 generated JPEG files of about 500x375 pixels. Every side of a comparison is a
// process of its own that builds what it needs, waits for its turn and times itself, several
// rounds, each beginning with another side, so that other load on the machine hits all of them. The
// words of delivered batches are folded into one, which proves that they were read. What counts is
// the ratio of medians in one run.
//
// The tables go to standard output, every sample to a JSON file below bench/results.
package main

import (
	"github.com/bivouac-ml/bivouac/bench/internal/child"
	"github.com/bivouac-ml/bivouac/bench/internal/turns"
)

var (
	ours        = turns.Side{Name: "Bivouac", Who: "bivouac"}
	dali        = func(target float64) turns.Side { return turns.Side{Name: "DALI", Who: "dali", Target: target} }
	torchvision = func(target float64) turns.Side {
		return turns.Side{Name: "torchvision", Who: "torchvision", Target: target}
	}
)

// comparisons in the order in which they run. The targets come from the design.
var comparisons = []turns.Comparison{
	{Name: "train", Title: "JPEG files to random crops of 224x224, mirrored and normalised", Unit: "image",
		Sides: []turns.Side{ours, dali(2), torchvision(2.5)}, Threaded: true},
	{Name: "region", Title: "the same, decoding only the region of the crop", Unit: "image", Sides: []turns.Side{ours, dali(1.8)}, Threaded: true},
	{Name: "decode", Title: "JPEG to RGB", Unit: "image", Sides: []turns.Side{ours, {Name: "libjpeg-turbo in C", Who: "c", Target: 0.97}, dali(1),
		torchvision(1), {Name: "OpenCV", Who: "opencv"}, {Name: "Pillow", Who: "pillow"}}, Threaded: true},
	{Name: "decode-region", Title: "random regions of JPEG to RGB", Unit: "image", Sides: []turns.Side{ours, dali(1.2)}, Threaded: true},
	{Name: "resize", Title: "resize 500x375 to 224x224, antialiased", Unit: "image",
		Sides: []turns.Side{ours, dali(5), {Name: "Pillow", Who: "pillow", Target: 2}}, Threaded: true},
	{Name: "resize-linear", Title: "resize 500x375 to 224x224, linear, not antialiased", Unit: "image",
		Sides: []turns.Side{ours, dali(3), {Name: "OpenCV", Who: "opencv", Target: 0.7}}, Threaded: true},
	{Name: "normalize", Title: "crop, mirror, normalise 224x224 to float32 CHW", Unit: "image",
		Sides: []turns.Side{ours, {Name: "memory: reads and writes of the same bytes", Who: "limit", Target: 0.5}, dali(1.5)}, Threaded: true},
	{Name: "blur", Title: "gaussian blur 224x224, sigma 1", Unit: "image", Sides: []turns.Side{ours, dali(1.5)}, Threaded: true},
	{Name: "constant-1", Title: "a graph of one constant, batch 1", Unit: "iteration", Sides: []turns.Side{ours, dali(10)}},
	{Name: "constant-64", Title: "a graph of one constant, batch 64", Unit: "iteration", Sides: []turns.Side{ours, dali(10)}},
	{Name: "uniform-64", Title: "one random.uniform, batch 64", Unit: "iteration", Sides: []turns.Side{ours, dali(10)}},
	{Name: "source-batch", Title: "external source of 64 arrays of 1 kB, by batch", Unit: "iteration", Sides: []turns.Side{ours, dali(10)}},
	{Name: "source-sample", Title: "external source of 64 arrays of 1 kB, by sample", Unit: "iteration", Sides: []turns.Side{ours, dali(10)}},
	{Name: "checkpoint", Title: "a checkpoint of a running pipeline", Unit: "call", Sides: []turns.Side{ours, dali(0)}},
}

func main() {
	b := &turns.Bench{
		Name: "pipeline", Comparisons: comparisons, Own: []string{"bivouac", "limit"}, Begin: begin, Prepare: makeImages,
		Peers: map[string]string{"python": "DALI, OpenCV and Pillow", "torch": "torchvision"},
	}
	b.Start = map[string]func() (*child.Process, error){"c": func() (*child.Process, error) { return startC(b.Source) }}
	b.Main()
}

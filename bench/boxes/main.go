// Boxes measures operators on boxes and masks against DALI.
//
//	go run ./bench/boxes                                  Bivouac alone
//	go run ./bench/boxes -python .peers-boxes/bin/python  and DALI (bench/boxes/peers)
//	go run ./bench/boxes -only encode -threads 1          less of it
//
// A batch has 64 samples, which both sides make by the same rule. The rules of bench/pipeline hold:
// every side is a process of its own, the rounds are interleaved, and the ratio of medians in one
// run counts.
//
// The tables go to standard output, every sample to a JSON file below bench/results.
package main

import "github.com/bivouac-ml/bivouac/bench/internal/turns"

var (
	ours = turns.Side{Name: "Bivouac", Who: "bivouac"}
	dali = turns.Side{Name: "DALI", Who: "dali", Target: 3}
)

// comparisons in the order in which they run.
var comparisons = []turns.Comparison{
	row("flip", "bb_flip of 100 boxes"),
	row("paste", "bbox_paste of 100 boxes"),
	row("rotate", "bbox_rotate of 100 boxes with labels"),
	row("encode", "box_encoder of 20 boxes for 8,732 anchors"),
	row("crop", "random_bbox_crop of 20 boxes"),
	row("ssd-crop", "ssd_random_crop of 20 boxes, 100x100 images"),
	row("pixel", "a random pixel of the foreground of a 512x512 mask"),
	row("object", "a random object of a 512x512 mask with 200 blobs"),
	row("select", "10 of 20 polygons with 50 vertices each"),
	row("numpy", "npy files of 64 kB to float32"),
}

func row(name, title string) turns.Comparison {
	return turns.Comparison{Name: name, Title: title, Unit: "sample", Sides: []turns.Side{ours, dali}, Threaded: true}
}

func main() {
	b := &turns.Bench{Name: "boxes", Comparisons: comparisons, Own: []string{"bivouac"}, Begin: begin,
		Peers: map[string]string{"python": "DALI"}}
	b.Prepare = func(string) error { return nil }
	b.Main()
}

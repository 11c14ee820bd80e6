package main

import (
	"github.com/bivouac-ml/bivouac/bench/internal/turns"
	"github.com/bivouac-ml/bivouac/format/npy"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/pipeline/fn"
	"github.com/bivouac-ml/bivouac/tensor"
)

// onBoxes are the comparisons on boxes, masks and arrays.
var onBoxes = []turns.Comparison{
	compare("flip", "bb_flip of 100 boxes", "sample", dali(3)),
	compare("paste", "bbox_paste of 100 boxes", "sample", dali(3)),
	compare("rotate", "bbox_rotate of 100 boxes with labels", "sample", dali(3)),
	compare("encode", "box_encoder of 20 boxes for 8,732 anchors", "sample", dali(3)),
	compare("crop", "random_bbox_crop of 20 boxes", "sample", dali(3)),
	compare("ssd-crop", "ssd_random_crop of 20 boxes, 100x100 images", "sample", dali(3)),
	compare("pixel", "a random pixel of the foreground of a 512x512 mask", "sample", dali(3)),
	compare("object", "a random object of a 512x512 mask with 200 blobs", "sample", dali(3)),
	compare("select", "10 of 20 polygons with 50 vertices each", "sample", dali(3)),
	compare("numpy", "npy files of 64 kB to float32", "sample", dali(3)),
}

// boxes returns n boxes: box i is the same in every sample, and in boxes.py.
func boxes(n int) tensor.Tensor {
	t := tensor.New(tensor.Float32, n, 4)
	v, _ := tensor.Of[float32](t)
	for i := range n {
		x, y := float32(i*37%80)/100, float32(i*53%80)/100
		copy(v[4*i:], []float32{x, y, x + float32(5+i%15)/100, y + float32(5+i*7%15)/100})
	}
	return t
}

func labels(n int) tensor.Tensor {
	v := make([]int32, n)
	for i := range v {
		v[i] = int32(i + 1)
	}
	return tensor.FromSlice(v, n)
}

// anchors are the boxes of a grid, of which SSD has 8,732.
func anchors() []float64 {
	var all []float64
	for i := 0; len(all) < 4*8732; i++ {
		x, y, side := float64(i%97)/100, float64(i/97%97)/100, float64(1+i%30)/100
		all = append(all, x, y, min(x+side, 1), min(y+side, 1))
	}
	return all
}

// mask has rectangles of three labels.
func mask() tensor.Tensor {
	const side = 512
	t := tensor.New(tensor.Uint8, side, side)
	for i := range 200 {
		top, left := i*97%480, i*61%480
		for y := top; y < top+4+i%28; y++ {
			for x := left; x < left+4+i*3%28; x++ {
				t.Data[y*side+x] = byte(1 + i%3)
			}
		}
	}
	return t
}

func picture() tensor.Tensor {
	t := tensor.New(tensor.Uint8, 100, 100, 3)
	for i := range t.Data {
		t.Data[i] = byte(i * 7)
	}
	t.Layout = "HWC"
	return t
}

// polygons returns 20 polygons of 50 vertices, and the numbers of 10 of them.
func polygons() (ids, table, vertices tensor.Tensor) {
	chosen, rows := []int32{}, []int32{}
	for i := range int32(20) {
		if rows = append(rows, i, 50*i, 50*i+50); i%2 == 0 {
			chosen = append(chosen, i)
		}
	}
	vertices = tensor.New(tensor.Float32, 1000, 2)
	v, _ := tensor.Of[float32](vertices)
	for i := range v {
		v[i] = float32(i)
	}
	return tensor.FromSlice(chosen, 10), tensor.FromSlice(rows, 20, 3), vertices
}

func file() (tensor.Tensor, error) {
	x := tensor.New(tensor.Int32, 128, 128)
	for i := range x.Data {
		x.Data[i] = byte(i % 100)
	}
	b, err := npy.Encode(x, nil)
	return tensor.Tensor{DType: tensor.Uint8, Shape: tensor.Shape{len(b)}, Data: b}, err
}

// boxGraphs are Bivouac's side: the graphs of boxes.py in Go.
var boxGraphs = map[string]func(p *pipeline.Builder) []pipeline.Node{
	"flip": func(p *pipeline.Builder) []pipeline.Node {
		return []pipeline.Node{fn.BbFlip(p, fixed(p, boxes(100)), fn.BbFlipArgs{Ltrb: true})}
	},
	"paste": func(p *pipeline.Builder) []pipeline.Node {
		return []pipeline.Node{fn.BboxPaste(p, fixed(p, boxes(100)), fn.BboxPasteArgs{Ltrb: true, Ratio: op.Const(2.0)})}
	},
	"rotate": func(p *pipeline.Builder) []pipeline.Node {
		return p.Op("bbox_rotate", op.Args{"angle": 30.0, "input_shape": []int{480, 640}, "keep_size": true},
			fixed(p, boxes(100)), fixed(p, labels(100)))
	},
	"encode": func(p *pipeline.Builder) []pipeline.Node {
		return p.Op("box_encoder", op.Args{"anchors": anchors(), "offset": true},
			fixed(p, boxes(20)), fixed(p, labels(20)))
	},
	"crop": func(p *pipeline.Builder) []pipeline.Node {
		return p.Op("random_bbox_crop", op.Args{"thresholds": []float64{0.1, 0.3, 0.5}, "scaling": []float64{0.3, 1}, "aspect_ratio": []float64{0.5, 2},
			"allow_no_crop": false, "total_num_attempts": 50, "num_attempts": 10, "quiet": true},
			fixed(p, boxes(20)), fixed(p, labels(20)))
	},
	"ssd-crop": func(p *pipeline.Builder) []pipeline.Node {
		return p.Op("ssd_random_crop", op.Args{"num_attempts": 10},
			fixed(p, picture()), fixed(p, boxes(20)), fixed(p, labels(20)))
	},
	"pixel": func(p *pipeline.Builder) []pipeline.Node {
		return p.Op("segmentation.random_mask_pixel", op.Args{"foreground": 1, "value": 2},
			fixed(p, mask()))
	},
	"object": func(p *pipeline.Builder) []pipeline.Node {
		return p.Op("segmentation.random_object_bbox", op.Args{"k_largest": 10},
			fixed(p, mask()))
	},
	"select": func(p *pipeline.Builder) []pipeline.Node {
		ids, table, vertices := polygons()
		return p.Op("segmentation.select_masks", op.Args{"reindex_masks": true},
			fixed(p, ids), fixed(p, table), fixed(p, vertices))
	},
	"numpy": func(p *pipeline.Builder) []pipeline.Node {
		x, err := file()
		if err != nil {
			panic(err) // the array is fixed
		}
		return p.Op("decoders.numpy", op.Args{"dtype": tensor.Float32},
			fixed(p, x))
	},
}

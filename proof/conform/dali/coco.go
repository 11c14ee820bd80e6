package dali

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/proof/conform/suite"
	"github.com/bivouac-ml/bivouac/tensor"
)

var cocoData = dataSet{
	orders:      func(ctx context.Context, c *orderCase) (op.Args, error) { return cocoSet(ctx, c.Params.N) },
	checkpoints: cocoSet,
	recorded:    []int{0}, // the images
	sample:      cocoSample,
}

// cocoSet is the data set of n images in COCO's format of the vectors. It returns the arguments of
// the reader. The cases share it.
func cocoSet(ctx context.Context, n int) (op.Args, error) {
	type object = map[string]any
	root := filepath.Join(suite.Scratch(ctx), fmt.Sprintf("coco-%d", n))
	args := op.Args{"file_root": root, "annotations_file": filepath.Join(root, "ann.json")}
	if _, err := os.Stat(root); err == nil {
		return args, nil
	}
	if err := os.MkdirAll(root, 0o777); err != nil {
		return nil, err
	}
	categories := []int{3, 7, 18, 44}
	var images, annotations []object
	for i := range n {
		name := fmt.Sprintf("im%03d.jpg", i)
		if err := os.WriteFile(filepath.Join(root, name), fmt.Append(nil, i), 0o666); err != nil {
			return nil, err
		}
		w, h := 100+7*i, 80+5*i
		images = append(images, object{"id": 1000 + 3*i, "width": w, "height": h, "file_name": name})
		for j := range i % 4 {
			x, y, bw, bh := 3.5*float64(j)+float64(i), 2.25*float64(j)+1, 20.5+float64(j), 10.75+float64(i)
			if j == 2 {
				bw = 0.05
			}
			a := object{"id": len(annotations) + 1, "image_id": 1000 + 3*i, "category_id": categories[(i+j)%4],
				"bbox": []float64{x, y, bw, bh}, "area": bw * bh, "iscrowd": 0,
				"segmentation": [][]float64{{x, y, x + bw, y, x + bw, y + bh, x, y + bh}}}
			if i == 5 && j == 0 {
				a["iscrowd"], a["segmentation"] = 1, object{"counts": []int{10, 20, w*h - 30}, "size": []int{h, w}}
			}
			annotations = append(annotations, a)
		}
	}
	var list []object
	for _, c := range categories {
		list = append(list, object{"id": c, "name": fmt.Sprint("cat", c)})
	}
	b, err := json.Marshal(object{"images": images, "annotations": annotations, "categories": list})
	if err != nil {
		return nil, err
	}
	return args, os.WriteFile(filepath.Join(root, "ann.json"), b, 0o666)
}

// cocoSample is the number of the image, and each output behind it with its dtype and shape.
func cocoSample(_ *orderCase, outputs []tensor.Tensor) (any, error) {
	index, err := fileIndex(outputs[0].Data)
	list := []any{index}
	for _, t := range outputs[1:] {
		data := make([]float64, t.Shape.Len())
		for i := range data {
			data[i], _ = t.Float64(i)
		}
		list = append(list, map[string]any{"dtype": t.DType.String(), "shape": append([]int{}, t.Shape...), "data": data})
	}
	return list, err
}

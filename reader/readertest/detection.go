package readertest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/bivouac-ml/bivouac/op"
)

// COCO makes images with a file of annotations in COCO's format. Image i has i%3 boxes.
func COCO(dir string, n int) (string, op.Args, error) {
	type object = map[string]any
	images, annotations := []object{}, []object{}
	for i := range n {
		name := fmt.Sprintf("%06d.jpg", i)
		if err := os.WriteFile(filepath.Join(dir, name), fmt.Append(nil, "image ", i), 0o666); err != nil {
			return "", nil, err
		}
		images = append(images, object{"id": 10 + i, "file_name": name, "width": 32, "height": 24})
		for k := range i % 3 {
			x, y := float64(k+i%8), float64(2*k)
			annotations = append(annotations, object{"id": len(annotations) + 1, "image_id": 10 + i, "category_id": 5 + k,
				"iscrowd": 0, "area": 12,
				"bbox": []float64{x, y, 4, 3}, "segmentation": [][]float64{{x, y, x + 4, y, x + 4, y + 3, x, y + 3}}})
		}
	}
	b, err := json.Marshal(object{"images": images, "annotations": annotations,
		"categories": []object{{"id": 5, "name": "a"}, {"id": 6, "name": "b"}}})
	if err != nil {
		return "", nil, err
	}
	file := filepath.Join(dir, "annotations.json")
	return "readers.coco", op.Args{"file_root": dir, "annotations_file": file, "image_ids": true}, os.WriteFile(file,
		b, 0o666)
}

// COCOMasks makes the same data set as COCO, whose masks are read.
func COCOMasks(dir string, n int) (string, op.Args, error) {
	reader, args, err := COCO(dir, n)
	if err == nil {
		args["pixelwise_masks"] = true
	}
	return reader, args, err
}

// Package debug holds operators that show the values in a graph.
package debug

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"sync"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	op.Register(op.Schema{
		Name: "dump_image", Keep: true, Stateful: true,
		Doc: "Writes each image to a file in the working directory and returns it. The name of the file has the place in the batch, " +
			"the suffix and 0, such as 3-suffix-0.ppm, so that a batch overwrites the files of the previous batch. The format is PNM in text.",
		Inputs:  []op.Port{{Name: "image", Doc: "an image of 1 or 3 channels, layout HWC", DTypes: []tensor.DType{tensor.Uint8}, Layouts: []string{"HWC"}}},
		Outputs: []op.Port{{Name: "same", Doc: "the image"}},
		Params: []op.Parameter{
			{Name: "input_layout", Type: op.String, Default: "HWC", Doc: "Layout of the image; only HWC is allowed."},
			{Name: "suffix", Type: op.String, Default: "", Doc: "Part of the names of the files."},
		},
		New: func(c *op.Config) (op.Kernel, error) {
			if layout := op.Get[string](c, "input_layout"); layout != "HWC" {
				return nil, c.Unsupported("input_layout", "HWC", layout)
			}
			return &dump{suffix: op.Get[string](c, "suffix")}, nil
		},
	})
}

type dump struct {
	suffix string
	mu     sync.Mutex // batches that are made at the same time write the same files
}

// Infer implements op.Kernel.
func (*dump) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if s := in[0].Shape; s != nil {
		if err := check(s); err != nil {
			return nil, err
		}
	}
	return in[:1], nil
}

func check(s tensor.Shape) error {
	bad := func(want, got string) error {
		return &errs.Error{Kind: errs.Mismatch, Subject: "input 0 (image)", Want: want, Got: got}
	}
	if len(s) != 3 {
		return bad("3 dimensions", fmt.Sprint(len(s)))
	}
	if c := s[2]; c >= 0 && c != 1 && c != 3 {
		return bad("1 or 3 channels", fmt.Sprint(c))
	}
	return nil
}

// Run implements op.Kernel.
func (k *dump) Run(b *op.Block) error {
	for s := range b.Len() {
		image := b.In(0, s)
		if err := check(image.Shape); err != nil {
			b.Fail(s, err)
			continue
		}
		if err := k.write(strconv.Itoa(b.Slot(s))+"-"+k.suffix+"-0.ppm", image); err != nil {
			b.Fail(s, err)
			continue
		}
		b.Alias(0, s, image)
	}
	return nil
}

func (k *dump) write(name string, image tensor.Tensor) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := os.WriteFile(name, pnm(image), 0o666); err != nil {
		return &errs.Error{Kind: errs.IO, Subject: name, Err: err}
	}
	return nil
}

// pnm returns an image as PNM in text, with one row per line.
func pnm(image tensor.Tensor) []byte {
	var b bytes.Buffer
	format := "P3"
	if image.Shape[2] == 1 {
		format = "P2"
	}
	fmt.Fprintf(&b, "%s\n%d %d\n255\n", format, image.Shape[1], image.Shape[0])
	row := image.Shape[1] * image.Shape[2]
	for i, v := range image.Data {
		b.WriteString(strconv.Itoa(int(v)))
		b.WriteByte(' ')
		if (i+1)%row == 0 {
			b.WriteByte('\n')
		}
	}
	return b.Bytes()
}

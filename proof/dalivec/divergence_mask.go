package dalivec

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/op/optest"
	"github.com/bivouac-ml/bivouac/tensor"
)

// maskedFrames: DALI takes a sequence or a volume for one picture, masks the beginning of it and
// leaves the rest of the memory unset. Bivouac masks every picture.
var maskedFrames = divergence{
	name: "grid_mask_frames",
	applies: func(c *Case) bool {
		return c.Op == "grid_mask" && len(c.Outputs) > 0 && len(c.Outputs[0].Shape) == 4
	},
	judge: func(s *Set, c *Case, got Results, err error) error {
		if err != nil {
			return err
		}
		inputs, err := s.Inputs(c)
		if err != nil {
			return err
		}
		for i, in := range inputs[0] {
			args, err := c.arguments()
			if err != nil {
				return err
			}
			for name, v := range args {
				if list, ok := v.(optest.Samples); ok {
					args[name] = list[i : i+1]
				}
			}
			size := len(in.Data) / max(in.Shape[0], 1)
			for f := range in.Shape[0] {
				frame := tensor.Tensor{DType: in.DType, Shape: in.Shape[1:], Layout: "HWC", Data: in.Data[f*size : (f+1)*size]}
				alone, err := optest.Run(optest.Case{Op: c.Op, Args: args, Inputs: [][]tensor.Tensor{{frame}}})
				if err != nil {
					return err
				}
				part := alone.Outputs[0][0]
				part.Data = got[0][0][i].Data[f*size : (f+1)*size]
				if err := Compare(part, alone.Outputs[0][0], Tolerance{}); err != nil {
					return fmt.Errorf("picture %d of sample %d is not masked as it is alone: %w", f, i, err)
				}
			}
		}
		return nil
	},
}

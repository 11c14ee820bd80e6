// Package segmentation holds the operators on masks: they draw pixels and objects of a mask, and
// choose among masks that are polygons.
//
// Each sample draws from its own stream. With DALI's streams the results are DALI's.
package segmentation

import (
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

var module = []string{"segmentation"}

var seedParam = op.Parameter{Name: "seed", Type: op.Int, Default: -1,
	Doc: "Seed of this operator; -1: the pipeline's seed."}

// rank returns the number of axes, or -1 if it is not known.
func rank(s tensor.Spec) int {
	if s.Shape == nil {
		return -1
	}
	return len(s.Shape)
}

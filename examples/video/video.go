// Package video is an example of videos: the clips of a folder of videos become float32 arrays for
// training, and a run that was killed goes on with the same clips.
package video

import (
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/pipeline/fn"
)

// The numbers of a clip: frames, frames from one frame to the next, and pixels of a side.
const (
	Frames = 6
	Stride = 2
	Side   = 32
)

// Clips returns a pipeline over the videos in the folders of root, a folder for each label. Its
// outputs are clips of layout FCHW, from -1 to 1, the label, and the
// number of the first frame. A clip begins Frames frames after the one before it.
func Clips(o pipeline.Options, root string) (*pipeline.Definition, error) {
	return pipeline.Define(o, func(p *pipeline.Builder) []pipeline.Node {
		clip := fn.ExperimentalReadersVideo(p, fn.ExperimentalReadersVideoArgs{FileRoot: root,
			SequenceLength: op.Const(Frames),
			Stride:         op.Const(Stride), Step: op.Const(Frames), EnableFrameNum: op.Const("scalar"), RandomShuffle: true})
		small := fn.Resize(p, clip[0], fn.ResizeArgs{ResizeX: op.Const(float64(Side)), ResizeY: op.Const(float64(Side))})
		half := []float64{127.5}
		ready := fn.CropMirrorNormalize(p, small[0], fn.CropMirrorNormalizeArgs{Mean: op.Const(half), Std: op.Const(half),
			OutputLayout: op.Const("FCHW")})
		return []pipeline.Node{ready, clip[1], clip[2]}
	})
}

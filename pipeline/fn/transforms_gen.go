// Code generated from the schemas by go generate ./pipeline/fn; DO NOT EDIT.

package fn

import (
	"github.com/bivouac-ml/bivouac/op/opargs"
	"github.com/bivouac-ml/bivouac/pipeline"
)

// TransformsCombineArgs are the arguments of transforms.combine.
type TransformsCombineArgs = opargs.TransformsCombine

// TransformsCombine is transforms.combine. Combines several transforms into one that applies them in turn.
//
// Input first: the transform that is applied first.
// Input next: the transforms that are applied to its result; up to 98 of them.
// Output output: the combined transform.
func TransformsCombine(p *pipeline.Builder, first pipeline.Node, args TransformsCombineArgs, inputs ...pipeline.Node) (output pipeline.Node) {
	out := p.Op("transforms.combine", args, append([]pipeline.Node{first}, inputs...)...)
	return out[0]
}

// TransformsCropArgs are the arguments of transforms.crop.
type TransformsCropArgs = opargs.TransformsCrop

// TransformsCrop is transforms.crop. Makes the transform that maps one box to another.
//
// Input input: a transform that is applied first; may be left out.
// Output output: the transform, a float32 matrix of n rows and n+1 columns.
func TransformsCrop(p *pipeline.Builder, args TransformsCropArgs, inputs ...pipeline.Node) (output pipeline.Node) {
	out := p.Op("transforms.crop", args, inputs...)
	return out[0]
}

// TransformsRotationArgs are the arguments of transforms.rotation.
type TransformsRotationArgs = opargs.TransformsRotation

// TransformsRotation is transforms.rotation. Makes the transform that turns the plane, or space around an
// axis.
//
// Input input: a transform that is applied first; may be left out.
// Output output: the transform, a float32 matrix of n rows and n+1 columns.
func TransformsRotation(p *pipeline.Builder, args TransformsRotationArgs, inputs ...pipeline.Node) (output pipeline.Node) {
	out := p.Op("transforms.rotation", args, inputs...)
	return out[0]
}

// TransformsScaleArgs are the arguments of transforms.scale.
type TransformsScaleArgs = opargs.TransformsScale

// TransformsScale is transforms.scale. Makes the transform that stretches the dimensions.
//
// Input input: a transform that is applied first; may be left out.
// Output output: the transform, a float32 matrix of n rows and n+1 columns.
func TransformsScale(p *pipeline.Builder, args TransformsScaleArgs, inputs ...pipeline.Node) (output pipeline.Node) {
	out := p.Op("transforms.scale", args, inputs...)
	return out[0]
}

// TransformsShearArgs are the arguments of transforms.shear.
type TransformsShearArgs = opargs.TransformsShear

// TransformsShear is transforms.shear. Makes the transform that shears the plane or space.
//
// Input input: a transform that is applied first; may be left out.
// Output output: the transform, a float32 matrix of n rows and n+1 columns.
func TransformsShear(p *pipeline.Builder, args TransformsShearArgs, inputs ...pipeline.Node) (output pipeline.Node) {
	out := p.Op("transforms.shear", args, inputs...)
	return out[0]
}

// TransformsTranslationArgs are the arguments of transforms.translation.
type TransformsTranslationArgs = opargs.TransformsTranslation

// TransformsTranslation is transforms.translation. Makes the transform that moves points.
//
// Input input: a transform that is applied first; may be left out.
// Output output: the transform, a float32 matrix of n rows and n+1 columns.
func TransformsTranslation(p *pipeline.Builder, args TransformsTranslationArgs, inputs ...pipeline.Node) (output pipeline.Node) {
	out := p.Op("transforms.translation", args, inputs...)
	return out[0]
}

// Code generated from the schemas by go generate ./pipeline/fn; DO NOT EDIT.

package opargs

// ExperimentalDebayer are the arguments of experimental.debayer.
type ExperimentalDebayer = Debayer

// ExperimentalEqualize are the arguments of experimental.equalize.
type ExperimentalEqualize = Equalize

// ExperimentalFilter are the arguments of experimental.filter.
type ExperimentalFilter = Filter

// ExperimentalPeekImageShape are the arguments of experimental.peek_image_shape.
type ExperimentalPeekImageShape = PeekImageShape

// ExperimentalTensorResize are the arguments of experimental.tensor_resize.
type ExperimentalTensorResize = TensorResize

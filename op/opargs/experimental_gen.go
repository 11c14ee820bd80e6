// Code generated from the schemas by go generate ./pipeline/fn; DO NOT EDIT.

package opargs

// ExperimentalInflate are the arguments of experimental.inflate.
type ExperimentalInflate = DecodersInflate

// ExperimentalPeekImageShape are the arguments of experimental.peek_image_shape.
type ExperimentalPeekImageShape = PeekImageShape

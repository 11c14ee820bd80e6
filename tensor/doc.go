// Package tensor describes arrays in memory: element types, shapes, views and
// batches.
//
// # Memory
//
// A [Tensor] is a view of bytes: row-major (C order), little-endian, without
// strides. Nothing in this package frees memory, and only [New], Clone, the
// scalar constructors and a growing [Batch] allocate. [FromSlice] and [Of]
// convert between Go slices and tensors without copying, so that both sides
// see the same memory. Host and file order are the same: Bivouac runs on
// little-endian machines.
//
// # Element types
//
// [DType] covers all element types of Orbax, DALI and safetensors. Types
// narrower than a byte take one byte an element in memory, as in numpy's
// ml_dtypes and in zarr: signed integers sign-extended, everything else in the
// low bits with zeros above. [Cast] converts elements between all of them, as numpy
// and ml_dtypes do. Safetensors packs fp4 and fp6; [Pack] and [Unpack]
// convert between the two forms.
//
//	dtype     in memory         packed
//	int4      ssss vvvv  1 B    4 bits, first element in the low bits
//	uint4     0000 vvvv  1 B    4 bits
//	float6_*  00vv vvvv  1 B    6 bits, a little-endian stream of bits
//	bool      0000 000v  1 B    8 bits: it is a byte everywhere
package tensor

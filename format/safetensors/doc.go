// Package safetensors reads and writes safetensors files: named tensors in one
// file, or in several files that an index lists.
//
// # File
//
//	0          8              8+N                              size
//	+----------+--------------+--------------------------------+
//	| N u64le  | header, JSON | data                           |
//	+----------+--------------+--------------------------------+
//
// The header is one JSON object, padded with blanks by writers so that the data
// starts at a multiple of 8:
//
//	{"__metadata__":{"format":"pt"},
//	 "w":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}, …}
//
// Offsets are [begin, end) in bytes from the start of the data. Elements lie in
// C order, little-endian. __metadata__ is optional and maps strings to strings.
// Members of a tensor other than the three are ignored.
//
// # Element types
//
//	BOOL U8 I8 F8_E5M2 F8_E4M3 F8_E8M0 F8_E4M3FNUZ F8_E5M2FNUZ       8 bits
//	I16 U16 F16 BF16 · I32 U32 F32 · C64 F64 I64 U64          16 · 32 · 64
//	F4 · F6_E2M3 F6_E3M2                                  4 · 6, packed
//
// F8_E4M3 is the variant without infinities, float8_e4m3fn. F4 and F6 are a
// little-endian stream of bits:
//
//	F4   byte 0: 1111 0000                            (digits: element)
//	F6   byte 0: 1100 0000 · byte 1: 2222 1111 · byte 2: 3333 3322
//
// A tensor.Tensor has one byte an element; so there are two ways to read: as
// stored (Model.ReadAt, Model.Packed), and as a tensor (Model.Tensor,
// Model.ReadInto, Model.ReadBox), which unpacks. Write takes tensors and packs.
//
// # What is a well-formed file
//
// The verdict of the reference library (safetensors 0.8) decides, in its order:
//
//  1. The file has 8 bytes; N ≤ 100,000,000; 8+N ≤ size; the header is UTF-8,
//     and JSON nested no deeper than 127 levels. Numbers of shapes and offsets
//     are integers of 64 bits, written without sign, fraction or exponent.
//  2. Sorted by offsets, the tensors tile the data: the first begins at 0, each
//     begins where its predecessor ends. The order in the header is free.
//  3. The product of the shape, taken from left to right, and that times the
//     bits of the type do not overflow 64 bits; the bits are whole bytes, and as
//     many as end-begin.
//  4. The last end is the end of the file.
//
// Of two tensors with one name the last counts, as there; Header.Duplicates tells, and checkpoints
// refuse such a file. Options.Strict refuses them, and whatever else the library takes although the
// specification does not have it.
//
// # Several files
//
// model.safetensors.index.json lists which file has which tensor:
//
//	{"metadata":{"total_size":24},
//	 "weight_map":{"w":"model-00001-of-00002.safetensors", …}}
//
// Its file names come from outside; one that leaves the directory is refused.
// Index and headers must agree: a tensor that is in one of them only is an
// error.
//
// # Trust
//
// Bytes are assumed to come from an enemy. The header is parsed in one pass,
// without an intermediate form; the memory taken is a small multiple of the
// header, which is no longer than the file. Nothing is allocated for a tensor
// before its bytes are known to be in the file. The format has no checksums:
// damage in the data is not noticed here.
package safetensors

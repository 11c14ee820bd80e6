// Package loan notices who uses memory that was lent and taken back.
//
// A batch of a pipeline is the caller's until the next batch, and the memory of a tensor until Release.
// Whoever keeps it longer reads what somebody else writes there, and is told nothing. In a program
// that is built with the tag bivouac_debug,
//
//   - memory that is taken back is filled with the byte 0xDB, and is not used again;
//   - what takes it for a tensor, as tensor.Of and Tensor.Check, fails with errs.Closed and says
//     where it was handed out and where it was taken back;
//   - a write into it is a panic, with the same places, some time later.
//
// In other programs all of this costs nothing.
package loan

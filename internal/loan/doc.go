// Package loan detects the use of memory after it was taken back.
//
// A batch of a pipeline belongs to the caller until the next batch, and the memory of a tensor
// until Release. A caller that keeps the memory longer reads what another goroutine writes there,
// and gets no error. In a program that is built with the tag bivouac_debug,
//
//   - memory that is taken back is filled with the byte 0xDB, and is not used again;
//   - tensor.Of and Tensor.Check fail with errs.Closed and say where the memory was handed out and
//     where it was taken back;
//   - a write into it causes a panic some time later, which names the same places.
//
// In other programs this costs nothing.
package loan

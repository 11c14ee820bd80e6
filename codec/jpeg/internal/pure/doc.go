// Package pure decodes JPEG images in Go. Its pixels equal bit for bit the pixels of libjpeg with
// the slow integer transform and fancy upsampling.
//
// It supports baseline, extended sequential and progressive images of eight bits with Huffman
// codes. They have one, three or four components, whose sampling factors divide each other.
// Arithmetic codes, twelve bits, lossless and hierarchical images are errors of kind
// errs.Unsupported.
//
// # One image
//
//	bytes ─▶ segments ─▶ entropy decoding ─▶ blocks ─▶ inverse transform ─▶ planes ─▶ upsampling, colour ─▶ rows
//	                     all MCUs down to               only what the         of the     only the window
//	                     the window's end               window needs          window
//
// For a window, everything above its end is entropy-decoded. All other steps work only on the
// window and a margin of one block, from which upsampling takes neighbours. So its pixels equal the
// pixels of the whole image.
//
// # Damage
//
// Damage is treated like in libjpeg. A code that does not exist means zero. If data ends before its
// segment, zeros follow up to the next restart marker. Missing or misplaced restart markers are
// compensated for. If the bytes end before the image, the error is of kind errs.Corrupt; libjpeg
// leaves this case to its caller.
//
// Source: ITU-T T.81; the transform is from Loeffler, Ligtenberg and Moschytz (1989) with constants
// of 13 bits.
//
//go:generate go -C ../../../../tools run ./kernels/jpeg -out ../codec/jpeg/internal/pure/kernels_amd64.s -stubs ../codec/jpeg/internal/pure/stubs_amd64.go -pkg pure
package pure

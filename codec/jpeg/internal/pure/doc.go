// Package pure decodes JPEG images in Go, bit for bit as libjpeg does with its slow
// integer transform and fancy upsampling.
//
// Baseline, extended sequential and progressive images of eight bits with Huffman
// codes are known, of one, three or four components with any sampling factors that
// divide each other. Arithmetic codes, twelve bits, lossless and hierarchical images
// are errs.Unsupported.
//
// # One image
//
//	bytes ─▶ segments ─▶ entropy decoding ─▶ blocks ─▶ inverse transform ─▶ planes ─▶ upsampling, colour ─▶ rows
//	                     all MCUs down to               only what the         of the     only the window
//	                     the window's end               window needs          window
//
// A window costs the entropy decoding of everything above its end, and nothing else beyond itself
// and a margin of a block, from which upsampling takes neighbours. So its pixels equal the pixels
// of the whole image.
//
// # Damage
//
// As libjpeg does: a code that does not exist stands for zero, data that end before a segment does
// are zeros up to the next restart marker, and restart markers that are missing or out of turn are
// made up for. If the bytes end before the image, the error is of kind errs.Corrupt; libjpeg leaves
// this case to its caller.
//
// Source: ITU-T T.81; the transform is from Loeffler, Ligtenberg and Moschytz (1989) with constants
// of 13 bits.
//
//go:generate go -C ../../../../tools run ./kernels/jpeg -out ../codec/jpeg/internal/pure/kernels_amd64.s -stubs ../codec/jpeg/internal/pure/stubs_amd64.go -pkg pure
package pure

// Package parity makes and uses the redundancy of a checkpoint: files from which
// damaged or lost blocks of the others are computed.
//
// A parity file lies at the root of the checkpoint and is listed in its manifest as any other file.
// Its name begins with ".bivouac.parity.". A file that is large has a parity file of its own, whose
// name ends with the XXH3 of 128 bits of the name of the file, so that saves that link the one link
// the other. All other files share parity files, which have numbers for names and list their files.
// If several processes save together, the number follows the number of the process. The manifest,
// which lists them all, has a copy in the last one: see CopyName.
//
// The code is Reed–Solomon over GF(2^8), as package klauspost/reedsolomon has it by
// default: a systematic code from a Vandermonde matrix, 100 data blocks and some
// parity blocks in a group. Blocks that the last group lacks are zero.
//
//	file     ┌────────┬────────┬─── … ───┬────────┐
//	         │ block 0│ block 1│         │ block n│   of 64 KiB; in files below 6,400 KiB of a
//	         └────────┴────────┴─── … ───┴────────┘
//	                                                    hundredth, in multiples of 512 bytes
//	region   1,600 blocks that follow each other; the last one may have fewer
//	group    of a region of g groups, the i-th block is the i/g-th of group i mod g,
//	         so that neighbours lie in different groups; g is 16, or blocks/100 rounded up
//
// Files that share a parity file follow each other by name, each from a new block of
// 4 KiB on.
//
// A parity file is, in little-endian order,
//
//	table     see below, padded with zeros to a multiple of 4,096
//	blocks    region by region: the p-th parity block of group q of g is the p·g+q-th;
//	          padded with zeros to a multiple of 4,096
//	table     once more, not padded
//	length    of the table, 4 bytes, and the same inverted
//
// and a table
//
//	16 bytes  "bivouac.parity", 0, version 1
//	4         bytes of a block
//	4         parity blocks for 100 data blocks
//	4         1 where several files share the parity file, else 0
//	8         bytes of the file; of several, of the blocks that they take
//	4         files that share it, 0 for a file of its own
//	each      first block (8), size (8), length of the name (2), name
//	4 each    CRC-32C of the data blocks, without padding, then of the parity blocks
//	8         the first bytes of the XXH3 of 128 bits of the table before
//
// Where several files share it, the last region has at least 64 parity blocks, or as
// many as it has data blocks: documents of up to 256 KiB may be lost as a whole.
package parity

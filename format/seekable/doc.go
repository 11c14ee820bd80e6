// Package seekable reads parts of compressed files without decompressing what comes before.
//
// [Scan] decompresses a file once and cuts its contents into blocks of about 1 MiB. [Decode]
// decompresses one block.
//
//	gzip   A block begins between two blocks of deflate, at any bit, or at the start of a member.
//	       Deflate refers to the 32 KiB before, so the block keeps them.
//	zstd   A block is one or more whole frames. The seekable format and pzstd make many frames.
//
// Scan verifies the checksums that the formats have. It takes a checksum of each block of its own,
// which Decode verifies, because gzip has one for a whole member only. Members and frames may
// follow each other, and zeros may follow the last member. Skippable frames have no contents.
//
// # Limits
//
// A block takes at most 64 MiB, so a zstd frame with larger contents and a block of deflate that
// grows beyond it are errs.Unsupported. Frames that need a dictionary are, too.
//
// # Trust
//
// Input may be hostile: memory stays below what a block may take, whatever the input says.
package seekable

// Package fits reads images of FITS files.
//
// A file is a sequence of HDUs. Each has a header, lines of 80 characters up to END, and data, both
// filled up to a multiple of 2,880 bytes:
//
//	XTENSION= 'IMAGE   '           / the first header begins with SIMPLE
//	BITPIX  =                   16 / 8, 16, 32, 64: integers; -32, -64: floats; big-endian
//	NAXIS   =                    2
//	NAXIS1  =                  640 / the axis whose elements are adjacent
//	NAXIS2  =                  480
//	BSCALE  =                  1.0 / value = BZERO + BSCALE * element
//	BZERO   =              32768.0
//	END
//
// [Open] finds an image and its type, as the library cfitsio does: a file of 16-bit integers with
// the BZERO above has the type uint16. Shapes are in C order, so {480, 640}.
//
// An image may also be compressed tile by tile. Then it is a table: an HDU 'BINTABLE' with ZIMAGE,
// with a row for each tile. RICE_1, GZIP_1, GZIP_2 and NOCOMPRESS are read, also of floats that
// were quantized, with or without dithering. PLIO_1 and HCOMPRESS_1 are errs.Unsupported.
//
// # Trust
//
// Input may be hostile. A header has at most 1 MiB. Data must lie in the file. What is allocated is
// bounded by what was read and by the size of one tile, which is at most as large as the image.
package fits

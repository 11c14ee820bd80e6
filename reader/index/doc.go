// Package index knows where the records of a data set are.
//
// A data set is a list of files. A [Format] finds the records of a file. [Build] does so for all
// files, in parallel, and keeps the result in an [Index]: the file, the offset and the length of
// every record, and its key and its parts where the format has them. [Write] makes the file
// bivouac.index of it, and [Open] maps such a file into memory. So opening takes as long for ten
// million records as for ten.
//
//	bytes  0- 8  "BIVINDX1"
//	       8-16  length of the header
//	      16-20  CRC32C of the header
//	      24-    the header in JSON: the format, and the columns with type and place
//	             the columns: arrays of integers of 1, 2, 4 or 8 bytes, or bytes
//
// Numbers are little-endian, and columns begin at multiples of 8. Each column has a CRC32C for
// each 64 KiB, which is checked when the first number in them is read. docs/format/index.md says
// which columns there are.
//
// Compressed files have more columns. file.kind says how each file is compressed, file.content how
// many bytes it has decompressed, and file.points which blocks of package seekable it has. Blocks
// are in point.out, point.in (in bits, times 2, plus 1 if a header of gzip begins there),
// point.length, point.sum, and point.window.end and point.window.bytes, which are deflated. [Build]
// and [Find] make the contents of compressed files what the set reads, so places of records are
// places in the contents.
//
// An index belongs to files of certain names, sizes and contents. [Find] refuses it by name if one
// of them was changed.
package index

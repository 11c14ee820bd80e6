// Package tokens reads files of tokens: the pairs of Megatron and fairseq, and plain arrays.
//
// A pair is NAME.bin, the tokens of all sequences back to back, and NAME.idx, which says where they
// lie. Two kinds of NAME.idx exist. All numbers are little-endian.
//
//	MMIDIDX, written today            TNTIDX, written by older programs
//	0- 9  "MMIDIDX\0\0"               0- 8  "TNTIDX\0\0"
//	9-17  1                           8-16  1
//	  17  code of the dtype          16-24  code of the dtype
//	18-26 S, number of sequences     24-32  bytes of an element
//	26-34 D, number of ends          32-40  S, number of sequences
//	      int32[S] lengths           40-48  N, number of extents
//	      int64[S] places in bytes   48-56  D, number of ends
//	      int64[D] ends                     int64[S+1] where the extents of each begin
//	      int8[S]  modes, or nothing        int64[S+1] where the elements of each begin
//	                                        int64[N]   extents
//	                                        int64[D]   ends
//
// A document is one or more sequences. The ends begin with 0; document i has the sequences from
// ends[i] up to ends[i+1]. fairseq writes neither D nor ends: each sequence is a document.
//
//	code   1     2    3     4     5     6       7       8      9      10
//	dtype  uint8 int8 int16 int32 int64 float64 float32 uint16 uint32 uint64
//
// Programs differ in the codes 6 and 7, so the bytes of an element decide between the two floats.
//
// # Trust
//
// Input may be hostile. The size of the index must be what its counts say before memory is taken.
// Sequences must tile the .bin file, from its first byte to its last.
package tokens

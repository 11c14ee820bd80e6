// Package recordio reads and writes RecordIO files as MXNet has them, and the images in them.
//
// A file is a sequence of records. A record has one part, or several:
//
//	bytes 0- 4  0xced7230a, little-endian
//	      4- 8  the upper 3 bits say which part it is, the lower 29 bits are its length
//	      8-    the bytes of the part, and zeros up to a multiple of 4
//
// A part is 0: the whole record, 1: the first, 2: one in the middle, or 3: the last. A writer
// splits a record where it has the magic number at a multiple of 4, and leaves the number out.
// [Payload] joins the parts and puts the number back. The format has no checksum.
//
// [Scan] finds the records of a file and reads no payload. [ReadIndex] reads the index that MXNet
// writes beside a file. An image has a header before it, which [ParseImage] reads:
//
//	bytes 0- 4  number of labels; 0: the label in the header is the only one
//	      4- 8  the label, float32
//	      8-24  two numbers of the image
//	     24-    the labels, float32, if their number is not 0
//	            the encoded image
package recordio

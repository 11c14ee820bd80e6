// Package tfrecord reads and writes TFRecord files and the messages in them.
//
// A file is a sequence of records:
//
//	bytes 0- 8  length of the payload, little-endian
//	      8-12  masked CRC-32C of these 8 bytes
//	     12-    the payload
//	            masked CRC-32C of the payload, 4 bytes
//
// A checksum c is stored as (c >> 15 | c << 17) + 0xa282ead8. A whole file may be compressed with
// gzip or zlib; the records are inside.
//
// [Scan] finds the records of a file and checks the lengths. [Payload] checks the record at a known
// place. [Reader] reads a file from its start, compressed or not. Each checks both checksums of
// what it reads.
//
// The payload is mostly a tf.train.Example, a message of Protocol Buffers that maps names to lists
// of bytes, of float32 or of int64. [Decoder] finds the features with chosen names and allocates
// nothing. [ParseExample] and [ParseSequence] return all features. They accept and refuse the same
// messages as Protocol Buffers: a name that occurs twice has its last value, a list may be packed
// or not, and unknown fields are skipped.
package tfrecord

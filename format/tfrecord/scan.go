package tfrecord

import (
	"fmt"
	"io"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/internal/window"
)

// Scan calls add with the offset and the length of each record of a file, framing included, in
// their order. It skips payloads of more than a few KiB. An error of add ends it. A wrong
// checksum of a length, and a file that ends within a record, are errors of kind errs.Corrupt that
// name the record and its offset. A compressed file is an error of kind errs.Unsupported.
func Scan(r io.ReaderAt, size int64, add func(offset, length int64) error) error {
	w := window.New(r, size)
	offset, n := int64(0), int64(0)
	for ; offset < size; n++ {
		header, err := w.Read(offset, HeaderSize)
		if err != nil {
			return err
		}
		if n == 0 {
			if err := refuse(DetectCompression(header)); err != nil {
				return err
			}
		}
		length, err := recordLength(header, size-offset)
		if err != nil {
			return errs.Wrap("", place(n, offset), err)
		}
		if err := add(offset, length); err != nil {
			return err
		}
		offset += length
	}
	return nil
}

// recordLength returns the length of the record that begins with header, of which rest bytes are
// left in the file.
func recordLength(header []byte, rest int64) (int64, error) {
	if len(header) < HeaderSize {
		return 0, corrupt(fmt.Sprintf("a header of %d bytes", HeaderSize),
			fmt.Sprintf("%d bytes: the file was cut", len(header)))
	}
	length, err := lengthOf(header)
	if err != nil {
		return 0, err
	}
	if rest < framing || length > uint64(rest-framing) {
		return 0, corrupt(fmt.Sprintf("a payload of %d bytes and its checksum", length),
			fmt.Sprintf("%d bytes: the file was cut", max(0, rest-HeaderSize)))
	}
	return int64(length) + framing, nil
}

// refuse returns an error for a compressed file.
func refuse(c Compression) error {
	if c == Uncompressed {
		return nil
	}
	return &errs.Error{Kind: errs.Unsupported, Want: "records that are not compressed",
		Got:    "a file compressed with " + c.String(),
		Remedy: "decompress it: records in it cannot be found without reading all before them"}
}

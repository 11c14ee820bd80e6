package tfrecord

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/crc"
)

// The sizes of what surrounds a payload.
const (
	HeaderSize = 12 // before it: its length, and the checksum of the length
	FooterSize = 4  // after it: its checksum
)

const (
	framing   = HeaderSize + FooterSize
	maskDelta = 0xa282ead8
)

// Mask returns a CRC-32C as TFRecord stores it.
func Mask(sum uint32) uint32 { return (sum>>15 | sum<<17) + maskDelta }

// Append appends a record with the given payload to dst.
func Append(dst, payload []byte) []byte {
	at := len(dst)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(len(payload)))
	dst = binary.LittleEndian.AppendUint32(dst, Mask(crc.Sum(dst[at:at+8])))
	dst = append(dst, payload...)
	return binary.LittleEndian.AppendUint32(dst, Mask(crc.Sum(payload)))
}

// Payload returns the payload of a record, which is a part of it. Fails with errs.Corrupt if a
// checksum is wrong, and with errs.Mismatch if the record has another length than its header says.
func Payload(record []byte) ([]byte, error) {
	payload, want, err := Unverified(record)
	if err != nil {
		return nil, err
	}
	return payload, checkPayload(payload, want)
}

// Unverified works like Payload, but leaves the checksum of the payload to the caller, who copies
// the payload anyway. want is the checksum that the record states; see Mask.
func Unverified(record []byte) (payload []byte, want uint32, err error) {
	if len(record) < framing {
		return nil, 0, corrupt(fmt.Sprintf("a record of at least %d bytes", framing), fmt.Sprintf("%d bytes", len(record)))
	}
	length, err := lengthOf(record)
	if err != nil {
		return nil, 0, err
	}
	if length != uint64(len(record)-framing) {
		return nil, 0, &errs.Error{Kind: errs.Mismatch,
			Want: fmt.Sprintf("a record of %d bytes, as its index says", len(record)),
			Got: fmt.Sprintf("a record with a payload of %d bytes",
				length), Remedy: "make the index again; it belongs to other data"}
	}
	end := len(record) - FooterSize
	return record[HeaderSize:end:end], binary.LittleEndian.Uint32(record[end:]), nil
}

// RecordSize returns the length of the record that begins with header, which has HeaderSize bytes.
// Fails with errs.Corrupt if the checksum of the length is wrong.
func RecordSize(header []byte) (int64, error) {
	n, err := lengthOf(header)
	if err == nil && n > math.MaxInt64-framing {
		err = corrupt("a length below 2^63", fmt.Sprint(n))
	}
	return int64(n) + framing, err
}

// lengthOf returns the length in a header, whose checksum it checks.
func lengthOf(header []byte) (uint64, error) {
	if got, want := Mask(crc.Sum(header[:8])), binary.LittleEndian.Uint32(header[8:]); got != want {
		return 0, corrupt(fmt.Sprintf("a length with checksum %08x", want), fmt.Sprintf("%08x", got))
	}
	return binary.LittleEndian.Uint64(header), nil
}

func checkPayload(payload []byte, want uint32) error {
	if got := Mask(crc.Sum(payload)); got != want {
		return corrupt(fmt.Sprintf("a payload with checksum %08x", want), fmt.Sprintf("%08x", got))
	}
	return nil
}

func corrupt(want, got string) error { return &errs.Error{Kind: errs.Corrupt, Want: want, Got: got} }

// place names a record in an error.
func place(record, offset int64) string { return fmt.Sprintf("record %d at byte %d", record, offset) }

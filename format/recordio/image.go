package recordio

import (
	"encoding/binary"
	"fmt"
	"math"
)

// imageHeader is the size of the header of an image.
const imageHeader = 24

// Image is an image as a record holds it.
type Image struct {
	Label   float32 // the only label, unless Labels has some
	Labels  []byte  // float32, little-endian; a part of the payload
	ID, ID2 uint64
	Data    []byte // the encoded image; a part of the payload
}

// ParseImage returns the image in the payload of a record. Fails with errs.Corrupt if the payload
// is too short for a header and its labels.
func ParseImage(payload []byte) (m Image, err error) {
	if len(payload) < imageHeader {
		return m, corrupt(fmt.Sprintf("an image with a header of %d bytes", imageHeader),
			fmt.Sprintf("a record of %d bytes", len(payload)))
	}
	labels, rest := uint64(binary.LittleEndian.Uint32(payload)), payload[imageHeader:]
	if 4*labels > uint64(len(rest)) {
		return m, corrupt(fmt.Sprintf("%d labels of 4 bytes", labels), fmt.Sprintf("%d bytes after the header", len(rest)))
	}
	n := int(4 * labels)
	return Image{
		Label: math.Float32frombits(binary.LittleEndian.Uint32(payload[4:])),
		ID:    binary.LittleEndian.Uint64(payload[8:]), ID2: binary.LittleEndian.Uint64(payload[16:]),
		Labels: rest[:n:n], Data: rest[n:],
	}, nil
}

// AppendImage appends the payload of an image to dst.
func AppendImage(dst []byte, m Image) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(m.Labels)/4))
	dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(m.Label))
	dst = binary.LittleEndian.AppendUint64(dst, m.ID)
	dst = binary.LittleEndian.AppendUint64(dst, m.ID2)
	return append(append(dst, m.Labels...), m.Data...)
}

package tfevents

import (
	"encoding/binary"
	"iter"
	"math"
	"math/bits"

	"github.com/bivouac-ml/bivouac/format/tfrecord"
	"github.com/bivouac-ml/bivouac/internal/crc"
)

// Version is the version of event files that TensorBoard knows. From this version on it takes a
// start as the sign that earlier values are superseded.
const Version = "brain.Event:2"

// Tags of the fields: number<<3 | wire type.
const (
	eventTime     = 1<<3 | 1
	eventStep     = 2 << 3
	eventVersion  = 3<<3 | 2
	eventSummary  = 5<<3 | 2
	eventSession  = 7<<3 | 2
	summaryValue  = 1<<3 | 2
	valueTag      = 1<<3 | 2
	valueSimple   = 2<<3 | 5
	sessionStatus = 1 << 3

	statusStart = 1 // SessionLog.START
)

// AppendVersion appends the record with which each event file begins. wall is in seconds since
// 1970.
func AppendVersion(dst []byte, wall float64) []byte {
	at := len(dst)
	dst = begin(dst, wall, 0)
	dst = appendText(append(dst, eventVersion), Version)
	return end(dst, at)
}

// AppendStart appends the record of a program that starts. TensorBoard drops the values of the step
// purge, and of later steps, that it has read before this record.
func AppendStart(dst []byte, wall float64, purge int64) []byte {
	at := len(dst)
	dst = begin(dst, wall, purge)
	dst = append(dst, eventSession, 2, sessionStatus, statusStart)
	return end(dst, at)
}

// AppendScalars appends the scalars of a step as one record. The file holds float32: a value is
// rounded to the nearest one, and a finite value beyond their range becomes infinite. Names must be
// UTF-8. AppendScalars walks scalars twice. Without scalars it appends nothing.
func AppendScalars(dst []byte, wall float64, step int64, scalars iter.Seq2[string, float64]) []byte {
	size := 0
	for name := range scalars {
		n := valueBytes(name)
		size += 1 + textBytes(n)
	}
	if size == 0 {
		return dst
	}
	at := len(dst)
	dst = begin(dst, wall, step)
	dst = binary.AppendUvarint(append(dst, eventSummary), uint64(size))
	for name, v := range scalars {
		dst = binary.AppendUvarint(append(dst, summaryValue), uint64(valueBytes(name)))
		dst = appendText(append(dst, valueTag), name)
		dst = binary.LittleEndian.AppendUint32(append(dst, valueSimple), math.Float32bits(float32(v)))
	}
	return end(dst, at)
}

// begin leaves room for the header of a record, and appends time and step. A zero has no field.
func begin(dst []byte, wall float64, step int64) []byte {
	dst = append(dst, make([]byte, tfrecord.HeaderSize)...)
	if b := math.Float64bits(wall); b != 0 {
		dst = binary.LittleEndian.AppendUint64(append(dst, eventTime), b)
	}
	if step != 0 {
		dst = binary.AppendUvarint(append(dst, eventStep), uint64(step))
	}
	return dst
}

// end frames the record that began at dst[at:].
func end(dst []byte, at int) []byte {
	header, payload := dst[at:at+tfrecord.HeaderSize], dst[at+tfrecord.HeaderSize:]
	binary.LittleEndian.PutUint64(header, uint64(len(payload)))
	binary.LittleEndian.PutUint32(header[8:], tfrecord.Mask(crc.Sum(header[:8])))
	return binary.LittleEndian.AppendUint32(dst, tfrecord.Mask(crc.Sum(payload)))
}

// valueBytes returns the size of a Summary.Value.
func valueBytes(name string) int { return 1 + textBytes(len(name)) + 1 + 4 }

// textBytes returns the size of n bytes with their length before them.
func textBytes(n int) int { return (bits.Len64(uint64(n)|1)+6)/7 + n }

func appendText(dst []byte, text string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(text))), text...)
}

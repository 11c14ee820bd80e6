package arrayrecord

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/bivouac-ml/bivouac/errs"
)

// Writer writes an ArrayRecord file of simple chunks without compression.
type Writer struct {
	w       io.Writer
	group   int // 0 after Close
	size    int // of a group
	at      int64
	records int64
	chunks  [][3]uint64 // offset, decoded size and number of records
	sizes   []byte
	values  []byte
	held    int
	err     error
}

// NewWriter returns a Writer that puts group records into a chunk. The caller must Close it.
func NewWriter(w io.Writer, group int) *Writer {
	o := &Writer{w: w, group: max(1, group), size: max(1, group)}
	o.chunk(signature, 0, 0, nil)
	return o
}

// Write adds a record.
func (o *Writer) Write(record []byte) error {
	o.sizes = binary.AppendUvarint(o.sizes, uint64(len(record)))
	o.values = append(o.values, record...)
	if o.held++; o.held == o.group {
		o.flush()
	}
	return o.err
}

// flush writes the chunk of the held records.
func (o *Writer) flush() {
	offset := o.at
	o.simple(o.sizes, o.values, o.held)
	o.chunks = append(o.chunks, [3]uint64{uint64(offset), uint64(len(o.values)), uint64(o.held)})
	o.records += int64(o.held)
	o.sizes, o.values, o.held = o.sizes[:0], o.values[:0], 0
}

func (o *Writer) simple(sizes, values []byte, records int) {
	data := append(binary.AppendUvarint([]byte{none}, uint64(len(sizes))), sizes...)
	o.chunk(simple, int64(records), int64(len(values)), append(data, values...))
}

// chunk writes a chunk with its header, the block headers that interrupt it, and zeros at its end.
func (o *Writer) chunk(typ byte, records, decoded int64, data []byte) {
	le := binary.LittleEndian
	b := make([]byte, chunkHeader, chunkHeader+len(data))
	le.PutUint64(b[8:], uint64(len(data)))
	le.PutUint64(b[16:], hashOf(data))
	le.PutUint64(b[24:], uint64(records)<<8|uint64(typ))
	le.PutUint64(b[32:], uint64(decoded))
	le.PutUint64(b, hashOf(b[8:chunkHeader]))
	b = append(b, data...)
	begin, end := o.at, chunkEnd(o.at, int64(len(data)), records)
	for o.at < end {
		if o.at%blockSize == 0 {
			h := make([]byte, blockHeader)
			le.PutUint64(h[8:], uint64(o.at-begin))
			le.PutUint64(h[16:], uint64(end-o.at))
			le.PutUint64(h, hashOf(h[8:]))
			o.write(h)
		}
		n := min(blockSize-o.at%blockSize, end-o.at)
		part := make([]byte, n)
		b = b[copy(part, b):]
		o.write(part)
	}
}

func (o *Writer) write(b []byte) {
	if o.err == nil {
		_, o.err = o.w.Write(b)
	}
	o.at += int64(len(b))
}

// pad writes a chunk that ends the block.
func (o *Writer) pad() {
	if o.at%blockSize == 0 {
		return
	}
	end := (o.at/blockSize + 1) * blockSize
	if end-o.at < chunkHeader { // the header goes on in the next block
		end += blockSize
	}
	headers := end/blockSize - 1 - o.at/blockSize
	o.chunk(padding, 0, 0, make([]byte, end-o.at-chunkHeader-headers*blockHeader))
}

// Close writes the footer. It does not close the underlying writer. Fails with errs.Closed after
// Close.
func (o *Writer) Close() error {
	if o.group == 0 {
		return &errs.Error{Kind: errs.Closed, Op: "arrayrecord.Writer"}
	}
	if o.held > 0 {
		o.flush()
	}
	o.group = 0
	var sizes, values []byte
	add := func(record []byte) {
		sizes, values = binary.AppendUvarint(sizes, uint64(len(record))), append(values, record...)
	}
	options := fmt.Sprintf("group_size:%d,uncompressed", o.size)
	counts := appendNumbers(nil, 1, uint64(len(o.chunks)), uint64(o.records))
	add(appendBytes(nil, 1, appendBytes(counts, 4, []byte(options))))
	for _, c := range o.chunks {
		add(appendNumbers(nil, c[0], c[1], c[2]))
	}
	footer := o.at
	o.simple(sizes, values, len(o.chunks)+1)
	o.pad()
	record := appendNumbers(nil, uint64(footer), magic)
	o.simple(binary.AppendUvarint(nil, uint64(len(record))), record, 1)
	o.pad()
	return o.err
}

// appendNumbers appends numbers as the fields 1, 2, … of a protocol buffer.
func appendNumbers(b []byte, list ...uint64) []byte {
	for i, v := range list {
		b = binary.AppendUvarint(append(b, byte(i+1)<<3), v) // a number has wire type 0
	}
	return b
}

// appendBytes appends a field of bytes.
func appendBytes(b []byte, field int, data []byte) []byte {
	return append(binary.AppendUvarint(append(b, byte(field)<<3|wireBytes), uint64(len(data))), data...)
}

package arrowipc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"

	"github.com/bivouac-ml/bivouac/errs"
)

const (
	letters      = "ARROW1"
	mostMetadata = 1 << 28
	mostRows     = 1 << 48
)

// File is a file or a stream.
type File struct {
	Schema  *Schema
	Batches []*Batch
	// Dictionaries has for each batch the parts of each dictionary, by its number. The values of
	// the parts follow each other.
	Dictionaries []map[int64][]*Batch
	Rows         int64
}

// Open finds the schema and the batches of a file or stream of size bytes.
func Open(r io.ReaderAt, size int64) (*File, error) {
	head := make([]byte, min(8, size))
	if err := readAt(r, head, 0); err != nil {
		return nil, err
	}
	if len(head) < 8 {
		return nil, corrupt("an Arrow file or stream", fmt.Sprintf("%d bytes", size))
	}
	o := &opener{r: r, size: size, file: &File{}, now: map[int64][]*Batch{}}
	if string(head[:len(letters)]) == letters {
		return o.file, o.byFooter()
	}
	return o.file, o.stream()
}

// opener collects the batches.
type opener struct {
	r    io.ReaderAt
	size int64
	file *File
	now  map[int64][]*Batch // the dictionaries up to here; replaced, never changed
}

func readAt(r io.ReaderAt, p []byte, off int64) error {
	n, err := r.ReadAt(p, off)
	if n == len(p) {
		return nil
	}
	return err
}

// byFooter reads the footer of a file and what it lists.
func (o *opener) byFooter() error {
	const tail = 4 + len(letters)
	if o.size < 8+int64(tail) {
		return corrupt("an Arrow file", fmt.Sprintf("%d bytes", o.size))
	}
	end := make([]byte, tail)
	if err := readAt(o.r, end, o.size-int64(tail)); err != nil {
		return err
	}
	if string(end[4:]) != letters {
		return &errs.Error{Kind: errs.Corrupt, Want: "a file that ends with " + letters,
			Got: fmt.Sprintf("%q", end[4:]), Remedy: "the file was cut; copy it again"}
	}
	n := int64(binary.LittleEndian.Uint32(end))
	if n > o.size-int64(tail)-8 || n > mostMetadata {
		return corrupt(fmt.Sprintf("a footer within %d bytes", o.size), fmt.Sprintf("%d bytes", n))
	}
	b := make([]byte, n)
	if err := readAt(o.r, b, o.size-int64(tail)-n); err != nil {
		return err
	}
	f := &flat{b: b}
	t := f.root()
	var err error
	if o.file.Schema, err = parseSchema(t.table(1)); err != nil {
		return errs.Wrap("", "the footer", err)
	}
	for list := 2; list <= 3; list++ {
		at, n := t.vector(list, 24)
		for i := range n {
			offset, metadata, body := f.i64(at+24*i), int64(f.i32(at+24*i+8)), f.i64(at+24*i+16)
			next, err := o.message(offset)
			if err == nil && next != offset+metadata+body {
				err = corrupt(fmt.Sprintf("a message of %d and %d bytes, as the footer says", metadata, body),
					fmt.Sprintf("%d bytes", next-offset))
			}
			if err != nil {
				return errs.Wrap("", fmt.Sprintf("the message at byte %d", offset), err)
			}
		}
	}
	return f.err
}

// stream reads the messages up to the end.
func (o *opener) stream() error {
	at := int64(0)
	for at < o.size {
		next, err := o.message(at)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return errs.Wrap("", fmt.Sprintf("the message at byte %d", at), err)
		}
		at = next
	}
	if o.file.Schema == nil {
		return corrupt("a schema", "none")
	}
	return nil
}

// message reads the metadata of a message and returns the offset of the next one. At the end of a
// stream it returns io.EOF.
func (o *opener) message(at int64) (next int64, err error) {
	if at < 0 || at > o.size-4 {
		return 0, corrupt(fmt.Sprintf("a message within %d bytes", o.size), fmt.Sprintf("an end at %d", at))
	}
	prefix := make([]byte, min(8, o.size-at))
	if err := readAt(o.r, prefix, at); err != nil {
		return 0, err
	}
	n, from := int64(int32(binary.LittleEndian.Uint32(prefix))), at+4
	if n == -1 {
		if len(prefix) < 8 {
			return 0, corrupt("the size of metadata", "the end of the file")
		}
		n, from = int64(int32(binary.LittleEndian.Uint32(prefix[4:]))), at+8
	}
	if n == 0 {
		return 0, io.EOF
	}
	if n < 0 || n > o.size-from || n > mostMetadata {
		return 0, corrupt(fmt.Sprintf("metadata within %d bytes", o.size), fmt.Sprintf("%d bytes at %d", n, from))
	}
	b := make([]byte, n)
	if err := readAt(o.r, b, from); err != nil {
		return 0, err
	}
	f := &flat{b: b}
	t := f.root()
	body, size := from+n, t.i64(3)
	if size < 0 || size > o.size-body {
		return 0, &errs.Error{Kind: errs.Corrupt, Want: fmt.Sprintf("a body of %d bytes", size),
			Got: fmt.Sprintf("%d bytes up to the end of the file",
				o.size-body), Remedy: "the file was cut; copy it again"}
	}
	if version := t.i16(0, 0); version < 3 || version > 4 { // V4 and V5
		return 0, &errs.Error{Kind: errs.Unsupported, Want: "metadata of version 4 or 5", Got: fmt.Sprint(version + 1)}
	}
	if err := o.add(int(t.u8(1)), t.table(2), body, size); err != nil {
		return 0, err
	}
	return body + size, f.err
}

// Kinds of messages.
const (
	messageSchema = iota + 1
	messageDictionary
	messageBatch
)

// add adds what a message has.
func (o *opener) add(kind int, t table, body, size int64) error {
	if kind != messageSchema && o.file.Schema == nil {
		return corrupt("a schema before the data", "data")
	}
	switch kind {
	case messageSchema:
		if o.file.Schema != nil {
			return nil // a file repeats it
		}
		s, err := parseSchema(t)
		o.file.Schema = s
		return err
	case messageDictionary:
		b, err := parseBatch(t.table(1), body, size)
		if err != nil {
			return err
		}
		o.now = maps.Clone(o.now)
		if id := t.i64(0); t.bool(2) {
			parts := o.now[id]
			o.now[id] = append(parts[:len(parts):len(parts)], b)
		} else {
			o.now[id] = []*Batch{b}
		}
	case messageBatch:
		b, err := parseBatch(t, body, size)
		if err != nil {
			return err
		}
		o.file.Batches, o.file.Dictionaries = append(o.file.Batches, b), append(o.file.Dictionaries, o.now)
		if o.file.Rows += b.Rows; b.Rows > mostRows || o.file.Rows > mostRows {
			return corrupt(fmt.Sprintf("at most %d rows", int64(mostRows)), "more")
		}
	default:
		return &errs.Error{Kind: errs.Unsupported, Want: "record batches and dictionaries",
			Got: fmt.Sprintf("a message of kind %d", kind)}
	}
	return nil
}

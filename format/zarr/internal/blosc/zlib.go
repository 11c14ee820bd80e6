package blosc

import (
	"bytes"
	"io"

	"github.com/klauspost/compress/zlib"
)

func decodeZlib(dst, src []byte) bool {
	in := bytes.NewReader(src)
	r, err := zlib.NewReader(in)
	if err != nil {
		return false
	}
	if _, err := io.ReadFull(r, dst); err != nil {
		return false
	}
	var more [1]byte
	n, err := r.Read(more[:]) // reaches the checksum
	return n == 0 && err == io.EOF && in.Len() == 0
}

// appendZlib appends the compressed src to dst.
func appendZlib(dst, src []byte, level int) []byte {
	b := bytes.NewBuffer(dst)
	w, err := zlib.NewWriterLevel(b, level)
	if err == nil {
		_, err = w.Write(src)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return append(dst, src...) // a level is always valid and memory always written: stored
	}
	return b.Bytes()
}

package serve

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"io"
	"strconv"
	"unicode/utf8"

	"github.com/bivouac-ml/bivouac/errs"
)

// The kinds of frames.
const (
	kindHello byte = iota + 1
	kindCall
	kindResult
	kindError
	kindEvent
	kindCancel
	kindAsk
	kindAnswer
)

// maxFrame bounds what follows the length of a frame.
const maxFrame = 1 << 30

// headerBytes are the length and the kind.
const headerBytes = 5

// readFrame returns the next frame. It returns io.EOF if the peer closed the connection between two
// frames, and errs.Invalid for bytes that are not a frame.
func readFrame(r *bufio.Reader) (kind byte, body []byte, err error) {
	var length [4]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return 0, nil, truncated(err)
	}
	n := binary.LittleEndian.Uint32(length[:])
	if n < 1 || n > maxFrame {
		return 0, nil, violation("a frame of 1 to "+strconv.Itoa(maxFrame)+" bytes", strconv.FormatUint(uint64(n), 10))
	}
	if kind, err = r.ReadByte(); err != nil {
		return 0, nil, truncated(err)
	}
	if kind < kindHello || kind > kindAnswer {
		return 0, nil, violation("a known kind of frame", strconv.Itoa(int(kind)))
	}
	body, err = readBody(r, int64(n)-1)
	return kind, body, err
}

// readBody reads in pieces, so that memory grows only with the bytes that come.
func readBody(r io.Reader, n int64) ([]byte, error) {
	var b bytes.Buffer
	if got, err := io.CopyN(&b, r, n); err != nil {
		if err == io.EOF && got < n {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	body := b.Bytes()
	if !utf8.Valid(body) || !json.Valid(body) {
		return nil, violation("JSON in UTF-8", strconv.Itoa(len(body))+" bytes of something else")
	}
	return body, nil
}

// truncated keeps io.EOF for the end between frames.
func truncated(err error) error {
	if err == io.ErrUnexpectedEOF {
		return violation("a whole frame", "the end of the connection")
	}
	return err
}

// violation is the error of bytes that the protocol does not have. It ends the connection.
func violation(want, got string) error {
	return &errs.Error{Kind: errs.Invalid, Op: "serve", Subject: "frame", Want: want, Got: got,
		Remedy: "use the client of the same version"}
}

// appendFrame appends a frame, whose body is what add appends.
func appendFrame(b []byte, kind byte, add func([]byte) []byte) []byte {
	at := len(b)
	b = append(b, 0, 0, 0, 0, kind)
	b = add(b)
	binary.LittleEndian.PutUint32(b[at:], uint32(len(b)-at-4))
	return b
}

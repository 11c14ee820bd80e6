package lines

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/bivouac-ml/bivouac/errs"
)

// chunk is how much of a file is read at once.
const chunk = 256 << 10

// Add is called for each record with its place in the file.
type Add func(offset, length int64) error

// mark is the byte order mark of UTF-8.
const mark = "\xef\xbb\xbf"

// start returns how many bytes the byte order mark takes at the start of a file.
func start(head []byte) (int, error) {
	switch {
	case bytes.HasPrefix(head, []byte(mark)):
		return len(mark), nil
	case bytes.HasPrefix(head, []byte("\xff\xfe")), bytes.HasPrefix(head, []byte("\xfe\xff")):
		return 0, &errs.Error{Kind: errs.Unsupported, Op: "lines", Want: "text in UTF-8",
			Got:    fmt.Sprintf("the byte order mark % x of UTF-16", head[:2]),
			Remedy: "convert the file to UTF-8"}
	}
	return 0, nil
}

// pieces calls each with the bytes of a reader, piece by piece, without the byte order mark. at is
// where the piece begins.
func pieces(r io.Reader, each func(b []byte, at int64) error) error {
	b, at := make([]byte, chunk), int64(0)
	for first := true; ; first = false {
		n, err := io.ReadFull(r, b)
		piece := b[:n]
		if first {
			skip, err := start(piece)
			if err != nil {
				return err
			}
			piece, at = piece[skip:], int64(skip)
		}
		if len(piece) > 0 {
			if err := each(piece, at); err != nil {
				return err
			}
			at += int64(len(piece))
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// Scan finds the lines that are not blank. r begins at the start of the file.
func Scan(r io.Reader, add Add) error {
	var line struct {
		start, length int64
		last          byte // of the line so far
		full          bool // a byte that is not blank was seen
		open          bool
	}
	end := func() error {
		if line.last == '\r' {
			line.length--
		}
		full := line.full
		line.open, line.full, line.last = false, false, 0
		if !full {
			return nil
		}
		return add(line.start, line.length)
	}
	err := pieces(r, func(b []byte, at int64) error {
		for len(b) > 0 {
			if !line.open {
				line.open, line.start, line.length = true, at, 0
			}
			n := bytes.IndexByte(b, '\n')
			part := b
			if n >= 0 {
				part = b[:n]
			}
			if len(part) > 0 {
				line.last = part[len(part)-1]
				line.full = line.full || !blank(part)
				line.length += int64(len(part))
			}
			if n < 0 {
				return nil
			}
			if err := end(); err != nil {
				return err
			}
			b, at = b[n+1:], at+int64(n)+1
		}
		return nil
	})
	if err == nil && line.open {
		err = end()
	}
	return err
}

// blank reports whether b has only blanks.
func blank(b []byte) bool {
	for _, c := range b {
		if c != ' ' && c != '\t' && c != '\r' {
			return false
		}
	}
	return true
}

// Dialect says how fields are told apart in CSV.
type Dialect struct {
	Delimiter byte // between fields, such as ','
	Quote     byte // around fields, such as '"'; 0: none
}

// Check returns an error unless the characters can be told apart.
func (d Dialect) Check() error {
	bad := func(what string, c byte) error {
		return &errs.Error{Kind: errs.Invalid, Op: "lines", Subject: what,
			Want: "an ASCII character other than line ends, the delimiter and the quote",
			Got:  fmt.Sprintf("%q", c)}
	}
	plain := func(c byte) bool { return c != 0 && c != '\n' && c != '\r' && c < 0x80 }
	if !plain(d.Delimiter) {
		return bad("delimiter", d.Delimiter)
	}
	if d.Quote != 0 && (!plain(d.Quote) || d.Quote == d.Delimiter) {
		return bad("quote", d.Quote)
	}
	return nil
}

// The states of a scanner of rows.
const (
	fieldStart = iota
	bare       // within a field without quotes
	quoted     // within quotes
	closing    // after a quote within quotes: the end of the field, or the first of two
)

// Scan finds the rows that are not empty, the header among them. r begins at the start of the file.
// A quote that is never closed is an error of kind errs.Corrupt.
func (d Dialect) Scan(r io.Reader, add Add) error {
	state, row, line, rows := fieldStart, int64(-1), int64(1), int64(0)
	rowLine, last, total := int64(1), byte(0), int64(0)
	end := func(at int64) error {
		n := at - row
		if last == '\r' {
			n--
		}
		state, last = fieldStart, 0
		from := row
		row = -1
		if n <= 0 {
			return nil
		}
		rows++
		return add(from, n)
	}
	err := pieces(r, func(b []byte, at int64) error {
		for i := 0; i < len(b); i++ {
			c := b[i]
			if row < 0 {
				row, rowLine = at+int64(i), line
			}
			switch {
			case c == '\n':
				if line++; state == quoted {
					continue
				}
				if err := end(at + int64(i)); err != nil {
					return err
				}
				continue
			case state == quoted:
				if c == d.Quote {
					state = closing
				}
			case c == d.Delimiter:
				state = fieldStart
			case c == d.Quote && d.Quote != 0 && (state == fieldStart || state == closing):
				state = quoted
			case c != '\r' || state == fieldStart:
				state = bare
			}
			last = c
		}
		total = at + int64(len(b))
		return nil
	})
	switch {
	case err != nil || row < 0:
		return err
	case state == quoted:
		return &errs.Error{Kind: errs.Corrupt, Op: "lines", Subject: fmt.Sprintf("record %d at byte %d, line %d", rows, row,
			rowLine),
			Want: fmt.Sprintf("the closing quote %c", d.Quote), Got: "the end of the file",
			Remedy: "close the quote, or set quote to another character if this one is a letter of the text"}
	}
	return end(total)
}

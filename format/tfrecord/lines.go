package tfrecord

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
)

// ReadIndex reads an index of lines "offset length", one for each record, and calls add for each.
// The length includes the framing. Fails with errs.Corrupt for a line of another form. An error of
// add ends it. Both name the line.
func ReadIndex(r io.Reader, add func(offset, length int64) error) error {
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		first, rest, _ := strings.Cut(strings.TrimSpace(lines.Text()), " ")
		if first == "" && rest == "" {
			continue
		}
		offset, err1 := strconv.ParseUint(first, 10, 63)
		length, err2 := strconv.ParseUint(strings.TrimSpace(rest), 10, 63)
		var err error
		if err1 != nil || err2 != nil {
			err = corrupt("the offset and the length of a record, with a blank between",
				strconv.Quote(lines.Text()[:min(len(lines.Text()), 100)]))
		} else {
			err = add(int64(offset), int64(length))
		}
		if err != nil {
			return errs.Wrap("", fmt.Sprintf("line %d", n), err)
		}
	}
	if err := lines.Err(); err != nil {
		return &errs.Error{Kind: errs.Corrupt, Want: "lines with the offset and the length of a record", Err: err}
	}
	return nil
}

// AppendIndex appends the line of a record for ReadIndex.
func AppendIndex(dst []byte, offset, length int64) []byte {
	dst = strconv.AppendInt(dst, offset, 10)
	dst = strconv.AppendInt(append(dst, ' '), length, 10)
	return append(dst, '\n')
}

package recordio

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
)

// ReadIndex reads an index of lines "key offset", one for each record, and calls add for each. The
// key is the text before the last blank or tab. Fails with errs.Corrupt for a line of another form.
// An error of add ends it. Both name the line.
func ReadIndex(r io.Reader, add func(key string, offset int64) error) error {
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" {
			continue
		}
		at := strings.LastIndexAny(line, " \t")
		key := strings.TrimSpace(line[:max(at, 0)])
		offset, err := strconv.ParseUint(line[at+1:], 10, 63)
		if err != nil || key == "" {
			err = corrupt("a key and the offset of its record, with a tab between", strconv.Quote(line[:min(len(line), 100)]))
		} else {
			err = add(key, int64(offset))
		}
		if err != nil {
			return errs.Wrap("", fmt.Sprintf("line %d", n), err)
		}
	}
	if err := lines.Err(); err != nil {
		return &errs.Error{Kind: errs.Corrupt, Want: "lines with a key and an offset", Err: err}
	}
	return nil
}

// AppendIndex appends the line of a record for ReadIndex.
func AppendIndex(dst []byte, key string, offset int64) []byte {
	dst = append(append(dst, key...), '\t')
	return append(strconv.AppendInt(dst, offset, 10), '\n')
}

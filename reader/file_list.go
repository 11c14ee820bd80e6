package reader

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/reader/datafs"
)

// maxListLine bounds the length of a line of a list.
const maxListLine = 1 << 16

// listed adds the files of a list. Each line is a path, which may contain spaces, and then its
// label. Empty lines are ignored. Paths are relative to file_root, or to the folder of the list if
// file_root is not given.
func (f *files) listed(ctx context.Context, c *op.Config) error {
	list := op.Get[string](c, "file_list")
	if f.root == "" {
		f.root = filepath.ToSlash(datafs.Dir(list))
	}
	file, err := datafs.OpenText(ctx, list)
	if err != nil {
		return fileError(fileName, list, err)
	}
	defer file.Close()
	lines := bufio.NewReaderSize(file, maxListLine)
	for number := 1; ; number++ {
		line, err := lines.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			return listError(list, number, fmt.Sprintf("a line of at most %d bytes", maxListLine), "a longer line")
		case err != nil && !errors.Is(err, io.EOF):
			return fileError(fileName, list, err)
		}
		if err := f.entry(ctx, list, number, strings.TrimRight(string(line), " \t\r\n")); err != nil {
			return err
		}
		if err != nil {
			break
		}
	}
	if len(f.ends) == 0 {
		return &errs.Error{Kind: errs.Invalid, Op: fileName, Subject: list,
			Want: "at least one line with a path and its label", Got: "no line"}
	}
	return nil
}

// entry adds the file of one line of a list.
func (f *files) entry(ctx context.Context, list string, number int, line string) error {
	if err := ctx.Err(); err != nil {
		return fileError(fileName, list, err)
	}
	if line == "" {
		return nil
	}
	at := strings.LastIndexAny(line, " \t")
	name := strings.TrimRight(line[:max(at, 0)], " \t")
	label, err := strconv.ParseUint(line[at+1:], 10, 31)
	if err != nil || name == "" {
		return listError(list, number, "a path and then its label (a number from 0 to 2147483647)",
			strconv.Quote(line[:min(len(line), 200)]))
	}
	return f.stat(ctx, filepath.ToSlash(name), int32(label))
}

func listError(list string, line int, want, got string) error {
	return &errs.Error{Kind: errs.Invalid, Op: fileName, Subject: fmt.Sprintf("%s, line %d", list, line), Want: want, Got: got}
}

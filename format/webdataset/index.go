package webdataset

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/tarball"
)

// maxLine is the length of a line of an index, of a sample of some ten thousand components.
const maxLine = 8 << 20

// ReadIndex calls visit for each sample of an index of version 1.1 or 1.2, for an archive of size
// bytes, and returns the error of visit if it has one. The components are valid during the call. In
// version 1.1 samples have no keys. An index that is damaged or leads out of the archive is
// errs.Corrupt, and one of another version errs.Unsupported, with the line.
func ReadIndex(r io.Reader, size int64, visit func(Sample) error) error {
	lines := bufio.NewReaderSize(r, 64<<10)
	head, err := readLine(lines, 1)
	if err != nil && err != io.EOF {
		return err
	}
	version, text := "", ""
	if words := strings.Fields(string(head)); len(words) > 0 {
		version = words[0]
		text = strings.Join(words[1:min(2, len(words))], "")
	}
	fields := 0
	switch version {
	case "v1.1":
		fields = 3
	case "v1.2":
		fields = 4
	default:
		if strings.HasPrefix(version, "v") && len(version) < 10 {
			return &errs.Error{Kind: errs.Unsupported, Op: "webdataset", Subject: "line 1",
				Want: "an index of v1.1 or v1.2",
				Got:  strconv.Quote(version), Remedy: "make the index again with wds2idx"}
		}
		return lineError(1, `"v1.2" and the number of samples`, head)
	}
	count, err := strconv.ParseInt(text, 10, 64)
	if err != nil || count < 1 || count > math.MaxInt32 {
		return lineError(1, "the number of samples, at least 1", head)
	}
	var s Sample
	for number := int64(2); number < count+2; number++ {
		line, err := readLine(lines, number)
		if err == io.EOF {
			return lineError(number, fmt.Sprintf("%d samples, as line 1 says", count), nil)
		}
		if err != nil {
			return err
		}
		if err := s.parse(string(line), number, fields, size); err != nil {
			return err
		}
		if err := visit(s); err != nil {
			return err
		}
	}
	if line, err := readLine(lines, count+2); err == nil && len(bytes.TrimSpace(line)) > 0 {
		return lineError(count+2, fmt.Sprintf("%d samples, as line 1 says", count), line)
	} else if err != nil && err != io.EOF {
		return err
	}
	return nil
}

// readLine returns the next line without its end, or io.EOF.
func readLine(r *bufio.Reader, number int64) (line []byte, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if line == nil && err == nil {
			return bytes.TrimRight(part, "\r\n"), nil
		}
		if len(line)+len(part) > maxLine {
			return nil, lineError(number, fmt.Sprintf("at most %d bytes", maxLine), part)
		}
		line = append(line, part...)
		switch {
		case err == io.EOF && len(line) == 0:
			return nil, io.EOF
		case err == nil || err == io.EOF:
			return bytes.TrimRight(line, "\r\n"), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, errs.Wrap("webdataset", "", err)
		}
	}
}

// parse reads the components of a line.
func (s *Sample) parse(line string, number int64, fields int, size int64) error {
	s.Key, s.Components = "", s.Components[:0]
	list := strings.Split(line, " ") // with the empty names that wds2idx writes
	if len(list)%fields != 0 || slices.Contains(list[1:], "") {
		list = strings.Fields(line)
	}
	if len(list) == 0 || len(list)%fields != 0 {
		return lineError(number, fmt.Sprintf("%d fields for each component", fields), []byte(line))
	}
	for ; len(list) > 0; list = list[fields:] {
		c := Component{Name: list[0]}
		var err1, err2 error
		c.Offset, err1 = strconv.ParseInt(list[1], 10, 64)
		c.Size, err2 = strconv.ParseInt(list[2], 10, 64)
		if err1 != nil || err2 != nil || c.Offset < 0 || c.Size < 0 {
			return lineError(number, "an offset and a size", []byte(strings.Join(list[:fields], " ")))
		}
		if c.Offset%tarball.Block != 0 {
			return lineError(number, "an offset that is a multiple of 512", []byte(list[1]))
		}
		if c.Offset > size || c.Size > size-c.Offset {
			return lineError(number, fmt.Sprintf("a component inside of the archive of %d bytes", size),
				[]byte(list[0]+" "+list[1]+" "+list[2]))
		}
		if fields > 3 {
			c.File = list[3]
			if s.Key == "" {
				s.Key, _, _ = Direct.Split(c.File)
			}
		}
		s.Components = append(s.Components, c)
	}
	return nil
}

func lineError(number int64, want string, got []byte) error {
	text := "the end of the file"
	if got != nil {
		text = strconv.Quote(string(got[:min(len(got), 100)]))
	}
	return &errs.Error{Kind: errs.Corrupt, Op: "webdataset", Subject: fmt.Sprintf("line %d", number), Want: want,
		Got:    text,
		Remedy: "make the index again with wds2idx"}
}

// WriteIndex writes the index of an archive of size bytes, of version 1.2, as wds2idx does. There
// are two differences. A component behind a header with a long name of GNU tar has the offset of
// its data, and not of the name. An archive that is damaged is an error. An archive without
// samples, and one with blanks in names, which an index cannot have, are errs.Invalid.
func WriteIndex(w io.Writer, r io.ReaderAt, size int64) error {
	var text []byte
	count := 0
	err := Samples(r, size, Indexed, func(s Sample) error {
		count++
		for i, c := range s.Components {
			if strings.ContainsAny(c.File, " \t\r\n\v\f") {
				return &errs.Error{Kind: errs.Invalid, Op: "webdataset", Subject: strconv.Quote(c.File),
					Want: "names without blanks, for an index",
					Got:  "a blank", Remedy: "read the archive without an index of this kind"}
			}
			if i > 0 {
				text = append(text, ' ')
			}
			text = append(append(text, c.Name...), ' ')
			text = append(strconv.AppendInt(text, c.Offset, 10), ' ')
			text = append(strconv.AppendInt(text, c.Size, 10), ' ')
			text = append(text, c.File...)
		}
		text = append(text, '\n')
		return nil
	})
	if err != nil {
		return err
	}
	if count == 0 {
		return &errs.Error{Kind: errs.Invalid, Op: "webdataset", Want: "an archive with samples", Got: "none"}
	}
	if _, err := fmt.Fprintf(w, "v1.2 %d\n", count); err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

package tarball

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
)

// extend reads the data of a header that extends the next one.
func (s *scanner) extend(more *extended, kind byte, data, size int64) error {
	s.quiet = false
	if rest := s.window.size - data; size > rest || padded(size) > rest {
		return s.fail(data-Block, fmt.Sprintf("%d bytes of a header of type %c", size, kind),
			fmt.Sprintf("an archive that ends after %d", rest))
	}
	if size > maxExtension {
		return s.fail(data-Block, fmt.Sprintf("a header of type %c of at most %d bytes", kind, maxExtension),
			fmt.Sprint(size))
	}
	b := make([]byte, size)
	if err := s.window.readInto(b, data); err != nil {
		return err
	}
	switch kind {
	case 'L':
		more.name = text(b)
		return nil
	case 'K':
		more.link = text(b)
		return nil
	}
	return s.records(more, kind == 'g', b, data)
}

// records reads the records of pax: "27 path=a name of a member\n". Records for all members that
// follow may have comments alone.
func (s *scanner) records(more *extended, all bool, b []byte, data int64) error {
	for start := data; len(b) > 0; {
		if b[0] == 0 { // tarfile takes it as the end
			return nil
		}
		digits, _, ok := bytes.Cut(b[:min(len(b), 20)], []byte(" "))
		n, err := strconv.Atoi(string(digits))
		at := start
		if !ok || err != nil || n < len(digits)+3 || n > len(b) || b[n-1] != '\n' {
			return s.fail(at, "records of pax", fmt.Sprintf("%q", b[:min(len(b), 40)]))
		}
		key, value, ok := strings.Cut(string(b[len(digits)+1:n-1]), "=")
		if !ok {
			return s.fail(at, "a record of pax with a key", quoted(key))
		}
		if err := s.record(more, all, key, value, at); err != nil {
			return err
		}
		b, start = b[n:], start+int64(n)
	}
	return nil
}

// record takes one record of pax.
func (s *scanner) record(more *extended, all bool, key, value string, at int64) error {
	switch {
	case key == "path" || key == "linkpath" || key == "size":
		if all {
			return &errs.Error{Kind: errs.Unsupported, Op: "tar",
				Subject: fmt.Sprintf("member %d, offset %d", s.number, at),
				Want:    "a " + key + " for one member", Got: "one for all members"}
		}
	case strings.HasPrefix(key, "GNU.sparse."):
		more.sparse = true
	}
	switch key {
	case "path":
		if strings.IndexByte(value, 0) >= 0 {
			return s.fail(at, "a path without zero bytes", quoted(value))
		}
		more.name = strings.TrimRight(value, "/")
	case "GNU.sparse.name":
		more.name = value
	case "linkpath":
		more.link = value
	case "size":
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < 0 {
			return s.fail(at, "the size of a member", quoted(value))
		}
		more.size = n
	}
	return nil
}

// sparseMap skips the rest of the map of a sparse file of GNU tar and returns the offset of its
// data.
func (s *scanner) sparseMap(at int64) (int64, error) {
	for {
		if rest := s.window.size - at; rest < Block {
			return 0, s.fail(at, "512 bytes of the map of a sparse file",
				fmt.Sprintf("%d bytes up to the end of the archive", rest))
		}
		b, err := s.window.read(at)
		if err != nil {
			return 0, err
		}
		if at += Block; b[504] == 0 {
			return at, nil
		}
	}
}

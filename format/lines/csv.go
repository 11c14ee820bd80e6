package lines

import (
	"bytes"
	"fmt"

	"github.com/bivouac-ml/bivouac/errs"
)

// Split appends the fields of a row to list and returns it. A field without quotes is a Bare value,
// and a field with quotes is a Quoted one. Values share the memory of the row.
func (d Dialect) Split(row []byte, list []Value) ([]Value, error) {
	for at := 0; ; at++ {
		if d.Quote == 0 || at >= len(row) || row[at] != d.Quote {
			n := bytes.IndexByte(row[at:], d.Delimiter)
			if n < 0 {
				return append(list, Value{Kind: Bare, Raw: row[at:]}), nil
			}
			list = append(list, Value{Kind: Bare, Raw: row[at : at+n]})
			at += n
			continue
		}
		begin := at
		for at++; ; at++ { // to the closing quote
			n := bytes.IndexByte(row[at:], d.Quote)
			if n < 0 {
				return nil, &errs.Error{Kind: errs.Corrupt, Op: "lines", Subject: fmt.Sprintf("field %d", len(list)),
					Want: fmt.Sprintf("the closing quote %c", d.Quote), Got: "the end of the row"}
			}
			if at += n + 1; at >= len(row) || row[at] != d.Quote {
				break
			}
		}
		list = append(list, Value{Kind: Quoted, Raw: row[begin:at], quote: d.Quote})
		if at >= len(row) {
			return list, nil
		}
		if row[at] != d.Delimiter {
			return nil, &errs.Error{Kind: errs.Corrupt, Op: "lines", Subject: fmt.Sprintf("field %d", len(list)-1),
				Want: fmt.Sprintf("%q or the end of the row after the closing quote", d.Delimiter), Got: fmt.Sprintf("%q", row[at]),
				Remedy: fmt.Sprintf("double the quotes within the field: %c%c", d.Quote, d.Quote)}
		}
	}
}

// AppendRow appends a row to dst, with a line end. Fields are quoted if they must be.
func (d Dialect) AppendRow(dst []byte, fields ...string) []byte {
	for i, f := range fields {
		if i > 0 {
			dst = append(dst, d.Delimiter)
		}
		if !bytes.ContainsAny([]byte(f), string([]byte{d.Delimiter, d.Quote, '\n', '\r'})) && (f != "" || len(fields) > 1) {
			dst = append(dst, f...)
			continue
		}
		dst = append(dst, d.Quote)
		for _, c := range []byte(f) {
			if c == d.Quote {
				dst = append(dst, c)
			}
			dst = append(dst, c)
		}
		dst = append(dst, d.Quote)
	}
	return append(dst, '\n')
}

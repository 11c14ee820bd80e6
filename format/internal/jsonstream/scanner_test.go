package jsonstream

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/bivouac-ml/bivouac/errs"
)

// tree reads the next value as encoding/json does with UseNumber.
func tree(s *Scanner) (any, error) {
	switch s.Kind() {
	case Object:
		m := map[string]any{}
		err := s.Object(func(key []byte) error {
			k := strings.ToValidUTF8(string(key), "?")
			v, err := tree(s)
			m[k] = v
			return err
		})
		return m, err
	case Array:
		list := []any{}
		err := s.Array(func() error {
			v, err := tree(s)
			list = append(list, v)
			return err
		})
		return list, err
	case String:
		b, err := s.String()
		return string(b), err
	case Number:
		b, err := s.number()
		return json.Number(b), err
	case True, False:
		return s.Bool()
	}
	return nil, s.Null()
}

// whole reads a text of one value.
func whole(s *Scanner) (any, error) {
	v, err := tree(s)
	if err == nil {
		err = s.End()
	}
	return v, err
}

func depth(text []byte) (deepest int) {
	n := 0
	for _, c := range text {
		switch c {
		case '[', '{':
			n++
			deepest = max(deepest, n)
		case ']', '}':
			n--
		}
	}
	return deepest
}

// check holds the scanner against encoding/json, for reads of all sizes.
func check(t *testing.T, text []byte) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var want any
	werr := dec.Decode(&want)
	if werr == nil {
		if _, err := dec.Token(); err != io.EOF {
			werr = errors.New("more than one value")
		}
	}
	for _, r := range []io.Reader{bytes.NewReader(text), iotest.OneByteReader(bytes.NewReader(text))} {
		s := New(r)
		s.buf = make([]byte, 4) // so that the window moves and grows
		got, err := whole(s)
		if (err == nil) != (werr == nil) {
			t.Fatalf("%q: got error %v, encoding/json has %v", text, err, werr)
		}
		if err != nil {
			if errs.KindOf(err) != errs.Corrupt {
				t.Fatalf("%q: got kind %v of %v", text, errs.KindOf(err), err)
			}
			continue
		}
		if utf8.Valid(text) && !reflect.DeepEqual(got, want) {
			t.Fatalf("%q: got %#v, want %#v", text, got, want)
		}
		s = New(bytes.NewReader(text))
		if err := s.Skip(); err != nil {
			t.Fatalf("%q: Skip: %v", text, err)
		}
		if err := s.End(); err != nil {
			t.Fatalf("%q: End: %v", text, err)
		}
	}
	var number float64
	if n, ok := want.(json.Number); ok && werr == nil {
		nerr := json.Unmarshal([]byte(n), &number)
		got, err := New(bytes.NewReader(text)).Float()
		if (err == nil) != (nerr == nil) || err == nil && (got != number) {
			t.Fatalf("%q: Float: got %v %v, want %v %v", text, got, err, number, nerr)
		}
	}
}

var texts = []string{
	``, ` `, `{}`, `[]`, ` { } `, `{"a":1}`, `{"a" : [1, 2 ,3], "b": {"c": null}, "d": true, "e": false}`, `[1,]`, `[,1]`, `{"a":1,}`, `{a:1}`, `{"a" 1}`,
	`[1 2]`, `"a`, `"a\`, `"\u12"`, `"\u12x4"`, `"\ud83d\ude00 \ud83d x \ude00"`, `"\ud83dA\ud83d\n"`, `"\"\\\/\b\f\n\r\t"`, `"\x"`, "\"a\nb\"", `"é"`, "\"\xff\"",
	`1`, `-1`, `-`, `01`, `1.`, `.5`, `1.5`, `1e5`, `1E+5`, `1e`, `1e400`, `-0`, `-0.0`, `123456789012345678`, `1234567890123456789`, `12345678901234567890`,
	`-9223372036854775808`, `0.1`, `123456789.123456`, `1234567890.1234567`, `0.30000000000000004`, `2.5e-3`, `999999999999999`, `-999999999999.999`, `9007199254740993`,
	`tru`, `true`, `truex`, `nul`, `nulll`, `falsefalse`, `[[[[]]]]`, `{"a":{"a":{"a":[]}}}`, `1 1`, `[}`, `{]`, `{"a":1]`, "\u00a01", "\ufeff1", `{"a":1,"a":2}`, `["` + strings.Repeat("x", 50) + `\n` + strings.Repeat("y", 50) + `"]`,
}

// TestAsEncodingJSON: the scanner takes what encoding/json takes, and reads the same values.
func TestAsEncodingJSON(t *testing.T) {
	for _, text := range texts {
		check(t, []byte(text))
	}
}

func FuzzScanner(f *testing.F) {
	for _, text := range texts {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if depth(text) > maxDepth || len(text) > 1<<12 {
			t.Skip()
		}
		check(t, text)
	})
}

// TestErrors: an error names the offset, ends the reading, and an error of the stream comes
// through.
func TestErrors(t *testing.T) {
	s := New(strings.NewReader(`{"a": [1, x]}`))
	err := s.Skip()
	if errs.KindOf(err) != errs.Corrupt || !strings.Contains(err.Error(), "offset 10") {
		t.Fatalf("got %v, want an error at offset 10", err)
	}
	if err := s.End(); err == nil {
		t.Fatal("End passes after an error")
	}
	if err := New(strings.NewReader(strings.Repeat("[", maxDepth+1))).Skip(); errs.KindOf(err) != errs.Corrupt {
		t.Fatalf("got %v for a deep text", err)
	}
	broken := errors.New("broken")
	if err := New(io.MultiReader(strings.NewReader(`[1, 2`), iotest.ErrReader(broken))).Skip(); !errors.Is(err, broken) {
		t.Fatalf("got %v, want the error of the stream", err)
	}
}

// TestElementsThatAreLeft: what a function does not read is skipped.
func TestElementsThatAreLeft(t *testing.T) {
	s := New(strings.NewReader(`{"a": {"x": [1, {"y": 2}]}, "b": 7, "c": "d"} 5`))
	var keys []string
	b := 0.0
	err := s.Object(func(key []byte) (err error) {
		keys = append(keys, string(key))
		if string(key) == "b" {
			b, err = s.Float()
		}
		return err
	})
	if err != nil || b != 7 || strings.Join(keys, "") != "abc" {
		t.Fatalf("got %v %v %v", keys, b, err)
	}
	if n, err := s.Float(); n != 5 || err != nil {
		t.Fatalf("got %v %v, want 5", n, err)
	}
}

// BenchmarkScanner reads numbers and skips strings, as of annotations of boxes.
func BenchmarkScanner(b *testing.B) {
	text := bytes.Repeat([]byte(`{"segmentation": [[239.97,260.24,222.04,270.49,199.84,253.41]],`+
		`"area": 2765.1486500000005,"iscrowd": 0,"image_id": 558840,"bbox": [199.84,200.46,77.71,70.88],`+
		`"category_id": 58,"id": 156},`), 20000)
	text = append(append([]byte("["), text...), []byte("0]")...)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if err := New(bytes.NewReader(text)).Skip(); err != nil {
			b.Fatal(err)
		}
	}
}

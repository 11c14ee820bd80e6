package lines

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// found returns the records that a scan finds.
func found(t interface{ Fatal(...any) }, text string, scan func(io.Reader, Add) error) (list []string) {
	err := scan(strings.NewReader(text), func(offset, n int64) error {
		list = append(list, text[offset:offset+n])
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestScanLines(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"", nil}, {"\n\n \n\t\r\n", nil}, {"a", []string{"a"}}, {"a\n", []string{"a"}}, {"a\r\nb", []string{"a", "b"}},
		{"\xef\xbb\xbfa\n\n\nb\r\n", []string{"a", "b"}}, {"\xef\xbb\xbf", nil}, {" a \n", []string{" a "}}, {"a\r", []string{"a"}},
		{"a\xef\xbb\xbf\n", []string{"a\xef\xbb\xbf"}},
	} {
		if got := found(t, c.text, Scan); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
	for _, text := range []string{"\xff\xfea\x00", "\xfe\xff\x00a"} {
		if err := Scan(strings.NewReader(text), nil); !errors.Is(err, errs.Unsupported) {
			t.Errorf("UTF-16: %v", err)
		}
	}
	failed := errors.New("broken")
	if err := Scan(iotest.ErrReader(failed), nil); !errors.Is(err, failed) {
		t.Errorf("%v", err)
	}
	if err := Scan(strings.NewReader("a\nb\n"), func(int64, int64) error { return failed }); !errors.Is(err, failed) {
		t.Errorf("%v", err)
	}
}

// Lines that are longer than what is read at once are found like short ones.
func TestScanLongLines(t *testing.T) {
	long := strings.Repeat("x", chunk)
	text := long + "\r\n" + long + long + "\n" + long[:chunk-2] + "\r\n" + "y"
	if got := found(t, text, Scan); !reflect.DeepEqual(got, []string{long, long + long, long[:chunk-2], "y"}) {
		t.Errorf("%d lines", len(got))
	}
	d := Dialect{',', '"'}
	text = `"` + long + "\n" + `",1` + "\r\n" + long + "\n"
	if got := found(t, text, d.Scan); !reflect.DeepEqual(got, []string{`"` + long + "\n" + `",1`, long}) {
		t.Errorf("%d rows", len(got))
	}
}

// Rows and their fields are those that encoding/csv reads.
func TestRowsAreThoseOfEncodingCSV(t *testing.T) {
	d := Dialect{',', '"'}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`([ab",;\r\n]|a,b\r?\n|"",|"a""b\n"){0,20}`).Draw(t, "text")
		r := csv.NewReader(strings.NewReader(text))
		r.FieldsPerRecord = -1
		want, err := r.ReadAll()
		if err != nil || strings.Contains(strings.ReplaceAll(text, "\r\n", ""), "\r") {
			return // refused there, or a lone CR, which the package trims
		}
		var got [][]string
		scanErr := d.Scan(strings.NewReader(text), func(offset, n int64) error {
			values, err := d.Split([]byte(text[offset:offset+n]), nil)
			if err != nil {
				return err
			}
			row := []string{}
			for _, v := range values {
				b, err := v.Append(nil, tensor.Uint8, true)
				if err != nil {
					return err
				}
				row = append(row, strings.ReplaceAll(string(b), "\r\n", "\n")) // as the package does
			}
			got = append(got, row)
			return nil
		})
		if scanErr != nil || len(got)+len(want) > 0 && !reflect.DeepEqual(got, want) {
			t.Fatalf("%q: %q, %v; want %q", text, got, scanErr, want)
		}
	})
}

// What AppendRow writes is read back, for any dialect.
func TestAppendRow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := Dialect{rapid.SampledFrom([]byte(",;\t|")).Draw(t, "delimiter"), rapid.SampledFrom([]byte(`"'`)).Draw(t,
			"quote")}
		rows := rapid.SliceOfN(rapid.SliceOfN(rapid.StringMatching(`[a,;|'"\n\r\t ü]{0,5}`), 1, 4), 0, 5).Draw(t, "rows")
		var text []byte
		for _, row := range rows {
			text = d.AppendRow(text, row...)
		}
		i := 0
		err := d.Scan(bytes.NewReader(text), func(offset, n int64) error {
			values, err := d.Split(text[offset:offset+n], nil)
			if err != nil {
				return err
			}
			if len(values) != len(rows[i]) {
				return fmt.Errorf("%d fields", len(values))
			}
			for f, v := range values {
				if b, err := v.Append(nil, tensor.Uint8, true); err != nil || string(b) != rows[i][f] {
					return fmt.Errorf("field %d: %q, %v", f, b, err)
				}
			}
			i++
			return nil
		})
		if err != nil || i != len(rows) {
			t.Fatalf("%q: row %d of %d: %v", text, i, len(rows), err)
		}
	})
}

func TestRowMistakes(t *testing.T) {
	d := Dialect{',', '"'}
	if err := d.Scan(strings.NewReader("a\n\nb,\"x\ny\n"), func(int64, int64) error { return nil }); !errors.Is(err,
		errs.Corrupt) ||
		!strings.Contains(err.Error(), "record 1 at byte 3, line 3") {
		t.Errorf("an open quote: %v", err)
	}
	for _, row := range []string{`"a"b`, `"a`, `x,"a"" `} {
		if _, err := d.Split([]byte(row), nil); !errors.Is(err, errs.Corrupt) {
			t.Errorf("%s: %v", row, err)
		}
	}
	for _, d := range []Dialect{{0, '"'}, {'\n', '"'}, {',', ','}, {0xc3, 0}, {',', '\r'}} {
		if err := d.Check(); !errors.Is(err, errs.Invalid) {
			t.Errorf("%q: %v", d, err)
		}
	}
	if got := found(t, "\"a\nb\"\n", Dialect{Delimiter: ','}.Scan); len(got) != 2 {
		t.Errorf("without quotes: %q", got)
	}
}

// get parses a line and returns the values at paths.
func get(t testing.TB, line string, paths ...string) []Value {
	t.Helper()
	p, err := NewPaths(paths...)
	if err != nil {
		t.Fatal(err)
	}
	list, err := p.Parse([]byte(line), nil)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestPaths(t *testing.T) {
	line := ` {"a": {"b": [1, 2.5], "c.d": "x\\", "a": null}, "e": true, ` +
		`"\u00e9": -1, "t": "p\"q\u00e9\ud83d\ude00\n", "o": {"k": {}}} `
	list := get(t, line, "a.b", `a.c\.d`, "a.a", "e", "é", "t", "none", "a.none", "e.x", "o", "o.k", "a.a.x")
	want := []string{"[1, 2.5]", `"x\\"`, "null", "true", "-1", `"p\"q\u00e9\ud83d\ude00\n"`, "", "", "", `{"k": {}}`,
		"{}", ""}
	kinds := []Kind{List, Text, Null, Bool, Number, Text, Missing, Missing, Within, Object, Object, Missing}
	for i, v := range list {
		if string(v.Raw) != want[i] || v.Kind != kinds[i] {
			t.Errorf("path %d: %s %q, want %s %q", i, v.Kind, v.Raw, kinds[i], want[i])
		}
	}
	if b, err := list[5].Append(nil, tensor.Uint8, false); err != nil || string(b) != "p\"qé😀\n" {
		t.Errorf("%q, %v", b, err)
	}
	// Of two members with one name the last counts, with all that is within.
	list = get(t, `{"a": {"b": 1}, "a": {"c": 2}, "d": 1, "d": "x"}`, "a.b", "a.c", "d")
	if list[0].Kind != Missing || string(list[1].Raw) != "2" || list[2].Kind != Text {
		t.Errorf("%v", list)
	}
	if _, err := NewPaths("a.b", "a.b"); !errors.Is(err, errs.Invalid) {
		t.Errorf("%v", err)
	}
	if names, values, err := Members([]byte(`{"a":1,"b":[2]}`)); err != nil || !reflect.DeepEqual(names,
		[]string{"a", "b"}) || values[1].Kind != List {
		t.Errorf("%v %v %v", names, values, err)
	}
}

// Lines are accepted that encoding/json accepts, besides those with NaN and the like, and objects
// only. Values are the same.
func TestJSONIsThatOfEncodingJSON(t *testing.T) {
	p, err := NewPaths("a", "b.c")
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.StringMatching(`\{("a":|"b":|"c":|[{}\[\],: ]|1|-0\.5e3|01|"x\\n"|"\\u00e9"|`+
			`true|null|\{"c":[1-3]\}|\[1,2\]){0,8}\}`).Draw(t, "line")
		list, err := p.Parse([]byte(line), nil)
		var want map[string]any
		wantErr := json.Unmarshal([]byte(line), &want)
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("%s: %v, encoding/json says %v", line, err, wantErr)
		}
		if err != nil {
			if !errors.Is(err, errs.Corrupt) {
				t.Fatalf("%s: %v", line, err)
			}
			return
		}
		var inner any
		b, isObject := want["b"].(map[string]any)
		if isObject {
			inner = b["c"]
		}
		for i, w := range []any{want["a"], inner} {
			var got any
			if list[i].Kind != Missing && list[i].Kind != Within {
				if err := json.Unmarshal(list[i].Raw, &got); err != nil {
					t.Fatal(err)
				}
			}
			if !reflect.DeepEqual(got, w) {
				t.Fatalf("%s: value %d is %v, want %v", line, i, got, w)
			}
		}
	})
}

func TestBrokenJSON(t *testing.T) {
	p, err := NewPaths("a")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		``, `[]`, `1`, `{`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `{a:1}`, `{"a":1}x`, `{"a":1}{}`, `{"a":01}`, `{"a":1.}`, `{"a":+1}`,
		`{"a":.5}`, `{"a":1e}`, `{"a":-}`, `{"a":tru}`, `{"a":"x}`, `{"a":"\x"}`, `{"a":"\u12g4"}`, `{"a":"\u12"}`, `{"a":[1,]}`, `{"a":[1 2]}`,
		`{"a":[}`, `{"a":"` + "\x01" + `"}`, `{"a":"\`, `{'a':1}`, `{"a":1 "b":2}`,
	} {
		if _, err := p.Parse([]byte(line), nil); !errors.Is(err, errs.Corrupt) {
			t.Errorf("%s: %v", line, err)
		}
	}
	deep := `{"a":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + "}"
	if _, err := p.Parse([]byte(deep), nil); !errors.Is(err, errs.Unsupported) {
		t.Errorf("deep: %v", err)
	}
	deep = strings.Repeat(`{"a":`, 5000) + "1" + strings.Repeat("}", 5000)
	if _, err := p.Parse([]byte(deep), nil); !errors.Is(err, errs.Unsupported) {
		t.Errorf("deep: %v", err)
	}
	if _, err := get(t, `{"a":"\ud800x"}`, "a")[0].Append(nil, tensor.Uint8, false); !errors.Is(err, errs.Invalid) {
		t.Errorf("half a character: %v", err)
	}
	for _, line := range []string{"a\x00b", "a\xffb", "\xed\xa0\x80"} {
		if err := CheckText([]byte(line)); !errors.Is(err, errs.Corrupt) || !strings.Contains(err.Error(), "byte ") {
			t.Errorf("%q: %v", line, err)
		}
	}
	if err := CheckText([]byte("grün \ufffd")); err != nil {
		t.Errorf("%v", err)
	}
}

func TestNumbers(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		raw  string
		d    tensor.DType
		want any // a tensor's elements, or a kind of error
	}{
		{"1", tensor.Int64, []int64{1}}, {"-9223372036854775808", tensor.Int64, []int64{math.MinInt64}}, {"9223372036854775808", tensor.Int64, errs.Invalid},
		{"18446744073709551615", tensor.Uint64, []uint64{math.MaxUint64}}, {"18446744073709551616", tensor.Uint64, errs.Invalid},
		{"99999999999999999999999", tensor.Uint64, errs.Invalid}, {"-1", tensor.Uint8, errs.Invalid}, {"-0", tensor.Uint8, []uint8{0}},
		{"255", tensor.Uint8, []uint8{255}}, {"256", tensor.Uint8, errs.Invalid}, {"-128", tensor.Int8, []int8{-128}}, {"-129", tensor.Int8, errs.Invalid},
		{"3.0", tensor.Int32, []int32{3}}, {"1e3", tensor.Int16, []int16{1000}}, {"-2.0", tensor.Int16, []int16{-2}}, {"3.5", tensor.Int32, errs.Mismatch},
		{"1e30", tensor.Int64, errs.Mismatch}, {"0.1", tensor.Float32, []float32{0.1}}, {"1e400", tensor.Float64, errs.Invalid},
		{"1e39", tensor.Float32, errs.Invalid}, {"-Infinity", tensor.Float64, []float64{-inf}}, {"NaN", tensor.Int32, errs.Mismatch},
		{"true", tensor.Bool, []bool{true}}, {"1", tensor.Bool, errs.Mismatch}, {"true", tensor.Int32, errs.Mismatch}, {`"x"`, tensor.Int32, errs.Mismatch},
		{"[1, 2 ,3]", tensor.Uint16, []uint16{1, 2, 3}}, {"[]", tensor.Float32, []float32{}}, {"[ ]", tensor.Bool, []bool{}}, {"[true,false]", tensor.Bool, []bool{true, false}},
		{`[1,"x"]`, tensor.Int32, errs.Mismatch}, {"[[1]]", tensor.Int32, errs.Mismatch}, {"[1,null]", tensor.Int32, errs.Mismatch}, {"{}", tensor.Int32, errs.Mismatch},
		{"[1,300]", tensor.Uint8, errs.Invalid}, {`"é"`, tensor.Uint8, []uint8("é")}, {`""`, tensor.Uint8, []uint8{}}, {"9007199254740993", tensor.Int64, []int64{9007199254740993}},
	} {
		v := get(t, `{"x":`+c.raw+`}`, "x")[0]
		b, err := v.Append([]byte{}, c.d, false)
		if kind, ok := c.want.(errs.Kind); ok {
			if !errors.Is(err, kind) {
				t.Errorf("%s as %s: %v, want %v", c.raw, c.d, err, kind)
			}
			continue
		}
		if want := bytesOf(c.want); err != nil || !bytes.Equal(b, want) {
			t.Errorf("%s as %s: % x, %v; want % x", c.raw, c.d, b, err, want)
		}
	}
	if b, err := get(t, `{"x":1.5}`, "x")[0].Append(nil, tensor.BFloat16, false); err != nil ||
		!bytes.Equal(b, []byte{0xc0, 0x3f}) {
		t.Errorf("bfloat16: % x, %v", b, err)
	}
}

func bytesOf(v any) []byte {
	switch v := v.(type) {
	case []int8:
		return tensor.FromSlice(v, len(v)).Data
	case []int16:
		return tensor.FromSlice(v, len(v)).Data
	case []int32:
		return tensor.FromSlice(v, len(v)).Data
	case []int64:
		return tensor.FromSlice(v, len(v)).Data
	case []uint8:
		return v
	case []uint16:
		return tensor.FromSlice(v, len(v)).Data
	case []uint64:
		return tensor.FromSlice(v, len(v)).Data
	case []float32:
		return tensor.FromSlice(v, len(v)).Data
	case []float64:
		return tensor.FromSlice(v, len(v)).Data
	}
	return tensor.FromSlice(v.([]bool), len(v.([]bool))).Data
}

func TestFieldsOfCSV(t *testing.T) {
	for _, c := range []struct {
		raw  string
		d    tensor.DType
		want any
	}{
		{" 5 ", tensor.Int32, []int32{5}}, {"+5", tensor.Int32, []int32{5}}, {"nan", tensor.Int32, errs.Mismatch}, {"-inf", tensor.Float64, []float64{math.Inf(-1)}},
		{"True", tensor.Bool, []bool{true}}, {"0", tensor.Bool, []bool{false}}, {"yes", tensor.Bool, errs.Mismatch}, {"0x10", tensor.Int32, errs.Mismatch},
		{"1_000", tensor.Int32, errs.Mismatch}, {"1.2.3", tensor.Float32, errs.Mismatch}, {"--1", tensor.Float32, errs.Mismatch}, {"", tensor.Float32, errs.Mismatch},
		{"e5", tensor.Float32, errs.Mismatch}, {`"7"`, tensor.Uint8, []uint8{7}}, {"1-2", tensor.Int32, errs.Mismatch}, {"--nan", tensor.Float32, errs.Mismatch},
	} {
		values, err := Dialect{',', '"'}.Split([]byte(c.raw), nil)
		if err != nil {
			t.Fatal(err)
		}
		b, err := values[0].Append([]byte{}, c.d, false)
		if kind, ok := c.want.(errs.Kind); ok {
			if !errors.Is(err, kind) {
				t.Errorf("%q as %s: % x, %v, want %v", c.raw, c.d, b, err, kind)
			}
			continue
		}
		if want := bytesOf(c.want); err != nil || !bytes.Equal(b, want) {
			t.Errorf("%q as %s: % x, %v; want % x", c.raw, c.d, b, err, want)
		}
	}
}

func TestDTypeOfValues(t *testing.T) {
	for raw, want := range map[string]tensor.DType{
		`"x"`: tensor.Uint8, "true": tensor.Bool, "1": tensor.Int64, "1.0": tensor.Float64, "1e3": tensor.Float64, "NaN": tensor.Float64, "[]": tensor.Invalid,
		"[1,2]": tensor.Int64, "[1,2.5]": tensor.Float64, "[true]": tensor.Bool, "Infinity": tensor.Float64, "[-1]": tensor.Int64,
	} {
		if got, err := get(t, `{"x":`+raw+`}`, "x")[0].DType(); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", raw, got, err, want)
		}
	}
	for _, raw := range []string{"{}", `["x"]`, "[[1]]"} {
		if _, err := get(t, `{"x":`+raw+`}`, "x")[0].DType(); !errors.Is(err, errs.Mismatch) {
			t.Errorf("%s: %v", raw, err)
		}
	}
}

func FuzzJSON(f *testing.F) {
	p, err := NewPaths("a", "b.c", "b")
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(`{"a":[1,2.5,true],"b":{"c":"\u00e9x"}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		list, err := p.Parse(line, nil)
		if utf8.Valid(line) && (err == nil) != json.Valid(line) && !bytes.Contains(line, []byte("NaN")) &&
			!bytes.Contains(line, []byte("Infinity")) &&
			bytes.HasPrefix(bytes.TrimLeft(line, " \t\r\n"), []byte("{")) && !errors.Is(err, errs.Unsupported) {
			t.Fatalf("%q: %v, encoding/json says %t", line, err, json.Valid(line))
		}
		for _, v := range list {
			for _, d := range []tensor.DType{tensor.Uint8, tensor.Bool, tensor.Int64, tensor.Float16} {
				if b, err := v.Append(nil, d, false); err == nil && (len(b)%d.Size() != 0 || len(b) > 8*len(line)) {
					t.Fatalf("%q as %s: %d bytes", v.Raw, d, len(b))
				}
			}
			v.DType() //nolint:errcheck // only panics count
		}
	})
}

func FuzzCSV(f *testing.F) {
	f.Add([]byte("a,b\r\n\"x\ny\",\"p\"\"q\"\n,\n"), byte(','), byte('"'))
	f.Fuzz(func(t *testing.T, text []byte, delimiter, quote byte) {
		d := Dialect{delimiter, quote}
		if d.Check() != nil {
			return
		}
		end := int64(0)
		d.Scan(bytes.NewReader(text), func(offset, n int64) error { //nolint:errcheck // only panics and places count
			if offset < end || n <= 0 || offset+n > int64(len(text)) {
				t.Fatalf("%d bytes at %d, after %d of %d", n, offset, end, len(text))
			}
			end = offset + n
			values, err := d.Split(text[offset:end], nil)
			for _, v := range values {
				if b, err := v.Append(nil, tensor.Uint8, true); err != nil || len(b) > int(n) {
					t.Fatalf("%q: %q, %v", v.Raw, b, err)
				}
				v.Append(nil, tensor.Int32, false) //nolint:errcheck // only panics count
			}
			if err != nil && !errors.Is(err, errs.Corrupt) {
				t.Fatal(err)
			}
			return nil
		})
	})
}

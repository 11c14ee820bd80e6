package pickle

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"os"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
)

// some lists the names that Python's own data needs.
func some(g Global) bool {
	switch g.String() {
	case "collections.OrderedDict", "_codecs.encode", "builtins.set", "__builtin__.set", "builtins.frozenset",
		"__builtin__.frozenset", "builtins.bytearray", "__builtin__.bytearray", "__builtin__.bytes", "builtins.bytes":
		return true
	}
	return false
}

// describe returns a value as gen.py describes it.
func describe(t *testing.T, v any, seen ...any) any {
	t.Helper()
	for _, s := range seen {
		if s == v {
			return "..."
		}
	}
	each := func(items []any, above any) []any {
		out := make([]any, len(items))
		for i, item := range items {
			out[i] = describe(t, item, append(seen, above)...)
		}
		return out
	}
	pairs := func(d *Dict) []any {
		out := []any{}
		for i := range d.Keys {
			out = append(out, []any{describe(t, d.Keys[i]), describe(t, d.Values[i])})
		}
		return out
	}
	switch v := v.(type) {
	case nil:
		return []any{"NoneType", "None"}
	case bool:
		return []any{"bool", map[bool]string{true: "True", false: "False"}[v]}
	case int64:
		return []any{"int", strconv.FormatInt(v, 10)}
	case *big.Int:
		return []any{"int", v.String()}
	case float64:
		return v
	case string:
		return []any{"str", v}
	case []byte:
		return []any{"bytes", hex.EncodeToString(v)}
	case *List:
		return []any{"list", each(v.Items, v)}
	case *Tuple:
		return []any{"tuple", each(v.Items, v)}
	case *Set:
		return []any{"set", each(v.Items, v)}
	case *Dict:
		return []any{"dict", pairs(v)}
	case *Object:
		switch v.Of.Name {
		case "OrderedDict":
			return []any{"OrderedDict", pairs(&v.Dict)}
		case "set", "frozenset":
			return []any{"set", each(v.Args[0].(*List).Items, v)}
		case "encode": // bytes in protocols that have none
			var b []byte
			for _, r := range v.Args[0].(string) {
				b = append(b, byte(r))
			}
			return []any{"bytes", hex.EncodeToString(b)}
		case "bytes", "bytearray":
			if len(v.Args) == 0 {
				return []any{"bytes", ""}
			}
			return describe(t, v.Args[0])
		}
	}
	t.Fatalf("%T %v", v, v)
	return nil
}

// sameNumbers replaces the texts of floats by their numbers.
func sameNumbers(v any) any {
	list, ok := v.([]any)
	if !ok {
		return v
	}
	if len(list) == 2 && list[0] == "float" {
		f, err := strconv.ParseFloat(list[1].(string), 64)
		if err != nil {
			panic(err)
		}
		return f
	}
	out := make([]any, len(list))
	for i, item := range list {
		out[i] = sameNumbers(item)
	}
	return out
}

// What Python wrote, in every protocol, by both of its picklers, is read as Python reads it.
func TestVectors(t *testing.T) {
	b, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases [][3]any
	if err := json.Unmarshal(b, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) < 150 {
		t.Fatalf("%d cases", len(cases))
	}
	for _, c := range cases {
		raw, err := hex.DecodeString(c[1].(string))
		if err != nil {
			t.Fatal(err)
		}
		v, err := Parse(raw, Options{Listed: some})
		if err != nil {
			t.Errorf("%s: %v", c[0], err)
			continue
		}
		if want, got := sameNumbers(c[2]), describe(t, v); !reflect.DeepEqual(want, got) {
			t.Errorf("%s: %v, want %v", c[0], got, want)
		}
		for n := range raw {
			if _, err := Parse(raw[:n], Options{Listed: some}); err == nil {
				t.Errorf("%s: cut to %d of %d bytes", c[0], n, len(raw))
			}
			if n > 300 {
				break
			}
		}
	}
}

func le(width int, n uint64) string {
	b := binary.LittleEndian.AppendUint64(nil, n)
	return string(b[:width])
}

// Streams that are not data, or not a stream.
func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		stream string
		kind   errs.Kind
		want   string
	}{
		"a call of the system":         {"cposix\nsystem\n(Vtouch x\ntR.", errs.Unsupported, "posix.system"},
		"a call by protocol 4":         {"\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x01x\x85R.", errs.Unsupported, "os.system"},
		"eval":                         {"c__builtin__\neval\n(V1\ntR.", errs.Unsupported, "__builtin__.eval"},
		"a name within a listed one":   {"ccollections\nOrderedDict.__init__\n.", errs.Unsupported, "OrderedDict.__init__"},
		"a hidden name":                {"cos\n\x1b[31m\n.", errs.Unsupported, `"os.\x1b[31m"`},
		"a long name":                  {"c" + strings.Repeat("x", 5000) + "\ny\n.", errs.Unsupported, "…"},
		"an instance":                  {"(iposix\nsystem\n.", errs.Unsupported, "INST"},
		"an object":                    {"(cposix\nsystem\nVx\no.", errs.Unsupported, "posix.system"},
		"an object of a listed class":  {"(ccollections\nOrderedDict\no.", errs.Unsupported, "OBJ"},
		"named arguments":              {"ccollections\nOrderedDict\n)}\x92.", errs.Unsupported, "NEWOBJ_EX"},
		"the extension registry":       {"\x82\x01.", errs.Unsupported, "EXT1"},
		"a buffer outside":             {"\x97.", errs.Unsupported, "NEXT_BUFFER"},
		"protocol 6":                   {"\x80\x06N.", errs.Unsupported, "protocol 6"},
		"text of Python 2":             {"S'x'\n.", errs.Unsupported, "STRING"},
		"text that is not UTF-8":       {"X\x01\x00\x00\x00\xff.", errs.Unsupported, "UTF-8"},
		"nothing":                      {"", errs.Corrupt, "STOP"},
		"no value":                     {".", errs.Corrupt, "0 values"},
		"no end":                       {"N", errs.Corrupt, "STOP"},
		"bytes after the end":          {"N.N", errs.Corrupt, "1 bytes after"},
		"an unknown instruction":       {"\xff.", errs.Corrupt, "0xff"},
		"an empty stack":               {"R.", errs.Corrupt, "0 values"},
		"below a mark":                 {"N(R.", errs.Corrupt, "0 values"},
		"no mark":                      {"Nt.", errs.Corrupt, "no mark"},
		"a mark without a list":        {"(e.", errs.Corrupt, "empty stack"},
		"elements of a number":         {"K\x01K\x02a.", errs.Corrupt, "an int"},
		"a key without a value":        {"}(Nu.", errs.Corrupt, "without a value"},
		"keys of a list":               {"](NNu.", errs.Corrupt, "a list"},
		"members of a list":            {"](N\x90.", errs.Corrupt, "a list"},
		"a state of a number":          {"K\x01Nb.", errs.Corrupt, "an int"},
		"two states":                   {"ccollections\nOrderedDict\n)R}b}b.", errs.Corrupt, "state"},
		"a call of a number":           {"K\x01)R.", errs.Corrupt, "an int"},
		"arguments that are no tuple":  {"ccollections\nOrderedDict\nNR.", errs.Corrupt, "None"},
		"a name of a number":           {"K\x01K\x01\x93.", errs.Corrupt, "an int"},
		"an unknown entry of the memo": {"h\x05.", errs.Corrupt, "entry 5"},
		"a memo of nothing":            {"q\x05N.", errs.Corrupt, "empty stack"},
		"bytes of 4 GiB":               {"B\xff\xff\xff\xff.", errs.Corrupt, "4294967295"},
		"text of 4 GiB":                {"X\xff\xff\xff\xff.", errs.Corrupt, "4294967295"},
		"text of 16 EiB":               {"\x8d" + le(8, 1<<64-1) + ".", errs.Corrupt, "18446744073709551615"},
		"bytes of 16 EiB":              {"\x8e" + le(8, 1<<64-1) + ".", errs.Corrupt, "18446744073709551615"},
		"an array of 8 EiB":            {"\x96" + le(8, 1<<63) + ".", errs.Corrupt, "9223372036854775808"},
		"a frame of 16 EiB":            {"\x80\x04\x95" + le(8, 1<<64-1) + "N.", errs.Corrupt, "frame"},
		"an int of 4 GiB":              {"\x8b\xff\xff\xff\xff.", errs.Corrupt, "4294967295"},
		"an int of 2 KiB":              {"\x8b" + le(4, 2048) + strings.Repeat("x", 2048) + ".", errs.Exhausted, "1024"},
		"an int of many digits":        {"L" + strings.Repeat("9", 1<<20) + "L\n.", errs.Exhausted, "1024"},
		"a line without an end":        {"I12", errs.Corrupt, "line"},
		"no number":                    {"I1x\n.", errs.Corrupt, "1x"},
		"no float":                     {"Fnope\n.", errs.Corrupt, "nope"},
		"half an escape":               {"V\\u12\n.", errs.Corrupt, "escape"},
		"a surrogate":                  {"V\\ud800\n.", errs.Corrupt, "escape"},
		"a memo without a number":      {"Ngx\n.", errs.Corrupt, "memo"},
	} {
		_, err := Parse([]byte(c.stream), Options{Listed: some})
		if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %v with %q", name, err, c.kind, c.want)
		}
		if err != nil && len(err.Error()) > 1000 {
			t.Errorf("%s: an error of %d bytes", name, len(err.Error()))
		}
	}
	if _, err := Parse([]byte("ccollections\nOrderedDict\n."), Options{}); !errors.Is(err, errs.Unsupported) {
		t.Errorf("nothing is listed: %v", err)
	}
}

// An error says at which byte the instruction begins.
func TestErrorsHaveOffsets(t *testing.T) {
	_, err := Parse([]byte("](K\x01cos\nsystem\nR."), Options{})
	if err == nil || !strings.Contains(err.Error(), "byte 4") {
		t.Error(err)
	}
}

// Short streams take little memory, and end soon.
func TestBombs(t *testing.T) {
	var doubling strings.Builder // 2^40 elements, if they were copied
	doubling.WriteString("]")
	for i := range 40 {
		fmt.Fprintf(&doubling, "q%c0(h%ch%cl", i, i, i)
	}
	doubling.WriteString(".")
	for name, stream := range map[string]string{
		"doubling":   doubling.String(),
		"nested":     strings.Repeat("(", 1<<20) + strings.Repeat("t", 1<<20) + ".",
		"lists":      strings.Repeat("]", 1<<20) + ".",
		"nested one": strings.Repeat("]", 1<<20) + strings.Repeat("a", 1<<20-1) + ".",
		"the memo":   "N" + strings.Repeat("\x94", 1<<20) + ".",
		"its ends":   "N" + strings.Repeat("r\xff\xff\xff\xffr\xfe\xff\xff\xff", 1<<17) + ".",
		"gets":       "]q\x00" + strings.Repeat("h\x00", 1<<20) + ".",
		"copies":     "N" + strings.Repeat("2", 1<<20) + ".",
		"states":     strings.Repeat("ccollections\nOrderedDict\n)R}b", 1<<15) + ".",
		"itself":     "]q\x00" + strings.Repeat("h\x00a", 1<<20) + ".",
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Parse([]byte(stream), Options{Listed: some})
		runtime.ReadMemStats(&after)
		most := uint64(2*(DefaultMemory+MemoryPerByte*len(stream)) + 1<<20)
		if used := after.TotalAlloc - before.TotalAlloc; used > 2*most {
			t.Errorf("%s: %d bytes for a stream of %d: %v", name, used, len(stream), err)
		}
	}
	for n := range 8 {
		_, err := Parse([]byte(strings.Repeat("]", 1000)+"."), Options{Memory: int64(1) << n})
		if !errors.Is(err, errs.Exhausted) {
			t.Errorf("a limit of %d bytes: %v", 1<<n, err)
		}
	}
}

func TestKinds(t *testing.T) {
	for _, c := range []struct {
		v    any
		want string
	}{
		{nil, "None"}, {true, "a bool"}, {int64(1), "an int"}, {1.5, "a float"}, {"x", "a str"}, {[]byte{}, "bytes"},
		{&List{Items: make([]any, 2)}, "a list of 2"}, {&Tuple{}, "a tuple of 0"}, {&Dict{}, "a dict of 0"}, {&Set{}, "a set"},
		{Global{"a", "b"}, "the name a.b"}, {&Object{Of: Global{"a", "b"}}, "a value of a.b"},
		{&Persistent{}, "a persistent id"}, {big.NewInt(1), "an int of more than 64 bits"},
	} {
		if got := Kind(c.v); got != c.want {
			t.Errorf("%v: %q, want %q", c.v, got, c.want)
		}
	}
	d := &Dict{Keys: []any{"a", int64(1), "a"}, Values: []any{1, 2, 3}}
	if v, ok := d.Get("a"); v != 3 || !ok {
		t.Errorf("the last value counts: %v, %v", v, ok)
	}
	if _, ok := d.Get("1"); ok {
		t.Error("the number 1 is not the text 1")
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"N.", "\x80\x04]q\x00h\x00a.", "cos\nsystem\n)R.", "(I1\nI01\nF1.5\nL3L\nVx\ntp0\ng0\n0.",
		"\x80\x02}(X\x01\x00\x00\x00aK\x01u.", "ccollections\nOrderedDict\n)R(VaNu}b."} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		all := func(Global) bool { return true }
		if v, err := Parse(b, Options{Listed: all}); err != nil && v != nil {
			t.Error("an error and a value")
		} else if err != nil && errs.KindOf(err) == errs.Other {
			t.Errorf("an error without a kind: %v", err)
		}
		Parse(b, Options{Listed: some, Memory: 1 << 12}) //nolint:errcheck // must not panic
	})
}

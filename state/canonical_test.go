package state

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
)

func TestCanonical(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{` { "b" : [ 1 , 2.0 ] , "a" : null } `, `{"a":null,"b":[1,2]}`},
		{`"\u003c<\/\u00e9\u20ac\ud83d\ude00\u0001\u007f\n"`, "\"<</é€😀\\u0001\u007f\\n\""},
		{`"\b\f\r\t\"\\"`, `"\b\f\r\t\"\\"`},
		{`"\\ud800"`, `"\\ud800"`},
		{"\"\u2028\"", "\"\u2028\""},
		{`123456789012345678901234567890`, `123456789012345678901234567890`},
		{`-0`, `0`},
		{`-0.0`, `0`},
		{`1e-400`, `0`},
		{`1e2`, `100`},
		{`1.50`, `1.5`},
		{`1e21`, `1e+21`},
		{`100000000000000000000.0`, `100000000000000000000`},
		{`0.000001`, `0.000001`},
		{`0.0000001`, `1e-7`},
		{`1.5E-10`, `1.5e-10`},
		{`{"":0,"Z":1,"a":2,"é":3}`, `{"":0,"Z":1,"a":2,"é":3}`},
		{`[]`, `[]`},
		{`[{},true,false]`, `[{},true,false]`},
	} {
		got, err := Canonical([]byte(c.in))
		if string(got) != c.want || err != nil {
			t.Errorf("%s: %s, %v", c.in, got, err)
		}
	}
	for _, bad := range []string{
		``, ` `, `{`, `[1`, `[1,]`, `{"a"}`, `{"a":1,}`, `nul`, `01`, `1 2`, `"`, "\"\n\"", "\"\xff\"", `{"a":1,"a":1}`, `{"a":1,"\u0061":1}`,
		`1e999`, `"\ud800"`, `"\ud800x"`, `"\udc00"`, `"\ud800\ud800"`, `"\ud800\u`, `"\u12`, strings.Repeat("[", 102) + strings.Repeat("]", 102), strings.Repeat(`{"a":`, 1e6),
	} {
		if got, err := Canonical([]byte(bad)); !errors.Is(err, errs.Corrupt) {
			t.Errorf("%.20s: %.20s, %v", bad, got, err)
		}
	}
}

// Canonical refuses or keeps the meaning that package json sees, and is
// idempotent.
func FuzzCanonical(f *testing.F) {
	for _, s := range []string{golden, `1e21`, `-0.0`, `"\ud83d\ude00\u003c"`, `{"a":[{"b":1.50}]}`, `1E400`, `[1e-7,0.1e-6]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		first, err := Canonical(b)
		if err != nil {
			if !errors.Is(err, errs.Corrupt) {
				t.Fatal(err)
			}
			return
		}
		second, err := Canonical(first)
		if err != nil || string(first) != string(second) {
			t.Fatalf("%s\n%s\n%v", first, second, err)
		}
		var x, y any
		if err := json.Unmarshal(b, &x); err != nil {
			if _, tooLarge := err.(*json.UnmarshalTypeError); tooLarge { // an integer beyond float64
				return
			}
			t.Fatalf("package json refuses %s: %v", b, err)
		}
		if err := json.Unmarshal(first, &y); err != nil || !reflect.DeepEqual(x, y) {
			t.Fatalf("%s and %s differ: %v", b, first, err)
		}
	})
}

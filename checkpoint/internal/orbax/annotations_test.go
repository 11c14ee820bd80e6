package orbax

import (
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
)

func FuzzParseAnnotations(f *testing.F) {
	for _, s := range []string{`{}`, `{"a":"b"}`, `null`, `{"a":1}`, `[]`, `{"a":"\ud800"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := ParseAnnotations(b)
		if err != nil {
			if errs.KindOf(err) != errs.Corrupt {
				t.Fatal(err)
			}
			return
		}
		again, err := ParseAnnotations(a.Append(nil))
		if err != nil || len(again) != len(a) {
			t.Fatalf("%q: %v, %v, %v", b, a, again, err)
		}
		joined, err := MergeAnnotations(b, a.Append(nil))
		if err != nil {
			t.Fatal(err)
		}
		if all, err := ParseAnnotations(joined); err != nil || len(all) != len(a) {
			t.Fatalf("%q: joined %s", b, joined)
		}
	})
}

func TestMergeAnnotations(t *testing.T) {
	for _, c := range [][3]string{
		{`{"a":"1","b":"2"}`, `{"b":"3"}`, `{"a":"1","b":"3"}`},
		{`null`, `{"b":"3"}`, `{"b":"3"}`},
		{`{"b":"3"}`, `null`, `{"b":"3"}`},
	} {
		if got, err := MergeAnnotations([]byte(c[0]), []byte(c[1])); err != nil || string(got) != c[2] {
			t.Errorf("%v: %s, %v", c, got, err)
		}
	}
	for _, c := range [][2]string{{`[]`, `{}`}, {`{}`, `{"a":2}`}} {
		if _, err := MergeAnnotations([]byte(c[0]), []byte(c[1])); errs.KindOf(err) != errs.Corrupt {
			t.Errorf("%v: %v", c, err)
		}
	}
}

package orbax

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// scanWhole skips a document as one value.
func scanWhole(b []byte) (string, error) {
	s, err := newScanner(b)
	if err != nil {
		return "", err
	}
	v, err := s.value()
	if err == nil {
		err = s.end()
	}
	return v, err
}

// What the scanner takes is what encoding/json takes, of what is UTF-8; the
// members of an object are its.
func FuzzScan(f *testing.F) {
	for _, seed := range []string{
		``, ` `, `null`, `nul`, `truex`, `false`, `-`, `-0`, `01`, `1.`, `.5`, `1e`, `1e+`, `-1.5E-7`, `"`, `"\u00e9\ud83d\ude00\ud800"`, `"\x"`,
		"\"\x1f\"", `[`, `[]`, `[1,]`, `[1 2]`, `{}`, `{"a":1,}`, `{"a" 1}`, `{a:1}`, `{"a":{"b":[null,{}]}} `, `{"a":1}x`, "{\"a\xff\":1}",
		`{"\u0061":1,"a":2}`, strings.Repeat("[", 10000) + strings.Repeat("]", 10000), strings.Repeat("[", 10001) + strings.Repeat("]", 10001),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		_, err := scanWhole(b)
		if valid := json.Valid(b) && utf8.Valid(b); valid != (err == nil) {
			t.Fatalf("scanner: %v, valid JSON in UTF-8: %v", err, valid)
		}
		ms, err := members(b)
		var want map[string]json.RawMessage
		if err != nil {
			return // not an object, or a name twice, which encoding/json lets pass
		}
		if err := json.Unmarshal(b, &want); err != nil {
			t.Fatalf("members of what encoding/json refuses: %v", err)
		}
		got := map[string]json.RawMessage{}
		for _, m := range ms {
			got[m.key] = m.value
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-encoding/json +members\n%s", diff)
		}
	})
}

// Members of whatever number may come once.
func TestMembersTwice(t *testing.T) {
	for _, n := range []int{1, 7, 8, 9, 20, 100} {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"k%d":%d,`, i, i)
		}
		if _, err := members([]byte("{" + strings.TrimSuffix(b.String(), ",") + "}")); err != nil {
			t.Errorf("%d members: %v", n, err)
		}
		for _, again := range []int{0, n - 1} {
			if _, err := members(fmt.Appendf(nil, `{%s"k%d":0}`, b.String(), again)); err == nil {
				t.Errorf("%d members, k%d twice: accepted", n, again)
			}
		}
	}
}

func TestParseTreeRefuses(t *testing.T) {
	const (
		key   = `{"key": "a", "key_type": 2}`
		value = `{"value_type": "scalar", "skip_deserialize": false}`
		entry = `{"key_metadata": [` + key + `], "value_metadata": ` + value + `}`
	)
	entryOf := func(e string) string { return `{"tree_metadata": {"x": ` + e + `}}` }
	keyOf := func(k string) string {
		return entryOf(`{"key_metadata": [` + k + `], "value_metadata": ` + value + `}`)
	}
	valueOf := func(v string) string { return entryOf(`{"key_metadata": [` + key + `], "value_metadata": ` + v + `}`) }
	if _, err := ParseTree([]byte(entryOf(entry))); err != nil {
		t.Fatal(err)
	}
	for name, doc := range map[string]string{
		"no tree":             `{}`,
		"tree is null":        `{"tree_metadata": null}`,
		"tree twice":          `{"tree_metadata": {}, "tree_metadata": {}}`,
		"bytes behind":        `{"tree_metadata": {}} 1`,
		"not UTF-8":           "{\"tree_metadata\": {\"\xff\": " + entry + "}}",
		"entry twice":         `{"tree_metadata": {"x": ` + entry + `, "x": ` + entry + `}}`,
		"no keys":             entryOf(`{"value_metadata": ` + value + `}`),
		"keys null":           entryOf(`{"key_metadata": null, "value_metadata": ` + value + `}`),
		"keys twice":          entryOf(`{"key_metadata": [], "key_metadata": [], "value_metadata": ` + value + `}`),
		"no value":            entryOf(`{"key_metadata": [` + key + `]}`),
		"value null":          valueOf(`null`),
		"value twice":         entryOf(`{"key_metadata": [], "value_metadata": ` + value + `, "value_metadata": ` + value + `}`),
		"key without name":    keyOf(`{"key_type": 2}`),
		"key null":            keyOf(`{"key": null, "key_type": 2}`),
		"key twice":           keyOf(`{"key": "a", "key": "b", "key_type": 2}`),
		"key without type":    keyOf(`{"key": "a"}`),
		"key type 3":          keyOf(`{"key": "a", "key_type": 3}`),
		"key type 2.5":        keyOf(`{"key": "a", "key_type": 2.5}`),
		"key type twice":      keyOf(`{"key": "a", "key_type": 1, "key_type": 2}`),
		"index 01":            keyOf(`{"key": "01", "key_type": 1}`),
		"value without type":  valueOf(`{"skip_deserialize": false}`),
		"value without skip":  valueOf(`{"value_type": "scalar"}`),
		"type twice":          valueOf(`{"value_type": "scalar", "value_type": "None", "skip_deserialize": false}`),
		"skip twice":          valueOf(`{"value_type": "scalar", "skip_deserialize": true, "skip_deserialize": false}`),
		"shape twice":         valueOf(`{"value_type": "scalar", "skip_deserialize": true, "write_shape": [], "write_shape": []}`),
		"shape of words":      valueOf(`{"value_type": "scalar", "skip_deserialize": true, "write_shape": ["a"]}`),
		"skip is no boolean":  valueOf(`{"value_type": "scalar", "skip_deserialize": 1}`),
		"use_zarr3 is a word": `{"tree_metadata": {}, "use_zarr3": "yes"}`,
	} {
		if _, err := ParseTree([]byte(doc)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

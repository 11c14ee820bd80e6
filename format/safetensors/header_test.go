package safetensors

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

func TestRecordedVerdicts(t *testing.T) {
	for _, v := range recorded(t) {
		_, _, err := open(t, v.content, Options{})
		if (err == nil) != v.Accepted {
			t.Errorf("%s: %v, want accepted %v", v.File, err, v.Accepted)
		}
		if err != nil && !errors.Is(err, errs.Corrupt) && !errors.Is(err, errs.Unsupported) {
			t.Errorf("%s: kind %v of %v", v.File, errs.KindOf(err), err)
		}
	}
}

// What the reference library says to headers that its own tests do not have; the
// answers were taken from version 0.8.0.
func TestHeaderAsTheReference(t *testing.T) {
	const plain = `{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}`
	with := func(old, new string) string { return strings.Replace(plain, old, new, 1) }
	extra := func(value string) string { return with(`"shape"`, `"x":`+value+`,"shape"`) }
	for _, c := range []struct {
		header string
		ok     bool
		strict bool // ok with Options.Strict
	}{
		{plain, true, true},
		{" " + plain, true, false},
		{with(`"U8"`, `{"U8":null}`), true, false},
		{with(`"U8"`, `{"U8":{}}`), false, false},
		{with(`"U8"`, `{"U8":null,"I8":null}`), false, false},
		{with(`"U8"`, `{}`), false, false},
		{`{"a":["U8",[1],[0,1]]}`, true, false},
		{`{"a":["U8",[1],[0,1],5]}`, false, false},
		{`{"a":["U8",[1]]}`, false, false},
		{with("[1]", "[-0]"), false, false},
		{with("[1]", "[1e0]"), false, false},
		{with("[1]", "[01]"), false, false},
		{with("[1]", "[1,]"), false, false},
		{with("[1]", "[0,18446744073709551615]"), false, false}, // of 1 byte
		{with("[0,1]", "[0,1.0]"), false, false},
		{extra("1e308"), true, true},
		{extra("1e400"), false, false},
		{extra("0e999"), true, true},
		{extra("-1e-999"), true, true},
		{extra(strings.Repeat("9", 400)), false, false},
		{extra(`"\ud83d\ude00"`), true, true},
		{extra(`"\ud83d\u0041"`), false, false},
		{extra(`"\udc00"`), false, false},
		{extra(`"\v"`), false, false},
		{extra(`"\u00e"`), false, false},
		{extra("\"\x01\""), false, false},
		{extra("\"\x7f\""), true, true},
		{extra("nul"), false, false},
		{extra("truee"), false, false},
		{extra("+5"), false, false},
		{extra(".5"), false, false},
		{extra("5."), false, false},
		{extra("5e"), false, false},
		{extra("-"), false, false},
		{extra(`{"y":1,"y":2}`), true, true},
		{extra(strings.Repeat("[", 125) + strings.Repeat("]", 125)), true, true},
		{extra(strings.Repeat("[", 126) + strings.Repeat("]", 126)), false, false},
		{with(`"shape"`, `"x":1,"x":2,"shape"`), true, true},
		{with(`"shape"`, `"\u0073hape"`), true, true},
		{with(`{"a"`, `{"__metadata__":null,"__metadata__":null,"a"`), false, false},
		{with(`{"a"`, `{"__metadata__":{"k":"1","k":"2"},"a"`), true, false},
		{with(`{"a"`, `{"__metadata__":{"k":null},"a"`), false, false},
		{with(`{"a"`, `{"a":5,"a"`), false, false},
		{with(`{"a"`, `{"a":{"dtype":"F64","shape":[9],"data_offsets":[7,3]},"a"`), true, false},
		{plain + "\n\r\t ", true, true},
		{plain + "\x0b", false, false},
		{plain + "}", false, false},
		{plain[:len(plain)-1], false, false},
		{"", false, false},
		{"  ", false, false},
		{"{,}", false, false},
		{`{"a"}`, false, false},
	} {
		for _, strict := range []bool{false, true} {
			want := c.ok
			if strict {
				want = c.strict
			}
			if _, _, err := open(t, withHeader(c.header, "x"), Options{Strict: strict}); (err == nil) != want {
				t.Errorf("strict %v, %q: %v, want accepted %v", strict, c.header, err, want)
			}
		}
	}
}

func TestShapesWithoutElements(t *testing.T) {
	m, _, err := open(t, withHeader(`{"a":{"dtype":"U8","shape":[0,18446744073709551615,3],"data_offsets":[0,0]}}`, ""), Options{})
	if err != nil {
		t.Fatal(err)
	}
	e, err := m.Lookup("a")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]uint64{0, 1<<64 - 1, 3}, e.Shape); diff != "" {
		t.Error(diff)
	}
	if _, err := m.Tensor(context.Background(), "a"); !errors.Is(err, errs.Unsupported) {
		t.Errorf("Tensor: %v", err)
	}
}

func TestDuplicatesAreTold(t *testing.T) {
	const a = `"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}`
	m, _, err := open(t, withHeader("{"+a+","+a+","+a+"}", "x"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a"}, m.Parts()[0].Header.Duplicates); diff != "" {
		t.Error(diff)
	}
}

func TestMetadata(t *testing.T) {
	for header, want := range map[string]map[string]string{
		`{}`:                              nil,
		`{"__metadata__":null}`:           nil,
		`{"__metadata__":{}}`:             {},
		`{"__metadata__":{"k":"\u00e9"}}`: {"k": "é"},
	} {
		m, _, err := open(t, withHeader(header, ""), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, m.Parts()[0].Header.Metadata); diff != "" {
			t.Errorf("%s: %s", header, diff)
		}
	}
}

// The messages name file, tensor and reason.
func TestMessages(t *testing.T) {
	for header, want := range map[string]string{
		`{"w":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}`:   "safetensors: f: w: corrupt: want a begin of 0: no gap, no overlap, got offsets [1,2]",
		`{"w":{"dtype":"U8","shape":[2],"data_offsets":[0,1]}}`:   "safetensors: f: w: corrupt: want 2 of uint8[2], got 1 bytes",
		`{"w":{"dtype":"F4","shape":[3],"data_offsets":[0,1]}}`:   "safetensors: f: w: corrupt: want elements that fill whole bytes, got float4_e2m1fn[3]",
		`{"w":{"dtype":"F128","shape":[1],"data_offsets":[0,1]}}`: `safetensors: f: unsupported: header at byte 20: unknown dtype "F128"`,
		`{}`: "safetensors: f: corrupt: want 10 as the header has it, got a file of 11 bytes",
	} {
		_, _, err := open(t, withHeader(header, "x"), Options{})
		if err == nil || err.Error() != want {
			t.Errorf("%s:\n got %v\nwant %s", header, err, want)
		}
	}
}

// Each bit of length and header flipped, and each length cut: an error, or a
// header that holds together.
func TestDamage(t *testing.T) {
	file := mustWrite(t, map[string]tensor.Tensor{
		"a": tensor.FromSlice([]float32{1, 2, 3}), "b": tensor.FromSlice([]int8{4}), "c": tensor.New(tensor.Float6E2M3FN, 4),
	}, map[string]string{"k": "v"})
	check := func(what string, b []byte) {
		m, files, err := open(t, b, Options{})
		if err != nil {
			return
		}
		for _, e := range m.Entries() {
			if _, err := m.Packed(context.Background(), e.Name); err != nil {
				t.Errorf("%s: opened, but tensor %q cannot be read: %v", what, e.Name, err)
			}
		}
		if files.bytes > int64(len(b)) {
			t.Errorf("%s: read %d bytes of %d", what, files.bytes, len(b))
		}
	}
	start := int(8 + file[0])
	for i := range start * 8 {
		b := bytes.Clone(file)
		b[i/8] ^= 1 << (i % 8)
		check(fmt.Sprintf("bit %d", i), b)
	}
	for n := range file {
		if _, _, err := open(t, file[:n], Options{}); !errors.Is(err, errs.Corrupt) {
			t.Errorf("cut to %d of %d bytes: %v", n, len(file), err)
		}
	}
	if _, _, err := open(t, append(bytes.Clone(file), 0), Options{}); !errors.Is(err, errs.Corrupt) {
		t.Errorf("a byte more: %v", err)
	}
}

// Hostile headers take memory in proportion to the file.
func TestMemoryOfHostileHeaders(t *testing.T) {
	var many, deep strings.Builder
	many.WriteByte('{')
	for i := range 20_000 {
		fmt.Fprintf(&many, `"%d":["U8",[],[0,0]],`, i)
	}
	deep.WriteString(`{"a":{"x":`)
	for range 10_000 {
		deep.WriteString(strings.Repeat("[", 120) + strings.Repeat("]", 120) + ",")
	}
	for name, b := range map[string][]byte{
		"a length of 100,000,000": {0x00, 0xe1, 0xf5, 0x05, 0, 0, 0, 0, '{', '}'},
		"many tensors":            withHeader(many.String(), ""),
		"deep lists":              withHeader(deep.String(), ""),
		"a long shape":            withHeader(`{"a":{"dtype":"U8","data_offsets":[0,0],"shape":[0`+strings.Repeat(",0", 200_000)+`]}}`, ""),
		"a large tensor":          withHeader(`{"a":{"dtype":"U8","shape":[4000000000],"data_offsets":[0,4000000000]}}`, "x"),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		m, err := Open(t.Context(), FromReader(bytes.NewReader(b), int64(len(b))), "f", Options{})
		runtime.ReadMemStats(&after)
		if limit := uint64(40*len(b) + 1<<16); after.TotalAlloc-before.TotalAlloc > limit {
			t.Errorf("%s: %d bytes allocated for a file of %d", name, after.TotalAlloc-before.TotalAlloc, len(b))
		}
		runtime.KeepAlive(m)
		if name != "a long shape" && err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestReaderThatIsShorterThanItSays(t *testing.T) {
	b := withHeader(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}`, "x")
	for n := range b {
		m, err := Open(t.Context(), FromReader(bytes.NewReader(b[:n]), int64(len(b))), "f", Options{})
		if err == nil {
			_, err = m.Packed(t.Context(), "a")
		}
		if !errors.Is(err, errs.Corrupt) {
			t.Errorf("%d of %d bytes: %v", n, len(b), err)
		}
	}
}

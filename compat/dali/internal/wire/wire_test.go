package wire_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/compat/dali/internal/wire"
	"github.com/bivouac-ml/bivouac/errs"
)

// node has a field of every type.
type node struct {
	Name    string    `dali:"1,name,always"`
	Data    []byte    `dali:"2,data"`
	On      bool      `dali:"3,on"`
	Number  int32     `dali:"4,number"`
	Long    *int64    `dali:"5,long"`
	Names   []string  `dali:"6,names"`
	Flags   []bool    `dali:"7,flags"`
	Ints    []int64   `dali:"8,ints"`
	Floats  []float32 `dali:"9,floats"`
	Inner   *leaf     `dali:"10,inner"`
	Value   leaf      `dali:"11,value"`
	Nodes   []node    `dali:"12,nodes"`
	Long2   int64     `dali:"13,long2"`
	Blob    []byte    `dali:"14,blob,always"`
	Pointer *bool     `dali:"15,pointer"`

	Wire wire.Layout
}

type leaf struct {
	ID   int32 `dali:"1,id,required"`
	Wire wire.Layout
}

var nodes = wire.NewCodec[node]("test.Parse", wire.Limits{Bytes: 4096, Depth: 4, Fields: 64})

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func parse(t testing.TB, b []byte) *node {
	t.Helper()
	n, err := nodes.Parse(b)
	if err != nil {
		t.Fatalf("%x: %v", b, err)
	}
	return n
}

// canonical are messages as the C++ library writes them.
var canonical = []struct {
	name, bytes string
	want        node
}{
	{"empty", "0a00 7200", node{}},
	{"string", "0a0161 7200", node{Name: "a"}},
	{"no UTF-8", "0a01ff 7200", node{Name: "\xff"}},
	{"bytes", "0a00 1201ff 7200", node{Data: []byte{0xff}}},
	{"bool", "0a00 1801 7200", node{On: true}},
	{"negative", "0a00 20ffffffffffffffffff01 7200", node{Number: -1}},
	{"optional zero", "0a00 2800 7200 7800", node{Long: new(int64(0)), Pointer: new(false)}},
	{"lists", "0a00 3200 320161 3800 3801 400f 4d0000803f 4d000000c0 7200",
		node{Names: []string{"", "a"}, Flags: []bool{false, true}, Ints: []int64{15}, Floats: []float32{1, -2}}},
	{"messages", "0a00 52020801 5a020802 62040a007200 7200", node{Inner: &leaf{ID: 1}, Value: leaf{ID: 2}, Nodes: []node{{}}}},
	{"required zero", "0a00 52020800 7200", node{Inner: &leaf{}}},
	{"long", "0a00 68808080808080808080 01 7200", node{Long2: -1 << 63}},
}

func TestCanonical(t *testing.T) {
	for _, c := range canonical {
		b := unhex(t, c.bytes)
		n := parse(t, b)
		if diff := cmp.Diff(&c.want, n, cmp.Comparer(bytes.Equal)); diff != "" {
			t.Error(c.name, diff)
		}
		if got := nodes.Append(nil, &c.want); !bytes.Equal(got, b) {
			t.Errorf("%s: %x, want %x", c.name, got, b)
		}
		if words := n.Wire.Words(nodes.Schema()); !n.Wire.IsCanonical() || len(words) > 0 {
			t.Errorf("%s: %v", c.name, words)
		}
	}
}

// odd are messages that nobody but a test would write so.
var odd = []struct{ name, bytes, words string }{
	{"nothing", "", ""},
	{"another order", "7200 0a00", "blob name"},
	{"explicit zero", "0a00 1800 7200", "name on blob"},
	{"unknown", "0a00 a00105 7200 a20100", "name 0xa00105 blob 0xa20100"},
	{"unknown group", "a301 0801 a401 0a00", "0xa3010801a401 name"},
	{"another type", "0801 0a00 120161 1500000000 7200", "0x0801 name data 0x1500000000 blob"},
	{"twice", "0a0161 0a0162 7200", "0x0a0161 name blob"},
	{"optional twice", "0a00 2801 2801 7200", "name 0x2801 long blob"},
	{"long varint", "0a00 20818000 7200", "name number=0x20818000 blob"},
	{"wide int32", "0a00 208180808010 7200", "name number=0x208180808010 blob"},
	{"bool of two", "0a00 1802 7200", "name on=0x1802 blob"},
	{"long tag", "8a0000 7200", "name=0x8a0000 blob"},
	{"long length", "0a00 62 8400 0a007200 7200", "name nodes=0x628400 blob"},
	{"long bytes", "0a00 128100ff 7200", "name data=0x128100ff blob"},
	{"packed", "0a00 4203010203 4004 4a080000803f000000c0 3a020001 4200 7200",
		"name ints=0x4203010203 ints floats=0x4a080000803f000000c0 flags=0x3a020001 ints=0x4200 blob"},
	{"in between", "3201 61 0a00 3201 62 7200", "names name names blob"},
	{"inside", "0a00 52 05 0801 a00105 7200", ""},
	{"twice inside", "0a00 52 04 0801 0802 7200", ""},
	{"NaN", "0a00 4d0100807f 7200", ""},
}

func TestOdd(t *testing.T) {
	for _, c := range odd {
		b := unhex(t, c.bytes)
		n := parse(t, b)
		if got := nodes.Append(nil, n); !bytes.Equal(got, b) {
			t.Errorf("%s: %x, want %x", c.name, got, b)
		}
		words := n.Wire.Words(nodes.Schema())
		if got := strings.Join(words, " "); got != c.words {
			t.Errorf("%s: %q, want %q", c.name, got, c.words)
		}
		if n.Wire.IsCanonical() {
			continue
		}
		l, err := wire.ParseWords(nodes.Schema(), words)
		if err != nil || !l.Equal(n.Wire) {
			t.Errorf("%s: %v, %v", c.name, l, err)
		}
	}
}

// The memory of a message is its own.
func TestOwnership(t *testing.T) {
	b := unhex(t, "0a0161 120161 a20100 7200")
	n := parse(t, b)
	clear(b)
	n.Data[0] = 'b'
	if got := nodes.Append(nil, n); !bytes.Equal(got, unhex(t, "0a0161 120162 a20100 7200")) {
		t.Errorf("%x", got)
	}
}

// A change leaves all else where it was.
func TestChanges(t *testing.T) {
	for _, c := range []struct {
		name, bytes string
		change      func(*node)
		want        string
	}{
		{"value", "a00105 0a0161 7200", func(n *node) { n.Name = "b" }, "a00105 0a0162 7200"},
		{"to zero", "a00105 1801 7200", func(n *node) { n.On = false }, "a00105 1800 7200"},
		{"long varint", "20818000", func(n *node) { n.Number = 2 }, "2002"},
		{"bool of two", "1802", func(n *node) { n.On = false }, "1800"},
		{"removed", "0a00 2801 a00105", func(n *node) { n.Long = nil }, "0a00 a00105"},
		{"added", "7200 0a00", func(n *node) { n.On, n.Names = true, []string{"a"} }, "7200 0a00 1801 320161"},
		{"added to a list", "320161 7200 320162 0a00", func(n *node) { n.Names = append(n.Names, "c") }, "320161 7200 320162 320163 0a00"},
		{"taken from a list", "320161 7200 320162 0a00", func(n *node) { n.Names = n.Names[1:] }, "320162 7200 0a00"},
		{"packed", "42020102 0a00", func(n *node) { n.Ints[0] = 3 }, "4003 4002 0a00"},
		{"less packed", "42020102 4005", func(n *node) { n.Ints = n.Ints[:1] }, "4001"},
		{"float", "4d0000803f a00105", func(n *node) { n.Floats[0] = 2 }, "4d00000040 a00105"},
		{"inside", "52 8400 0801 a00105", func(n *node) { n.Inner.ID = 2 }, "52 8400 0801 a00105"},
		{"grows", "52 8200 0801", func(n *node) { n.Inner.ID = 200 }, "5203 08c801"},
		{"same size", "52 8200 0801", func(n *node) { n.Inner.ID = 2 }, "52 8200 0802"},
		{"canonical", "0a0161 a00105 7200", func(n *node) { n.Wire = wire.Layout{} }, "0a0161 7200"},
	} {
		if c.name == "inside" { // an unknown field that is two bytes long, and another value
			c.bytes, c.want = "52 8500 0801 a00105", "52 8500 0802 a00105"
		}
		n := parse(t, unhex(t, c.bytes))
		c.change(n)
		got := nodes.Append(nil, n)
		if !bytes.Equal(got, unhex(t, c.want)) {
			t.Errorf("%s: %x, want %s", c.name, got, c.want)
		}
		again := parse(t, got)
		n.Wire, again.Wire = wire.Layout{}, wire.Layout{}
		if diff := cmp.Diff(n, again, cmp.Comparer(bytes.Equal), cmp.Comparer(func(a, b wire.Layout) bool { return true })); diff != "" {
			t.Error(c.name, diff)
		}
	}
}

func TestErrors(t *testing.T) {
	deep := unhex(t, "62040a007200")
	for _, c := range []struct {
		name  string
		bytes []byte
		kind  errs.Kind
		want  string
	}{
		{"number 0", unhex(t, "00"), errs.Corrupt, "byte 0"},
		{"number too big", unhex(t, "f8ffffffff01 00"), errs.Corrupt, "byte 0"},
		{"endless tag", unhex(t, "0a00 ffffffffffffffffffffff"), errs.Corrupt, "byte 2"},
		{"no value", unhex(t, "0a00 20"), errs.Corrupt, "number at byte 2"},
		{"endless varint", unhex(t, "20 ffffffffffffffffffff01"), errs.Corrupt, "number at byte 0"},
		{"cut", unhex(t, "0a0561"), errs.Corrupt, "name at byte 0"},
		{"length beyond all", unhex(t, "0affffffffffffffff7f"), errs.Corrupt, "name at byte 0"},
		{"cut number", unhex(t, "4d000000"), errs.Corrupt, "floats at byte 0"},
		{"wire type 6", unhex(t, "0e00"), errs.Corrupt, "name at byte 0"},
		{"group without end", unhex(t, "a301 0801"), errs.Corrupt, "field 20 at byte 0"},
		{"end without group", unhex(t, "a401"), errs.Corrupt, "field 20 at byte 0"},
		{"packed cut", unhex(t, "4a03000000"), errs.Corrupt, "floats[0] at byte 0"},
		{"packed varint cut", unhex(t, "4001 420201ff"), errs.Corrupt, "ints[1] at byte 2"},
		{"required", unhex(t, "0a00 5200"), errs.Corrupt, "inner.id at byte 4"},
		{"required of another type", unhex(t, "52030a0100"), errs.Corrupt, "inner.id at byte 5"},
		{"inside", unhex(t, "62021201"), errs.Corrupt, "nodes[0].data at byte 2"},
		{"further inside", unhex(t, "6200 6204 6202 1201"), errs.Corrupt, "nodes[1].nodes[0].data at byte 6"},
		{"beyond its message", unhex(t, "6202 0a02 6161"), errs.Corrupt, "nodes[0].name at byte 2"},
		{"message twice", unhex(t, "5a020801 0a00 5a020801"), errs.Unsupported, "value at byte 6"},
		{"size", make([]byte, 4097), errs.Exhausted, ""},
		{"depth", nest(t, deep, 4), errs.Exhausted, "nodes[0].nodes[0].nodes[0].nodes[0] at byte 8"},
		{"fields", bytes.Repeat([]byte{0x62, 0}, 65), errs.Exhausted, "nodes at byte 128"},
		{"unknown fields", bytes.Repeat([]byte{0xa0, 1, 0}, 65), errs.Exhausted, "field 20 at byte 192"},
		{"packed fields", append([]byte{0x42, 64}, make([]byte, 64)...), errs.Exhausted, "ints[0] at byte 0"},
	} {
		_, err := nodes.Parse(c.bytes)
		if !errors.Is(err, c.kind) || !strings.HasPrefix(err.Error(), "test.Parse: "+c.want) {
			t.Errorf("%s: %v, want %v %s", c.name, err, c.kind, c.want)
		}
	}
	if n := parse(t, nest(t, nil, 3)); len(n.Nodes[0].Nodes[0].Nodes) != 1 {
		t.Error("four messages in each other")
	}
	parse(t, bytes.Repeat([]byte{0x62, 0}, 64))
	parse(t, append([]byte{0x42, 63}, make([]byte, 63)...))
}

// nest puts a message in field 12 of depth others.
func nest(t testing.TB, b []byte, depth int) []byte {
	t.Helper()
	for range depth {
		b = append([]byte{0x62, byte(len(b))}, b...)
	}
	return b
}

func TestParseWordsErrors(t *testing.T) {
	for _, word := range []string{"", "other", "=", "name=", "0x", "0x0", "0xzz", "0xa001", "0xa0010500", "name0x0a00", "name=0x7200", "name=0x0a01", "name=0x0a0000",
		"other=0x0a00", "nodes=0x62", "nodes=0x0a00", "nodes=0x620000", "ints=0x4201ff", "floats=0x4a03000000", "name=0x0800"} {
		if _, err := wire.ParseWords(nodes.Schema(), []string{"name", word}); !errors.Is(err, errs.Invalid) {
			t.Errorf("%q: %v", word, err)
		}
	}
}

func TestWrongTags(t *testing.T) {
	for name, codec := range map[string]func(){
		"no tag": func() {
			wire.NewCodec[struct {
				A    int32
				Wire wire.Layout
			}]("", wire.Limits{})
		},
		"order": func() {
			wire.NewCodec[struct {
				A    int32 `dali:"2,a"`
				B    int32 `dali:"1,b"`
				Wire wire.Layout
			}]("", wire.Limits{})
		},
		"type": func() {
			wire.NewCodec[struct {
				A    uint8 `dali:"1,a"`
				Wire wire.Layout
			}]("", wire.Limits{})
		},
		"no layout": func() {
			wire.NewCodec[struct {
				A int32 `dali:"1,a"`
			}]("", wire.Limits{})
		},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			codec()
		}()
	}
}

// FuzzParse reads messages, which are written as they were, and whose layouts are
// the same in words.
func FuzzParse(f *testing.F) {
	for _, c := range canonical {
		f.Add(unhex(f, c.bytes))
	}
	for _, c := range odd {
		f.Add(unhex(f, c.bytes))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		n, err := nodes.Parse(b)
		if err != nil {
			return
		}
		if got := nodes.Append(nil, n); !bytes.Equal(got, b) {
			t.Fatalf("%x, want %x", got, b)
		}
		if n.Wire.IsCanonical() {
			return
		}
		l, err := wire.ParseWords(nodes.Schema(), n.Wire.Words(nodes.Schema()))
		if err != nil || !l.Equal(n.Wire) {
			t.Fatalf("%v, want %v: %v", l, n.Wire, err)
		}
	})
}

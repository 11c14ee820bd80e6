package pipeproto_test

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/compat/dali/pipeproto"
	"github.com/bivouac-ml/bivouac/errs"
)

// drawValue draws a value of an argument; strings are any bytes.
func drawValue(t *rapid.T) any {
	str := rapid.OneOf(rapid.String(), rapid.StringMatching(`[0-9.e+:-]{0,4}|true|null|~|<<|[\x00-\x20\x7f-\xa0]{0,3}`),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 4), func(b []byte) string { return string(b) }))
	float := rapid.Map(rapid.Uint32(), math.Float32frombits)
	return rapid.OneOf(
		rapid.Int64().AsAny(), float.AsAny(), rapid.Float32().AsAny(), str.AsAny(), rapid.Bool().AsAny(),
		rapid.SliceOfN(rapid.Int64(), 0, 3).AsAny(), rapid.SliceOfN(float, 0, 3).AsAny(), rapid.SliceOfN(str, 0, 3).AsAny(),
		rapid.SliceOfN(rapid.Bool(), 0, 3).AsAny(),
	).Draw(t, "value")
}

func drawArgument(t *rapid.T) pipeproto.Argument {
	name := rapid.OneOf(rapid.StringN(0, 3, -1), rapid.SampledFrom([]string{"a", "wire", "name", "3", "<<"})).Draw(t,
		"argument")
	a, err := pipeproto.NewArgument(name, drawValue(t))
	if err != nil {
		t.Fatal(err)
	}
	switch rapid.IntRange(0, 5).Draw(t, "twist") {
	case 0:
		a.IsVector = !a.IsVector
	case 1:
		a.Type = rapid.SampledFrom([]string{"", "int", "int64", "TFRecord"}).Draw(t, "type")
	case 2:
		a.Elements = append(a.Elements, drawArgument(t))
	}
	return a
}

func drawEdge(t *rapid.T) pipeproto.Edge {
	e := pipeproto.Edge{Name: rapid.String().Draw(t, "edge"),
		Device: rapid.SampledFrom([]string{"cpu", "gpu", ""}).Draw(t, "device")}
	if rapid.Bool().Draw(t, "argument input") {
		e.IsArgument, e.Argument = true, rapid.String().Draw(t, "of")
	}
	if rapid.Bool().Draw(t, "typed") {
		e.DType, e.NDim, e.Layout = new(rapid.Int32().Draw(t, "dtype")), new(int32(-1)), "HWC"
	}
	return e
}

func several[T any](t *rapid.T, what string, draw func(*rapid.T) T) (out []T) {
	for range rapid.IntRange(0, 3).Draw(t, what) {
		out = append(out, draw(t))
	}
	return out
}

func drawPipeline(t *rapid.T) *pipeproto.Pipeline {
	p := &pipeproto.Pipeline{BatchSize: rapid.Int32().Draw(t, "batch"), Seed: new(rapid.Int64().Draw(t, "seed")),
		UnusedAsync: rapid.Bool().Draw(t, "unused")}
	if rapid.Bool().Draw(t, "options") {
		p.DeviceID, p.EnableCheckpointing, p.ExternalInputs = new(int32(pipeproto.NoDevice)), new(rapid.Bool().Draw(t,
			"checkpointing")), []string{"", "a"}
	}
	p.Ops = several(t, "operators", func(t *rapid.T) pipeproto.Op {
		return pipeproto.Op{Name: rapid.String().Draw(t, "operator"), Inputs: several(t, "inputs", drawEdge),
			Outputs: several(t, "outputs", drawEdge),
			Args:    several(t, "arguments", drawArgument), LogicalID: new(rapid.Int32().Draw(t, "id"))}
	})
	p.Outputs = several(t, "results", drawEdge)
	return p
}

// floats are the same when their bits are.
var bits = cmp.Comparer(func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) })

// Any pipeline is read back the same from its bytes, and from YAML.
func TestPipelineLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPipeline(t)
		b := pipeproto.Append(nil, p)
		got, err := pipeproto.Parse(b)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(p, got, bits); diff != "" {
			t.Fatal(diff)
		}
		text, err := pipeproto.MarshalYAML(p)
		if err != nil {
			t.Fatal(err)
		}
		if got, err = pipeproto.UnmarshalYAML(text); err != nil {
			t.Fatalf("%v:\n%s", err, text)
		}
		if diff := cmp.Diff(p, got, bits); diff != "" {
			t.Fatalf("%s\n%s", diff, text)
		}
	})
}

// disturb writes the fields of a message as DALI would not: in another order, with
// unknown ones between them, and some twice. What is no message, but a string,
// stays.
func disturb(t *rapid.T, message []byte) []byte {
	var fields [][]byte
	for b := message; len(b) > 0; {
		number, typ, size := protowire.ConsumeField(b)
		if size < 0 {
			return message
		}
		field := b[:size]
		if (number == 4 || number == 5 || number == 7) && typ == protowire.BytesType && rapid.Bool().Draw(t, "inside") {
			inner, _ := protowire.ConsumeBytes(b[1:])
			field = protowire.AppendBytes(protowire.AppendTag(nil, number, typ), disturb(t, inner))
		}
		fields, b = append(fields, field), b[size:]
	}
	fields = rapid.Permutation(fields).Draw(t, "order")
	for range rapid.IntRange(0, 3).Draw(t, "unknown") {
		odd := rapid.SampledFrom([]string{"\xa0\x01\x05", "\xa3\x01\x08\x01\xa4\x01", "\x15abcd", "\x08\x80\x00", "\x10\x81\x00", "\x32\x80\x00"}).Draw(t, "field")
		fields = slices.Insert(fields, rapid.IntRange(0, len(fields)).Draw(t, "at"), []byte(odd))
	}
	return bytes.Join(fields, nil)
}

// Whatever way a pipeline is written, it is written so again, and after YAML too.
func TestLayoutLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := disturb(t, pipeproto.Append(nil, drawPipeline(t)))
		p, err := pipeproto.Parse(b)
		if err != nil {
			t.Fatal(err)
		}
		if got := pipeproto.Append(nil, p); !bytes.Equal(got, b) {
			t.Fatalf("%x, want %x", got, b)
		}
		text, err := pipeproto.MarshalYAML(p)
		if err != nil {
			t.Fatal(err)
		}
		again, err := pipeproto.UnmarshalYAML(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := pipeproto.Append(nil, again); !bytes.Equal(got, b) {
			t.Fatalf("%x, want %x, from\n%s", got, b, text)
		}
	})
}

func TestParseErrors(t *testing.T) {
	good := read(t, "testdata/graph/g03_train/pipe.bin")
	for n := range good {
		p, err := pipeproto.Parse(good[:n])
		if err == nil && !bytes.Equal(pipeproto.Append(nil, p), good[:n]) || err != nil && !errors.Is(err, errs.Corrupt) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	deep := []byte("\x40\x00")
	for range 98 {
		deep = protowire.AppendBytes([]byte{0x3a}, append(deep, "\x40\x00"...))
	}
	argument := func(b []byte) []byte {
		return append(protowire.AppendBytes([]byte{0x2a}, protowire.AppendBytes([]byte{0x22}, b)), "\x10\x01"...)
	}
	for _, c := range []struct {
		name  string
		bytes []byte
		kind  errs.Kind
		want  string
	}{
		{"no batch size", []byte("\x08\x01"), errs.Corrupt, "batch_size at byte 2"},
		{"no is_vector", argument([]byte("\x0a\x01a")), errs.Corrupt, "op[0].args[0].is_vector at byte 7"},
		{"depth", argument(deep), errs.Exhausted, "op[0].args[0].extra_args[0].extra_args[0]."},
		{"fields", bytes.Repeat([]byte("\x32\x00"), 1<<20+1), errs.Exhausted, "external_inputs at byte 2097152"},
		{"size", make([]byte, 64<<20+1), errs.Exhausted, "exhausted"},
	} {
		_, err := pipeproto.Parse(c.bytes)
		if !errors.Is(err, c.kind) || !strings.HasPrefix(err.Error(), "pipeproto.Parse: "+c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestNewArgument(t *testing.T) {
	for _, v := range []any{nil, 1, 1.0, []int{1}, int32(1)} {
		if _, err := pipeproto.NewArgument("a", v); !errors.Is(err, errs.Unsupported) {
			t.Errorf("%T: %v", v, err)
		}
	}
	for _, a := range []pipeproto.Argument{
		{}, {Type: "int64"}, {Type: "int", Ints: []int64{1}}, {Type: "int64", Ints: []int64{1, 2}}, {Type: "int64", Ints: []int64{1}, Bools: []bool{true}},
		{Type: "int64", Ints: []int64{1}, IsVector: true}, {Type: "x", IsVector: true},
		{Type: "int64", IsVector: true, Elements: []pipeproto.Argument{{Name: "element 0", Type: "bool", Bools: []bool{true}}}},
		{Type: "int64", IsVector: true, Elements: []pipeproto.Argument{{Name: "element 1", Type: "int64", Ints: []int64{1}}}},
		{Type: "int64", IsVector: true, Elements: []pipeproto.Argument{{Name: "element 0", Type: "int64"}}},
	} {
		if v, ok := a.Value(); ok || v != nil {
			t.Errorf("%+v: %v", a, v)
		}
	}
}

// A program may take a pipeline, change it, and write it.
func TestChange(t *testing.T) {
	p, err := pipeproto.Parse(read(t, "testdata/graph/g03_train/pipe.bin"))
	if err != nil {
		t.Fatal(err)
	}
	p.BatchSize = 64
	size := p.Ops[2].Argument("size")
	if *size, err = pipeproto.NewArgument("size", []int64{224, 224}); err != nil {
		t.Fatal(err)
	}
	again, err := pipeproto.Parse(pipeproto.Append(nil, p))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(p, again); diff != "" {
		t.Error(diff)
	}
	if v, _ := again.Ops[2].Argument("size").Value(); !cmp.Equal(v, any([]int64{224, 224})) || again.BatchSize != 64 {
		t.Errorf("%v", v)
	}
}

package pipeproto_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/compat/dali/pipeproto"
	"github.com/bivouac-ml/bivouac/errs"
)

const example = `num_threads: 1
batch_size: 3
op:
    - name: Resize
      input:
        - {name: images, device: cpu}
        - {name: angle, device: cpu, is_argument_input: true, arg_name: angle}
      output:
        - {name: __Resize_4, device: cpu}
      args:
        device: cpu
        size: [224.0, 1e+06]
        axes: !int64 []
        text: ["", "007", "a b", !!binary /w==]
        nan: .nan
        odd: {type: int32, ints: [7]}
        bits: {type: float, floats: [.inf, -.inf, 0x7f800001]}
        deep: {type: TFRecord, extra_args: [{name: a, type: x}], is_vector: true}
      inst_name: __Resize_4
      logical_id: 4
    - name: Twice
      args:
        - {name: a, type: int64, ints: [1]}
        - {name: a, type: int64, ints: [2]}
        - {name: b, wire: [is_vector, 0xa00105]}
external_inputs: [a]
pipe_outputs:
    - {name: __Resize_4, device: cpu, dtype: -1, ndim: -1}
device_id: -99999
seed: -1
enable_checkpointing: false
wire: [batch_size, num_threads=0x088100, 0xa00105, op, op, device_id, pipe_outputs, seed, enable_checkpointing, external_inputs]
`

func TestYAML(t *testing.T) {
	p, err := pipeproto.UnmarshalYAML([]byte(example))
	if err != nil {
		t.Fatal(err)
	}
	text, err := pipeproto.MarshalYAML(p)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Replace(example, "{name: b, wire: [is_vector, 0xa00105]}",
		"{name: b, wire: [is_vector, \"0xa00105\", name]}", 1)
	want = strings.ReplaceAll(want, "num_threads=0x088100, 0xa00105", `"num_threads=0x088100", "0xa00105"`)
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Error(diff)
	}
	if b := pipeproto.Append(nil, p); !bytes.HasPrefix(b, []byte("\x10\x03\x08\x81\x00\xa0\x01\x05\x2a")) {
		t.Errorf("%x", b)
	}
}

func TestYAMLErrors(t *testing.T) {
	deep := strings.Repeat("extra_args: [{is_vector: true, ", 120) + strings.Repeat("}]", 120)
	for _, c := range []struct {
		text string
		kind errs.Kind
		want string
	}{
		{"", errs.Invalid, "a YAML document"},
		{"{", errs.Invalid, "a YAML document"},
		{"batch_size: 1\n---\n{}", errs.Invalid, "one document"},
		{"[]", errs.Invalid, "line 1: invalid: want a mapping of the fields of Pipeline"},
		{"batch_size: &a 1\nseed: *a", errs.Invalid, "line 2: invalid: want a scalar"},
		{"batch_size: 1\nbatch_size: 2", errs.Invalid, "line 2: invalid: want each field once"},
		{"batch_size: 1\nsize: 2", errs.Invalid, "line 2: invalid: want a field of Pipeline"},
		{"batch_size: 2147483648", errs.Invalid, "32 bits"},
		{"batch_size: [1]", errs.Invalid, "want a scalar"},
		{"seed: 0x1", errs.Invalid, "64 bits"},
		{"seed: '1'", errs.Invalid, "without quotes"},
		{"enable_checkpointing: 1", errs.Invalid, "true or false"},
		{"op: 1", errs.Invalid, "want a list"},
		{"op: {a: 1}", errs.Invalid, "want a list"},
		{"op: [1]", errs.Invalid, "a mapping of the fields of Op"},
		{"op: [{name: 1}]", errs.Invalid, "in quotes"},
		{"op: [{name: !!binary x}]", errs.Invalid, "base64"},
		{"op: [{args: {a: 1, a: 2}}]", errs.Invalid, "each argument once"},
		{"op: [{args: {1: 2}}]", errs.Invalid, "in quotes"},
		{"op: [{args: {a: []}}]", errs.Invalid, "as in !int64 []"},
		{"op: [{args: {a: [[1]]}}]", errs.Invalid, "as in !int64 []"},
		{"op: [{args: {a: [1, b]}}]", errs.Invalid, "of one type"},
		{"op: [{args: {a: [1, [1]]}}]", errs.Invalid, "want an integer, a float"},
		{"op: [{args: {a: null}}]", errs.Invalid, "want an integer, a float"},
		{"op: [{args: {a: {floats: [0xfffffffff]}}}]", errs.Invalid, "bits of a float"},
		{"op: [{args: {a: {floats: [x]}}}]", errs.Invalid, "a float"},
		{"op: [{args: {a: {floats: [1e99]}}}]", errs.Invalid, "a float"},
		{"op: [{args: [{" + deep + "}]}]", errs.Exhausted, "in each other"},
		{strings.Repeat("#", 16<<20+1), errs.Exhausted, "at most 16777216 bytes"},
		{"wire: a", errs.Invalid, "list of words"},
		{"wire: [[a]]", errs.Invalid, "a word"},
		{"wire: [a]", errs.Invalid, "line 1: wire.ParseWords: Pipeline"},
		{"wire: [num_threads]", errs.Corrupt, "batch_size"},
		{`wire: ["0x2a0101", batch_size]`, errs.Corrupt, "op[0]"},
	} {
		_, err := pipeproto.UnmarshalYAML([]byte(c.text))
		if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %v: %s", c.text[:min(60, len(c.text))], err, c.kind, c.want)
		}
	}
}

// What Parse would refuse is not said in YAML.
func TestMarshalErrors(t *testing.T) {
	deep := pipeproto.Argument{}
	for range 100 {
		deep = pipeproto.Argument{Elements: []pipeproto.Argument{deep}}
	}
	p := &pipeproto.Pipeline{Ops: []pipeproto.Op{{Args: []pipeproto.Argument{deep}}}}
	if _, err := pipeproto.MarshalYAML(p); !errors.Is(err, errs.Invalid) {
		t.Error(err)
	}
}

// FuzzParse reads pipelines, which are written as they were, through YAML too.
func FuzzParse(f *testing.F) {
	p, err := pipeproto.UnmarshalYAML([]byte(example))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(pipeproto.Append(nil, p))
	f.Add(read(f, "testdata/graph/g07_external/pipe.bin"))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := pipeproto.Parse(b)
		if err != nil {
			return
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

// FuzzYAML reads YAML; what is a pipeline can be said in YAML.
func FuzzYAML(f *testing.F) {
	f.Add([]byte(example))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := pipeproto.UnmarshalYAML(text)
		if err != nil {
			return
		}
		if _, err := pipeproto.MarshalYAML(p); err != nil {
			t.Fatal(err)
		}
	})
}

package fn_test

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/compat/dali"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

// pythonRoot is the Python package.
var pythonRoot = filepath.Join("..", "..", "python", "bivouac")

// TestGeneratedPython makes what the Python client knows of operators from the registered schemas,
// and compares it with what is there; with -update it writes it.
func TestGeneratedPython(t *testing.T) {
	want := map[string][]byte{filepath.Join(pythonRoot, "_pipeline", "operators.json"): pythonData(t)}
	compareOrUpdate(t, want)
}

// pythonOperator is a schema as the client reads it. Fields that are false or empty are left out.
type pythonOperator struct {
	Name       string            `json:"name"`
	Schema     string            `json:"schema"`          // DALI's name
	Alias      string            `json:"alias,omitempty"` // the schema that a serialized pipeline names instead
	Doc        string            `json:"doc"`
	Deprecated string            `json:"deprecated,omitempty"`
	Min        int               `json:"min,omitempty"` // inputs
	Max        int               `json:"max,omitempty"`
	Inputs     []pythonPort      `json:"inputs,omitempty"`
	Outputs    []pythonPort      `json:"outputs,omitempty"`
	Asked      bool              `json:"asked,omitempty"` // arguments or inputs decide the number of outputs
	Count      *pythonCount      `json:"count,omitempty"`
	Random     bool              `json:"random,omitempty"`
	Stateful   bool              `json:"stateful,omitempty"`
	Reader     bool              `json:"reader,omitempty"`
	Params     []pythonParameter `json:"params,omitempty"`
}

type pythonPort struct {
	Name     string `json:"name"`
	Doc      string `json:"doc"`
	Optional bool   `json:"optional,omitempty"`
}

type pythonParameter struct {
	Name       string `json:"name"`
	Type       string `json:"type"`
	Doc        string `json:"doc"`
	Default    any    `json:"default,omitempty"`
	Required   bool   `json:"required,omitempty"`
	PerSample  bool   `json:"sample,omitempty"`
	Deprecated string `json:"deprecated,omitempty"`
	Renamed    string `json:"renamed,omitempty"` // the name of today
	Ignored    bool   `json:"ignored,omitempty"`
}

// pythonTypes are the words of the client for types of parameters. A list has "s".
var pythonTypes = map[op.Type]string{
	op.Bool: "bool", op.Int: "int", op.Float: "float", op.String: "str", op.Bools: "bools", op.Ints: "ints",
	op.Floats: "floats", op.Strings: "strs", op.DType: "dtype", op.DTypes: "dtypes", op.Image: "image",
	op.Interp: "interp", op.Features: "features",
}

// pythonAliases are the older names that DALI does not write: a serialized pipeline names the
// operator of today.
var pythonAliases = map[string]string{
	"file_reader": "readers.file", "mxnet_reader": "readers.mxnet", "numpy_reader": "readers.numpy",
	"sequence_reader": "readers.sequence", "experimental.audio_resample": "audio_resample",
	"experimental.tensor_resize": "tensor_resize", "experimental.decoders.video": "decoders.video",
}

// pythonData is the file that the client reads: a document with an operator on each line.
func pythonData(t *testing.T) []byte {
	var b bytes.Buffer
	b.WriteString("{\"common\": ")
	b.Write(line(t, commonParameters(t)))
	b.WriteString(",\n\"operators\": [\n")
	for i, s := range pythonSchemas() {
		if i > 0 {
			b.WriteString(",\n")
		}
		b.Write(line(t, pythonSchema(t, s)))
	}
	b.WriteString("\n]}\n")
	return b.Bytes()
}

// commonParameters returns the parameters that all operators take.
func commonParameters(t *testing.T) []pythonParameter {
	var list []pythonParameter
	for _, name := range []string{"bytes_per_sample_hint", "preserve"} {
		p, ok := op.Schemas()[0].Param(name)
		if !ok {
			t.Fatalf("no operator takes %s", name)
		}
		list = append(list, parameter(t, p))
	}
	return list
}

// pythonSchemas returns the operators of the Python client, sorted: the operators of the engine,
// and one that is an external source there.
func pythonSchemas() []*op.Schema {
	video := &op.Schema{Name: "video", Module: []string{"experimental", "inputs"},
		Doc: "Cuts videos that feed_input feeds into batches of sequences, one video after the other. It decodes no " +
			"more than it returns, so a video may be far longer than memory. A batch never holds sequences of two " +
			"videos; the last batch of a video may be smaller.",
		Outputs: []op.Port{{Name: "sequences", Doc: "frames of layout FHWC, in RGB"}},
		Params: []op.Parameter{
			{Name: "affine", Type: op.Bool, Default: true, Doc: "Ignored."},
			{Name: "blocking", Type: op.Bool, Default: false,
				Doc: "Whether a batch without a video waits for a feed_input of another thread. Otherwise it is an error."},
			{Name: "last_sequence_policy", Type: op.String, Default: "partial",
				Doc: "How the last sequence of a video ends: \"partial\" makes it shorter, \"pad\" adds black frames."},
			{Name: "no_copy", Type: op.Bool, Default: false, Doc: "Ignored."},
			{Name: "sequence_length", Type: op.Int, Required: true, Doc: "Frames of a sequence."},
		}}
	all := append(op.Schemas(), video)
	slices.SortFunc(all, func(a, b *op.Schema) int { return strings.Compare(a.FullName(), b.FullName()) })
	return all
}

func pythonSchema(t *testing.T, s *op.Schema) pythonOperator {
	o := pythonOperator{Name: s.FullName(), Schema: dali.SchemaName(s.FullName()), Doc: s.Doc, Deprecated: s.Deprecated,
		Min: s.MinInputs(), Max: s.MaxInputs(), Asked: s.OutputCount != nil, Random: s.Random, Stateful: s.Stateful,
		Reader: s.Reader, Inputs: pythonPorts(s.Inputs), Outputs: pythonPorts(s.Outputs)}
	if newer, ok := pythonAliases[o.Name]; ok {
		o.Alias = dali.SchemaName(newer)
	}
	if rule, ok := pythonCounts[o.Name]; ok {
		o.Count = &rule
	}
	for i := range s.Params {
		o.Params = append(o.Params, parameter(t, &s.Params[i]))
	}
	return o
}

func pythonPorts(ports []op.Port) []pythonPort {
	var list []pythonPort
	for _, p := range ports {
		list = append(list, pythonPort{Name: p.Name, Doc: p.Doc, Optional: p.Optional})
	}
	return list
}

func parameter(t *testing.T, p *op.Parameter) pythonParameter {
	kind, ok := pythonTypes[p.Type]
	if !ok {
		t.Fatalf("parameter %s: the Python client has no word for %s", p.Name, p.Type)
	}
	made := pythonParameter{Name: p.Name, Type: kind, Doc: p.Doc, Default: pythonDefault(p.Default),
		Required: p.Required, PerSample: p.PerSample, Deprecated: p.Deprecated, Ignored: p.Doc == "Ignored."}
	if newer, ok := strings.CutPrefix(p.Deprecated, "use "); ok && strings.HasPrefix(p.Doc, "The old") {
		made.Renamed = newer
	}
	return made
}

// pythonDefault returns a default as JSON can hold it. Enumerations have the names of the client.
func pythonDefault(v any) any {
	switch v := v.(type) {
	case tensor.DType:
		return pythonDType(v)
	case []tensor.DType:
		names := make([]string, len(v))
		for i, d := range v {
			names[i] = pythonDType(d)
		}
		return names
	case op.ImageType:
		return v.String()
	case op.InterpType:
		return v.String()
	}
	return v
}

// pythonDType returns DALI's name of a dtype.
func pythonDType(d tensor.DType) string {
	if d == tensor.Float32 {
		return "FLOAT"
	}
	return strings.ToUpper(d.String())
}

func line(t *testing.T, v any) []byte {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

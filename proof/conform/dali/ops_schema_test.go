package dali

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/compat/dali"
	"github.com/bivouac-ml/bivouac/op"
	_ "github.com/bivouac-ml/bivouac/pipeline" // its operators
	"github.com/bivouac-ml/bivouac/tensor"
)

// daliOp is an operator as OPS.json describes it.
type daliOp struct {
	Schema    string    `json:"schema"`
	Fn        string    `json:"fn"`
	AliasFor  string    `json:"alias_for"`
	InputsMin int       `json:"inputs_min"`
	InputsMax int       `json:"inputs_max"`
	Args      []daliArg `json:"args"`

	// Deprecated is there if DALI warns at each use. InFavorOf is the schema that the warning names.
	Deprecated *struct {
		InFavorOf string `json:"in_favor_of"`
	} `json:"deprecated"`
}

type daliArg struct {
	Name     string `json:"name"`
	TypeID   string `json:"type_id"`
	Required bool   `json:"required"`
	Default  any    `json:"default"`
	TensorOK bool   `json:"tensor_ok"`
	PerFrame bool   `json:"per_frame"`
}

// daliOps reads OPS.json, or skips the test.
func daliOps(t *testing.T) map[string]daliOp {
	t.Helper()
	for _, path := range []string{
		filepath.Join("..", "..", "..", "..", "shared", "vectors", "dali", "OPS.json"),
		filepath.Join("..", "..", "..", "testdata", "dali", "OPS.json"),
	} {
		b, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		var file struct{ Ops []daliOp }
		if err := json.Unmarshal(b, &file); err != nil {
			t.Fatal(err)
		}
		ops := map[string]daliOp{}
		bySchema := map[string]daliOp{}
		for _, o := range file.Ops {
			bySchema[o.Schema] = o
		}
		for _, o := range file.Ops {
			name := strings.TrimPrefix(o.Fn, "fn.")
			if newer, ok := bySchema[o.AliasFor]; ok && len(o.Args) < len(newer.Args) { // it passes all on
				newer.Deprecated = o.Deprecated
				o = newer
			}
			ops[name] = o
		}
		return ops
	}
	t.Skip("OPS.json is not here")
	return nil
}

// perRegion are the arguments of multi_paste, which says that they can have a value per frame. Its
// operator for CPUs fails with sequences.
const perRegion = " in_anchors in_anchors_rel out_anchors out_anchors_rel shapes shapes_rel "

// notInDALI are the operators of Bivouac alone, with the reason.
var notInDALI = map[string]string{
	"readers.tfrecord": "DALI makes its schema in Python, and OPS.json lacks it",
	"tfrecord_reader":  "as above",

	"freq_mask":            "DALI has no masks of spectrograms",
	"log_mel":              "DALI has its parts",
	"spatial":              "DALI has operators for single kinds of data",
	"pitch_shift":          "DALI has no phase vocoder",
	"time_mask":            "DALI has no masks of spectrograms",
	"time_stretch":         "DALI has no phase vocoder",
	"decoders.inflate":     "DALI has it on GPUs alone",
	"experimental.inflate": "as above",

	"bbox_prune":                 "DALI has no such operator",
	"cutmix":                     "as above",
	"mixup":                      "as above",
	"mosaic":                     "as above",
	"segmentation.decode_runs":   "as above",
	"segmentation.encode_runs":   "as above",
	"segmentation.fill_polygons": "as above",

	"auto_augment":                  "DALI makes it of other operators",
	"rand_augment":                  "as above",
	"trivial_augment_wide":          "as above",
	"_augment.auto_augment":         "as above",
	"_augment.rand_augment":         "as above",
	"_augment.trivial_augment_wide": "as above",
	"random_erase":                  "DALI has erase",

	"encoders.jpeg": "DALI writes no files",
	"encoders.png":  "as above",
	"encoders.wav":  "as above",
	"encoders.webp": "as above",

	"readers.array_record": "DALI does not read the format",
	"readers.arrow":        "as above",
	"readers.folder":       "as above",
	"readers.litdata":      "as above",
	"readers.csv":          "as above",
	"readers.jsonl":        "as above",
	"readers.mds":          "as above",
	"readers.npz":          "as above",
	"readers.parquet":      "as above",
	"readers.safetensors":  "as above",
	"readers.tokens":       "as above",
}

// schemaDifferences are the arguments that differ from DALI's, with the reason.
var schemaDifferences = map[string]string{
	"water.freq_x": "DALI computes with pi/64, of which its documentation prints four digits",
	"water.freq_y": "DALI computes with pi/64, of which its documentation prints four digits",

	"decoders.video.pad_mode":              "no argument of text differs by sample",
	"experimental.decoders.video.pad_mode": "as above",
	"experimental.readers.video.pad_mode":  "as above",
	"batch_permutation._scope":             "DALI has it, and does not list it",

	"experimental.readers.video.index_path": "saved indices are Bivouac's alone",
}

// Every operator has DALI's name, inputs and arguments: types, defaults, and what
// must be given or may differ per sample.
func TestSchemasAreDALIs(t *testing.T) {
	recorded := daliOps(t)
	used := map[string]bool{}
	report := func(key, format string, args ...any) {
		if schemaDifferences[key] != "" {
			used[key] = true
			return
		}
		t.Errorf("%s: %s", key, fmt.Sprintf(format, args...))
	}
	for _, s := range op.Schemas() {
		name := s.FullName()
		want, ok := recorded[name]
		if !ok {
			if notInDALI[name] == "" {
				t.Errorf("%s is no operator of DALI", name)
			}
			continue
		}
		if got := [2]int{s.MinInputs(), s.MaxInputs()}; !s.Reader && got != [2]int{want.InputsMin, want.InputsMax} {
			report(name, "%d to %d inputs, not %d to %d", got[0], got[1], want.InputsMin, want.InputsMax)
		}
		own := map[string]bool{}
		for i := range s.Params {
			own[s.Params[i].Name] = true
		}
		for _, a := range want.Args {
			delete(own, a.Name)
			p, ok := s.Param(a.Name)
			if !ok {
				report(name+"."+a.Name, "missing (%s)", a.TypeID)
				continue
			}
			if d := a.differs(p); d != "" {
				report(name+"."+a.Name, "%s", d)
			}
		}
		for extra := range own {
			report(name+"."+extra, "DALI has no such argument")
		}
	}
	for key := range schemaDifferences {
		if !used[key] {
			t.Errorf("%s does not differ any more", key)
		}
	}
}

// Each operator of DALI's CPU backend is one here, or is listed with what to use instead.
func TestNoOperatorIsAbsent(t *testing.T) {
	recorded := daliOps(t)
	if len(recorded) < 163 {
		t.Errorf("%d operators are recorded", len(recorded))
	}
	for name := range recorded {
		if _, err := op.Lookup(name); (err != nil) != slices.Contains(op.Elsewhere(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The operators that DALI warns about are deprecated here, in favour of the same operators.
func TestDeprecatedOperatorsAreDALIs(t *testing.T) {
	seen := 0
	for name, want := range daliOps(t) {
		s, err := op.Lookup(name)
		if err != nil {
			continue
		}
		use, named := strings.CutPrefix(s.Deprecated, "use ")
		switch {
		case want.Deprecated == nil && s.Deprecated != "":
			t.Errorf("%s: deprecated (%s), which it is not in DALI", name, s.Deprecated)
		case want.Deprecated != nil && s.Deprecated == "":
			t.Errorf("%s: not deprecated, as in DALI", name)
		case want.Deprecated != nil && want.Deprecated.InFavorOf != "":
			if seen++; !named || dali.SchemaName(use) != want.Deprecated.InFavorOf {
				t.Errorf("%s: %q, but DALI's warning names %s", name, s.Deprecated, want.Deprecated.InFavorOf)
			}
		}
	}
	if seen < 29 {
		t.Errorf("%d deprecated operators", seen)
	}
}

var daliTypes = map[string]op.Type{
	"BOOL": op.Bool, "INT32": op.Int, "INT64": op.Int, "UINT32": op.Int, "FLOAT": op.Float,
	"STRING": op.String, "TENSOR_LAYOUT": op.String, "_INT32_VEC": op.Ints, "_INT64_VEC": op.Ints, "_FLOAT_VEC": op.Floats,
	"_STRING_VEC": op.Strings, "DATA_TYPE": op.DType, "_DATA_TYPE_VEC": op.DTypes, "IMAGE_TYPE": op.Image, "INTERP_TYPE": op.Interp,
}

// differs says how p differs from DALI's argument, or nothing.
func (a daliArg) differs(p *op.Parameter) string {
	var list []string
	if want, ok := daliTypes[a.TypeID]; ok && p.Type != want { // UINT8 stands for what was renamed
		list = append(list, fmt.Sprintf("a %v, not a %s", p.Type, a.TypeID))
	}
	if p.Required != a.Required {
		list = append(list, fmt.Sprintf("required %v, not %v", p.Required, a.Required))
	}
	if p.PerSample != a.TensorOK {
		list = append(list, fmt.Sprintf("per sample %v, not %v", p.PerSample, a.TensorOK))
	}
	if p.PerFrame != a.PerFrame && !strings.Contains(perRegion, " "+p.Name+" ") {
		list = append(list, fmt.Sprintf("per frame %v, not %v", p.PerFrame, a.PerFrame))
	}
	if got, want := normalDefault(p, p.Default), normalDefault(p, a.value()); !a.Required && got != want {
		list = append(list, fmt.Sprintf("default %q, not %q", got, want))
	}
	return strings.Join(list, "; ")
}

// value is the default as a Go value of the kind that schemas have.
func (a daliArg) value() any {
	switch v := a.Default.(type) {
	case float64:
		switch a.TypeID {
		case "DATA_TYPE":
			return dtypeOf(int(v))
		case "IMAGE_TYPE":
			return op.ImageType(v)
		case "INTERP_TYPE":
			return op.InterpType(v)
		case "UINT8":
			return v != 0
		case "INT32", "INT64", "UINT32":
			return int(v)
		}
		return v
	case string:
		if !strings.HasSuffix(a.TypeID, "_VEC") {
			return v
		}
		list := []any{}
		for _, f := range strings.FieldsFunc(v, func(r rune) bool { return strings.ContainsRune("[], ", r) }) {
			if x, err := strconv.ParseFloat(f, 64); err == nil {
				list = append(list, x)
			} else {
				list = append(list, strings.Trim(f, "'\""))
			}
		}
		return list
	}
	return a.Default
}

// dtypeOf is the type with DALI's number.
func dtypeOf(n int) any {
	all := []tensor.DType{tensor.Uint8, tensor.Uint16, tensor.Uint32, tensor.Uint64, tensor.Int8, tensor.Int16,
		tensor.Int32,
		tensor.Int64, tensor.Float16, tensor.Float32, tensor.Float64, tensor.Bool}
	if n < 0 || n >= len(all) {
		return nil
	}
	return all[n]
}

// normalDefault writes a default so that equal ones are equal: a list of one number is
// that number, an empty list or text nothing.
func normalDefault(p *op.Parameter, v any) string {
	if v == nil {
		return ""
	}
	text := strings.Trim(fmt.Sprint(v), "[]")
	if p.Type == op.Floats || p.Type == op.Float {
		fields := strings.Fields(text)
		for i, f := range fields {
			if x, err := strconv.ParseFloat(f, 64); err == nil {
				fields[i] = strconv.FormatFloat(x, 'g', 6, 32)
			}
		}
		text = strings.Join(fields, " ")
	}
	return text
}

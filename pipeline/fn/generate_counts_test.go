package fn_test

import (
	"slices"
	"testing"

	"github.com/bivouac-ml/bivouac/op"
)

// pythonCount says how many outputs an operator has, so that the client need not ask the engine:
// Base, an output for each input if PerInput is set, the elements of the list Length, and what each
// choice adds.
type pythonCount struct {
	Base     int            `json:"base,omitempty"`
	PerInput bool           `json:"per_input,omitempty"`
	Length   string         `json:"length,omitempty"`
	Choices  []pythonChoice `json:"choices,omitempty"`
}

// pythonChoice adds outputs if one of its flags is true.
type pythonChoice struct {
	Flags []string `json:"flags"`
	Adds  int      `json:"adds"`
}

var (
	cocoCount = pythonCount{Base: 3, Choices: []pythonChoice{{[]string{"polygon_masks", "masks"}, 2},
		{[]string{"pixelwise_masks"}, 1}, {[]string{"image_ids", "save_img_ids"}, 1}}}
	caffeCount = pythonCount{Choices: []pythonChoice{{[]string{"image_available"}, 1},
		{[]string{"label_available"}, 1}}}
	extCount = pythonCount{Length: "ext"}
)

// pythonCounts are the rules of operators that programs of DALI use. The client asks the engine
// about others.
var pythonCounts = map[string]pythonCount{
	"resize":             {Base: 1, Choices: []pythonChoice{{[]string{"save_attrs"}, 1}}},
	"element_extract":    {Length: "element_map"},
	"random_bbox_crop":   {Base: 2, PerInput: true, Choices: []pythonChoice{{[]string{"output_bbox_indices"}, 1}}},
	"readers.coco":       cocoCount,
	"coco_reader":        cocoCount,
	"readers.caffe":      caffeCount,
	"caffe_reader":       caffeCount,
	"readers.webdataset": extCount,
}

// outputs returns the number of outputs that the rule says.
func (r pythonCount) outputs(inputs, length int, flags map[string]bool) int {
	n := r.Base
	if r.PerInput {
		n += inputs
	}
	if r.Length != "" {
		n += length
	}
	for _, c := range r.Choices {
		if slices.ContainsFunc(c.Flags, func(name string) bool { return flags[name] }) {
			n += c.Adds
		}
	}
	return n
}

// TestPythonCounts compares the rules with the operators, for all flags and some lists and numbers
// of inputs.
func TestPythonCounts(t *testing.T) {
	for name, rule := range pythonCounts {
		s, err := op.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		var flags []string
		for _, c := range rule.Choices {
			flags = append(flags, c.Flags...)
		}
		compared := 0
		for inputs := s.MinInputs(); inputs <= s.MaxInputs(); inputs++ {
			for length := 1; length <= 3; length++ {
				for mask := range 1 << len(flags) {
					set := map[string]bool{}
					for i, flag := range flags {
						set[flag] = mask>>i&1 == 1
					}
					got, err := countOutputs(s, rule, inputs, length, set)
					if err != nil {
						continue // the engine says what is wrong when it makes the operator
					}
					compared++
					if want := rule.outputs(inputs, length, set); got != want {
						t.Errorf("%s, %d inputs, %v: the rule says %d outputs, the operator %d", name, inputs, set, want, got)
					}
				}
			}
		}
		if compared < 2 {
			t.Errorf("%s: only %d cases are valid", name, compared)
		}
	}
}

// countOutputs asks an operator for its number of outputs.
func countOutputs(s *op.Schema, rule pythonCount, inputs, length int, flags map[string]bool) (int, error) {
	set := map[string]op.Argument{}
	for i := range s.Params {
		p := &s.Params[i]
		switch on, isFlag := flags[p.Name]; {
		case isFlag && on == (p.Default == true):
			continue // old and new names of a flag exclude each other
		case isFlag:
			set[p.Name] = op.Argument{Const: on}
		case p.Name == rule.Length && p.Type == op.Ints:
			set[p.Name] = op.Argument{Const: make([]int, length)}
		case p.Name == rule.Length:
			set[p.Name] = op.Argument{Const: slices.Repeat([]string{"x"}, length)}
		case p.Required || p.Name == "annotations_file" || p.Name == "file_root":
			set[p.Name] = op.Argument{Const: "x"}
		}
	}
	c, _, err := op.Resolve(s, "node", inputs, set)
	if err != nil {
		return 0, err
	}
	return s.OutputCount(c)
}

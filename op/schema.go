package op

import (
	"fmt"
	"go/token"
	"iter"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/enum"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Type is the type of a parameter.
type Type uint8

// The types of parameters with the Go type of a constant.
const (
	Bool     Type = iota + 1 // bool
	Int                      // int
	Float                    // float64
	String                   // string
	Ints                     // []int; a single int stands for a list of one
	Floats                   // []float64; a single number stands for a list of one
	Strings                  // []string; a single string stands for a list of one
	DType                    // tensor.DType
	Image                    // ImageType
	Interp                   // InterpType
	Bools                    // []bool; a single bool stands for a list of one
	DTypes                   // []tensor.DType; a single dtype stands for a list of one
	Features                 // []Feature; a single one stands for a list of one
)

var typeNames = []string{
	"", "bool", "int", "float", "string", "list of int", "list of float", "list of string", "dtype", "image type", "interpolation",
	"list of bool", "list of dtype", "list of features",
}

// String returns the type in words.
func (t Type) String() string { return enum.Name(t, typeNames, "unknown") }

// Parameter describes one argument that an operator takes.
type Parameter struct {
	Name     string
	Type     Type
	Default  any  // of the Go type of Type; nil: no default, and the operator decides if the parameter is not set
	Required bool // must be set
	// PerSample allows [Of]: a different value for each sample.
	PerSample bool
	// PerFrame lets a value per sample hold a value for each frame of a sequence, along its first
	// axis, F. The operator per_frame marks such values.
	PerFrame bool
	// OneFrame lets a value that holds one frame be the value for a picture that is not a sequence,
	// also if it has several numbers.
	OneFrame bool
	// AnyShape allows per-sample values of any shape, although the constant is one number. The
	// operator checks the shape.
	AnyShape bool
	// Tuning marks a parameter that cannot change the result, such as a path whose contents are
	// fingerprinted. It does not enter the identity of a graph.
	Tuning bool
	// Truth lets a Bool take numbers of any type per sample. A number is true if it is not zero.
	Truth bool
	// Deprecated says what to use instead; the parameter still works.
	Deprecated string
	Doc        string // one sentence
}

// Port describes an input or output.
type Port struct {
	Name    string // a Go identifier in lower case
	Doc     string
	DTypes  []tensor.DType // accepted dtypes of an input; empty: any
	Layouts []string       // accepted layouts of an input; empty: any. Data without a layout fits every layout of its rank.
	// Optional marks an input that may be left out. All inputs after it must be optional as well.
	Optional bool
	// PerFrame marks an input that can hold a value for each frame of a sequence. If the layout of its
	// data begins with F, each frame is computed with its own value.
	PerFrame bool
}

// Precision says how exactly an operator meets its definition.
type Precision uint8

const (
	// Exact results are defined bit by bit.
	Exact Precision = iota
	// Tolerance allows rounding differences against other implementations. The results of one build
	// are equal for any number of threads.
	Tolerance
)

// Branch says how an operator changes which samples a batch has.
type Branch uint8

const (
	// Follows is the default: an operator sees the samples that all its inputs and arguments have.
	Follows Branch = iota
	// Splits means that the operator leaves samples out of outputs, with Block.Leave.
	Splits
	// Merges means that the operator sees the samples that its arguments have. A sample that an input
	// lacks is a tensor without a valid dtype.
	Merges
)

// Schema describes an operator. It is immutable once registered.
type Schema struct {
	Name      string   // as in DALI: "crop_mirror_normalize"
	Module    []string // as in DALI: ["decoders"]
	Doc       string   // what it does; the first sentence is a summary
	Inputs    []Port
	Repeat    int // how often the last input may be given; 0 means once
	Outputs   []Port
	Params    []Parameter
	Random    bool // draws random numbers
	Stateful  bool // must run once for every sample in every iteration; never merged with another node
	Keep      bool // has effects besides its outputs: never pruned
	Reader    bool // is a source of samples: registered by package reader, without New
	Precision Precision
	Branch    Branch
	// Spread says that values per frame make a sequence of inputs that are not sequences. Without it,
	// such values need an input that is a sequence.
	Spread bool
	// Deprecated says what to use instead; the operator still works.
	Deprecated string
	// Same is the full name of the operator of which this one is another name. Fingerprints of graphs
	// have that name. It is "" for an operator of its own, and for older names that fingerprints have.
	Same string
	// OutputCount returns the number of outputs if arguments or inputs decide it. It is at most
	// len(Outputs), unless the last output repeats. If OutputCount is nil, there are len(Outputs)
	// outputs.
	OutputCount func(c *Config) (int, error)
	// New makes a kernel from resolved arguments and validates their values. Types and presence of the
	// arguments are already checked.
	New func(*Config) (Kernel, error)
}

// FullName returns module path and name, such as "decoders.image".
func (s *Schema) FullName() string { return strings.Join(append(slices.Clone(s.Module), s.Name), ".") }

// common holds the parameters that every operator takes besides its own, as in DALI.
var common = []Parameter{
	{Name: "bytes_per_sample_hint", Type: Ints, Default: []int{0}, Tuning: true, Doc: "Expected bytes of a sample of each output. This memory is allocated in advance."},
	{Name: "preserve", Type: Bool, Default: false, Tuning: true, Doc: "Whether to keep the operator although nothing uses its outputs."},
}

// Param returns the parameter called name: one of the operator's own parameters, or one that all
// operators take.
func (s *Schema) Param(name string) (*Parameter, bool) {
	for p := range s.params() {
		if p.Name == name {
			return p, true
		}
	}
	return nil, false
}

// params yields all parameters, the operator's own first.
func (s *Schema) params() iter.Seq[*Parameter] {
	return func(yield func(*Parameter) bool) {
		for _, list := range [][]Parameter{s.Params, common} {
			for i := range list {
				if !yield(&list[i]) {
					return
				}
			}
		}
	}
}

// MinInputs returns the least number of inputs.
func (s *Schema) MinInputs() int {
	n := 0
	for n < len(s.Inputs) && !s.Inputs[n].Optional {
		n++
	}
	return n
}

// MaxInputs returns the largest number of inputs.
func (s *Schema) MaxInputs() int { return len(s.Inputs) + max(0, s.Repeat-1) }

// Input returns the port of input i. Repeated inputs have the last port.
func (s *Schema) Input(i int) Port { return s.Inputs[min(i, len(s.Inputs)-1)] }

// Validate returns an error if the schema itself is malformed.
func (s *Schema) Validate() error {
	bad := func(format string, args ...any) error {
		return &errs.Error{Kind: errs.Invalid, Op: "op.Register", Subject: s.FullName(), Got: fmt.Sprintf(format, args...)}
	}
	if s.Name == "" {
		return bad("no name")
	}
	if len(s.Outputs) == 0 && !s.Keep {
		return bad("no outputs")
	}
	if s.Repeat > 0 && len(s.Inputs) == 0 {
		return bad("no input to repeat")
	}
	if s.Reader == (s.New != nil) {
		return bad("a reader with a kernel, or another operator without a kernel")
	}
	seen := map[string]bool{"p": true, "args": true} // names that generated functions use
	for _, port := range slices.Concat(s.Inputs, s.Outputs) {
		if !token.IsIdentifier(port.Name) || seen[port.Name] {
			return bad("port %q is not a Go identifier or occurs twice", port.Name)
		}
		seen[port.Name] = true
	}
	clear(seen)
	for _, p := range s.Params {
		if p.Name == "" || seen[p.Name] {
			return bad("parameter %q is empty or occurs twice", p.Name)
		}
		seen[p.Name] = true
		if p.Default != nil {
			if _, err := p.Convert(p.Default); err != nil {
				return bad("default of %q: %v", p.Name, err)
			}
		}
		if p.Required && p.Default != nil {
			return bad("parameter %q is required and has a default", p.Name)
		}
	}
	return nil
}

// Convert returns v as the Go type of the parameter's type. Integers become floats, and single
// values become lists, if the type wants it.
func (p *Parameter) Convert(v any) (any, error) {
	var out any
	var ok bool
	switch p.Type {
	case Bool:
		out, ok = v.(bool)
	case Int:
		out, ok = toInt(v)
	case Float:
		out, ok = toFloat(v)
	case String:
		out, ok = v.(string)
	case Ints:
		out, ok = toList(v, toInt)
	case Floats:
		out, ok = toList(v, toFloat)
	case Strings:
		out, ok = toList(v, as[string])
	case Bools:
		out, ok = toList(v, as[bool])
	case DTypes:
		out, ok = toList(v, as[tensor.DType])
	case Features:
		out, ok = toFeatures(v)
	case DType:
		out, ok = v.(tensor.DType)
	case Image:
		out, ok = v.(ImageType)
	case Interp:
		out, ok = v.(InterpType)
	}
	if !ok {
		return nil, &errs.Error{Kind: errs.Invalid, Want: p.Type.String(), Got: fmt.Sprintf("%v of type %T", v, v)}
	}
	return out, nil
}

func as[T any](v any) (T, bool) {
	t, ok := v.(T)
	return t, ok
}

// DefaultText returns the default as readable text. Strings are quoted, and elements of lists are
// separated by blanks. It is empty if there is no default.
func (p *Parameter) DefaultText() string {
	switch v := p.Default.(type) {
	case nil:
		return ""
	case string:
		return fmt.Sprintf("%q", v)
	case []string:
		return strings.Join(v, " ")
	case []float64:
		return strings.Trim(fmt.Sprintf("%.4g", v), "[]")
	case []int:
		return strings.Trim(fmt.Sprint(v), "[]")
	}
	return fmt.Sprint(p.Default)
}

func toInt(v any) (int, bool) {
	switch v := v.(type) {
	case int:
		return v, true
	case int32:
		return int(v), true
	case int64:
		return int(v), int64(int(v)) == v
	}
	return 0, false
}

func toFloat(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case float32:
		return float64(v), true
	}
	i, ok := toInt(v)
	return float64(i), ok
}

func toList[T any](v any, one func(any) (T, bool)) ([]T, bool) {
	if x, ok := one(v); ok {
		return []T{x}, true
	}
	switch v := v.(type) {
	case []T:
		return v, true
	case []int:
		return convertList(v, one)
	case []any:
		return convertList(v, one)
	}
	return nil, false
}

func convertList[S, T any](v []S, one func(any) (T, bool)) ([]T, bool) {
	list := make([]T, len(v))
	for i := range v {
		x, ok := one(v[i])
		if !ok {
			return nil, false
		}
		list[i] = x
	}
	return list, true
}

package fn_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/bivouac-ml/bivouac/op"
)

// The typed functions of dynamic mode: functions of module random are in dynamic/random, all
// others in dynamic/fn. Readers have a package of their own.

const randomModule = "random"

// dynamicPath is the file of a module's functions of dynamic mode.
func dynamicPath(module string) string {
	if module == randomModule {
		return filepath.Join("..", "..", "dynamic", "random", "random_gen.go")
	}
	return filepath.Join("..", "..", "dynamic", "fn", module+"_gen.go")
}

// dynamicFile declares the functions of dynamic mode.
func dynamicFile(module string, schemas []*op.Schema) string {
	var body bytes.Buffer
	for _, s := range schemas {
		if s.Reader { // an older name of one
			continue
		}
		name := dynamicName(s)
		fmt.Fprintf(&body, "// %sArgs are the arguments of %s.\ntype %[1]sArgs = opargs.%[3]s\n\n", name, s.FullName(),
			goName(s.FullName()))
		for _, form := range dynamicForms(s) {
			body.WriteString(form.doc() + form.signature() + " {\n" + form.body() + "}\n\n")
		}
	}
	var b bytes.Buffer
	b.WriteString(generatedBy)
	pkg := "fn"
	if module == randomModule {
		pkg = "random"
	}
	fmt.Fprintf(&b, "package %s\n\nimport (\n\"context\"\n\n\"github.com/bivouac-ml/bivouac/dynamic\"\n", pkg)
	if strings.Contains(body.String(), "random.Or(") {
		b.WriteString("\"github.com/bivouac-ml/bivouac/dynamic/random\"\n")
	}
	b.WriteString("\"github.com/bivouac-ml/bivouac/op/opargs\"\n)\n\n")
	b.Write(body.Bytes())
	return b.String()
}

// dynamicName is the name of an operator's function in dynamic mode.
func dynamicName(s *op.Schema) string {
	if inRandom(s) {
		return goName(s.Name)
	}
	return goName(s.FullName())
}

// dynamicLink is how the package of s refers to the function of newer.
func dynamicLink(s, newer *op.Schema) string {
	if inRandom(newer) && !inRandom(s) {
		return randomModule + "." + dynamicName(newer)
	}
	return dynamicName(newer)
}

func inRandom(s *op.Schema) bool { return len(s.Module) == 1 && s.Module[0] == randomModule }

// dynamicForm is one function of an operator.
type dynamicForm struct {
	s *op.Schema
	// kind is the type of results: "T" (the type of the first input), "*dynamic.Tensor", or
	// "*dynamic.Batch", whose size the function takes.
	kind string
}

// dynamicForms are the functions of an operator: one for either kind where the first
// input decides, else one for each.
func dynamicForms(s *op.Schema) []dynamicForm {
	if s.MinInputs() > 0 && !inRandom(s) {
		return []dynamicForm{{s, "T"}}
	}
	return []dynamicForm{{s, "*dynamic.Tensor"}, {s, "*dynamic.Batch"}}
}

func (f dynamicForm) batch() bool { return f.kind == "*dynamic.Batch" }

func (f dynamicForm) name() string {
	if f.batch() {
		return dynamicName(f.s) + "Batch"
	}
	return dynamicName(f.s)
}

// inputKind is the type of input i.
func (f dynamicForm) inputKind(i int) string {
	if f.kind == "*dynamic.Tensor" || f.kind == "T" && i == 0 {
		return f.kind
	}
	return "dynamic.Value"
}

// rest is the type of the inputs behind the arguments.
func (f dynamicForm) rest(fixed int) string {
	if f.kind == "T" && fixed == 0 { // they decide the kind
		return "T"
	}
	return f.inputKind(fixed)
}

func (f dynamicForm) doc() string {
	s, name := f.s, f.name()
	var b strings.Builder
	if f.batch() {
		const doc = "%s is %s for n samples; if n is 0, inputs or arguments that differ by sample tell how many."
		b.WriteString(comment(fmt.Sprintf(doc, name, s.FullName())))
		b.WriteString("//\n" + comment("See ["+dynamicName(s)+"]."))
	} else {
		numbers := ""
		if s.Random {
			numbers = comment("Numbers come from rng; where it is nil, from the generator of ctx.")
		}
		b.WriteString(documentation(s, name, numbers, func(newer *op.Schema) string { return dynamicLink(s, newer) }))
	}
	if s.Deprecated != "" {
		b.WriteString("//\n" + comment("Deprecated: "+s.Deprecated))
	}
	return b.String()
}

// signature is the function's head.
func (f dynamicForm) signature() string {
	var b strings.Builder
	b.WriteString("func " + f.name())
	if f.kind == "T" {
		b.WriteString("[T dynamic.Kind]")
	}
	b.WriteString("(ctx context.Context")
	if f.s.Random {
		b.WriteString(", rng *" + map[bool]string{true: "RNG", false: "random.RNG"}[inRandom(f.s)])
	}
	if f.batch() {
		b.WriteString(", n int")
	}
	fixed, more := split(f.s)
	for i, in := range fixed {
		b.WriteString(", " + local(in.Name) + " " + f.inputKind(i))
	}
	fmt.Fprintf(&b, ", args %sArgs", dynamicName(f.s))
	if more {
		b.WriteString(", inputs ..." + f.rest(len(fixed)))
	}
	b.WriteString(")")
	switch {
	case f.s.OutputCount != nil:
		b.WriteString(" []" + f.kind)
	case len(f.s.Outputs) > 0:
		names := make([]string, len(f.s.Outputs))
		for i, out := range f.s.Outputs {
			names[i] = local(out.Name)
		}
		fmt.Fprintf(&b, " (%s %s)", strings.Join(names, ", "), f.kind)
	}
	return b.String()
}

// body is the function's body.
func (f dynamicForm) body() string {
	fixed, more := split(f.s)
	var names []string
	for _, in := range fixed {
		names = append(names, local(in.Name))
	}
	inputs := ""
	switch list := "[]dynamic.Value{" + strings.Join(names, ", ") + "}"; {
	case more && f.rest(len(fixed)) == "dynamic.Value" && len(fixed) == 0:
		inputs = "inputs"
	case more && f.rest(len(fixed)) == "dynamic.Value":
		inputs = "append(" + list + ", inputs...)"
	case more:
		inputs = "dynamic.Values(" + strings.Join(append([]string{"inputs"}, names...), ", ") + ")"
	case len(fixed) > 0:
		inputs = list
	}
	call := fmt.Sprintf("dynamic.Call{Op: %q, Args: args", f.s.FullName())
	if inputs != "" {
		call += ", Inputs: " + inputs
	}
	if f.s.Random {
		call += ", Draw: " + map[bool]string{true: "Or(ctx, rng)", false: "random.Or(ctx, rng)"}[inRandom(f.s)]
	}
	if f.batch() {
		call += ", Batch: n"
	}
	call += "}"
	switch {
	case f.s.OutputCount != nil:
		return "return dynamic.InvokeN[" + f.kind + "](ctx, " + call + ", 0)\n"
	case len(f.s.Outputs) == 1:
		return "return dynamic.Invoke1[" + f.kind + "](ctx, " + call + ")\n"
	}
	values := make([]string, len(f.s.Outputs))
	for i := range values {
		values[i] = fmt.Sprintf("out[%d]", i)
	}
	return fmt.Sprintf("out := dynamic.InvokeN[%s](ctx, %s, %d)\nreturn %s\n", f.kind, call, len(values),
		strings.Join(values, ", "))
}

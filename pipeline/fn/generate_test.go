package fn_test

import (
	"bytes"
	"flag"
	"fmt"
	"go/format"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/op"
	_ "github.com/bivouac-ml/bivouac/pipeline"       // its operators
	_ "github.com/bivouac-ml/bivouac/reader/arrow"   // an operator that is imported by name
	_ "github.com/bivouac-ml/bivouac/reader/parquet" // likewise
	"github.com/bivouac-ml/bivouac/tensor"
)

var update = flag.Bool("update", false, "write the generated files")

// TestGenerated makes op/opargs, pipeline/fn and the functions of dynamic mode from the
// registered schemas and the table of arithmetic, and compares them with what is there;
// with -update it writes them.
func TestGenerated(t *testing.T) {
	want := map[string][]byte{}
	for module, schemas := range byModule() {
		want[filepath.Join("..", "..", "op", "opargs", module+"_gen.go")] = source(t, argsFile(schemas))
		want[module+"_gen.go"] = source(t, fnFile(schemas))
		computing := slices.DeleteFunc(slices.Clone(schemas), func(s *op.Schema) bool { return s.Reader })
		if len(computing) > 0 {
			want[dynamicPath(module)] = source(t, dynamicFile(module, computing))
		}
	}
	maps.Copy(want, arithmeticFiles(t))
	compareOrUpdate(t, want)
}

// compareOrUpdate holds files against what they should be or, with -update, writes them.
func compareOrUpdate(t *testing.T, want map[string][]byte) {
	t.Helper()
	for _, path := range slices.Sorted(maps.Keys(want)) {
		if *update {
			if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, want[path], 0o666); err != nil {
				t.Fatal(err)
			}
			continue
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Errorf("%v (run go generate ./pipeline/fn)", err)
			continue
		}
		if d := cmp.Diff(string(want[path]), string(got)); d != "" {
			t.Errorf("%s is not what the schemas say (run go generate ./pipeline/fn; -want +got):\n%s", path, d)
		}
	}
}

const generatedBy = "// Code generated from the schemas by go generate ./pipeline/fn; DO NOT EDIT.\n\n"

// byModule returns the schemas by the file that they go to.
func byModule() map[string][]*op.Schema {
	files := map[string][]*op.Schema{}
	for _, s := range op.Schemas() {
		if strings.HasPrefix(s.FullName(), "_") { // pipeline.Node and Builder have methods that use it
			continue
		}
		module := "operators"
		if len(s.Module) > 0 {
			module = strings.Join(s.Module, "_")
		}
		files[module] = append(files[module], s)
	}
	return files
}

func source(t *testing.T, text string) []byte {
	t.Helper()
	b, err := format.Source([]byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return b
}

// argsFile declares the argument structs.
func argsFile(schemas []*op.Schema) string {
	var b bytes.Buffer
	b.WriteString(generatedBy + "package opargs\n\n")
	var body bytes.Buffer
	for _, s := range schemas {
		fmt.Fprintf(&body, "// %s are the arguments of %s.\ntype %[1]s ", goName(s.FullName()), s.FullName())
		if newer := replacement(s); newer != nil {
			fmt.Fprintf(&body, "= %s\n\n", goName(newer.FullName()))
			continue
		}
		fmt.Fprintf(&body, "struct {\n%s}\n\n", argsFields(s))
	}
	imports(&b, body.String(), "op", "tensor")
	b.Write(body.Bytes())
	return b.String()
}

// argsFields declares the fields of an operator's argument struct.
func argsFields(s *op.Schema) string {
	var b strings.Builder
	b.WriteString("Name string `op:\",name\"` // of the node; random numbers are keyed by it\n")
	for i := range s.Params {
		p := &s.Params[i]
		fmt.Fprintf(&b, "\n%s%s %s `op:%q`\n", comment(paramDoc(p)), fieldName(p.Name), fieldType(p), p.Name)
	}
	return b.String()
}

// replacement returns the operator that a deprecated one is an older name of, or nil:
// both have the same arguments, inputs and outputs. One struct and one documentation serve both.
func replacement(s *op.Schema) *op.Schema {
	name, _ := strings.CutPrefix(s.Deprecated, "use ")
	newer, err := op.Lookup(name)
	if err != nil || argsFields(newer) != argsFields(s) || ports(newer) != ports(s) || newer.Doc != s.Doc {
		return nil
	}
	return newer
}

// documentation says what the function called name does; more goes before the inputs. Of
// an older name it says what the newer one is.
// link is how the package refers to the newer function.
func documentation(s *op.Schema, name, more string, link func(newer *op.Schema) string) string {
	if newer := replacement(s); newer != nil {
		return comment(fmt.Sprintf("%s is %s, an older name of %s; see [%s].", name, s.FullName(), newer.FullName(),
			link(newer)))
	}
	return comment(fmt.Sprintf("%s is %s. %s", name, s.FullName(), s.Doc)) + "//\n" + more + ports(s)
}

// ports says what an operator takes and gives.
func ports(s *op.Schema) string {
	var b strings.Builder
	for i, in := range s.Inputs {
		b.WriteString(comment(fmt.Sprintf("Input %s: %s%s.", local(in.Name), in.Doc, howMany(s, i))))
	}
	for _, out := range s.Outputs {
		b.WriteString(comment(fmt.Sprintf("Output %s: %s.", local(out.Name), out.Doc)))
	}
	return b.String()
}

// fnFile declares the functions.
func fnFile(schemas []*op.Schema) string {
	var b bytes.Buffer
	b.WriteString(generatedBy + "package fn\n\n")
	b.WriteString("import (\n\"github.com/bivouac-ml/bivouac/op/opargs\"\n" +
		"\"github.com/bivouac-ml/bivouac/pipeline\"\n)\n\n")
	for _, s := range schemas {
		name := goName(s.FullName())
		fmt.Fprintf(&b, "// %sArgs are the arguments of %s.\ntype %[1]sArgs = opargs.%[1]s\n\n", name, s.FullName())
		b.WriteString(documentation(s, name, "", func(newer *op.Schema) string { return goName(newer.FullName()) }))
		if s.Deprecated != "" {
			b.WriteString("//\n" + comment("Deprecated: "+s.Deprecated))
		}
		b.WriteString(signature(s) + " {\n" + call(s) + "}\n\n")
	}
	return b.String()
}

// howMany says of an input whether it must be there, and how often it may.
func howMany(s *op.Schema, i int) string {
	switch {
	case s.Repeat > 0 && i == len(s.Inputs)-1:
		return fmt.Sprintf("; up to %d of them", s.Repeat)
	case s.Inputs[i].Optional:
		return "; may be left out"
	}
	return ""
}

// split returns the inputs that are parameters of their own and whether others
// follow the arguments.
func split(s *op.Schema) (fixed []op.Port, more bool) {
	fixed = s.Inputs[:s.MinInputs()]
	if s.Repeat > 0 && len(fixed) == len(s.Inputs) {
		fixed = fixed[:len(fixed)-1]
	}
	return fixed, len(fixed) < s.MaxInputs()
}

// signature is the function's head. Inputs that may be left out or repeated
// come last.
func signature(s *op.Schema) string {
	var b strings.Builder
	fmt.Fprintf(&b, "func %s(p *pipeline.Builder", goName(s.FullName()))
	fixed, more := split(s)
	for _, in := range fixed {
		b.WriteString(", " + local(in.Name) + " pipeline.Node")
	}
	fmt.Fprintf(&b, ", args %sArgs", goName(s.FullName()))
	if more {
		b.WriteString(", inputs ...pipeline.Node")
	}
	b.WriteString(")")
	switch {
	case s.OutputCount != nil:
		b.WriteString(" []pipeline.Node")
	case len(s.Outputs) > 0:
		names := make([]string, len(s.Outputs))
		for i, out := range s.Outputs {
			names[i] = local(out.Name)
		}
		fmt.Fprintf(&b, " (%s pipeline.Node)", strings.Join(names, ", "))
	}
	return b.String()
}

// call is the function's body.
func call(s *op.Schema) string {
	fixed, more := split(s)
	var names []string
	for _, in := range fixed {
		names = append(names, local(in.Name))
	}
	list := strings.Join(names, ", ")
	switch {
	case more && len(fixed) > 0:
		list = ", append([]pipeline.Node{" + list + "}, inputs...)..."
	case more:
		list = ", inputs..."
	case list != "":
		list = ", " + list
	}
	made := fmt.Sprintf("p.Op(%q, args%s)\n", s.FullName(), list)
	switch {
	case s.OutputCount != nil:
		return "return " + made
	case len(s.Outputs) == 0:
		return made
	}
	values := make([]string, len(s.Outputs))
	for i := range values {
		values[i] = fmt.Sprintf("out[%d]", i)
	}
	return "out := " + made + "return " + strings.Join(values, ", ") + "\n"
}

func imports(b *bytes.Buffer, body string, packages ...string) {
	if !strings.Contains(body, "struct {") {
		return
	}
	b.WriteString("import (\n")
	for _, p := range packages {
		if strings.Contains(body, " "+p+".") || strings.Contains(body, "["+p+".") || strings.Contains(body, "]"+p+".") {
			fmt.Fprintf(b, "\"github.com/bivouac-ml/bivouac/%s\"\n", p)
		}
	}
	b.WriteString(")\n\n")
}

func paramDoc(p *op.Parameter) string {
	doc := p.Doc
	switch {
	case p.Required:
		doc += " Required."
	case p.Default != nil:
		doc += " Default: " + p.DefaultText() + "."
	}
	if p.Deprecated != "" {
		doc += " Deprecated: " + p.Deprecated
	}
	return doc
}

// fieldType is the plain Go type where its zero value can stand for the default,
// and op.Arg otherwise and for arguments that may differ per sample.
func fieldType(p *op.Parameter) string {
	plain := map[op.Type]string{
		op.Bool: "bool", op.Int: "int", op.Float: "float64", op.String: "string",
		op.Ints: "[]int", op.Floats: "[]float64", op.Strings: "[]string",
		op.DType: "tensor.DType", op.Image: "op.ImageType", op.Interp: "op.InterpType",
		op.Bools: "[]bool", op.DTypes: "[]tensor.DType", op.Features: "[]op.Feature",
	}[p.Type]
	list := strings.HasPrefix(plain, "[]")
	zero := p.Default == nil && p.Type == op.String || p.Default != nil && reflect.ValueOf(p.Default).IsZero()
	if dtype := p.Type == op.DType; !p.PerSample && (list || dtype || zero) { // no dtype is zero
		return plain
	}
	return "op.Arg[" + plain + "]"
}

var _ tensor.DType // the generated files name it

// goName is CamelCase of a full name: "random.coin_flip" is RandomCoinFlip.
func goName(name string) string {
	var out strings.Builder
	for _, word := range strings.FieldsFunc(name, func(r rune) bool { return r == '.' || r == '_' }) {
		out.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return out.String()
}

// fieldName is goName with the usual Go spelling of abbreviations.
func fieldName(param string) string {
	switch param {
	case "dtype", "fdata", "idata":
		return strings.ToUpper(param[:2]) + param[2:]
	}
	return goName(param)
}

// local is the name of a port as a Go variable.
func local(port string) string {
	name := goName(port)
	return strings.ToLower(name[:1]) + name[1:]
}

// comment wraps text into a comment.
func comment(text string) string {
	const width = 110
	var out strings.Builder
	line := "//"
	for _, word := range strings.Fields(text) {
		if len(line)+1+len(word) > width {
			out.WriteString(line + "\n")
			line = "//"
		}
		line += " " + word
	}
	return out.String() + line + "\n"
}

package fn_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/compat/dali"
	"github.com/bivouac-ml/bivouac/op"
)

// TestGeneratedStubs makes the stubs of the Python packages fn and ops, with the documentation of
// each operator, and compares them with what is there; with -update it writes them.
func TestGeneratedStubs(t *testing.T) {
	modules := map[string][]*op.Schema{"": nil}
	for _, s := range pythonSchemas() {
		if strings.HasPrefix(s.FullName(), "_") { // nodes have operators for them
			continue
		}
		for i := range s.Module {
			modules[strings.Join(s.Module[:i], ".")] = modules[strings.Join(s.Module[:i], ".")]
		}
		module := strings.Join(s.Module, ".")
		modules[module] = append(modules[module], s)
	}
	want := map[string][]byte{}
	for module, schemas := range modules {
		for _, root := range []string{"fn", "ops"} {
			want[stubPath(root, module, modules)] = []byte(stubFile(t, root, module, modules, schemas))
		}
	}
	compareOrUpdate(t, want)
}

// stubPath is the file of a module. A module that holds others is a folder.
func stubPath(root, module string, modules map[string][]*op.Schema) string {
	path := filepath.Join(pythonRoot, root, strings.ReplaceAll(module, ".", string(filepath.Separator)))
	if module == "" || len(inside(module, modules)) > 0 {
		return filepath.Join(path, "__init__.pyi")
	}
	return path + ".pyi"
}

// inside returns the last names of the modules in a module.
func inside(module string, modules map[string][]*op.Schema) []string {
	var list []string
	for other := range modules {
		rest, ok := strings.CutPrefix(other, module+".")
		if module == "" {
			rest, ok = other, other != ""
		}
		if ok && !strings.Contains(rest, ".") {
			list = append(list, rest)
		}
	}
	slices.Sort(list)
	return list
}

func stubFile(t *testing.T, root, module string, modules map[string][]*op.Schema, schemas []*op.Schema) string {
	var body strings.Builder
	for _, s := range schemas {
		if root == "fn" {
			body.WriteString("\n" + stubFunction(t, s))
		} else {
			body.WriteString("\n" + stubClass(t, s))
		}
	}
	full := "bivouac." + root
	if module != "" {
		full += "." + module
	}
	var b strings.Builder
	b.WriteString("# Generated from the schemas by go generate ./pipeline/fn; do not edit.\n\n")
	for _, from := range []struct{ module, names string }{
		{"typing", "Any"},
		{"bivouac._pipeline.annotations", "Bools DTypes Fed Floats Input Ints Text Texts"},
		{"bivouac._pipeline.enums", "DALIDataType DALIImageType DALIInterpType"},
		{"bivouac._pipeline.features", "Feature"}, {"bivouac._pipeline.node", "DataNode"},
		{"bivouac._pipeline.operators", "Operator"},
	} {
		var used []string
		for _, name := range strings.Fields(from.names) {
			if mentions(body.String(), name) {
				used = append(used, name)
			}
		}
		if len(used) > 0 {
			fmt.Fprintf(&b, "from %s import %s\n", from.module, strings.Join(used, ", "))
		}
	}
	if module == "" && root == "ops" {
		b.WriteString("from bivouac._pipeline.compose import Compose as Compose\n")
	}
	if module == "" {
		name := map[string]string{"fn": "external_source", "ops": "ExternalSource"}[root]
		fmt.Fprintf(&b, "from bivouac._pipeline.external import %s as %[1]s\n", name)
		for _, name := range map[string][]string{"fn": {"dl_tensor_python_function", "python_function"},
			"ops": {"DLTensorPythonFunction", "PythonFunction"}}[root] {
			fmt.Fprintf(&b, "from bivouac._pipeline.python_function import %s as %[1]s\n", name)
		}
	}
	for _, name := range inside(module, modules) {
		fmt.Fprintf(&b, "from %s import %s as %[2]s\n", full, name)
	}
	return b.String() + body.String()
}

// mentions reports whether the code names a type.
func mentions(code, name string) bool {
	for _, around := range []string{": " + name, "| " + name, "[" + name, "(" + name, "> " + name, ", " + name} {
		if strings.Contains(code, around) {
			return true
		}
	}
	return false
}

// stubFunction declares the function of an operator.
func stubFunction(t *testing.T, s *op.Schema) string {
	inputs := stubInputs(s)
	list := slices.Concat(inputs, []string{"*"}, stubArguments(t, s, false))
	if slices.ContainsFunc(inputs, func(p string) bool { return strings.HasPrefix(p, "*") }) {
		list = slices.Concat(inputs, stubArguments(t, s, false))
	}
	return fmt.Sprintf("def %s(%s\n) -> %s:\n%s    ...\n", s.Name, stubList(list), stubReturn(s),
		docstring(t, s, "    ", true))
}

// stubClass declares the class of an operator.
func stubClass(t *testing.T, s *op.Schema) string {
	schema := dali.SchemaName(s.FullName())
	name := schema[strings.LastIndex(schema, "__")+1:]
	name = strings.TrimLeft(name, "_")
	arguments := stubArguments(t, s, true)
	inputs := stubInputs(s)
	call := slices.Concat([]string{"self"}, inputs, []string{"**kwargs: Any"})
	made := slices.Concat([]string{"self", "*"}, arguments)
	return fmt.Sprintf("class %s(Operator):\n%s\n    def __init__(%s\n    ) -> None: ...\n"+
		"    def __call__(%s\n    ) -> %s: ...\n", name, docstring(t, s, "    ", false),
		indent(stubList(made)), indent(stubList(call)), stubReturn(s))
}

func indent(text string) string { return strings.ReplaceAll(text, "\n", "\n    ") }

func stubList(list []string) string {
	var b strings.Builder
	for _, p := range list {
		b.WriteString("\n    " + p + ",")
	}
	return b.String()
}

// stubInputs declares the inputs, which are positional.
func stubInputs(s *op.Schema) []string {
	var list []string
	for i, in := range s.Inputs {
		if s.Repeat > 0 && i == len(s.Inputs)-1 {
			return append(list, "*"+in.Name+": Input")
		}
		declared := "__" + in.Name + ": Input"
		if in.Optional {
			declared += " | None = None"
		}
		list = append(list, declared)
	}
	if len(list) > 0 {
		list = append(list, "/")
	}
	return list
}

// stubArguments declares the arguments, which have names.
func stubArguments(t *testing.T, s *op.Schema, optional bool) []string {
	device := "device: str | None = None"
	if optional {
		device = `device: str = "cpu"`
	}
	list := []string{device, "name: str | None = None"}
	params := commonPointers(t)
	for i := range s.Params {
		params = append(params, &s.Params[i])
	}
	slices.SortFunc(params, func(a, b *op.Parameter) int { return strings.Compare(a.Name, b.Name) })
	for _, p := range params {
		kind := pythonAnnotations[p.Type]
		if p.PerSample {
			kind += " | Fed"
		}
		switch {
		case p.Required && !optional:
			list = append(list, p.Name+": "+kind)
		default:
			list = append(list, fmt.Sprintf("%s: %s | None = %s", p.Name, kind, stubDefault(t, p)))
		}
	}
	return list
}

func commonPointers(t *testing.T) []*op.Parameter {
	var list []*op.Parameter
	for _, c := range commonParameters(t) {
		p, _ := op.Schemas()[0].Param(c.Name)
		list = append(list, p)
	}
	return list
}

// pythonAnnotations are the types of arguments in the stubs.
var pythonAnnotations = map[op.Type]string{
	op.Bool: "bool", op.Int: "int", op.Float: "float", op.String: "Text", op.Bools: "Bools",
	op.Ints: "Ints", op.Floats: "Floats", op.Strings: "Texts", op.DType: "DALIDataType", op.DTypes: "DTypes", op.Image: "DALIImageType",
	op.Interp: "DALIInterpType", op.Features: "dict[str, Feature]",
}

// stubDefault is the default as Python writes it. Long ones are left out.
func stubDefault(t *testing.T, p *op.Parameter) string {
	enum := map[op.Type]string{op.DType: "DALIDataType", op.Image: "DALIImageType", op.Interp: "DALIInterpType"}
	switch v := pythonDefault(p.Default).(type) {
	case nil:
		return "None"
	case bool:
		return strings.ToUpper(fmt.Sprint(v)[:1]) + fmt.Sprint(v)[1:]
	case string:
		if kind, ok := enum[p.Type]; ok {
			return kind + "." + v
		}
		return string(line(t, v))
	case int, float64, []int, []float64:
		if text := strings.ReplaceAll(string(line(t, v)), ",", ", "); len(text) <= 30 && json.Valid([]byte(text)) {
			return text
		}
	}
	return "..."
}

func stubReturn(s *op.Schema) string {
	switch {
	case strings.Contains(s.Name, "tfrecord"):
		return "dict[str, DataNode]"
	case s.OutputCount != nil:
		return "Any"
	case len(s.Outputs) == 1:
		return "DataNode"
	}
	return "list[DataNode]"
}

// docstring is the documentation of an operator. A class refers to the function for the arguments.
func docstring(t *testing.T, s *op.Schema, margin string, whole bool) string {
	var b strings.Builder
	b.WriteString(wrapped(`"""`+s.Doc, margin, margin))
	if s.Deprecated != "" {
		b.WriteString("\n" + wrapped("Deprecated: "+s.Deprecated+".", margin, margin))
	}
	if !whole {
		b.WriteString("\n" + wrapped("The arguments are those of `bivouac.fn."+s.FullName()+"`.", margin, margin))
		return b.String() + margin + "\"\"\"\n"
	}
	section := func(title string, lines map[string]string, order []string) {
		if len(order) == 0 {
			return
		}
		b.WriteString("\n" + margin + title + "\n")
		for _, name := range order {
			b.WriteString(wrapped(name+": "+lines[name], margin+"  ", margin+"    "))
		}
	}
	docs, names := map[string]string{}, []string{}
	for i, in := range s.Inputs {
		docs[in.Name] = in.Doc + howMany(s, i) + "."
		names = append(names, in.Name)
	}
	section("Inputs:", docs, names)
	docs, names = map[string]string{}, []string{}
	for _, out := range s.Outputs {
		docs[out.Name] = out.Doc + "."
		names = append(names, out.Name)
	}
	section("Outputs:", docs, names)
	docs = map[string]string{}
	for i := range s.Params {
		docs[s.Params[i].Name] = stubParamDoc(t, &s.Params[i])
	}
	section("Args:", docs, slices.Sorted(maps.Keys(docs)))
	return b.String() + margin + "\"\"\"\n"
}

// stubParamDoc says what an argument is, and its default unless the signature has it.
func stubParamDoc(t *testing.T, p *op.Parameter) string {
	doc := p.Doc
	switch {
	case p.Required:
		doc += " Required."
	case stubDefault(t, p) == "...":
		doc += " Default: " + p.DefaultText() + "."
	}
	if p.Deprecated != "" {
		doc += " Deprecated: " + p.Deprecated + "."
	}
	return doc
}

// wrapped breaks text into lines of at most 100 columns.
func wrapped(text, first, rest string) string {
	const width = 100
	var b strings.Builder
	line, empty := first, true
	for _, word := range strings.Fields(strings.ReplaceAll(text, `\`, `\\`)) {
		if !empty && len([]rune(line))+1+len([]rune(word)) > width {
			b.WriteString(line + "\n")
			line, empty = rest, true
		}
		if !empty {
			line += " "
		}
		line, empty = line+word, false
	}
	return b.String() + line + "\n"
}

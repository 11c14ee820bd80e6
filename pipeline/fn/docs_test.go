package fn_test

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/op"
)

// TestGeneratedDocs makes docs/operators from the registered schemas.
func TestGeneratedDocs(t *testing.T) {
	dir := filepath.Join("..", "..", "docs", "operators")
	files := byModule()
	index := "# Operators\n\n" + generatedDocs +
		"Every operator with its arguments, by module; `bivouac ops NAME` prints the same.\n\n" +
		"The pictures show what an operator gets and what it makes. The photograph is by danielbuechele, " +
		"[CC BY 2.0](https://creativecommons.org/licenses/by/2.0/), made smaller and changed as each page says.\n\n" +
		"| operator | what it does |\n|---|---|\n"
	want := map[string][]byte{}
	for _, module := range slices.Sorted(maps.Keys(files)) {
		page := "# " + moduleTitle(module) + "\n\n" + generatedDocs
		for _, s := range files[module] {
			index += fmt.Sprintf("| [%s](%s.md#%s) | %s |\n", s.FullName(), module, anchor(s.FullName()), cell(summary(s.Doc)))
			page += operatorPage(s)
		}
		want[filepath.Join(dir, module+".md")] = []byte(page)
	}
	want[filepath.Join(dir, "README.md")] = []byte(index)
	compareOrUpdate(t, want)
}

const generatedDocs = "<!-- Generated from the schemas by go generate ./pipeline/fn; do not edit. -->\n\n"

func moduleTitle(module string) string {
	if module == "operators" {
		return "Operators without a module"
	}
	return "Module " + strings.ReplaceAll(module, "_", ".")
}

// operatorPage is the section of one operator.
func operatorPage(s *op.Schema) string {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n\n%s\n\n```go\n%s\n```\n\n", s.FullName(), s.Doc, strings.TrimPrefix(signature(s), "func "))
	b.WriteString(dynamicSignatures(s))
	b.WriteString(pictureLine(s.FullName()))
	if s.Deprecated != "" {
		fmt.Fprintf(&b, "Deprecated: %s\n\n", s.Deprecated)
	}
	fmt.Fprintf(&b, "%s\n\n", traits(s))
	for i, in := range s.Inputs {
		fmt.Fprintf(&b, "- Input `%s`: %s%s%s.\n", in.Name, in.Doc, accepted(in), howMany(s, i))
	}
	for _, out := range s.Outputs {
		fmt.Fprintf(&b, "- Output `%s`: %s.\n", out.Name, out.Doc)
	}
	if len(s.Params) > 0 {
		b.WriteString("\n| argument | type | default | per sample | |\n|---|---|---|---|---|\n")
	}
	for i := range s.Params {
		p := &s.Params[i]
		def, perSample, doc := "", "", p.Doc
		switch {
		case p.Required:
			def = "required"
		case p.Default != nil:
			def = "`" + p.DefaultText() + "`"
		}
		if p.PerSample {
			perSample = "yes"
		}
		if p.PerFrame {
			perSample = "yes, and per frame"
		}
		if p.Deprecated != "" {
			doc += " Deprecated: " + p.Deprecated
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", p.Name, p.Type, cell(def), perSample, cell(doc))
	}
	b.WriteString("\n")
	return b.String()
}

// dynamicSignatures are the operator's functions of dynamic mode.
func dynamicSignatures(s *op.Schema) string {
	pkg := "dynamic/fn"
	switch {
	case s.Reader && s.Deprecated != "":
		return ""
	case s.Reader:
		return fmt.Sprintf("In dynamic mode: `readers.New%s`, package `dynamic/readers`.\n\n", goName(s.Name))
	case inRandom(s):
		pkg = "dynamic/random"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "In dynamic mode, package `%s`:\n\n```go\n", pkg)
	for _, form := range dynamicForms(s) {
		b.WriteString(strings.TrimPrefix(form.signature(), "func ") + "\n")
	}
	b.WriteString("```\n\n")
	return b.String()
}

// traits says in a line what kind of operator it is.
func traits(s *op.Schema) string {
	list := []string{"Results are exact."}
	if s.Precision == op.Tolerance {
		list[0] = "Results may differ from other implementations by roundings."
	}
	if s.Random {
		list = append(list, "Random.")
	}
	if s.Stateful {
		list = append(list, "Stateful: runs in every iteration.")
	}
	if s.Keep {
		list = append(list, "Kept though nothing uses its outputs.")
	}
	return strings.Join(list, " ")
}

// accepted says which types and layouts an input takes.
func accepted(in op.Port) string {
	var out string
	if len(in.DTypes) > 0 {
		names := make([]string, len(in.DTypes))
		for i, d := range in.DTypes {
			names[i] = d.String()
		}
		out += "; " + strings.Join(names, ", ")
	}
	if len(in.Layouts) > 0 {
		out += "; " + strings.Join(in.Layouts, ", ")
	}
	return out
}

// summary is the first sentence.
func summary(doc string) string {
	if i := strings.Index(doc, ". "); i >= 0 {
		return doc[:i+1]
	}
	return doc
}

func cell(text string) string { return strings.ReplaceAll(text, "|", "\\|") }

// anchor is the fragment that a Markdown heading gets.
func anchor(name string) string { return strings.ReplaceAll(name, ".", "") }

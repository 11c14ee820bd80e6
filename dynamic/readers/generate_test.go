package readers_test

import (
	"bytes"
	"flag"
	"fmt"
	"go/format"
	"os"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/op"
	_ "github.com/bivouac-ml/bivouac/reader" // registers the readers
)

var update = flag.Bool("update", false, "write the generated file")

const generated = "readers_gen.go"

// TestGenerated makes the constructors from the registered schemas and compares them with
// what is there; with -update it writes them.
func TestGenerated(t *testing.T) {
	var b bytes.Buffer
	b.WriteString("// Code generated from the schemas by go generate ./dynamic/readers; DO NOT EDIT.\n\npackage readers\n\nimport \"github.com/bivouac-ml/bivouac/op/opargs\"\n")
	for _, s := range op.Schemas() {
		if s.Reader && s.Deprecated == "" { // older names have no constructor
			constructor(&b, s)
		}
	}
	want, err := format.Source(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(generated, want, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(generated)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is not what the schemas give (%v): go generate ./dynamic/readers", generated, err)
	}
}

// constructor writes the constructor of a reader.
func constructor(b *bytes.Buffer, s *op.Schema) {
	camel := func(name string) string {
		var out strings.Builder
		for word := range strings.SplitSeq(name, "_") {
			out.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
		return out.String()
	}
	name := camel(s.Name)
	args := camel(strings.Join(s.Module, "_")) + name
	fmt.Fprintf(b, "\n// New%s returns a reader of kind %s.\n//\n", name, s.FullName())
	line := "//"
	for _, word := range strings.Fields(s.Doc) {
		if len(line)+len(word) > 110 {
			fmt.Fprintln(b, line)
			line = "//"
		}
		line += " " + word
	}
	fmt.Fprintf(b, "%s\n//\n// Outputs:\n", line)
	for _, o := range s.Outputs {
		fmt.Fprintf(b, "//   - %s: %s\n", o.Name, o.Doc)
	}
	fmt.Fprintf(b, "func New%s(args opargs.%s, o Options) (*Reader, error) { return New(%q, args, o) }\n", name, args,
		s.FullName())
}

package dali_test

import (
	"path/filepath"
	"testing"

	"github.com/bivouac-ml/bivouac/compat/dali"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/proof/dalivec"
)

// Every operator of DALI has DALI's name of its schema, which leads back to it.
func TestSchemaNames(t *testing.T) {
	dir, _, ok := dalivec.Find()
	if !ok {
		t.Skip("no vectors")
	}
	var file struct {
		Ops []struct{ Schema, Fn string }
	}
	if err := dalivec.ReadJSON(filepath.Join(dir, "OPS.json"), &file); err != nil {
		t.Fatal(err)
	}
	for _, o := range file.Ops {
		if got := dali.SchemaName(o.Fn[len("fn."):]); got != o.Schema {
			t.Errorf("%s is called %s, want %s", o.Fn, got, o.Schema)
		}
	}
	for _, s := range op.Schemas() {
		if name, ok := dali.Operator(dali.SchemaName(s.FullName())); !ok || name != s.FullName() {
			t.Errorf("%s leads back to %s, %v", s.FullName(), name, ok)
		}
	}
	for schema, want := range map[string]string{
		"CoinFlip": "coin_flip", "random__CoinFlip": "random.coin_flip", "FileReader": "file_reader", "_ExternalSource": "external_source", "ExternalSource": "external_source",
	} {
		if got, ok := dali.Operator(schema); !ok || got != want {
			t.Errorf("%s is %s, %v; want %s", schema, got, ok, want)
		}
	}
	for schema, want := range map[string]string{ // no operators here
		"PythonFunction": "python_function", "DLTensorPythonFunction": "dl_tensor_python_function",
		"experimental__inputs__Video": "experimental.inputs.video",
	} {
		if got, ok := dali.Operator(schema); ok || got != want {
			t.Errorf("%s is %s, %v; want %s", schema, got, ok, want)
		}
	}
	if name, ok := dali.Operator("decoders__ImageHologram"); ok || name != "decoders.image_hologram" {
		t.Errorf("an unknown operator is %s, %v", name, ok)
	}
}

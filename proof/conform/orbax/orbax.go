// Package orbax has the suites of cases that Orbax recorded: checkpoints that it wrote, what it
// gave back, and which steps it kept.
package orbax

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	_ "google.golang.org/protobuf/types/known/structpb" // the message of the cases

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/proof/conform/suite"
)

// Suite has the checkpoints that Orbax wrote.
var Suite = suite.Suite{
	Cases:       orbaxCases,
	Divergences: Divergences,
	Ignored: map[string]string{
		"schema":      "read to choose the runner",
		"description": "for people",
		"family":      "which part of the generator made the case",
		"orbax_load":  "what Orbax itself said",
		"load_error":  "texts are never compared; that the load fails is",
		"npy":         "the bytes of sha256 once more",
		"npy_view":    "how the npy file spells its dtype",
	},
}

func orbaxCases(dir string) ([]suite.Case, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var cases []suite.Case
	for _, e := range entries {
		file := filepath.Join(dir, e.Name(), "expect.json")
		if _, err := os.Stat(file); err != nil {
			continue
		}
		var head struct {
			Family  string `json:"family"`
			Default bool   `json:"default_layout"`
		}
		b, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(b, &head); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		folder := filepath.Join(dir, e.Name())
		cases = append(cases, suite.Case{
			Name: e.Name(), Family: head.Family, Path: e.Name(), Core: head.Default,
			Run: func(ctx context.Context, r *suite.Report) { runOrbax(ctx, r, folder) },
		})
	}
	return cases, nil
}

func runOrbax(ctx context.Context, r *suite.Report, folder string) {
	o, err := suite.Expectation(r, filepath.Join(folder, "expect.json"))
	if err != nil {
		r.Fail("%v", err)
		return
	}
	if got := filepath.Base(folder); o.Str("case") != got {
		r.Fail("case: got %q, want the folder's name %q", o.Str("case"), got)
	}
	o.Has("default_layout")
	at := filepath.Join(folder, "checkpoint")
	if o.Has("divergence") {
		runDivergence(ctx, r, o, folder)
		return
	}
	switch layout := o.Str("layout"); layout {
	case "orbax_v1":
		o.Has("processes")
		compareCheckpoint(ctx, r, o, at)
		o.Done()
	case "orbax_v0_flat":
		compareCheckpoint(ctx, r, o, at)
		o.Done()
	case "orbax_v0_root":
		compareRoot(ctx, r, o, at)
		o.Done()
	case "safetensors":
		compareCheckpoint(ctx, r, o, at)
		o.Done()
	case "orbax_v1_partial":
		comparePartial(ctx, r, o, folder)
		o.Done()
	case "ocdbt":
		compareDatabase(ctx, r, o, at)
		o.Done()
	case "zarr":
		compareBareArray(ctx, r, o, at)
		o.Done()
	case "table":
		o.Has("rows") // what Orbax can save: information for a writer, no test of reading
		o.Done()
	default:
		r.Fail("unknown layout %q", layout)
	}
}

// runDivergence judges a case by what its divergence requires.
func runDivergence(ctx context.Context, r *suite.Report, o *suite.Object, folder string) {
	at := filepath.Join(folder, "checkpoint")
	d := o.Child("divergence")
	kind := d.Str("kind")
	r.Diverge(kind, "%s", d.Str("require"))
	d.Done()
	switch kind {
	case "collision":
		if _, err := checkpoint.LoadCheckpointables(ctx, at, nil); err == nil {
			r.Fail("load of colliding names succeeded")
		}
	case "reference_refuses":
		compareCheckpoint(ctx, r, o, at)
	case "cast_on_save":
		for _, it := range o.Child("items").Members {
			for _, l := range suite.NewObject(r, "", it).List("leaves") {
				m, _ := l.(map[string]any)
				stored, _ := m["stored"].(map[string]any)
				delete(m, "stored")
				for _, k := range []string{"dtype", "shape", "sha256"} {
					if v, ok := stored[k]; ok {
						m[k] = v
					}
				}
			}
		}
		compareCheckpoint(ctx, r, o, at)
	case "reference_fails":
		compareFailedFinalize(ctx, r, o, folder)
	default:
		r.Fail("no rule for divergence %q", kind)
	}
}

// compareCheckpoint compares one checkpoint with the members items,
// item_handlers, custom_metadata and metrics of o.
func compareCheckpoint(ctx context.Context, r *suite.Report, o *suite.Object, at string) {
	info, err := checkpoint.Metadata(ctx, at, nil)
	if err != nil {
		r.Fail("%sMetadata: %v", o.Where, err)
		return
	}
	values, err := checkpoint.LoadCheckpointables(ctx, at, nil)
	if err != nil {
		r.Fail("%sLoadCheckpointables: %v", o.Where, err)
		return
	}
	if o.Has("custom_metadata") {
		compareCustom(r, o.Where+"custom_metadata", o.Get("custom_metadata"), info.Custom)
	}
	if o.Has("item_handlers") {
		compareHandlers(r, o, info)
	}
	if o.Has("metrics") {
		got, err := suite.ParseJSON(asRaw(values["metrics"]))
		if err != nil || !suite.SameJSON(o.Get("metrics"), got) {
			r.Fail("%smetrics: got %v, want %v (%v)", o.Where, got, o.Get("metrics"), err)
		}
		delete(values, "metrics")
	}
	items := o.Child("items")
	for name := range items.Members {
		it := items.Child(name)
		got, ok := info.Item(name)
		if !ok {
			r.Fail("%sitem %q is missing", o.Where, name)
			continue
		}
		compareItem(r, it, got, values[name])
		delete(values, name)
		it.Done()
	}
	var extra []string
	for name := range values {
		extra = append(extra, name)
	}
	sort.Strings(extra)
	for _, name := range extra {
		r.Fail("%sitem %q is not expected", o.Where, name)
	}
}

func asRaw(v any) json.RawMessage {
	raw, _ := v.(json.RawMessage)
	return raw
}

// compareCustom takes {} and none for the same.
func compareCustom(r *suite.Report, where string, want any, raw json.RawMessage) {
	got, err := suite.ParseJSON(raw)
	if m, ok := got.(map[string]any); ok && len(m) == 0 {
		got = nil
	}
	if m, ok := want.(map[string]any); ok && len(m) == 0 {
		want = nil
	}
	if err != nil || !suite.SameJSON(want, got) {
		r.Fail("%s: got %s, want %v", where, raw, want)
	}
}

func compareHandlers(r *suite.Report, o *suite.Object, info *checkpoint.Info) {
	if want, flat := o.Get("item_handlers").(string); flat {
		if got, _ := info.Item(""); got.Handler != want {
			r.Fail("%sitem_handlers: got %q, want %q", o.Where, got.Handler, want)
		}
		return
	}
	handlers := o.Child("item_handlers")
	for name := range handlers.Members {
		if got, _ := info.Item(name); got.Handler != handlers.Str(name) {
			r.Fail("%shandler of %q: got %q, want %q", o.Where, name, got.Handler, handlers.Str(name))
		}
	}
}

func compareItem(r *suite.Report, it *suite.Object, got checkpoint.ItemInfo, value any) {
	switch typ := it.Str("type"); typ {
	case "pytree":
		compareTree(r, it, got, value)
	case "json":
		raw, ok := value.(json.RawMessage)
		v, err := suite.ParseJSON(raw)
		if !ok || err != nil || !suite.SameJSON(it.Get("value"), v) {
			r.Fail("%svalue: got %s, want %v", it.Where, raw, it.Get("value"))
		}
	case "proto":
		text, ok := value.(checkpoint.ProtoText)
		v, err := protoValue(it.Str("message"), text)
		if !ok || err != nil || !suite.SameJSON(it.Get("value"), v) {
			r.Fail("%svalue: got %v (%v), want %v", it.Where, v, err, it.Get("value"))
		}
	default:
		r.Fail("%sunknown type %q", it.Where, typ)
	}
}

// protoValue reads text format as the named message and gives its JSON form.
func protoValue(message string, text checkpoint.ProtoText) (any, error) {
	typ, err := protoregistry.GlobalTypes.FindMessageByName(protoreflect.FullName(message))
	if err != nil {
		return nil, err
	}
	m := typ.New().Interface()
	if err := prototext.Unmarshal(text, m); err != nil {
		return nil, err
	}
	b, err := protojson.Marshal(m)
	if err != nil {
		return nil, err
	}
	return suite.ParseJSON(b)
}

// Divergences are the kinds that docs/compat/orbax.md lists, under "Divergences".
var Divergences = []string{"collision", "reference_refuses", "cast_on_save", "reference_fails", "newest"}

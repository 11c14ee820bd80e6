package main

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
)

var orbaxSuite = suite{
	cases:       orbaxCases,
	divergences: divergences,
	ignored: map[string]string{
		"schema":      "read to choose the runner",
		"description": "for people",
		"family":      "which part of the generator made the case",
		"orbax_load":  "what Orbax itself said",
		"load_error":  "texts are never compared; that the load fails is",
		"npy":         "the bytes of sha256 once more",
		"npy_view":    "how the npy file spells its dtype",
	},
}

func orbaxCases(dir string) ([]testCase, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var cases []testCase
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
		cases = append(cases, testCase{
			name: e.Name(), family: head.Family, path: e.Name(), core: head.Default,
			run: func(ctx context.Context, r *report) { runOrbax(ctx, r, folder) },
		})
	}
	return cases, nil
}

func runOrbax(ctx context.Context, r *report, folder string) {
	o, err := expectation(r, filepath.Join(folder, "expect.json"))
	if err != nil {
		r.fail("%v", err)
		return
	}
	if got := filepath.Base(folder); o.str("case") != got {
		r.fail("case: got %q, want the folder's name %q", o.str("case"), got)
	}
	o.has("default_layout")
	at := filepath.Join(folder, "checkpoint")
	if o.has("divergence") {
		runDivergence(ctx, r, o, folder)
		return
	}
	switch layout := o.str("layout"); layout {
	case "orbax_v1":
		o.has("processes")
		compareCheckpoint(ctx, r, o, at)
		o.done()
	case "orbax_v0_flat":
		compareCheckpoint(ctx, r, o, at)
		o.done()
	case "orbax_v0_root":
		compareRoot(ctx, r, o, at)
		o.done()
	case "safetensors":
		compareCheckpoint(ctx, r, o, at)
		o.done()
	case "orbax_v1_partial":
		comparePartial(ctx, r, o, folder)
		o.done()
	case "ocdbt":
		compareDatabase(ctx, r, o, at)
		o.done()
	case "zarr":
		compareBareArray(ctx, r, o, at)
		o.done()
	case "table":
		o.has("rows") // what Orbax can save: information for a writer, no test of reading
		o.done()
	default:
		r.fail("unknown layout %q", layout)
	}
}

// runDivergence judges a case by what its divergence requires.
func runDivergence(ctx context.Context, r *report, o *object, folder string) {
	at := filepath.Join(folder, "checkpoint")
	d := o.child("divergence")
	kind := d.str("kind")
	r.diverge(kind, "%s", d.str("require"))
	d.done()
	switch kind {
	case "collision":
		if _, err := checkpoint.LoadCheckpointables(ctx, at, nil); err == nil {
			r.fail("load of colliding names succeeded")
		}
	case "reference_refuses":
		compareCheckpoint(ctx, r, o, at)
	case "cast_on_save":
		for _, it := range o.child("items").m {
			for _, l := range newObject(r, "", it).list("leaves") {
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
		r.fail("no rule for divergence %q", kind)
	}
}

// compareCheckpoint compares one checkpoint with the members items,
// item_handlers, custom_metadata and metrics of o.
func compareCheckpoint(ctx context.Context, r *report, o *object, at string) {
	info, err := checkpoint.Metadata(ctx, at, nil)
	if err != nil {
		r.fail("%sMetadata: %v", o.where, err)
		return
	}
	values, err := checkpoint.LoadCheckpointables(ctx, at, nil)
	if err != nil {
		r.fail("%sLoadCheckpointables: %v", o.where, err)
		return
	}
	if o.has("custom_metadata") {
		compareCustom(r, o.where+"custom_metadata", o.get("custom_metadata"), info.Custom)
	}
	if o.has("item_handlers") {
		compareHandlers(r, o, info)
	}
	if o.has("metrics") {
		got, err := parseJSON(asRaw(values["metrics"]))
		if err != nil || !sameJSON(o.get("metrics"), got) {
			r.fail("%smetrics: got %v, want %v (%v)", o.where, got, o.get("metrics"), err)
		}
		delete(values, "metrics")
	}
	items := o.child("items")
	for name := range items.m {
		it := items.child(name)
		got, ok := info.Item(name)
		if !ok {
			r.fail("%sitem %q is missing", o.where, name)
			continue
		}
		compareItem(r, it, got, values[name])
		delete(values, name)
		it.done()
	}
	var extra []string
	for name := range values {
		extra = append(extra, name)
	}
	sort.Strings(extra)
	for _, name := range extra {
		r.fail("%sitem %q is not expected", o.where, name)
	}
}

func asRaw(v any) json.RawMessage {
	raw, _ := v.(json.RawMessage)
	return raw
}

// compareCustom takes {} and none for the same.
func compareCustom(r *report, where string, want any, raw json.RawMessage) {
	got, err := parseJSON(raw)
	if m, ok := got.(map[string]any); ok && len(m) == 0 {
		got = nil
	}
	if m, ok := want.(map[string]any); ok && len(m) == 0 {
		want = nil
	}
	if err != nil || !sameJSON(want, got) {
		r.fail("%s: got %s, want %v", where, raw, want)
	}
}

func compareHandlers(r *report, o *object, info *checkpoint.Info) {
	if want, flat := o.get("item_handlers").(string); flat {
		if got, _ := info.Item(""); got.Handler != want {
			r.fail("%sitem_handlers: got %q, want %q", o.where, got.Handler, want)
		}
		return
	}
	handlers := o.child("item_handlers")
	for name := range handlers.m {
		if got, _ := info.Item(name); got.Handler != handlers.str(name) {
			r.fail("%shandler of %q: got %q, want %q", o.where, name, got.Handler, handlers.str(name))
		}
	}
}

func compareItem(r *report, it *object, got checkpoint.ItemInfo, value any) {
	switch typ := it.str("type"); typ {
	case "pytree":
		compareTree(r, it, got, value)
	case "json":
		raw, ok := value.(json.RawMessage)
		v, err := parseJSON(raw)
		if !ok || err != nil || !sameJSON(it.get("value"), v) {
			r.fail("%svalue: got %s, want %v", it.where, raw, it.get("value"))
		}
	case "proto":
		text, ok := value.(checkpoint.ProtoText)
		v, err := protoValue(it.str("message"), text)
		if !ok || err != nil || !sameJSON(it.get("value"), v) {
			r.fail("%svalue: got %v (%v), want %v", it.where, v, err, it.get("value"))
		}
	default:
		r.fail("%sunknown type %q", it.where, typ)
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
	return parseJSON(b)
}

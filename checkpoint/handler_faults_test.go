package checkpoint_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/handler"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store/local"
)

var errHandler = errors.New("what the handler says")

// mishaps are what a method of a handler may do.
var mishaps = map[string]func() error{
	"error":       func() error { return errHandler },
	"panic":       func() error { panic("what the handler says") },
	"panic error": func() error { panic(errHandler) },
	"out of range": func() error {
		var none []string
		return errors.New("not reached: " + none[len(none)])
	},
}

// TestLeafHandlersFail has each method of a leaf handler fail: the call says who
// failed, at what leaf, and nothing is saved.
func TestLeafHandlersFail(t *testing.T) {
	ctx := t.Context()
	for how, do := range mishaps {
		for _, method := range []string{"Serialize", "Commit", "Finalize", "Deserialize", "Metadata"} {
			name := how + " in " + method
			st := local.New(vfstest.NewMem(), "/", nil)
			broken := withNotes(notes{map[string]func() error{method: do}})
			state := map[string]any{"x": []float32{1}, "a": note{"first"}}
			err := checkpoint.Save(ctx, "c", state, &checkpoint.SaveOptions{Store: st, Options: broken})
			saved := method == "Deserialize" || method == "Metadata"
			if saved != (err == nil) || saved != checkpoint.IsCheckpoint(ctx, "c", &checkpoint.LoadOptions{Store: st}) {
				t.Errorf("%s: saved %v", name, err)
				continue
			}
			if method == "Deserialize" {
				_, err = checkpoint.Load(ctx, "c", &checkpoint.LoadOptions{Store: st, Options: broken})
			}
			if method == "Metadata" {
				_, err = checkpoint.Metadata(ctx, "c", &checkpoint.LoadOptions{Store: st, Options: broken})
			}
			if err == nil {
				t.Errorf("%s: no error", name)
				continue
			}
			texts := []string{"leaf handler test.Note." + method}
			if how != "out of range" {
				texts = append(texts, "what the handler says")
			}
			if method != "Commit" && method != "Finalize" {
				texts = append(texts, `leaf "a"`)
			}
			if how != "error" {
				texts = append(texts, "a panic at handler_faults_test.go:")
			}
			for _, text := range texts {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("%s: %v\nwant %q", name, err, text)
				}
			}
			if how != "error" && errs.KindOf(err) != errs.Invalid ||
				strings.HasSuffix(how, "error") != errors.Is(err, errHandler) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// broken is a handler of items that fails where on says.
type broken struct {
	lines
	on map[string]func() error
}

func (h broken) first(method string) error { return notes{h.on}.first(method) }

func (h broken) Handles(v any) bool {
	if h.first("Handles") != nil {
		return false
	}
	return h.lines.Handles(v)
}

func (h broken) HandlesAbstract(a any) handler.Verdict {
	if h.first("HandlesAbstract") != nil {
		return handler.No
	}
	return h.lines.HandlesAbstract(a)
}

func (h broken) Save(ctx context.Context, v any) (handler.Commit, error) {
	commit, err := h.lines.Save(ctx, v)
	if err == nil {
		err = h.first("Save")
	}
	return func(ctx context.Context, dir handler.Writer) error {
		if err := h.first("Commit"); err != nil {
			return err
		}
		return commit(ctx, dir)
	}, err
}

func (h broken) Load(ctx context.Context, dir handler.Reader, a any) (any, error) {
	if err := h.first("Load"); err != nil {
		return nil, err
	}
	return h.lines.Load(ctx, dir, a)
}

func (h broken) Metadata(ctx context.Context, dir handler.Reader) (any, error) {
	if err := h.first("Metadata"); err != nil {
		return nil, err
	}
	return h.lines.Metadata(ctx, dir)
}

// withHandler are options whose registry has h.
func withHandler(t testing.TB, h handler.CheckpointableHandler) options.Options {
	t.Helper()
	r, err := handler.Local(nil, true)
	if err == nil {
		err = r.Add(h, "")
	}
	if err != nil {
		t.Fatal(err)
	}
	return options.Options{Checkpointables: options.Checkpointables{Registry: r}}
}

// TestHandlersFail is TestLeafHandlersFail for handlers of items.
func TestHandlersFail(t *testing.T) {
	ctx := t.Context()
	for how, do := range mishaps {
		for _, method := range []string{"Handles", "Save", "Commit", "HandlesAbstract", "Load", "Metadata"} {
			name := how + " in " + method
			if how == "error" && strings.HasPrefix(method, "Handles") {
				continue // they have none to return
			}
			st := local.New(vfstest.NewMem(), "/", nil)
			o := withHandler(t, broken{on: map[string]func() error{method: do}})
			items := map[string]any{"words": words{"a"}, "state": map[string]any{"x": 1}}
			err := checkpoint.SaveCheckpointables(ctx, "c", items, &checkpoint.SaveOptions{Store: st, Options: o})
			saved := method == "Load" || method == "Metadata" || method == "HandlesAbstract"
			if saved != (err == nil) || saved != checkpoint.IsCheckpoint(ctx, "c", &checkpoint.LoadOptions{Store: st}) {
				t.Errorf("%s: saved %v", name, err)
				continue
			}
			lo := &checkpoint.LoadOptions{Store: st, Options: o}
			switch method {
			case "HandlesAbstract":
				lo.Abstract = map[string]any{"words": words{}}
				fallthrough
			case "Load":
				_, err = checkpoint.LoadCheckpointables(ctx, "c", lo)
			case "Metadata":
				_, err = checkpoint.CheckpointablesMetadata(ctx, "c", lo)
			}
			item := "words"
			if method == "Handles" {
				item = "state" // of which it is asked first
			}
			for _, text := range []string{"handler test.Lines." + method, item} {
				if err == nil || !strings.Contains(err.Error(), text) {
					t.Errorf("%s: %v\nwant %q", name, err, text)
				}
			}
			if how != "error" && (errs.KindOf(err) != errs.Invalid ||
				!strings.Contains(err.Error(), "a panic at handler_faults_test.go:")) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// writesTo is a leaf handler that writes under one name.
type writesTo struct {
	notes
	name string
}

func (h writesTo) Serialize(context.Context, []handler.Saved[note]) (handler.Commit, error) {
	return func(ctx context.Context, dir handler.Writer) error { return dir.Put(ctx, h.name, []byte("x")) }, nil
}

// TestHandlersNames has handlers write where they may not.
func TestHandlersNames(t *testing.T) {
	ctx := t.Context()
	plain := options.Options{Array: options.Array{Saving: options.ArraySaving{}}}
	plain.Layout = options.PlainZarr3
	for _, c := range []struct {
		name string
		o    options.Options
		kind errs.Kind
	}{
		{"../outside", options.Options{}, errs.Invalid},
		{"/etc/passwd", options.Options{}, errs.Invalid},
		{"a/../../b", options.Options{}, errs.Invalid},
		{`a\b`, options.Options{}, errs.Invalid},
		{"", options.Options{}, errs.Invalid},
		{"commit_success.txt", options.Options{}, errs.Invalid},
		{"bivouac.manifest", options.Options{}, errs.Invalid},
		{"_METADATA", options.Options{}, errs.Invalid},
		{"_strings.json", options.Options{}, errs.Invalid},
		{"_sharding", options.Options{}, errs.Invalid},
		{"manifest.ocdbt", options.Options{}, errs.Invalid},
		{"d/0123456789abcdef0123456789abcdef", options.Options{}, errs.Invalid},
		{"ocdbt.process_0/manifest.ocdbt", options.Options{}, errs.Invalid},
		{"array_metadatas/process_0", options.Options{}, errs.Invalid},
		{"big/zarr.json", plain, errs.Invalid},
		{"big/deeper/file", plain, errs.Invalid},
		{"other/zarr.json", plain, errs.Other},
		{"d", options.Options{}, errs.Invalid},
		{"notes.txt", options.Options{}, errs.Other},
		{"data/0", options.Options{}, errs.Other},
	} {
		leaves := &handler.LeafRegistry{}
		if err := leaves.Add(handler.Leaf(writesTo{name: c.name}), false); err != nil {
			t.Fatal(err)
		}
		c.o.PyTree.LeafHandlers = leaves
		st := local.New(vfstest.NewMem(), "/", nil)
		state := map[string]any{"big": make([]float32, 2000), "n": note{}, "s": "text"}
		err := checkpoint.Save(ctx, "c", state, &checkpoint.SaveOptions{Store: st, Options: c.o})
		if errs.KindOf(err) != c.kind || (err == nil) != (c.kind == errs.Other) {
			t.Errorf("%q: %v", c.name, err)
		}
		if err != nil && (!strings.Contains(err.Error(), "leaf handler test.Note") ||
			!strings.Contains(err.Error(), strings.Trim(strconv.Quote(c.name), `"`))) {
			t.Errorf("%q: %v", c.name, err)
		}
		if err != nil && checkpoint.IsCheckpoint(ctx, "c", &checkpoint.LoadOptions{Store: st}) {
			t.Errorf("%q: saved", c.name)
		}
	}
}

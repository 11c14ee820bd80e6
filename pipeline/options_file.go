package pipeline

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/stream/faults"
)

// maxOptions is the most bytes of a document of options.
const maxOptions = 1 << 20

// ReadOptions reads a document of options from a file; see [ParseOptions].
func ReadOptions(path string) (Options, error) {
	const what = "pipeline.ReadOptions"
	if err := errs.CheckPath(path); err != nil {
		return Options{}, errs.Wrap(what, "", err)
	}
	f, err := os.Open(path)
	if err != nil {
		kind := errs.IO
		if os.IsNotExist(err) {
			kind = errs.NotFound
		}
		return Options{}, &errs.Error{Kind: kind, Op: what, Subject: path, Err: err}
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxOptions+1))
	if err != nil {
		return Options{}, &errs.Error{Kind: errs.IO, Op: what, Subject: path, Err: err}
	}
	o, err := ParseOptions(b)
	return o, errs.Wrap(what, path, err)
}

// ParseOptions reads options from a document in YAML or JSON. Pass the result to Definition.New.
//
//	batch_size: 64
//	seed: 7
//	num_threads: 8
//	prefetch_depth: 2           # -1: NoPrefetch
//	io_threads: 4
//	read_ahead_bytes: 67108864
//	on_error: {images: skip}    # by reader; "" for all others: fail, skip, replace or zero
//	limits:
//	  max_pixels: 268435456     # -1: NoLimit
//	  max_bytes: 1073741824
//	  max_total_bytes: 8589934592
//	  max_time: 2s
//
// All fields are optional. ParseOptions fails with errs.Invalid for an unknown name (the error
// suggests a known one), a value of a wrong type, a name that occurs twice, and options that
// Options.Validate refuses.
func ParseOptions(b []byte) (Options, error) {
	var o Options
	if len(b) > maxOptions {
		return o, &errs.Error{Kind: errs.Exhausted, Op: "pipeline.ParseOptions",
			Want: fmt.Sprintf("at most %d bytes", maxOptions), Got: "a larger document"}
	}
	d := yaml.NewDecoder(strings.NewReader(string(b)))
	var doc, more yaml.Node
	err := d.Decode(&doc)
	if err == nil && d.Decode(&more) != io.EOF {
		return o, refused(&more, "", "one document", "a second document")
	}
	if err == io.EOF || err == nil && doc.Content[0].Tag == "!!null" {
		return o, nil // only comments
	}
	if err != nil {
		return o, &errs.Error{Kind: errs.Invalid, Op: "pipeline.ParseOptions", Want: "YAML or JSON", Err: err}
	}
	err = eachField(doc.Content[0], "", map[string]any{
		"batch_size": &o.BatchSize, "seed": &o.Seed, "num_threads": &o.Workers, "prefetch_depth": &o.Prefetch,
		"io_threads": &o.IOWorkers, "read_ahead_bytes": &o.ReadAheadBytes, "on_error": &o.OnError, "limits": map[string]any{
			"max_pixels": &o.Limits.MaxPixels, "max_bytes": &o.Limits.MaxBytes, "max_total_bytes": &o.Limits.MaxTotalBytes, "max_time": &o.Limits.MaxTime,
		},
	})
	if err == nil {
		err = o.Validate()
	}
	if err != nil {
		return Options{}, errs.Wrap("pipeline.ParseOptions", "", err)
	}
	return o, nil
}

// eachField sets fields to the values of a mapping. fields maps a name to a pointer or to a group
// of fields.
func eachField(n *yaml.Node, group string, fields map[string]any) error {
	if n.Kind != yaml.MappingNode {
		return refused(n, group, "a mapping", shown(n))
	}
	seen := map[string]bool{}
	for i := 0; i < len(n.Content); i += 2 {
		key, v := n.Content[i], n.Content[i+1]
		name := strings.TrimPrefix(group+"."+key.Value, ".")
		field, ok := fields[key.Value]
		switch {
		case seen[key.Value]:
			return refused(key, name, "each name once", "the name again")
		case !ok || key.Kind != yaml.ScalarNode:
			var names []string
			for known := range fields {
				names = append(names, known)
			}
			e := refused(key, name, "the name of an option", "an unknown name")
			e.Remedy = errs.DidYouMean(key.Value, names)
			return e
		}
		seen[key.Value] = true
		if err := setField(field, v, name); err != nil {
			return err
		}
	}
	return nil
}

// setField sets one field.
func setField(field any, v *yaml.Node, name string) error {
	want, ok := "", true
	switch field := field.(type) {
	case map[string]any:
		return eachField(v, name, field)
	case *map[string]faults.Action:
		return setPolicies(field, v, name)
	case *time.Duration:
		var err error
		*field, err = time.ParseDuration(v.Value)
		want, ok = `a duration such as "2s"`, err == nil && v.Kind == yaml.ScalarNode
	default:
		want, ok = "an integer in its range", v.Kind == yaml.ScalarNode && v.Tag == "!!int" && v.Decode(field) == nil
	}
	if !ok {
		return refused(v, name, want, shown(v))
	}
	return nil
}

// setPolicies sets the policies of readers.
func setPolicies(field *map[string]faults.Action, v *yaml.Node, name string) error {
	if v.Kind != yaml.MappingNode {
		return refused(v, name, "a mapping", shown(v))
	}
	*field = map[string]faults.Action{}
	for i := 0; i < len(v.Content); i += 2 {
		reader, p := v.Content[i].Value, v.Content[i+1]
		if _, twice := (*field)[reader]; twice {
			return refused(v.Content[i], name+"."+reader, "each name once", "the name again")
		}
		action, err := faults.ParseAction(p.Value)
		if err != nil || p.Kind != yaml.ScalarNode || action == faults.PassOn {
			e := refused(p, name+"."+reader, actionsWanted, shown(p))
			e.Remedy = errs.DidYouMean(p.Value, []string{"fail", "skip", "replace", "zero"})
			return e
		}
		(*field)[reader] = action
	}
	return nil
}

// shown returns a value as an error shows it.
func shown(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	}
	return fmt.Sprintf("%q", n.Value)
}

// refused returns the error for a field of a document.
func refused(n *yaml.Node, name, want, got string) *errs.Error {
	return &errs.Error{Kind: errs.Invalid, Subject: strings.TrimSpace(fmt.Sprintf("line %d, column %d: %s", n.Line,
		n.Column, name)), Want: want, Got: got}
}

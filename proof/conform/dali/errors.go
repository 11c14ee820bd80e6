package dali

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/proof/conform/suite"
	"github.com/bivouac-ml/bivouac/proof/dalivec"
)

// wrongProgram is an entry of errors.json: a short program and what it raises.
type wrongProgram struct {
	OK            bool
	Type, Message string
	AST           []any
}

func errorCases(set *dalivec.Set) ([]suite.Case, error) {
	var mistakes map[string]*wrongProgram
	if err := dalivec.ReadJSON(set.Path("errors.json"), &mistakes); err != nil {
		return nil, err
	}
	var all []suite.Case
	for _, short := range slices.Sorted(maps.Keys(mistakes)) {
		c := mistakes[short]
		name := path.Join("errors", short)
		all = append(all, suite.Case{
			Name: name, Family: "errors", Path: name,
			Run: func(ctx context.Context, r *suite.Report) { c.run(ctx, r, set, short) },
		})
	}
	return all, nil
}

func (c *wrongProgram) run(ctx context.Context, r *suite.Report, set *dalivec.Set, name string) {
	if _, known := errorDivergences[name]; !known && c.skip(r) {
		return
	}
	v := dalivec.JudgeRun(nil, func() error {
		return c.judge(r, name, c.execute(ctx, set))
	})
	settle(r, v)
}

// execute runs the program beside a data set of six files.
func (c *wrongProgram) execute(ctx context.Context, set *dalivec.Set) error {
	root, _, err := fileTree(ctx, 6, 3)
	if err != nil {
		return err
	}
	image, err := zeros([]any{4, 5, 3}, "uint8")
	if err != nil {
		return err
	}
	host := &programmer{grapher: &grapher{}, ctx: ctx, set: set}
	defer host.close()
	m := &machine{set: set, host: host, names: map[string]any{"d": root, "img": image}}
	return inFolder(suite.Scratch(ctx), func() error { return m.run(c.AST) })
}

// skip skips a program that uses readers or operators that this build does not have.
func (c *wrongProgram) skip(r *suite.Report) bool {
	missing := false
	visit(c.AST, func(kind string, n []any) {
		name, ok := strings.CutPrefix(text(n, 0), "fn.")
		switch reader, isReader := strings.CutPrefix(name, "readers."); {
		case missing || kind != "call" || !ok || name == "external_source" || name == "python_function":
		case isReader:
			missing = skipReader(r, reader)
		default:
			missing = skipOperator(r, name)
		}
	})
	return missing
}

// judge compares by kind. What Python itself raised must have come through the
// engine, as an exception in a callback does.
func (c *wrongProgram) judge(r *suite.Report, name string, err error) error {
	if d, ok := errorDivergences[name]; ok {
		if err := d.judge(err); err != nil {
			return err
		}
		r.Diverge(d.kind, "%s", d.found(c))
		return nil
	}
	var e *errs.Error
	switch kind := exceptionKind(err); {
	case c.OK:
		return err
	case kind != "" && !errors.As(err, &e):
		return fmt.Errorf("nothing but the interpreter of the program refused it: %w", err)
	case kind != "":
		if kind != c.Type {
			return fmt.Errorf("%w, want %s", err, c.Type)
		}
		return nil
	}
	return dalivec.SameKind(&dalivec.Raised{Type: c.Type, Message: c.Message}, err)
}

// errorDivergence is a mistake that Bivouac treats in another way, by its own rule.
type errorDivergence struct {
	kind  string
	judge func(err error) error
}

// found says what DALI does.
func (d errorDivergence) found(c *wrongProgram) string {
	if c.OK {
		return "DALI takes it silently"
	}
	return "DALI raises " + c.Type
}

// errorDivergences are the programs whose outcome is another on purpose.
var errorDivergences = map[string]errorDivergence{
	"checkpoint_other_seed":      {"restore_checked", wantKind(errs.Mismatch)},
	"checkpoint_smaller_dataset": {"restore_checked", wantKind(errs.Mismatch)},
	"branch_on_node":             {"compile_time", nodeIsNoBool},
	"deserialize_nothing":        {"compile_time", wantKind(errs.Corrupt)}, // a call without bytes is one with none
}

// wantKind accepts an error of that kind alone.
func wantKind(kind errs.Kind) func(error) error {
	return func(err error) error {
		if !errors.Is(err, kind) {
			return fmt.Errorf("got %v, want an error of kind %v", err, kind)
		}
		return nil
	}
}

package dali

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/bivouac-ml/bivouac/dynamic/checkpoint"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/proof/conform/suite"
	"github.com/bivouac-ml/bivouac/proof/dalivec"
)

// rule is a program of ckpt/dynamic/rules*.json: steps over the Checkpoint class, with what
// DALI did in each.
type rule struct {
	Name    string
	Program [][]any
	Expect  []struct {
		Value   any
		Error   string
		Message string
	}
	Short [][]any `json:"complete_loaded_len"`
	Flags struct {
		Complete, Loaded bool
		Names            []string
		JSON             *string
	}
}

func ruleCases(set *dalivec.Set) ([]suite.Case, error) {
	files, err := filepath.Glob(set.Path("ckpt/dynamic/rules*.json"))
	if err != nil {
		return nil, err
	}
	var list []*rule
	for _, file := range files {
		var more []*rule
		if err := dalivec.ReadJSON(file, &more); err != nil {
			return nil, err
		}
		list = append(list, more...)
	}
	var all []suite.Case
	for _, p := range list {
		name := path.Join("ckpt/dynamic/rules", p.Name)
		all = append(all, suite.Case{Name: name, Family: "ckpt", Path: name, Run: func(ctx context.Context, r *suite.Report) {
			settle(r, dalivec.JudgeRun(nil, func() error { return p.run(ctx, r) }))
		}})
	}
	return all, nil
}

// raises tells which kinds of errors stand for Python's exceptions.
var raises = map[string][]errs.Kind{
	"KeyError": {errs.NotFound}, "FileNotFoundError": {errs.NotFound}, "TypeError": {errs.Mismatch},
	"ValueError": {errs.Invalid}, "JSONDecodeError": {errs.Invalid}, "RuntimeError": {errs.Sequence},
	"Error": {errs.Invalid}, "UnicodeDecodeError": {errs.Invalid}, "UnicodeEncodeError": {errs.Invalid}, // of base64, and what is not ASCII
	"AttributeError": {errs.Unsupported},
}

// run goes through the program and holds every step, and the end, against what is recorded.
func (p *rule) run(ctx context.Context, r *suite.Report) error {
	dir, err := os.MkdirTemp(suite.Scratch(ctx), "rules")
	if err != nil {
		return err
	}
	m := newRuleMachine(ctx, dir)
	defer m.close()
	if err := checkpoint.Current(ctx).Clear(); err != nil {
		return err
	}
	for i, step := range p.Program {
		verb, _ := step[0].(string)
		got, err := m.step(verb, step[1:])
		want := p.Expect[i]
		switch {
		case want.Error == "NotImplementedError":
			r.Diverge("compiled_checkpoint", "step %d, %v: %v; DALI: %s", i, step, err, want.Message)
			return nil
		case want.Error != "":
			if !isRaised(err, verb, want.Error) {
				return fmt.Errorf("step %d, %v: got %v, %w; DALI raises %s: %s", i, step, got, err, want.Error, want.Message)
			}
		case err != nil:
			return fmt.Errorf("step %d, %v: %w; DALI gives %v", i, step, err, want.Value)
		case !sameValue(got, want.Value):
			return fmt.Errorf("step %d, %v: got %v, want %v", i, step, got, want.Value)
		}
		if short := []any{m.c.IsComplete(), m.c.IsLoaded(), m.c.Len()}; !sameValue(short, p.Short[i]) {
			return fmt.Errorf("after step %d, %v: complete, loaded and length are %v, want %v", i, step, short, p.Short[i])
		}
	}
	var text *string
	if s, err := m.c.Serialize(); err == nil {
		text = &s
	}
	end := []any{m.c.IsComplete(), m.c.IsLoaded(), append([]string{}, m.c.Names()...), text}
	if want := []any{p.Flags.Complete, p.Flags.Loaded, p.Flags.Names, p.Flags.JSON}; !sameValue(end, want) {
		return fmt.Errorf("in the end: %v, want %v", end, want)
	}
	return nil
}

// isRaised reports whether err is of a kind that stands for a Python exception. Which of several
// states that cannot be restored is the first is left to chance: DALI walks over a set.
func isRaised(err error, verb, exception string) bool {
	switch {
	case (verb == "next" || verb == "epoch") && exception == "RuntimeError": // of DALI's core, where readers are made
		return errors.Is(err, errs.Invalid) || errors.Is(err, errs.Mismatch) || errors.Is(err, errs.Sequence) ||
			errors.Is(err, errs.Corrupt)
	case verb == "file" && exception == "TypeError": // an argument that does not exist
		return errors.Is(err, errs.Invalid)
	case verb == "restore" && exception != "RuntimeError":
		return errors.Is(err, errs.Invalid) || errors.Is(err, errs.Mismatch) || errors.Is(err, errs.Unsupported)
	}
	return slices.ContainsFunc(raises[exception], func(k errs.Kind) bool { return errors.Is(err, k) })
}

// sameValue compares values as JSON has them.
func sameValue(got, want any) bool {
	a, err1 := json.Marshal(got)
	b, err2 := json.Marshal(want)
	if err1 != nil || err2 != nil {
		return false
	}
	x, err1 := suite.ParseJSON(a)
	y, err2 := suite.ParseJSON(b)
	return err1 == nil && err2 == nil && suite.SameJSON(x, y)
}

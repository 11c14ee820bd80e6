package dali

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/proof/dalivec"
)

// Use is how the recorded cases use an operator.
type Use struct {
	Cases int             // that pass
	Set   map[string]bool // arguments that a case gives
	Acts  map[string]bool // arguments without which a case fails that passes with them
}

// Uses returns how the cases of ops and rng in some folders use each operator. A case is run again
// without each of its arguments, until a case fails without it. Cases of a further name of an
// operator count for the operator.
func Uses(ctx context.Context, dirs ...string) (map[string]*Use, error) {
	u := uses{}
	for _, dir := range dirs {
		set, err := dalivec.Open(dir)
		if err != nil {
			return nil, err
		}
		if err := u.ops(ctx, set); err != nil {
			return nil, err
		}
		if err := u.rng(ctx, set); err != nil {
			return nil, err
		}
	}
	return u, nil
}

// Idle lists the arguments of an operator that change no recorded result, sorted. Arguments that
// cannot change a result are left out.
func (u *Use) Idle(s *op.Schema) []string {
	var idle []string
	for _, p := range s.Params {
		if !p.Tuning && !u.Acts[p.Name] {
			idle = append(idle, p.Name)
		}
	}
	slices.Sort(idle)
	return idle
}

type uses map[string]*Use

func (u uses) of(name string) *Use {
	name = Current(name)
	if u[name] == nil {
		u[name] = &Use{Set: map[string]bool{}, Acts: map[string]bool{}}
	}
	return u[name]
}

// argument notes an argument, and whether a case fails without it.
func (u uses) argument(operator, name string, without func() dalivec.Verdict) {
	use := u.of(operator)
	use.Set[name] = true
	if !use.Acts[name] {
		use.Acts[name] = without().Status == dalivec.Failed
	}
}

func (u uses) ops(ctx context.Context, set *dalivec.Set) error {
	groups, err := set.Groups()
	if err != nil {
		return err
	}
	for _, g := range groups {
		cases, err := set.Cases(g)
		if err != nil {
			return err
		}
		for _, c := range cases {
			u.opsCase(ctx, set, c)
		}
	}
	return nil
}

func (u uses) opsCase(ctx context.Context, set *dalivec.Set, c *dalivec.Case) {
	judge := func(c *dalivec.Case) dalivec.Verdict {
		return judgeFiles(ctx, c, func() dalivec.Verdict {
			return set.Judge(c, func() (dalivec.Results, error) { return runOps(ctx, set, c) })
		})
	}
	if slices.ContainsFunc(OperatorsOf(c), unknown) || judge(c).Status != dalivec.Passed {
		return
	}
	for _, name := range OperatorsOf(c) {
		u.of(name).Cases++
	}
	for name := range c.Args {
		u.argument(c.Op, name, func() dalivec.Verdict {
			without := *c
			without.Args = maps.Clone(c.Args)
			delete(without.Args, name)
			return judge(&without)
		})
	}
	visit(c.AST, func(kind string, n []any) {
		f, _ := first(n).(string)
		operator, ok := strings.CutPrefix(f, "fn.")
		if strings.HasSuffix(f, ".shape") {
			operator, ok = "_shape", true
		}
		if kind != "call" || !ok || len(n) < 3 {
			return
		}
		args, _ := n[2].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(args)) {
			u.argument(operator, name, func() dalivec.Verdict {
				v := args[name]
				delete(args, name)
				defer func() { args[name] = v }()
				return judge(c)
			})
		}
	})
}

func (u uses) rng(ctx context.Context, set *dalivec.Set) error {
	cases, err := readRng(set)
	for _, c := range cases {
		judge := func(c *rngCase) dalivec.Verdict {
			return dalivec.JudgeRun(c.Error, func() error { return c.run(ctx, set) })
		}
		if unknown(c.Params.Op) || judge(c).Status != dalivec.Passed {
			continue
		}
		u.of(c.Params.Op).Cases++
		for name := range c.Params.Args {
			u.argument(c.Params.Op, name, func() dalivec.Verdict {
				without := *c
				without.Params.Args = maps.Clone(c.Params.Args)
				delete(without.Params.Args, name)
				return judge(&without)
			})
		}
	}
	return err
}

// unknown reports whether there is no operator of that name.
func unknown(name string) bool {
	_, err := op.Lookup(name)
	return err != nil
}

func first(list []any) any {
	if len(list) == 0 {
		return nil
	}
	return list[0]
}

// Current returns the name of the operator that a name stands for: itself, or for a further name
// the operator that it says to use.
func Current(name string) string {
	if s, err := op.Lookup(name); err == nil {
		if current, ok := strings.CutPrefix(s.Deprecated, "use "); ok && !unknown(current) {
			return current
		}
	}
	return name
}

// WriteUses writes a row for each operator that is no reader and no further name: the number of its
// cases, and of its arguments those that no case gives, and those that change no recorded result.
func WriteUses(w io.Writer, all map[string]*Use) {
	for _, s := range op.Schemas() {
		name := s.FullName()
		if s.Reader || Current(name) != name {
			continue
		}
		u := all[name]
		if u == nil {
			u = &Use{}
		}
		fmt.Fprintf(w, "%s: %d cases, %d arguments", name, u.Cases, len(s.Params))
		for _, arg := range u.Idle(s) {
			how := "in no case"
			if u.Set[arg] {
				how = "changes no result"
			}
			fmt.Fprintf(w, "; %s %s", arg, how)
		}
		fmt.Fprintln(w)
	}
}

package dalivec

import (
	"maps"
	"slices"
	"testing"

	"github.com/bivouac-ml/bivouac/op"
)

// CheckArguments checks that each argument of each operator acts in a committed case: without the
// argument the case fails. Arguments that cannot change a result are left out.
func CheckArguments(t *testing.T, group string, ops ...string) {
	t.Helper()
	dir, ok := Committed()
	if !ok {
		t.Fatal("the working directory is not in the module")
	}
	set, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	cases, err := set.Cases(group)
	if err != nil {
		t.Fatal(err)
	}
	idle := map[string]bool{}
	for _, name := range ops {
		s, err := op.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range s.Params {
			if !p.Tuning {
				idle[name+"."+p.Name] = true
			}
		}
	}
	for _, c := range cases {
		for name := range c.Args {
			if !idle[c.Op+"."+name] || c.Error != nil {
				continue
			}
			without := *c
			without.Args = maps.Clone(c.Args)
			delete(without.Args, name)
			if set.Run(&without).Status == Failed {
				delete(idle, c.Op+"."+name)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(idle)) {
		t.Errorf("%s changes no recorded result", name)
	}
}

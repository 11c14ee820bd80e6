package dalivec

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// Run runs the cases of operators in a group of the vectors as subtests. Without ops it runs the
// cases of all operators of the group. Cases that are expressions are not run. A case that is
// skipped, for lack of the operator or of a codec, is counted and logged by name.
func Run(t *testing.T, group string, ops ...string) {
	t.Helper()
	dir, full, ok := Find()
	if !ok {
		t.Skip("the vectors are not there")
	}
	run(t, dir, full, group, ops)
}

// RunCommitted works like Run, on the vectors of the repository alone.
func RunCommitted(t *testing.T, group string, ops ...string) {
	t.Helper()
	dir, ok := Committed()
	if !ok {
		t.Fatal("the working directory is not in the module")
	}
	run(t, dir, true, group, ops)
}

func run(t *testing.T, dir string, full bool, group string, ops []string) {
	t.Helper()
	set, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	cases, err := set.Cases(group)
	if err != nil {
		if !full {
			t.Skipf("the excerpt has no group %s", group)
		}
		t.Fatal(err)
	}
	found, skipped := map[string]bool{}, map[string]int{}
	for _, c := range cases {
		if c.Op == "" || len(ops) > 0 && !slices.Contains(ops, c.Op) {
			continue
		}
		found[c.Op] = true
		v := set.Run(c)
		switch v.Status {
		case Skipped, Divergent:
			skipped[v.Kind]++
		case Failed:
			t.Run(c.Name, func(t *testing.T) { t.Errorf("%s %s: %s", c.Op, describe(c), v.Reason) })
		}
	}
	for _, o := range ops {
		if !found[o] {
			t.Errorf("no case of %s in the group %s", o, group)
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(skipped)) {
		t.Logf("%d cases skipped or divergent: %s", skipped[kind], kind)
	}
}

// describe renders the arguments of a case.
func describe(c *Case) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(c.Args)) {
		parts = append(parts, fmt.Sprintf("%s=%v", name, c.Args[name]))
	}
	return "(" + strings.Join(parts, " ") + ")"
}

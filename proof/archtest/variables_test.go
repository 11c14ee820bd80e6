package archtest

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPackageVariablesDoNotChange(t *testing.T) {
	changes, err := Changes(root, Module().Module)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range CheckVariables(changes, Variables()) {
		t.Error(v)
	}
}

// Each line with a comment changes a variable in the way that the comment says; the others must not
// be reported.
func TestChangesAreSeen(t *testing.T) {
	changes := writeAndRead(t, map[string]string{
		"a/a.go": `package a

import "sync"

var (
	n     int
	list  = []int{1}
	table = map[string]int{}
	point struct{ x struct{ y int } }
	count counter
	next  = new(counter)
	sound = []int{2}
	_     = n
)

type counter struct{ n int }

func (c *counter) Add()    { c.n++ }
func (c counter) Get() int { return c.n }

func init() { sound = nil; table["start"] = 1 }

func F(sound *int) {
	n := 1
	n++
	*sound = 3
	_ = count.Get()
	for i, list := range list {
		list = i
	}
	local := table
	_ = local
}

func G() {
	n = 2           // assigned
	n++             // assigned
	list[0] = 1     // assigned
	(point).x.y = 1 // assigned
	_ = &list[0]    // address taken
	delete(table, "a") // delete called
	count.Add()     // Add called
	next.Add()      // Add called
	for n = range list { // assigned
	}
	_ = func() { clear(table) } // clear called
}

var (
	mu    sync.Mutex
	lazy  = sync.OnceValue(func() *guarded { return nil })
	made  = newGuarded()
	plain = sync.OnceValue(func() int { return 1 })
)

type guarded struct{ mu sync.Mutex }

func newGuarded() *guarded { return nil }
`,
		"a/a_plan9.go": "//go:build plan9\n\npackage a\n\nfunc H() {\n\tlist = nil // assigned\n}\n",
		"a/a_test.go":  "package a\n\nfunc T() { n = 9 }\n",
		"b/b.go": `package b

import "example.com/m/a"

func F() {
	a.Level = 1 // assigned
	_ = a.Level
}
`,
		"a/level.go": "package a\n\nvar Level int\n",
	})
	want := append(changes.marked, "its declaration: is a guarded with a sync.Mutex",
		"its declaration: is a guarded with a sync.Mutex", "its declaration: is a sync.Mutex")
	slices.Sort(want)
	if d := cmp.Diff(want, changes.found); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

type seen struct{ marked, found []string }

// writeAndRead writes files into a module and returns what the comments in them announce and what
// Changes finds, as "place: how".
func writeAndRead(t *testing.T, files map[string]string) seen {
	t.Helper()
	dir := writeModule(t, files)
	var out seen
	for name, text := range files {
		for i, line := range strings.Split(text, "\n") {
			if _, how, ok := strings.Cut(line, " // "); ok {
				out.marked = append(out.marked, name+":"+strconv.Itoa(i+1)+": "+how)
			}
		}
	}
	got, err := Changes(dir, "example.com/m")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range got {
		out.found = append(out.found, c.Place+": "+c.How)
	}
	slices.Sort(out.found)
	return out
}

// writeModule writes files into a new directory.
func writeModule(t *testing.T, files map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestVariableListIsExact(t *testing.T) {
	change := Change{Variable: "pipeline.last", Place: "pipeline/run.go:7", How: "assigned"}
	row := Variable{Name: "pipeline.last", Keep: Memo, Reason: "a test"}
	tests := []struct {
		name    string
		changes []Change
		allowed []Variable
		want    string
	}{
		{"listed", []Change{change}, []Variable{row}, ""},
		{"not listed", []Change{change}, nil, "do not change after the start"},
		{"a constant that is assigned", []Change{change}, []Variable{{Name: "pipeline.last", Keep: Constant, Reason: "a test"}}, "do not change after"},
		{"a constant that is read", []Change{{Variable: "pipeline.last", How: AddressTaken}},
			[]Variable{{Name: "pipeline.last", Keep: Constant, Reason: "a test"}}, ""},
		{"stale row", nil, []Variable{row}, "does not change any more"},
	}
	for _, tt := range tests {
		got := CheckVariables(tt.changes, tt.allowed)
		if tt.want == "" && len(got) != 0 || tt.want != "" && (len(got) != 1 || !strings.Contains(got[0].String(), tt.want)) {
			t.Errorf("%s: want %q, got %v", tt.name, tt.want, got)
		}
	}
	names := map[string]bool{}
	for _, v := range Variables() {
		if names[v.Name] || v.Reason == "" || v.Keep == "" {
			t.Errorf("%s: want one row with a reason", v.Name)
		}
		names[v.Name] = true
	}
}

package archtest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestExportedNames(t *testing.T) {
	counts, err := Exported(root, Module().Module)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range CheckExported(counts, ExportedLimits()) {
		t.Error(v)
	}
}

func TestExportedTypesAreUsable(t *testing.T) {
	leaks, err := Leaks(root, Module().Module)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range CheckLeaks(leaks, Leaking()) {
		t.Error(v)
	}
}

var exportingModule = map[string]string{
	"a/a.go": `package a

import inner "example.com/m/a/internal/deep"

const C, c = 1, 2

var V, w int

type T struct{ F, g int }

func (T) Get()      {}
func (*T) Set()     {}
func (T) hidden()   {}
func (*List[E]) Len() {}

type List[E any] struct{ inner inner.Deep }
type t struct{}

func (t) Exported() {}

type I interface{ M() }
type Opened = inner.Deep
type Closed struct {
	inner.Deep
	Field []inner.Deep
}

func F(x inner.Deep) {}
func g(x inner.Deep) {}

var W map[string]*inner.Deep
`,
	"a/a_linux.go":            "package a\n\nfunc Platform() {}\n",
	"a/a_other.go":            "//go:build !linux\n\npackage a\n\nfunc Platform() {}\n",
	"a/a_test.go":             "package a\n\nfunc TestOnly() {}\n",
	"a/internal/deep/deep.go": "package deep\n\ntype Deep struct{}\n\nfunc (Deep) Method() {}\nfunc (Deep) not() {}\n",
	"cmd/x/main.go":           "package main\n\nfunc Main() {}\n",
}

// a exports C, V, T, T.Get, T.Set, List, List.Len, I, Opened, Opened.Method, Closed, F, W and
// Platform.
func TestExportedCounts(t *testing.T) {
	dir := writeModule(t, exportingModule)
	got, err := Exported(dir, "example.com/m")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[string]int{"a": 14}, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

func TestLeaksAreSeen(t *testing.T) {
	dir := writeModule(t, exportingModule)
	leaks, err := Leaks(dir, "example.com/m")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, v := range CheckLeaks(leaks, []Leak{{Name: "a: W"}, {Name: "a: Gone"}}) {
		got = append(got, strings.Fields(v.String())[1], strings.Fields(v.Rule)[0])
	}
	want := []string{"->", "Closed", "->", "Closed.Field", "->", "F", "Gone:", "names"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

func TestExportedLimitsAreExact(t *testing.T) {
	tests := []struct {
		name           string
		counts, limits map[string]int
		want           string // part of the violation; empty: allowed
	}{
		{"equal", map[string]int{"tree": 5}, map[string]int{"tree": 5}, ""},
		{"more", map[string]int{"tree": 6}, map[string]int{"tree": 5}, "want at most 5 exported names, got 6"},
		{"fewer", map[string]int{"tree": 4}, map[string]int{"tree": 5}, "lower its number"},
		{"new package", map[string]int{"tree": 0}, map[string]int{}, "no row"},
		{"package that is gone", map[string]int{}, map[string]int{"tree": 5}, "remove its row"},
	}
	for _, tt := range tests {
		got := CheckExported(tt.counts, tt.limits)
		if tt.want == "" && len(got) != 0 || tt.want != "" && (len(got) != 1 || !strings.Contains(got[0].String(), tt.want)) {
			t.Errorf("%s: want %q, got %v", tt.name, tt.want, got)
		}
	}
}

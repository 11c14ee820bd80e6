package archtest

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEnginesNameNoPeers(t *testing.T) {
	rules := Module()
	names, literals, err := PeerNames(root, &rules)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range CheckPeers(names, PeersAllowed(), literals, PeerLiterals()) {
		t.Error(v)
	}
}

// A name in an engine or below is seen wherever it is declared, and so is a file or a folder. Names
// that are not exported, packages of compat/ and what stands above the engines are not looked at.
func TestPeersAreSeen(t *testing.T) {
	rules := Rules{Floors: []Floor{
		{Name: "machinery", Rows: []Row{{Packages: "low/..."}}},
		{Name: "engines", Rows: []Row{{Packages: "engine"}, {Packages: "compat/..."}}},
		{Name: "faces", Rows: []Row{{Packages: "face"}}},
	}}
	dir := writeModule(t, map[string]string{
		"engine/engine.go": `package engine

import _ "example.com/m/low/torchlike"

type Options struct {
	PyWorkers int // seen
	Pyramid   int
	inner     struct{ GPU int }
	Inner     struct{ OnGPU int } // seen
}

func (Options) DALIMode() {} // seen

type Source interface{ FromGrain() } // seen

const (
	Default = iota
	NoCUDA // seen
)

func ValidAlign() string { return "as Orbax does" } // counted
func orbaxName() string  { return "nothing" }

type hidden struct{ Orbax int }
`,
		"engine/run_dali.go":         "package engine\n",
		"low/torchlike/torchlike.go": "package torchlike\n\nvar T = \"gpu\"\n",
		"compat/dali/dali.go":        "package dali\n\nfunc DALI() string { return \"dali\" }\n",
		"face/face.go":               "package face\n\nfunc GPU() {}\n",
	})
	names, literals, err := PeerNames(dir, &rules)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, v := range names {
		got = append(got, v.Package)
	}
	want := []string{
		"engine: NoCUDA", "engine: Options.DALIMode", "engine: Options.OnGPU", "engine: Options.PyWorkers",
		"engine: Source.FromGrain", "engine: run_dali.go", "low/torchlike: torchlike", "low/torchlike: torchlike.go",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("names (-want +got):\n%s", d)
	}
	if d := cmp.Diff(map[string]int{"engine": 1, "low/torchlike": 1}, literals); d != "" {
		t.Errorf("strings (-want +got):\n%s", d)
	}
}

func TestPeerListsAreExact(t *testing.T) {
	names := []Violation{{Package: "a: GPU"}, {Package: "a: PyTree.Saving"}, {Package: "b/orbax: F"}}
	all := []Named{{Name: "a: GPU"}, {Name: "a: PyTree.*"}, {Name: "b/orbax"}}
	tests := []struct {
		name             string
		allowed          []Named
		literals, limits map[string]int
		want             string // part of the violation; empty: allowed
	}{
		{"all allowed", all, map[string]int{"a": 2}, map[string]int{"a": 2}, ""},
		{"one is not", all[1:], nil, nil, "a: GPU"},
		{"a row that nothing needs", append(slices.Clone(all), Named{Name: "a: CUDA"}), nil, nil, "has no peer's name"},
		{"more strings", all, map[string]int{"a": 3}, map[string]int{"a": 2}, "want at most 2"},
		{"fewer strings", all, map[string]int{"a": 1}, map[string]int{"a": 2}, "lower its number"},
		{"no strings", all, nil, map[string]int{"a": 2}, "lower its number"},
	}
	for _, tt := range tests {
		got := CheckPeers(names, tt.allowed, tt.literals, tt.limits)
		if tt.want == "" && len(got) != 0 || tt.want != "" && (len(got) != 1 || !strings.Contains(got[0].String(),
			tt.want)) {
			t.Errorf("%s: want %q, got %v", tt.name, tt.want, got)
		}
	}
}

// Package torchdata is the suite of cases that torchdata recorded: loaders, nodes, samplers and
// random numbers.
package torchdata

import (
	"context"
	"encoding/json"
	"fmt"
	"github.com/bivouac-ml/bivouac/proof/conform/suite"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// torchdataSuite has one case for each scenario, of the family that it names, and
// for each entry of rng.json. What of a scenario is judged by another rule than
// that torchdata did the same, divergences.json says.
var Suite = suite.Suite{Cases: torchdataCases, Divergences: torchdataDivergences, Counted: true}

// torchdataDivergences are the kinds that docs/compat/torchdata.md lists.
var torchdataDivergences = []string{"right", "stop_iteration", "out_of_order", "dead_worker", "hang"}

func torchdataCases(dir string) ([]suite.Case, error) {
	files, err := filepath.Glob(filepath.Join(dir, "S[0-9]*.json"))
	if err != nil {
		return nil, err
	}
	set := &tdSet{dir: dir}
	if err := set.read("blobs.json", &set.blobs); err != nil {
		return nil, err
	}
	var list struct{ Divergences []*tdRule }
	if err := set.read("divergences.json", &list); err != nil {
		return nil, err
	}
	set.rules = list.Divergences
	var cases []suite.Case
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		family, _, _ := strings.Cut(name, "-")
		cases = append(cases, suite.Case{Name: name, Family: family, Path: name,
			Run: func(ctx context.Context, r *suite.Report) {
				if err := set.run(ctx, r, name); err != nil {
					r.Fail("%v", err)
				}
			}})
	}
	own, err := tdRandomCases(set)
	return append(cases, own...), err
}

// tdSet is a folder of vectors.
type tdSet struct {
	dir   string
	blobs map[string]string
	rules []*tdRule
}

// read reads a file; one that is not there, as in an excerpt, is empty.
func (s *tdSet) read(name string, into any) error {
	b, err := os.ReadFile(filepath.Join(s.dir, name))
	if suite.Absent(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, into); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// scenario reads a scenario, whose numbers are kept exact.
func (s *tdSet) scenario(name string) (*tdScenario, error) {
	b, err := os.ReadFile(filepath.Join(s.dir, name+".json"))
	if err != nil {
		return nil, err
	}
	sc := &tdScenario{}
	if err := strictly(b, sc); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var exact struct {
		Outcomes []json.RawMessage `json:"outcomes"`
	}
	if err := json.Unmarshal(b, &exact); err != nil {
		return nil, err
	}
	decoder := &tdDecoder{s.blobs}
	for i, raw := range exact.Outcomes {
		v, err := decoder.parse(raw)
		if err != nil {
			return nil, fmt.Errorf("%s, outcome %d: %w", name, i, err)
		}
		sc.Outcomes[i] = v.(map[string]any)
	}
	if len(sc.Outcomes) > len(sc.Script) {
		return nil, fmt.Errorf("%s: %d outcomes of %d entries", name, len(sc.Outcomes), len(sc.Script))
	}
	return sc, nil
}

// run replays a scenario and judges it.
func (s *tdSet) run(ctx context.Context, r *suite.Report, name string) error {
	sc, err := s.scenario(name)
	if err != nil {
		return err
	}
	j := &tdJudge{set: s, scenario: sc, r: r, books: map[string]*tdBook{}, states: map[string]*tdSaved{},
		ended: map[string]bool{}}
	if err := j.rule(); err != nil {
		return err
	}
	play := newPlay(sc)
	for i, entry := range sc.Script[:len(sc.Outcomes)] {
		o := play.step(ctx, entry)
		j.step(i, entry, &o)
	}
	j.end(ctx, play)
	return play.close()
}

// tdRule is an entry of divergences.json.
type tdRule struct {
	Pattern   string                                `json:"pattern"`
	Scenarios []string                              `json:"scenarios"`
	Steps     json.RawMessage                       `json:"steps"`
	Right     map[string]map[string]json.RawMessage `json:"right"`
	Samples   map[string][]int64                    `json:"samples"`
	Ignore    map[string][]string                   `json:"ignore_paths"`
	First     map[string]*int                       `json:"first_step"`
}

// kind is the name of a divergence.
func (t *tdRule) kind() string {
	switch {
	case t.Right != nil:
		return "right"
	case t.Samples != nil:
		return "out_of_order"
	case t.First != nil:
		return "stop_iteration"
	case t.all():
		return "hang"
	}
	return "dead_worker"
}

// all reports whether the rule is for all steps.
func (t *tdRule) all() bool { return string(t.Steps) == `"all after"` }

// unstable reports whether the rule only takes paths out.
func (t *tdRule) unstable() bool { return string(t.Steps) == `"unstable_paths"` }

func (t *tdRule) covers(name string) bool { return slices.Contains(t.Scenarios, name) }

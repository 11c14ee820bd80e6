package training

import (
	"encoding/json"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// pureCases reads a file of the rules that Orbax 0.12.8 answered: the whole set
// where it lies beside the checkout, else the copy in testdata.
func pureCases(t *testing.T, name string) []map[string]json.RawMessage {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "..", "shared", "vectors", "orbax-pure", name))
	if err != nil {
		if b, err = os.ReadFile(filepath.Join("..", "..", "testdata", "orbax-pure", name)); err != nil {
			t.Fatal(err)
		}
	}
	var cases []map[string]json.RawMessage
	if err := json.Unmarshal(b, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) == 0 {
		t.Fatalf("%s holds no case", name)
	}
	return cases
}

func get[T any](t *testing.T, c map[string]json.RawMessage, key string) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(c[key], &v); err != nil {
		t.Fatalf("%s: %v", key, err)
	}
	return v
}

type pureInfo struct {
	Step    int64              `json:"step"`
	Seconds float64            `json:"seconds"`
	Metrics map[string]float64 `json:"metrics"`
}

func infos(ps []pureInfo) []Info {
	out := make([]Info, len(ps))
	for i, p := range ps {
		out[i] = Info{Step: p.Step, Time: at(p.Seconds), Metrics: p.Metrics}
	}
	return out
}

func at(seconds float64) time.Time {
	return time.Unix(1_000_000, int64(seconds*1e9))
}

func TestPreservationAsOrbax(t *testing.T) {
	for i, c := range pureCases(t, "policies.json") {
		var spec PolicySpec
		if err := json.Unmarshal(c["spec"], &spec); err != nil {
			t.Fatal(err)
		}
		p, err := spec.Preservation()
		if _, refused := c["error"]; refused {
			if err == nil {
				t.Errorf("case %d: %s: want a refusal", i, c["spec"])
			}
			continue
		}
		if err != nil {
			t.Errorf("case %d: %v", i, err)
			continue
		}
		got := p.Preserve(infos(get[[]pureInfo](t, c, "checkpoints")), time.Time{})
		if d := cmp.Diff(get[[]bool](t, c, "result"), got); d != "" {
			t.Errorf("case %d: %s %s: -want +got\n%s", i, c["spec"], c["checkpoints"], d)
		}
	}
}

func TestDecisionsAsOrbax(t *testing.T) {
	for i, c := range pureCases(t, "decisions.json") {
		spec := PolicySpec{Policy: get[string](t, c, "policy"), Args: c["args"]}
		p, err := spec.Save()
		if _, refused := c["error"]; refused {
			if err == nil {
				t.Errorf("case %d: want a refusal", i)
			}
			continue
		}
		if err != nil {
			t.Errorf("case %d: %v", i, err)
			continue
		}
		got, reason := p.ShouldSave(Decision{
			Step: get[int64](t, c, "step"), Now: at(get[float64](t, c, "seconds")),
			Previous: infos(get[[]pureInfo](t, c, "previous")),
			Saving:   get[bool](t, c, "is_saving_in_progress"), Preempt: get[bool](t, c, "reached_preemption"),
		})
		if want := get[bool](t, c, "result"); got != want {
			t.Errorf("case %d: %s: got %v (%s), want %v", i, c["policy"], got, reason, want)
		}
	}
}

func TestNamesAsOrbax(t *testing.T) {
	for i, c := range pureCases(t, "names.json") {
		var spec struct {
			Prefix *string `json:"step_prefix"`
			Length *int    `json:"step_format_fixed_length"`
		}
		if err := json.Unmarshal(c["format"], &spec); err != nil {
			t.Fatal(err)
		}
		f := StandardNames{Prefix: spec.Prefix}
		if spec.Length != nil {
			f.FixedLength = *spec.Length
		}
		got := [][2]string{}
		probe, find := get[int64](t, c, "probe"), ""
		for _, dir := range get[[]string](t, c, "directories") {
			if step, ok := f.Parse(dir); ok {
				got = append(got, [2]string{strconv.FormatInt(step, 10), dir})
				if step == probe {
					find = dir
				}
			}
		}
		sort.Slice(got, func(a, b int) bool {
			x, _ := strconv.Atoi(got[a][0])
			y, _ := strconv.Atoi(got[b][0])
			return x < y
		})
		want := [][2]string{}
		for _, pair := range get[struct {
			Result [][2]any `json:"result"`
		}](t, c, "found").Result {
			want = append(want, [2]string{strconv.Itoa(int(pair[0].(float64))), pair[1].(string)})
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("case %d: format %s, directories %s: found -want +got\n%s", i, c["format"], c["directories"], d)
		}
		if want := get[map[string]any](t, c, "build")["result"]; want != nil && want != f.Name(probe) {
			t.Errorf("case %d: name of %d: got %q, want %q", i, probe, f.Name(probe), want)
		}
		wantFind, _ := get[map[string]any](t, c, "find")["result"].(string)
		if find != wantFind {
			t.Errorf("case %d: format %s, directories %s: find %d: got %q, want %q", i, c["format"], c["directories"], probe,
				find, wantFind)
		}
	}
}

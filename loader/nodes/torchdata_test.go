package nodes_test

import (
	"context"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/loader/nodes"
	"github.com/bivouac-ml/bivouac/state"
)

// A loader that was resumed has the states of one that was not interrupted: before the first
// value, behind it, and in the epochs after it, also where it was resumed at the end of one.
// In torchdata the first two differ, and from a state at the end of an epoch on all later
// states are that one.
func TestResumedStatesAreThoseOfTheRun(t *testing.T) {
	for name, build := range built {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := nodes.NewLoader(build(), nodes.LoaderOptions{})
			defer l.Close()
			values, states := run(t, l, 3)
			step := max(1, len(states)/8)
			for i := 0; i < len(states)-1; i += step {
				if i > 0 && values[i-1] == "end" {
					continue // below
				}
				on := resumed(t, build, states[i])
				got, after := run(t, on, 1)
				checkStates(t, i, values[i:], states[i:], got, after)
			}
			for i, v := range values[:len(values)-1] {
				if v != "end" || i == 0 || values[i+1] == "end" || name == "stateful" {
					continue // an iterable that begins again by itself counts on
				}
				on := resumed(t, build, states[i+1])
				if err := on.Begin(t.Context()); err != nil {
					t.Fatal(err)
				}
				got, after := run(t, on, 1)
				checkStates(t, i, values[i+1:], states[i+1:], got, after)
			}
		})
	}
}

func resumed(t *testing.T, build func() nodes.Node[string], state string) *nodes.Loader[string] {
	t.Helper()
	l := nodes.NewLoader(build(), nodes.LoaderOptions{})
	t.Cleanup(func() { l.Close() }) //nolint:errcheck // of a test
	if err := l.SetState([]byte(state)); err != nil {
		t.Fatal(err)
	}
	return l
}

func checkStates(t *testing.T, at int, values, states, gotValues, gotStates []string) {
	t.Helper()
	for k := range gotStates {
		if gotValues[k] != values[k] {
			t.Fatalf("value %d behind state %d is %q, want %q", k, at, gotValues[k], values[k])
		}
		if k > 0 && !sameJSON(t, []byte(gotStates[k]), states[k]) {
			t.Fatalf("state %d behind state %d is\n%s, want\n%s", k, at, gotStates[k], states[k])
		}
	}
}

// A source of a weighted node that is itself a weighted node counts an epoch of which it gave
// something, whether the run was interrupted in it or not. torchdata does not count the
// epoch where nothing more of the source was taken behind the interruption.
func TestNestedWeightedCountsEpochs(t *testing.T) {
	build := func() nodes.Node[string] {
		inner := must(nodes.Weighted([]nodes.Source[int]{{Name: "x", Node: numbers(2), Weight: 1},
			{Name: "y", Node: numbers(3), Weight: 1}}, nodes.WeightedOptions{Stop: nodes.All}))
		plus := nodes.Map(numbers(9), func(_ context.Context, v int) (int, error) { return 100 + v, nil })
		return text(must(nodes.Weighted([]nodes.Source[int]{{Name: "inner", Node: inner, Weight: 5},
			{Name: "plus", Node: plus, Weight: 1}}, nodes.WeightedOptions{Stop: nodes.All})))
	}
	l := nodes.NewLoader(build(), nodes.LoaderOptions{})
	defer l.Close()
	values, states := run(t, l, 3)
	for i := range states[:len(states)-1] {
		checkResumes(t, build, nodes.LoaderOptions{}, states[i], values[i:])
	}
}

// Reading ahead is not seen: a source of which a weighted node took nothing in an epoch has
// not begun it, whether something reads ahead in it or not. torchdata counts the epoch.
func TestReadingAheadCountsNoEpoch(t *testing.T) {
	play := func(ahead bool) (states []string) {
		ids := nodes.Map(shuffled(10), func(_ context.Context, v int64) (int, error) { return int(v), nil })
		if ahead {
			ids = must(nodes.Prefetch(ids, 2, 1))
		}
		root := text(must(nodes.Weighted([]nodes.Source[int]{{Name: "often", Node: numbers(3), Weight: 1},
			{Name: "never", Node: ids, Weight: 1e-9}}, nodes.WeightedOptions{Stop: nodes.First})))
		l := nodes.NewLoader(root, nodes.LoaderOptions{})
		defer l.Close()
		_, states = run(t, l, 3)
		return states
	}
	for _, ahead := range []bool{false, true} {
		for i, s := range play(ahead) {
			if !strings.Contains(s, `"_epoch":0`) {
				t.Fatalf("reading ahead %t: state %d: %s", ahead, i, s)
			}
		}
	}
}

// Some states lack the member that says whether an epoch has ended: torchdata's states, and
// Bivouac's states before there was the member. At the end of an epoch the next epoch follows them.
func TestStatesThatDoNotSayWhetherTheEpochEnded(t *testing.T) {
	build := func() nodes.Node[string] { return text(numbers(3)) }
	sealed := func(s string) string {
		b := []byte("{" + state.Unsealed + s[1:])
		state.Seal(b)
		return string(b)
	}
	for _, s := range []string{
		`{"num_yielded":3,"root":{"it_state":{"source":{"_num_yielded":3}}}}`,
		`{"ended":true,"num_yielded":3,"root":{"it_state":{"source":{"_num_yielded":3}}}}`,
	} {
		checkResumes(t, build, nodes.LoaderOptions{}, sealed(s), []string{"0", "1", "2", "end", "0"})
		checkResumes(t, build, nodes.LoaderOptions{NoRestart: true}, sealed(s), []string{"end", "0", "1"})
	}
	checkResumes(t, build, nodes.LoaderOptions{},
		sealed(`{"ended":false,"num_yielded":3,"root":{"it_state":{"source":{"_num_yielded":3}}}}`),
		[]string{"end", "0", "1"})
}

// A source without values does not end the epoch of a weighted node: the others go on. In
// torchdata it ends it.
func TestSourcesWithoutValues(t *testing.T) {
	build := func() nodes.Node[string] {
		return text(must(nodes.Weighted([]nodes.Source[int]{{Name: "none", Node: numbers(0), Weight: 1},
			{Name: "some", Node: numbers(3), Weight: 1}}, nodes.WeightedOptions{})))
	}
	l := nodes.NewLoader(build(), nodes.LoaderOptions{})
	defer l.Close()
	values, _ := run(t, l, 2)
	if got := strings.Join(values, " "); got != "0 1 2 end 0 1 2 end" {
		t.Errorf("%s", got)
	}
}

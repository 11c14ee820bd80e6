package torchdata

import (
	"encoding/json"
	"math/big"
)

// begin is the beginning of a pass from the state that was loaded.
func (b *tdBook) begin(stateless bool) {
	if b.loaded == nil {
		return
	}
	b.replays, b.fresh = nil, true
	if stateless {
		b.replays = b.loaded
	}
	b.loaded = nil
}

// stateless reports whether the data set is an iterable without a state, which is
// read again from the beginning when it goes on.
func (j *tdJudge) stateless() bool {
	kind := j.data().Kind
	return kind == "iter" || kind == "iter_len"
}

func (j *tdJudge) data() *tdData {
	d := &tdData{}
	_ = json.Unmarshal(j.scenario.Dataset, d) // the replay reports what is wrong with it
	return d
}

// tdCounts are the counters of a state by their paths.
var tdCounts = [][]string{
	{"_num_yielded"}, {"_sampler_iter_yielded"}, {"_sampler_iter_state", "samples_yielded"},
	{"_snapshot", "_snapshot_step"}, {"_snapshot", "_main_snapshot", "_sampler_iter_yielded"},
	{"_snapshot", "_main_snapshot", "_sampler_iter_state", "samples_yielded"},
}

// adjust takes out of a recorded state what torchdata counts twice: what it reads
// again of a data set without a state, which divergences.json describes for
// S13-iter-*; and the ids that it draws whenever an iterator that has ended is
// asked again, which Bivouac's end at the end.
func (j *tdJudge) adjust(b *tdBook, got *tdOutcome, want map[string]any) {
	state, ok := want["state"].(map[string]any)
	if !ok {
		return
	}
	state = tdCopy(state).(map[string]any)
	want["state"] = state
	if b.replays != nil {
		for _, path := range tdCounts {
			if n := countAt(b.replays.state, path); n != nil {
				addCount(state, path, new(big.Int).Neg(n))
			}
		}
	}
	if raw := j.scenario.Loader["num_workers"]; j.scenario.Dataset != nil && j.data().mapped() == nil && integer(raw) > 1 {
		if shown, ok := got.plain["state"].(map[string]any); ok {
			j.timed(shown, state)
		}
	}
	if _, single := state["_num_yielded"]; single && j.data().mapped() == nil && j.scenario.Dataset != nil {
		addCount(state, tdCounts[1], big.NewInt(-got.again))
		addCount(state, tdCounts[2], big.NewInt(-got.again*j.batchSize()))
	}
}

// timed takes over the counters of ids drawn where they depend on timing, as the
// reason of "S01-iter*-w4" in divergences.json says: with several workers over an
// iterable, on when torchdata hears that one has ended. It does so at the latest when
// it is the turn of that one's end, which is when Bivouac does.
func (j *tdJudge) timed(got, want map[string]any) {
	drawn, samples := tdCounts[4], tdCounts[5]
	g, w, step := countAt(got, drawn), countAt(want, drawn), countAt(want, tdCounts[3])
	if g == nil || w == nil || step == nil || g.Cmp(w) < 0 || w.Cmp(step) < 0 {
		return
	}
	size := big.NewInt(1)
	if n := countAt(want, samples); n != nil {
		size = big.NewInt(j.batchSize())
		if n.Cmp(new(big.Int).Mul(w, size)) != 0 {
			return
		}
	}
	late := new(big.Int).Sub(g, w)
	addCount(want, drawn, late)
	addCount(want, samples, late.Mul(late, size))
}

func (j *tdJudge) batchSize() int64 {
	if raw, ok := j.scenario.Loader["batch_size"]; ok {
		return integer(raw)
	}
	return 1
}

func tdCopy(v any) any {
	m, ok := v.(map[string]any)
	if !ok {
		return v
	}
	out := map[string]any{}
	for k, x := range m {
		out[k] = tdCopy(x)
	}
	return out
}

// parent returns the object that a path ends in, nil where it is not there.
func countParent(m map[string]any, path []string) map[string]any {
	for _, k := range path[:len(path)-1] {
		m, _ = m[k].(map[string]any)
	}
	return m
}

func countAt(m map[string]any, path []string) *big.Int {
	v, ok := countParent(m, path)[path[len(path)-1]].(json.Number)
	if !ok {
		return nil
	}
	n, _ := new(big.Int).SetString(v.String(), 10)
	return n
}

func addCount(m map[string]any, path []string, n *big.Int) {
	if old := countAt(m, path); old != nil {
		countParent(m, path)[path[len(path)-1]] = json.Number(old.Add(old, n).String())
	}
}

package torchdata

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// diverging judges a step at which torchdata is wrong.
func (j *tdJudge) diverging(i int, op, name string, got *tdOutcome, want map[string]any) {
	got = &tdOutcome{plain: maps.Clone(got.plain), err: got.err}
	delete(got.plain, "state")
	delete(want, "state")
	switch j.diverges.kind() {
	case "right":
		if raw, ok := j.right[strconv.Itoa(i)]; ok {
			v, err := (&tdDecoder{j.set.blobs}).parse(raw)
			if err != nil {
				j.r.Fail("divergences.json: %v", err)
				return
			}
			want, _ = v.(map[string]any)
		}
		j.compare(i, op, name, got, want)
	case "stop_iteration":
		if j.data().mapped() != nil {
			j.twin(i, op, name, got)
		} else {
			j.over(i, op, name, got, want)
		}
	case "dead_worker":
		if !isDead(got.err) {
			j.r.Fail("step %d: %v, want the end of a worker", i, got.err)
		}
	case "out_of_order": // see end
		if got.err != nil {
			j.r.Fail("step %d, %s %s: %v", i, op, name, got.err)
		}
	}
}

// twin judges an item whose reading raises StopIteration by the scenario in which
// it raises ValueError: it is an error like any other.
func (j *tdJudge) twin(i int, op, name string, got *tdOutcome) {
	sc, err := j.set.scenario(strings.Replace(j.scenario.Name, "-StopIteration-", "-ValueError-", 1))
	if err != nil {
		j.r.Fail("the twin of the scenario: %v", err)
		return
	}
	want := maps.Clone(sc.Outcomes[i])
	delete(want, "state")
	if e, ok := want["error"].(map[string]any); ok {
		e = maps.Clone(e)
		e["type"] = "StopIteration"
		if last, ok := e["last_line"].(string); ok {
			e["last_line"] = strings.Replace(last, "ValueError", "StopIteration", 1)
		}
		want["error"] = e
	}
	j.compare(i, op, name, got, want)
}

// over judges an iterator that says in the midst that it ends: the epoch is over,
// and stays so, and the state says it.
func (j *tdJudge) over(i int, op, name string, got *tdOutcome, want map[string]any) {
	if state, ok := j.outcomes[i].plain["state"].(map[string]any); ok && j.ended[name] &&
		state["_iterator_finished"] != true {
		j.r.Fail("step %d, %s %s: a state that is not finished behind the end", i, op, name)
	}
	if batches, _ := got.plain["batches"].([]any); j.ended[name] && len(batches) > 0 {
		j.r.Fail("step %d, %s %s: batches behind the end", i, op, name)
	}
	j.ended[name] = op != "iter" && op != "new" && (j.ended[name] || got.plain["stop"] == true)
	j.compare(i, op, name, got, want)
}

// end judges what all steps together must be.
func (j *tdJudge) end(ctx context.Context, p *tdPlay) {
	if j.diverges == nil {
		return
	}
	switch j.diverges.kind() {
	case "out_of_order":
		j.once()
	case "dead_worker":
		for range 2 {
			for name, l := range p.loaders {
				if _, err := l.next(ctx); err == nil {
					j.r.Fail("loader %s delivers after the end of a worker", name)
				}
			}
		}
	}
}

// once judges that what was delivered before a state and after it is each sample
// once, as is what the loader that was not interrupted delivered.
func (j *tdJudge) once() {
	delivered, before := map[string][]any{}, map[string][]any{}
	for i, entry := range j.scenario.Script[:len(j.outcomes)] {
		op, name := textOf(entry[0]), ""
		if len(entry) > 1 {
			name = textOf(entry[1])
		}
		switch op {
		case "new":
			delivered[name] = nil
		case "next", "drain":
			batches, _ := j.outcomes[i].plain["batches"].([]any)
			delivered[name] = append(delivered[name], batches...)
		case "state":
			before[textOf(entry[2])] = slices.Clone(delivered[name])
		case "load":
			delivered[name] = slices.Clone(before[textOf(entry[2])])
		}
	}
	for name, batches := range delivered {
		got := map[string]int{}
		for _, b := range batches {
			got[tdShow(b)]++
		}
		want := map[string]int{}
		for _, id := range j.diverges.Samples[j.scenario.Name] {
			want[j.batchOf(id)]++
		}
		if !maps.Equal(got, want) {
			j.r.Fail("loader %s: %v, want each once: %v", name, got, want)
		}
	}
}

// batchOf is how a batch of one sample shows.
func (j *tdJudge) batchOf(id int64) string {
	if raw, ok := j.scenario.Loader["batch_size"]; ok && string(raw) == "null" {
		return tdShow(json.Number(fmt.Sprint(id)))
	}
	b, err := appendElement(nil, "int64", json.Number(fmt.Sprint(id)))
	if err != nil {
		return err.Error()
	}
	return tdShow(tdTensor("int64", []int{1}, b))
}

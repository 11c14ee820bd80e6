package torchdata

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/proof/conform/suite"
)

// tdJudge compares what a script did with what was recorded.
type tdJudge struct {
	set      *tdSet
	scenario *tdScenario
	r        *suite.Report
	ignored  []string
	diverges *tdRule // nil: nothing does
	listed   []int
	right    map[string]json.RawMessage
	books    map[string]*tdBook
	states   map[string]*tdSaved
	outcomes []tdOutcome
	ended    map[string]bool // loaders that are behind the end of an epoch
}

// tdBook is what the judge knows of a loader.
type tdBook struct {
	tainted bool     // its states are not compared any more
	refused bool     // it was refused where torchdata refuses to begin
	loaded  *tdSaved // the state that its next pass begins with
	replays *tdSaved // the state of a data set without one that this pass began with
	fresh   bool     // the pass was made for a state, and no iter has taken it yet
}

// tdSaved is a state as it was recorded.
type tdSaved struct {
	tainted bool
	state   map[string]any
}

// rule finds what divergences.json says of the scenario.
func (j *tdJudge) rule() error {
	j.ignored = append(j.ignored, j.scenario.Unstable...)
	for _, t := range j.set.rules {
		if !t.covers(j.scenario.Name) {
			continue
		}
		if t.unstable() {
			j.ignored = append(j.ignored, t.Ignore[j.scenario.Name]...)
			continue
		}
		j.diverges, j.right = t, t.Right[j.scenario.Name]
		if !t.all() {
			if err := json.Unmarshal(t.Steps, &j.listed); err != nil {
				return fmt.Errorf("divergences.json, steps of %s: %w", t.Pattern, err)
			}
		}
		first := 0
		if p := t.First[j.scenario.Name]; p != nil {
			first = *p
		}
		for i := first; t.all() && i < len(j.scenario.Script); i++ {
			j.listed = append(j.listed, i)
		}
		j.r.Diverge(t.kind(), "%s in divergences.json", t.Pattern)
	}
	return nil
}

// step judges one entry of the script.
func (j *tdJudge) step(i int, entry []json.RawMessage, got *tdOutcome) {
	j.outcomes = append(j.outcomes, *got)
	op, name := textOf(entry[0]), ""
	if len(entry) > 1 {
		name = textOf(entry[1])
	}
	want := maps.Clone(j.scenario.Outcomes[i])
	book := j.books[name]
	if book == nil || op == "new" {
		book = &tdBook{}
		j.books[name] = book
	}
	j.note(book, op, entry, want)
	if got.plain["hang"] != nil {
		j.r.Fail("step %d, %s %s: no result in %v", i, op, name, tdLimit)
	}
	if slices.Contains(j.listed, i) {
		book.tainted = true
		j.diverging(i, op, name, got, want)
		return
	}
	if book.refused = book.refused || j.refusedEarlier(op, name, i, got, want); book.refused {
		return
	}
	if book.tainted {
		delete(got.plain, "state")
		delete(want, "state")
	}
	j.adjust(book, got, want)
	j.compare(i, op, name, got, want)
	if !slices.Equal(tdWarnings(got.warnings), tdWarnings(textsOf(want["warnings"]))) {
		j.r.Fail("step %d, %s %s: warnings %q, want %q", i, op, name, got.warnings, want["warnings"])
	}
}

func textsOf(v any) (out []string) {
	list, _ := v.([]any)
	for _, x := range list {
		out = append(out, fmt.Sprint(x))
	}
	return out
}

// compare compares all but the warnings.
func (j *tdJudge) compare(i int, op, name string, got *tdOutcome, want map[string]any) {
	at := fmt.Sprintf("step %d, %s %s", i, op, name)
	if err := sameError(got.err, want["error"], j.failsToBegin()); err != "" {
		j.r.Fail("%s: %s", at, err)
		return
	}
	plain := maps.Clone(want)
	delete(plain, "error")
	delete(plain, "warnings")
	for _, d := range tdDiff(fmt.Sprint("/", i), any(got.plain), any(plain), j.ignored) {
		j.r.Fail("%s: %s", at, d)
	}
}

// note keeps the books of states.
func (j *tdJudge) note(b *tdBook, op string, entry []json.RawMessage, want map[string]any) {
	switch op {
	case "state":
		state, _ := want["state"].(map[string]any)
		b.begin(j.stateless())
		if state != nil {
			j.states[textOf(entry[2])] = &tdSaved{b.tainted, state}
		}
	case "load":
		if b.loaded = j.states[textOf(entry[2])]; b.loaded != nil && b.loaded.tainted {
			b.tainted = true
		}
	case "iter":
		if b.loaded == nil && !b.fresh {
			b.replays = nil
		}
		b.begin(j.stateless())
		if b.replays != nil && b.replays.state["_iterator_finished"] == true {
			b.replays = nil // it begins anew
		}
		b.fresh = false
	}
}

// errorTypes are the kinds of errors that stand for an exception of Python.
var errorTypes = map[string][]errs.Kind{
	"ValueError":     {errs.Invalid, errs.Mismatch, errs.Sequence},
	"TypeError":      {errs.Invalid, errs.Unsupported},
	"AssertionError": {errs.Mismatch, errs.Invalid},
	"RuntimeError":   {errs.Invalid, errs.Mismatch, errs.Exhausted},
}

var caught = regexp.MustCompile(`^Caught \w+ in DataLoader worker process (\d+)\.$`)

// failsToBegin reports whether all workers fail when they begin: which of them is told
// of is a matter of timing, as divergences.json says for S16-init-*.
func (j *tdJudge) failsToBegin() bool {
	return j.scenario.Dataset != nil && j.data().FailInit || textOf(j.scenario.Loader["worker_init_fn"]) == "fail"
}

// sameError reports how an error differs from a recorded error; with anyWorker, it may be the error
// of another worker.
func sameError(got error, want any, anyWorker bool) string {
	w, _ := want.(map[string]any)
	switch {
	case w == nil && got == nil:
		return ""
	case w == nil:
		return fmt.Sprintf("failed: %v", got)
	case got == nil:
		return fmt.Sprintf("no error, want %v", w)
	}
	kind, _ := w["type"].(string)
	if m := caught.FindStringSubmatch(fmt.Sprint(w["first_line"])); m != nil && !anyWorker &&
		!strings.Contains(got.Error(), "worker "+m[1]) {
		return fmt.Sprintf("%v does not name worker %s", got, m[1])
	}
	var asked *tdError
	if errors.As(got, &asked) {
		message := asked.text
		if asked.kind == "KeyError" {
			message = "'" + message + "'"
		}
		last, wrapped := w["last_line"]
		if anyWorker {
			message, last = digits.ReplaceAllString(message, "N"), digits.ReplaceAllString(fmt.Sprint(last), "N")
		}
		if asked.kind == kind && (asked == errNoLength || w["message"] == message || wrapped && last == kind+": "+message) {
			return ""
		}
		return fmt.Sprintf("%s %q, want %v", asked.kind, message, w)
	}
	if kinds, ok := errorTypes[kind]; ok && slices.ContainsFunc(kinds, func(k errs.Kind) bool { return errors.Is(got, k) }) {
		return ""
	}
	return fmt.Sprintf("%v, want %v", got, w)
}

var digits = regexp.MustCompile(`\d+`)

// tdWarnings is what warnings say, whatever their words: of what, and the numbers.
// That batches out of order have no exact state is not so here.
func tdWarnings(all []string) []string {
	var out []string
	for _, w := range all {
		topic := ""
		switch {
		case strings.Contains(w, "fast-forwarding"):
			topic = "fast-forwarding"
		case strings.Contains(w, "reported to be"), strings.Contains(w, "announced"):
			topic = "length"
		case strings.Contains(w, "in_order=False"):
			continue
		default:
			topic = w
		}
		out = append(out, topic+" "+strings.Join(digits.FindAllString(w, -1), " "))
	}
	return out
}

// refusedEarlier reports whether Bivouac refuses at construction what torchdata
// refuses when it begins, so that nothing is ever read either way.
func (j *tdJudge) refusedEarlier(op, name string, i int, got *tdOutcome, want map[string]any) bool {
	if op != "new" || want["error"] != nil || !errors.Is(got.err, errs.Invalid) {
		return false
	}
	never := false
	for k, entry := range j.scenario.Script[i+1:] {
		o := j.scenario.Outcomes[i+1+k]
		switch {
		case len(entry) < 2 || textOf(entry[1]) != name:
		case textOf(entry[0]) == "len":
		case o["error"] == nil && o["skipped"] == nil:
			return false
		default:
			never = never || o["error"] != nil
		}
	}
	return never
}

// isDead reports whether an error is the end of a worker.
func isDead(err error) bool {
	var dead *loader.Dead
	return errors.As(err, &dead) && strings.Contains(err.Error(), "worker")
}

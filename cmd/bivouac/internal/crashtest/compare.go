package crashtest

import (
	"slices"
	"sort"

	"github.com/bivouac-ml/bivouac/internal/recording"
)

// Samples is how the samples of a history differ from the samples of the unbroken run.
type Samples struct {
	Unbroken int `json:"unbroken"`
	Killed   int `json:"killed"`
	// Lost counts the samples that the unbroken run trained on more often, each as many times.
	Lost int `json:"lost"`
	// Repeated counts the samples that the killed run trained on more often.
	Repeated int `json:"repeated"`
	// Moved is the least number of the other samples that would have to move for the order of the
	// unbroken run.
	Moved int `json:"moved"`
	// Batches counts the steps that got other samples than the same step of the unbroken run.
	Batches int `json:"batches"`
}

// equal reports whether both are the same batches in the same order.
func (s Samples) equal() bool {
	return s.Lost == 0 && s.Repeated == 0 && s.Moved == 0 && s.Batches == 0
}

// sample is what is compared: an id, in an epoch if the job records epochs.
type sample struct{ epoch, id int64 }

// compareSamples compares the samples of two histories.
func compareSamples(unbroken, killed life) Samples {
	names := map[sample]int32{}
	a, b := numbers(names, unbroken), numbers(names, killed)
	balance := make([]int, len(names))
	for _, id := range a {
		balance[id]++
	}
	for _, id := range b {
		balance[id]--
	}
	s := Samples{Unbroken: len(a), Killed: len(b)}
	for _, n := range balance {
		if n > 0 {
			s.Lost += n
		} else {
			s.Repeated -= n
		}
	}
	s.Moved = len(a) - s.Lost - longestCommon(a, b, len(names))
	x, y := steps(unbroken), steps(killed)
	for i := range max(len(x), len(y)) {
		if i >= len(x) || i >= len(y) || !slices.Equal(x[i].ids, y[i].ids) {
			s.Batches++
		}
	}
	return s
}

// numbers gives each sample a small number, equal samples the same.
func numbers(names map[sample]int32, l life) []int32 {
	var out []int32
	for _, e := range l {
		for _, id := range e.IDs {
			key := sample{e.Epoch, id}
			n, ok := names[key]
			if !ok {
				n = int32(len(names))
				names[key] = n
			}
			out = append(out, n)
		}
	}
	return out
}

// step is all that a job recorded of one step.
type step struct {
	entry   recording.Entry // number and epoch
	ids     []int64
	loss    []string
	weights string
}

// steps joins the neighbouring records that have one number, as ranks and micro-batches make them,
// and leaves records without samples and losses to the step before them.
func steps(l life) []step {
	var out []step
	for _, e := range l {
		n := len(out)
		empty := !e.HasStep && len(e.IDs) == 0 && len(e.Loss) == 0
		same := n > 0 && e.HasStep && sameStep(out[n-1].entry, e)
		if n == 0 || !same && !empty {
			out = append(out, step{entry: e})
			n++
		}
		s := &out[n-1]
		s.ids, s.loss = append(s.ids, e.IDs...), append(s.loss, e.Loss...)
		if e.Weights != "" {
			s.weights = e.Weights
		}
	}
	return out
}

// mostPairs bounds the work of longestCommon.
const mostPairs = 1 << 27

// longestCommon returns the length of the longest common subsequence of a and b, whose elements are
// below n. It follows Hunt and Szymanski: the longest rising sequence of the places in b of
// each element of a, taken backwards. If equal elements make more than mostPairs pairs, it pairs
// the first with the first, the second with the second. The result may then be too small.
func longestCommon(a, b []int32, n int) int {
	front := 0
	for front < min(len(a), len(b)) && a[front] == b[front] {
		front++
	}
	a, b = a[front:], b[front:]
	back := 0
	for back < min(len(a), len(b)) && a[len(a)-1-back] == b[len(b)-1-back] {
		back++
	}
	a, b = a[:len(a)-back], b[:len(b)-back]
	places := make([][]int32, n)
	for i, v := range b {
		places[v] = append(places[v], int32(i))
	}
	pairs := 0
	for _, v := range a {
		pairs += len(places[v])
	}
	var ends []int32 // the smallest end of a rising sequence of each length
	put := func(at int32) {
		k := sort.Search(len(ends), func(k int) bool { return ends[k] >= at })
		if k == len(ends) {
			ends = append(ends, at)
		} else {
			ends[k] = at
		}
	}
	for _, v := range a {
		if pairs > mostPairs {
			if p := places[v]; len(p) > 0 {
				put(p[0])
				places[v] = p[1:]
			}
			continue
		}
		for _, at := range slices.Backward(places[v]) {
			put(at)
		}
	}
	return front + back + len(ends)
}

// Series is how losses or weights compare.
type Series struct {
	Recorded bool   `json:"recorded"`
	Equal    bool   `json:"equal"`
	Unbroken string `json:"unbroken,omitempty"` // the last one
	Killed   string `json:"killed,omitempty"`
	From     *int64 `json:"from,omitempty"` // the first step that differs
}

// compareSeries compares what pick returns of each step. If all is false, only the last values
// decide.
func compareSeries(unbroken, killed []step, all bool, pick func(step) string) Series {
	a, b := values(unbroken, pick), values(killed, pick)
	s := Series{Recorded: len(a)+len(b) > 0}
	if len(a) > 0 {
		s.Unbroken = a[len(a)-1].text
	}
	if len(b) > 0 {
		s.Killed = b[len(b)-1].text
	}
	s.Equal = s.Unbroken == s.Killed
	if all {
		s.Equal = slices.EqualFunc(a, b, func(x, y value) bool { return x.text == y.text })
	}
	for i := range a {
		if !s.Equal && (i >= len(b) || a[i].text != b[i].text) {
			s.From = a[i].step
			break
		}
	}
	return s
}

// value is a loss or digest of a step.
type value struct {
	text string
	step *int64 // nil if it has no number
}

func values(l []step, pick func(step) string) []value {
	var out []value
	for _, s := range l {
		if text := pick(s); text != "" {
			v := value{text: text}
			if s.entry.HasStep {
				v.step = &s.entry.Step
			}
			out = append(out, v)
		}
	}
	return out
}

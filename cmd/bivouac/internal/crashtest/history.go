package crashtest

import (
	"cmp"
	"slices"

	"github.com/bivouac-ml/bivouac/internal/recording"
)

// life is what one process recorded: from one start to its end.
type life []recording.Entry

// numbering says how the steps of a job are numbered.
type numbering int

const (
	byStep    numbering = iota // numbers that do not fall within a life
	byEpoch                    // numbers that begin again in each epoch, which is recorded too
	byRecords                  // no numbers, or numbers that fall: places are inferred
)

// numberingOf returns the first numbering that fits all lives.
func numberingOf(lives ...life) numbering {
	steps, epochs, any := true, true, false
	for _, l := range lives {
		var last *recording.Entry
		for i := range l {
			e := &l[i]
			if e.IsResumed {
				last = nil
				continue
			}
			if !e.HasStep {
				if len(e.IDs) > 0 {
					return byRecords
				}
				continue
			}
			any = true
			if last != nil {
				steps = steps && e.Step >= last.Step
				epochs = epochs && compare(byEpoch, *last, *e) <= 0
			}
			last = e
		}
	}
	switch {
	case any && steps:
		return byStep
	case any && epochs:
		return byEpoch
	}
	return byRecords
}

// split makes a life of each part of l that begins with a line that says where it resumed.
func split(l life) []life {
	var out []life
	begin := 0
	for i := 1; i < len(l); i++ {
		if l[i].IsResumed {
			out, begin = append(out, l[begin:i]), i
		}
	}
	return append(out, l[begin:])
}

// compare orders two steps.
func compare(n numbering, a, b recording.Entry) int {
	if n == byEpoch {
		if c := cmp.Compare(a.Epoch, b.Epoch); c != 0 {
			return c
		}
	}
	return cmp.Compare(a.Step, b.Step)
}

// resume is how a life begins.
type resume struct {
	kept   int    // records of the history that its state is made of
	redone int    // records of the history that it drops
	step   *int64 // the number of the last record that is kept
	// missing is the step that it goes on after, if the history does not have it.
	missing *int64
}

// history is what the weights at the end are made of. A life that resumes after a step drops what
// came behind that step, because its state does not have it.
type history struct {
	entries  life
	resumes  []resume // of each life
	branches []branch // of each life
}

// branch is the history of one life: the first records of the history of another one, and its own.
type branch struct {
	parent, kept int // parent is -1 for the beginning
	own          life
}

// path returns the history of life i.
func (h *history) path(i int) life {
	if i < 0 {
		return nil
	}
	b := h.branches[i]
	return append(slices.Clone(h.path(b.parent)[:b.kept]), b.own...)
}

// trace returns the history of several lives, the first of which begins with nothing. The unbroken
// run helps where numbers are missing: of several places that a life may have resumed at, one
// that fits it is taken.
func trace(n numbering, lives []life, unbroken life) history {
	var h history
	for i, l := range lives {
		before := len(h.entries)
		parent, at := i-1, before
		if len(l) > 0 {
			at = place(n, h.entries, l, unbroken)
			if want, ok := predecessor(n, l, unbroken); ok && !endsWith(n, h.entries[:at], want) {
				// The state is not from the newest history. An older one may have the step.
				for k := i - 2; k >= 0; k-- {
					old := h.path(k)
					if a := place(n, old, l, unbroken); endsWith(n, old[:a], want) {
						parent, at, h.entries = k, a, old
						break
					}
				}
			}
		}
		kept := h.entries[:at]
		own := l
		if len(l) > 0 && l[0].IsResumed {
			own = l[1:]
		}
		h.branches = append(h.branches, branch{parent: parent, kept: at, own: own})
		r := resume{kept: at, redone: max(before-at, 0), step: lastStep(kept)}
		if want, ok := predecessor(n, l, unbroken); ok && i > 0 && !endsWith(n, kept, want) {
			r.missing = &want.Step
		}
		h.resumes = append(h.resumes, r)
		h.entries = append(slices.Clone(kept), own...)
	}
	return h
}

// predecessor returns the step that a life goes on after: the one that it names, or the one before
// its first step in the unbroken run. ok is false if it has no number.
func predecessor(n numbering, l, unbroken life) (before recording.Entry, ok bool) {
	if n == byRecords || len(l) == 0 {
		return recording.Entry{}, false
	}
	if l[0].IsResumed {
		i := slices.IndexFunc(unbroken, func(e recording.Entry) bool { return e.HasStep && e.Step == l[0].Resumed })
		if n == byEpoch || i < 0 {
			return recording.Entry{}, false
		}
		return unbroken[i], true
	}
	first := slices.IndexFunc(l, func(e recording.Entry) bool { return e.HasStep })
	if first < 0 {
		return recording.Entry{}, false
	}
	for _, e := range slices.Backward(unbroken) {
		if e.HasStep && compare(n, e, l[first]) < 0 {
			return e, true
		}
	}
	return recording.Entry{}, false
}

// endsWith reports whether the last step of h is the one of e.
func endsWith(n numbering, h life, e recording.Entry) bool {
	for _, last := range slices.Backward(h) {
		if last.HasStep {
			return compare(n, last, e) == 0
		}
	}
	return false
}

// lastStep returns the number of the last record that has one.
func lastStep(l life) *int64 {
	for _, e := range slices.Backward(l) {
		if e.HasStep {
			return &e.Step
		}
	}
	return nil
}

// join returns the records of several ranks as records of one job: the first ones of all, then the
// second ones, and so on.
func join(ranks []life) life {
	if len(ranks) == 1 {
		return ranks[0]
	}
	var out life
	for i := 0; ; i++ {
		var joined *recording.Entry
		for _, l := range ranks {
			if i >= len(l) {
				continue
			}
			if joined == nil {
				e := l[i]
				e.IDs, e.Loss = slices.Clone(e.IDs), slices.Clone(e.Loss)
				joined = &e
				continue
			}
			joined.IDs, joined.Loss = append(joined.IDs, l[i].IDs...), append(joined.Loss, l[i].Loss...)
			if l[i].Weights != "" {
				joined.Weights += "," + l[i].Weights
			}
		}
		if joined == nil {
			return out
		}
		out = append(out, *joined)
	}
}

// after returns how many records of h belong to step and the steps before it.
func after(n numbering, h life, step int64) int {
	if n == byRecords {
		return int(min(max(step, 0), int64(len(h))))
	}
	for i := len(h) - 1; i >= 0; i-- {
		if h[i].HasStep && (h[i].Step == step || n == byStep && h[i].Step < step) {
			return i + 1
		}
	}
	return 0
}

// place returns how many records of h the life l goes on after.
func place(n numbering, h, l, unbroken life) int {
	if len(l) > 0 && l[0].IsResumed {
		return after(n, h, l[0].Resumed)
	}
	if n == byRecords {
		return align(h, l, unbroken)
	}
	first := slices.IndexFunc(l, func(e recording.Entry) bool { return e.HasStep })
	if first < 0 {
		return len(h)
	}
	for i, e := range h {
		if e.HasStep && compare(n, e, l[first]) >= 0 {
			return i
		}
	}
	return len(h)
}

// align infers the place without numbers. A place fits if the life repeats what the history has
// from there on. Places that fit the unbroken run too come first, then those where something is
// repeated; of several, the last is taken. Otherwise the life goes on at the end of the history.
func align(h, l, unbroken life) int {
	repeated := -1
	for at := len(h); at >= 0; at-- {
		if !agree(h[at:], l) {
			continue
		}
		if at <= len(unbroken) && agree(unbroken[at:], l) && len(unbroken) > at {
			return at
		}
		if at < len(h) && repeated < 0 {
			repeated = at
		}
	}
	if repeated >= 0 {
		return repeated
	}
	return len(h)
}

// agree reports whether the shorter of two lists of records begins the longer one.
func agree(a, b life) bool {
	for i := range min(len(a), len(b)) {
		x, y := a[i], b[i]
		if x.Epoch != y.Epoch || !slices.Equal(x.IDs, y.IDs) || !slices.Equal(x.Loss, y.Loss) || x.Weights != y.Weights {
			return false
		}
	}
	return true
}

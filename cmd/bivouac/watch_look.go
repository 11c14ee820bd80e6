//go:build !bivouac_wheel

package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/integrity"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/journal"
)

// watchedRun looks at one run again and again. It opens the steps only when the names in the run
// have changed.
type watchedRun struct {
	dir     string
	names   string // of the last look that opened the steps
	steps   *runDir
	journal *journal.Reader
}

// tagsFolder is the folder in a run with its tags.
const tagsFolder = ".bivouac.tags"

// look returns what a run shows, or nil for a directory that is not a run.
func (w *watchedRun) look(ctx context.Context, g *global) (*sight, error) {
	list, err := place(w.dir).list(ctx)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	for _, e := range list {
		b.WriteString(e.name + "\n")
	}
	tags, err := place(place(w.dir).join(tagsFolder)).list(ctx)
	if err != nil && errs.KindOf(err) != errs.NotFound {
		return nil, err
	}
	for _, e := range tags {
		b.WriteString(e.name + "\n")
	}
	if names := b.String(); w.steps == nil || names != w.names || len(w.steps.skipped) > 0 {
		if err := w.open(ctx, g); err != nil {
			return nil, err
		}
		w.names = names
	}
	if err := w.refresh(ctx); err != nil {
		return nil, err
	}
	attempts := w.journal.Attempts()
	if w.steps.empty() && len(attempts) == 0 {
		return nil, nil
	}
	s := &sight{tags: w.steps.tags, aside: w.steps.aside, damage: map[string]string{}}
	for _, step := range w.steps.steps {
		s.steps = append(s.steps, step.Step)
		s.saved = step.Time
	}
	for _, step := range w.steps.skipped {
		if errs.KindOf(step.err) != errs.Unsupported { // of a newer version: nobody can tell
			s.damage[step.Directory] = step.Reason
		}
	}
	for _, m := range w.steps.gone {
		s.missing = append(s.missing, m.Name)
	}
	scrubbed, err := scrubs(ctx, w.dir)
	if err != nil {
		return nil, err
	}
	for dir, found := range scrubbed {
		if !found.Sound {
			s.damage[dir] = some(found.Damaged)
		}
	}
	s.usual = usualGap(w.steps.steps)
	if len(attempts) > 0 {
		s.tell(attempts)
	}
	return s, nil
}

// open reads the steps. A step that was removed during the first reading looks damaged, so damage
// that is new is looked at twice.
func (w *watchedRun) open(ctx context.Context, g *global) error {
	run, err := openRun(ctx, w.dir, g)
	if err == nil && len(run.skipped) > 0 {
		run, err = openRun(ctx, w.dir, g)
	}
	if err == nil {
		w.steps = run
	}
	return err
}

// refresh reads the ends of the journal that are new.
func (w *watchedRun) refresh(ctx context.Context) error {
	if w.journal != nil {
		return w.journal.Refresh(ctx)
	}
	st, name, err := place(w.dir).open(ctx)
	if err != nil {
		return err
	}
	w.journal, err = journal.Open(ctx, st, name)
	return err
}

// tell takes the journal into account.
func (s *sight) tell(attempts []*journal.Attempt) {
	a := attempts[len(attempts)-1]
	s.journal, s.attempt, s.fresh = true, len(attempts), a.Start.Fresh
	s.step = max(a.Last.Step, a.Start.From)
	if a.Known {
		s.row = a.Start.Time.Add(a.Last.At.Duration())
	}
	if e := a.End(); e != nil {
		s.outcome, s.errorEnd = string(e.Outcome), e.Error
	}
	s.usual = 0
	if did := a.Last.Step - a.Start.From; did > 0 && a.Last.At > 0 {
		s.usual = (a.Last.At / journal.Seconds(did)).Duration()
	}
}

// usualGap returns the median time between the newest steps; 0 if there are fewer than two.
func usualGap(steps []training.Info) time.Duration {
	steps = steps[max(0, len(steps)-10):]
	var gaps []time.Duration
	for i := 1; i < len(steps); i++ {
		gaps = append(gaps, steps[i].Time.Sub(steps[i-1].Time))
	}
	if len(gaps) == 0 {
		return 0
	}
	slices.Sort(gaps)
	return gaps[len(gaps)/2]
}

// verifyNew verifies the steps that are new, of a run that is seen for the first time only the
// newest. A step that cannot be read is tried again in the next look.
func (m *runMemory) verifyNew(ctx context.Context, dir string, run *runDir) {
	before := m.Verified
	m.Verified = map[string]checkedStep{}
	for i, step := range run.steps {
		path := place(dir).join(step.Directory)
		was, known := before[step.Directory]
		switch {
		case known && was.What == "", !known && !m.Seen && i < len(run.steps)-1:
			m.Verified[step.Directory] = was
			continue
		case known && was.Files == filesText(ctx, path):
			m.Verified[step.Directory] = was // damaged, and nobody has repaired it
			continue
		}
		v := verify(ctx, path, integrity.VerifyOptions{})
		if v.failed != nil {
			continue
		}
		now := checkedStep{}
		if v.Verdict == integrity.Damaged.String() {
			now = checkedStep{cmp.Or(some(v.Problems), "damaged"), filesText(ctx, path)}
		}
		m.Verified[step.Directory] = now
	}
}

// filesText returns a digest of the names, sizes and times of the files of a step.
func filesText(ctx context.Context, path string) string {
	list, err := place(path).files(ctx)
	if err != nil {
		return oneLine(err)
	}
	h := sha256.New()
	for _, f := range list {
		fmt.Fprintf(h, "%q %d %d\n", f.Name, f.Bytes, f.Modified.UnixNano()) //nolint:errcheck // it takes all
	}
	return hex.EncodeToString(h.Sum(nil))
}

// found adds the damage that verifications found.
func (m *runMemory) found(s *sight) {
	for dir, what := range m.Verified {
		if what.What != "" {
			s.damage[dir] = what.What
		}
	}
}

// isGone reports whether a run is not there any more, while what was named is.
func (w *watch) isGone(ctx context.Context, run string) bool {
	if _, err := place(run).isDirectory(ctx); errs.KindOf(err) != errs.NotFound {
		return false
	}
	for _, arg := range w.args {
		if arg == run || isPattern(ctx, arg) {
			continue
		}
		if _, err := place(arg).isDirectory(ctx); err != nil {
			return false // nobody can tell
		}
	}
	return true
}

// watch watches runs.
type watch struct {
	args     []string
	o        WatchOptions
	g        *global
	now      func() time.Time
	runs     map[string]*watchedRun
	channels []channel
	memory   watchMemory
	store    *watchStore // nil without --state
	polls    int
}

// lookedAt is the result of one look.
type lookedAt struct {
	run    *watchedRun
	memory *runMemory
	sight  *sight
}

// poll looks at all runs once and gives the alerts that are due.
func (w *watch) poll(ctx context.Context) error {
	list, err := findNamed(ctx, w.args)
	if err != nil {
		return err
	}
	first := w.polls == 0
	w.polls++
	for i, t := range list {
		switch {
		case w.known(t.path):
		case errs.KindOf(t.err) == errs.NotFound:
			list[i].err = errNoRun // a pattern without a match
		case checkpoint.IsCheckpoint(ctx, t.path, nil):
			list[i].err = errNoRun
		case first && slices.Contains(w.args, t.path):
			if _, err := place(t.path).isDirectory(ctx); err != nil {
				return errs.Wrap("watch", t.path, err) // it may be mistyped
			}
		}
	}
	listed := map[string]bool{}
	for _, t := range list {
		listed[t.path] = true
	}
	for path := range w.memory.Runs { // also one that has no steps any more, which nobody finds
		if !listed[path] {
			list = append(list, named{path: path})
		}
	}
	r := rules{stall: w.o.Stall.span(), factor: w.o.Factor, since: w.o.Since.span(), patient: 2}
	if w.o.Once && w.store == nil {
		r.patient = 1
	}
	seen := map[string]lookedAt{}
	err = each(ctx, w.o.jobs(), list, w.look, func(t named, l lookedAt, err error) error {
		switch {
		case err == errNoRun || errs.KindOf(err) == errs.NotFound: //nolint:errorlint // it is never wrapped
			return nil // not a run, or removed meanwhile
		case err != nil:
			l.sight = &sight{err: err}
		case l.sight == nil:
			return nil // a directory without runs yet
		}
		seen[t.path] = l
		return nil
	})
	if err != nil {
		return err
	}
	for path, l := range seen { // the looks read the maps, so these change only now
		m := w.memory.of(path)
		if l.memory != nil {
			m.Verified = l.memory.Verified
		}
		if l.run != nil {
			w.runs[path] = l.run
		}
		m.see(path, l.sight, w.now(), r)
	}
	for path, m := range w.memory.Runs {
		if _, ok := seen[path]; !ok && w.isGone(ctx, path) {
			m.gone(path, w.now())
			delete(w.runs, path)
		}
	}
	w.deliver(ctx)
	return w.store.save(context.WithoutCancel(ctx), &w.memory)
}

// errNoRun marks what is not a run.
var errNoRun = &errs.Error{Kind: errs.Invalid, Got: "not a run"}

// known reports whether a run was seen before.
func (w *watch) known(path string) bool { return w.memory.Runs[path] != nil }

// look looks at one run.
func (w *watch) look(ctx context.Context, t named) (l lookedAt, err error) {
	l.run = w.runs[t.path] // only written between two polls
	if l.run == nil {
		l.run = &watchedRun{dir: t.path}
	}
	l.sight, err = l.run.look(ctx, w.g)
	if err == nil && l.sight == nil && w.known(t.path) {
		if _, err := place(t.path).isDirectory(ctx); err != nil {
			return l, err // it is gone
		}
		l.sight = &sight{damage: map[string]string{}} // it has lost everything
	}
	if err != nil || l.sight == nil || !w.o.Verify {
		return l, err
	}
	l.memory = &runMemory{}
	if m := w.memory.Runs[t.path]; m != nil {
		l.memory.Seen, l.memory.Verified = m.Seen, m.Verified
	}
	l.memory.verifyNew(ctx, t.path, l.run.steps)
	l.memory.found(l.sight)
	return l, context.Cause(ctx)
}

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// trial switches sites off and sees which test fails.
type trial struct {
	suite  *suite
	known  *list
	runs   func(test string) bool // whether a test is run
	jobs   int
	report func(*site) // is called for each site as it is decided

	groups []*group // the tests that are run
}

// group is the tests of a package.
type group struct {
	pkg     string
	tests   []*test
	reaches map[int]bool // by all together, where they were run so; else nil
}

// try decides the sites: first each by the test that killed it last. Those that
// the list excuses are switched off together while the tests of each package run,
// to see whether one minds; each one alone only where one does. What is left then
// is tried with every test that reaches it.
func (r *trial) try(ctx context.Context, sites []*site) error {
	var excused, rest []*site
	var left []*site
	for _, s := range sites {
		if r.known.entry(s).reason != "" {
			excused = append(excused, s)
		} else {
			rest = append(rest, s)
		}
	}
	for _, t := range r.suite.tests {
		if !r.runs(t.String()) {
			continue
		}
		i := slices.IndexFunc(r.groups, func(g *group) bool { return g.pkg == t.pkg })
		if i < 0 {
			i = len(r.groups)
			r.groups = append(r.groups, &group{pkg: t.pkg})
		}
		r.groups[i].tests = append(r.groups[i].tests, t)
	}
	start := time.Now()
	err := parallel(ctx, r.jobs, rest, r.again)
	for _, s := range rest {
		if !s.killed {
			left = append(left, s)
		}
	}
	fmt.Printf("%d killed by the test that did it last, in %s\n", len(rest)-len(left), time.Since(start).Round(time.Second))
	if err != nil {
		return err
	}
	if len(excused) > 0 {
		if err := r.all(ctx, excused); err != nil {
			return err
		}
	}
	return parallel(ctx, r.jobs, left, r.kill)
}

// again tries a site with the test that the list remembers.
func (r *trial) again(ctx context.Context, s *site) error {
	name := r.known.entry(s).killer
	if name == "" || !r.runs(name) {
		return nil
	}
	t := r.suite.lookup(name)
	if t == nil {
		return nil
	}
	if passes, err := t.unchanged(ctx); err != nil || !passes {
		return err
	}
	start := time.Now()
	err := r.attempt(ctx, s, t)
	s.tried, s.took = 1, time.Since(start)
	if s.killed {
		r.report(s)
	}
	return err
}

// attempt tries a site with one test. A test that runs past its limit kills a site
// that the list says makes a loop endless; of another it says nothing, since the
// machine may have been busy.
func (r *trial) attempt(ctx context.Context, s *site, t *test) error {
	out, err := t.with(ctx, s)
	switch {
	case errors.Is(err, errLate):
		s.late, s.by = s.late+1, t.String()
		s.killed = r.known.entry(s).endless
		return nil
	case errors.Is(err, errKilled):
		s.killed, s.late = true, 0
		s.by, err = r.part(ctx, s, t, out)
	}
	return err
}

// all runs the tests of each package in one process, with all the excused sites off,
// and learns what they reach. A test that fails then runs by itself, unchanged, and
// with each of these sites alone.
func (r *trial) all(ctx context.Context, excused []*site) error {
	start := time.Now()
	err := parallel(ctx, r.jobs, r.groups, func(ctx context.Context, g *group) error {
		minding, err := g.run(ctx, excused)
		if err != nil {
			return err
		}
		for _, t := range minding {
			if err := r.blame(ctx, t, excused); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, s := range excused {
		for _, g := range r.groups {
			if g.reaches[s.n] {
				s.passed++
			}
		}
		r.report(s)
	}
	fmt.Printf("the suite run with the %d excused sites off in %s\n", len(excused), time.Since(start).Round(time.Second))
	return nil
}

// run runs the tests of the package together, and returns those that may have
// failed.
func (g *group) run(ctx context.Context, excused []*site) (minding []*test, err error) {
	var names []string
	for _, t := range g.tests {
		names = append(names, regexp.QuoteMeta(t.name))
	}
	t := g.tests[0]
	g.reaches, err = reached(t.tmp, func(env string) error {
		out, err := t.exec(ctx, 30*time.Minute, []string{env, off(excused)}, "-test.run=^("+strings.Join(names, "|")+")$")
		if !errors.Is(err, errKilled) {
			return err
		}
		minding = g.failing(out)
		return nil
	})
	return minding, err
}

// failing returns the tests that failed by what they printed: all, where it names none
// or the process ended before each had run.
func (g *group) failing(out []byte) []*test {
	var named []*test
	for _, m := range failed.FindAllSubmatch(out, -1) {
		if i := slices.IndexFunc(g.tests, func(t *test) bool { return t.name == string(m[1]) }); i >= 0 {
			named = append(named, g.tests[i])
		}
	}
	if len(named) == 0 || ended.Match(out) {
		return g.tests
	}
	return named
}

// blame says which of the excused sites a test minds that may have failed with all off.
func (r *trial) blame(ctx context.Context, t *test, excused []*site) error {
	t.lock.Lock()
	defer t.lock.Unlock()
	t.known = false
	if err := t.measure(ctx, excused...); err != nil || t.broken == nil {
		return err
	}
	reached := t.reaches
	if passes, err := t.passes(ctx); err != nil || !passes {
		return err
	}
	for _, s := range excused {
		if !reached[s.n] {
			continue
		}
		if err := r.alone(ctx, s, t); err != nil {
			return err
		}
	}
	return nil
}

// alone tries an excused site with one test.
func (r *trial) alone(ctx context.Context, s *site, t *test) error {
	_, err := t.with(ctx, s)
	if !errors.Is(err, errKilled) {
		return err
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	switch {
	case !errors.Is(err, errLate):
		s.killed, s.by, s.late = true, t.String(), 0
	case !s.killed:
		s.late, s.by = s.late+1, t.String()
	}
	return nil
}

// broken names the tests that fail unchanged.
func (r *trial) broken() (out []string) {
	for _, t := range r.suite.tests {
		if t.broken != nil {
			out = append(out, fmt.Sprintf("fails unchanged: %s", t.broken))
		}
	}
	return out
}

// lateTries is how many tests may run past their limit with a site: a loop that does
// not end would stop each that reaches it.
const lateTries = 3

// kill runs the tests that reach the site until one fails. Only there it is learned
// what a test reaches and how long it takes.
func (r *trial) kill(ctx context.Context, s *site) error {
	start := time.Now()
	s.tried, s.late = 0, 0
	queue, busy := r.candidates(s), 0
	for len(queue) > 0 && !s.killed && s.late < lateTries {
		t := queue[0]
		queue = queue[1:]
		if !t.lock.TryLock() { // another site waits for what it tells
			if busy < len(queue) {
				busy++
				queue = append(queue, t)
				continue
			}
			t.lock.Lock()
		}
		busy = 0
		passes, err := t.passes(ctx)
		t.lock.Unlock()
		if err == nil && passes && t.reaches[s.n] {
			s.tried++
			err = r.attempt(ctx, s, t)
		}
		if err != nil {
			return err
		}
	}
	s.took = time.Since(start)
	r.report(s)
	return nil
}

// candidates returns the tests that may reach a site: first the tests that are known to reach it,
// the fastest first, then the others, starting with the site's own package.
func (r *trial) candidates(s *site) []*test {
	type candidate struct {
		*test
		rank int
		took time.Duration
	}
	var list []candidate
	for _, g := range r.groups {
		if g.reaches != nil && !g.reaches[s.n] {
			continue
		}
		for _, t := range g.tests {
			c := candidate{test: t, rank: 2}
			if s.in(g.pkg) {
				c.rank = 1
			}
			if t.lock.TryLock() {
				if t.known {
					c.rank, c.took = 0, t.took
				}
				known, reaches := t.known, t.reaches[s.n]
				t.lock.Unlock()
				if known && !reaches {
					continue
				}
			}
			list = append(list, c)
		}
	}
	slices.SortStableFunc(list, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.took, b.took))
	})
	tests := make([]*test, len(list))
	for i, c := range list {
		tests[i] = c.test
	}
	return tests
}

// in reports whether the site stands in a package.
func (s *site) in(pkg string) bool {
	if pkg == "." {
		pkg = "bivouac"
	}
	rest, ok := strings.CutPrefix(s.fn, pkg+".")
	return ok && !strings.Contains(rest, "/")
}

// ended finds that a process ended before all tests had run.
var ended = regexp.MustCompile(`(?m)^(panic: |fatal error: |exit status |signal: )`)

// failed finds the tests, and the parts of tests, that say that they failed.
var failed = regexp.MustCompile(`(?m)^ *--- FAIL: (\S+) \(`)

// part names the smallest part of the test that kills the site by itself, by what
// the test printed.
func (r *trial) part(ctx context.Context, s *site, t *test, out []byte) (string, error) {
	name := t.name
	for _, m := range failed.FindAllSubmatch(out, -1) {
		if n := string(m[1]); strings.HasPrefix(n, t.name+"/") && strings.Count(n, "/") > strings.Count(name, "/") {
			name = n
		}
	}
	if name == t.name || t.took < 200*time.Millisecond {
		return t.String(), nil
	}
	p := r.suite.lookup(t.pkg + " " + name)
	passes, err := p.unchanged(ctx)
	if err != nil || !passes {
		return t.String(), err
	}
	if _, err := p.with(ctx, s); errors.Is(err, errKilled) && !errors.Is(err, errLate) {
		return p.String(), nil
	}
	return t.String(), ctx.Err()
}

// parallel calls f with each item, jobs at a time, until one fails.
func parallel[T any](ctx context.Context, jobs int, items []T, f func(context.Context, T) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	queue := make(chan T, len(items))
	for _, item := range items {
		queue <- item
	}
	close(queue)
	var wg sync.WaitGroup
	for range min(jobs, len(items)) {
		wg.Go(func() {
			for item := range queue {
				if ctx.Err() != nil {
					return
				}
				if err := f(ctx, item); err != nil {
					cancel(err)
				}
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// outcome says what became of the site.
func (s *site) outcome() string {
	took := s.took.Round(10 * time.Millisecond)
	switch {
	case s.late > 0:
		return fmt.Sprintf("killed by time, which %s ran past in %s: %s (%s)", s.by, took, s.ID(), s.line)
	case s.killed:
		return fmt.Sprintf("killed by %s in %s: %s (%s)", s.by, took, s.ID(), s.line)
	case s.passed > 0:
		return fmt.Sprintf("survived the tests of %d packages: %s (%s)", s.passed, s.ID(), s.line)
	case s.tried == 0:
		return fmt.Sprintf("no test reaches it: %s (%s)", s.ID(), s.line)
	}
	return fmt.Sprintf("survived %d tests in %s: %s (%s)", s.tried, took, s.ID(), s.line)
}

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

	order []*test // the fastest first
}

// try decides the sites: first each by the test that killed it last. What is left
// then is tried with every test that reaches it. Those that the list excuses
// are switched off together while the whole suite runs, to see whether a test
// minds; each one alone only where one does.
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
	start := time.Now()
	err := parallel(ctx, r.jobs, rest, r.again)
	for _, s := range rest {
		if !s.killed {
			left = append(left, s)
		}
	}
	fmt.Printf("%d killed by the test that did it last, in %s\n", len(rest)-len(left), time.Since(start).Round(time.Second))
	if err != nil || len(left)+len(excused) == 0 {
		return err
	}
	if err := r.all(ctx, excused); err != nil {
		return err
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
	out, err := t.with(ctx, s)
	s.tried, s.took = 1, time.Since(start)
	if errors.Is(err, errKilled) {
		s.killed = true
		s.by, err = r.part(ctx, s, t, out)
		r.report(s)
	}
	return err
}

// all runs the suite, and learns how long each test takes and what it reaches,
// with all the excused sites off. One that fails then runs unchanged, and with
// each of these sites alone.
func (r *trial) all(ctx context.Context, excused []*site) error {
	start := time.Now()
	r.order = slices.DeleteFunc(slices.Clone(r.suite.tests), func(t *test) bool { return !r.runs(t.String()) })
	err := parallel(ctx, r.jobs, r.order, func(ctx context.Context, t *test) error {
		err := t.measure(ctx, excused...)
		if err != nil || t.broken == nil {
			return err
		}
		reached := t.reaches
		if err := t.measure(ctx); err != nil || t.broken != nil {
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
	})
	if err != nil {
		return err
	}
	for _, t := range r.order {
		for _, s := range excused {
			if t.reaches[s.n] {
				s.tried++
			}
		}
	}
	for _, s := range excused {
		r.report(s)
	}
	slices.SortStableFunc(r.order, func(a, b *test) int { return cmp.Compare(a.took, b.took) })
	fmt.Printf("the suite run with the %d excused sites off in %s\n", len(excused), time.Since(start).Round(time.Second))
	return nil
}

// alone tries an excused site with one test.
func (r *trial) alone(ctx context.Context, s *site, t *test) error {
	_, err := t.with(ctx, s)
	if errors.Is(err, errKilled) {
		s.lock.Lock()
		s.killed, s.by = true, t.String()
		s.lock.Unlock()
		return nil
	}
	return err
}

// broken names the tests that fail unchanged.
func (r *trial) broken() (out []string) {
	for _, t := range r.order {
		if t.broken != nil {
			out = append(out, fmt.Sprintf("fails unchanged: %s", t.broken))
		}
	}
	return out
}

// kill runs the tests that reach the site until one fails.
func (r *trial) kill(ctx context.Context, s *site) error {
	start := time.Now()
	s.tried = 0
	for _, t := range r.order {
		if t.broken != nil || !t.reaches[s.n] {
			continue
		}
		s.tried++
		out, err := t.with(ctx, s)
		if errors.Is(err, errKilled) {
			s.killed = true
			s.by, err = r.part(ctx, s, t, out)
		}
		if err != nil {
			return err
		}
		if s.killed {
			break
		}
	}
	s.took = time.Since(start)
	r.report(s)
	return nil
}

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
	if _, err := p.with(ctx, s); errors.Is(err, errKilled) {
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
	case s.killed:
		return fmt.Sprintf("killed by %s in %s: %s (%s)", s.by, took, s.ID(), s.line)
	case s.tried == 0:
		return fmt.Sprintf("no test reaches it: %s (%s)", s.ID(), s.line)
	}
	return fmt.Sprintf("survived %d tests in %s: %s (%s)", s.tried, took, s.ID(), s.line)
}

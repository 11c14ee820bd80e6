//go:build !bivouac_wheel

package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// lasting returns the keys of the alerts that last.
func (m *runMemory) lasting() (keys []string) {
	for key, t := range m.Open {
		if t.Over.IsZero() {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

var patientRules = rules{factor: 10, since: 7 * 24 * time.Hour, patient: 2}

// Each way in which a run can go wrong begins and ends one cause.
func TestCausesBeginAndEnd(t *testing.T) {
	at := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	running := func(step int64, steps ...int64) sight {
		return sight{journal: true, attempt: 1, step: step, steps: steps, row: at, usual: time.Second,
			damage: map[string]string{}}
	}
	type look struct {
		after time.Duration
		sight sight
		want  []string
	}
	see := func(want []string, after time.Duration, s sight) look { return look{after, s, want} }
	with := func(s sight, change func(*sight)) sight { change(&s); return s }
	for name, looks := range map[string][]look{
		"a run that goes on": {see(nil, 0, running(1, 1)), see(nil, time.Hour, running(2, 1)), see(nil, time.Hour, running(3, 2))},
		"a stall": {
			see(nil, 0, running(5, 5)), see(nil, 50*time.Second, running(5, 5)),
			see([]string{"stall "}, 20*time.Second, running(5, 5)), see([]string{"stall "}, time.Hour, running(5, 5)),
			see(nil, time.Second, running(6, 5)),
		},
		"a slow run does not stall": {
			see(nil, 0, with(running(5), func(s *sight) { s.usual = time.Minute })),
			see(nil, 9*time.Minute, with(running(5), func(s *sight) { s.usual = time.Minute })),
			see([]string{"stall "}, 2*time.Minute, with(running(5), func(s *sight) { s.usual = time.Minute })),
		},
		"no usual time": {
			see(nil, 0, with(running(0), func(s *sight) { s.usual = 0 })),
			see(nil, 29*time.Minute, with(running(0), func(s *sight) { s.usual = 0 })),
			see([]string{"stall "}, 2*time.Minute, with(running(0), func(s *sight) { s.usual = 0 })),
		},
		"a run that was stalled before": {
			see([]string{"stall "}, 24*time.Hour, running(5, 5)),
		},
		"an old run":                {see(nil, 30*24*time.Hour, running(5, 5)), see(nil, time.Hour, running(5, 5)), see(nil, 0, running(6, 5)), see([]string{"stall "}, time.Hour, running(6, 5))},
		"done":                      {see(nil, 0, with(running(9, 9), func(s *sight) { s.outcome = "done" })), see(nil, time.Hour, with(running(9, 9), func(s *sight) { s.outcome = "done" }))},
		"preempted and not resumed": {see(nil, 0, with(running(9, 9), func(s *sight) { s.outcome = "preempted" })), see([]string{"stall "}, time.Hour, with(running(9, 9), func(s *sight) { s.outcome = "preempted" }))},
		"failed, and resumed": {
			see([]string{"failed attempt 1"}, 0, with(running(9, 9), func(s *sight) { s.outcome, s.errorEnd = "failed", "x" })),
			see([]string{"failed attempt 1"}, time.Hour, with(running(9, 9), func(s *sight) { s.outcome = "failed" })),
			see(nil, time.Hour, with(running(9, 9), func(s *sight) { s.attempt = 2 })),
		},
		"the newest step goes": {
			see(nil, 0, running(9, 3, 6, 9)), see([]string{"lost 9"}, 0, running(9, 3, 6)), see([]string{"lost 9"}, 0, running(10, 3, 6)),
			see(nil, 0, running(12, 3, 6, 9)),
		},
		"all steps go": {see(nil, 0, running(9, 3, 9)), see([]string{"lost 9"}, 0, running(9)), see(nil, 0, running(12, 12))},
		"retention":    {see(nil, 0, running(9, 3, 6, 9)), see(nil, 0, running(9, 9)), see(nil, 0, running(12, 12))},
		"a fresh start": {
			see(nil, 0, running(9, 3, 9)),
			see(nil, 0, with(running(0), func(s *sight) { s.attempt, s.fresh, s.aside = 2, true, []string{"aside-1"} })),
			see(nil, 0, with(running(1, 1), func(s *sight) { s.attempt, s.fresh, s.aside = 2, true, []string{"aside-1"} })),
		},
		"a step with a tag goes": {
			see(nil, 0, with(running(9, 3, 6, 9), func(s *sight) { s.tags = map[int64][]string{3: {"paper"}} })),
			see([]string{"lost 3"}, 0, running(9, 6, 9)), see([]string{"lost 3"}, 0, running(12, 9, 12)),
			see(nil, 0, running(12, 3, 9, 12)),
		},
		"a tag goes": {
			see(nil, 0, with(running(9, 3, 9), func(s *sight) { s.tags = map[int64][]string{3: {"paper"}} })),
			see(nil, 0, running(9, 3, 9)), see(nil, 0, running(9, 9)),
		},
		"set aside": {
			see(nil, 0, with(running(9, 9), func(s *sight) { s.aside = []string{"3.damaged"} })),
			see([]string{"lost 6.damaged"}, 0, with(running(9, 9), func(s *sight) { s.aside = []string{"3.damaged", "6.damaged"} })),
			see(nil, 0, with(running(9, 9), func(s *sight) { s.aside = []string{"3.damaged"} })),
		},
		"damage": {
			see([]string{"damaged 6"}, 0, with(running(9, 9), func(s *sight) { s.damage = map[string]string{"6": "torn"} })),
			see(nil, 0, running(9, 9)),
		},
		"signed and missing": {
			see([]string{"lost 6"}, 0, with(running(9, 9), func(s *sight) { s.missing = []string{"6"} })), see(nil, 0, running(9, 9)),
		},
		"unreadable, and a stall goes on": {
			see(nil, 0, running(5, 5)), see([]string{"stall "}, time.Hour, running(5, 5)),
			see([]string{"stall "}, 0, sight{err: errors.New("x")}), see([]string{"stall ", "unreadable "}, 0, sight{err: errors.New("x")}),
			see([]string{"stall "}, 0, running(5, 5)), see(nil, 0, running(6, 5)),
		},
		"without a journal, never seen to move": {
			see(nil, 0, sight{steps: []int64{1}, saved: at, usual: time.Second}), see(nil, time.Hour, sight{steps: []int64{1}, saved: at}),
		},
		"without a journal": {
			see(nil, 0, sight{steps: []int64{1}, saved: at}), see(nil, time.Minute, sight{steps: []int64{1, 2}, usual: time.Minute}),
			see([]string{"stall "}, time.Hour, sight{steps: []int64{1, 2}, usual: time.Minute}),
		},
	} {
		m, now := &runMemory{Newest: -1}, at
		for i, l := range looks {
			now = now.Add(l.after)
			s := l.sight
			m.see("run", &s, now, patientRules)
			if got := m.lasting(); !slices.Equal(got, l.want) {
				t.Errorf("%s, look %d: %q, want %q", name, i, got, l.want)
			}
		}
	}
}

// A run that was removed is told once if it had not ended, and never otherwise.
func TestGoneRun(t *testing.T) {
	for outcome, want := range map[string]int{"": 1, "preempted": 1, "done": 0} {
		m, now := &runMemory{Newest: -1}, time.Now()
		for i := range int64(3) {
			m.see("run", &sight{journal: true, attempt: 1, step: i, row: now, outcome: outcome}, now, patientRules)
		}
		m.gone("run", now)
		list, take := m.due("output", now)
		if len(list) != want {
			t.Errorf("%q: %v", outcome, list)
		}
		for _, f := range take {
			f()
		}
		if m.settle([]string{"output"}); len(m.Open) != 0 {
			t.Errorf("%q: %v stays", outcome, m.Open)
		}
	}
}

// TestOncePerCause draws causes that come and go, and channels that fail. Each channel is told of a
// cause once when it begins and once when it is over, in turn, and in the end knows what lasts.
func TestOncePerCause(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := &runMemory{Newest: -1}
		now := time.Unix(1e9, 0)
		channels := []string{"a", "b"}
		knows := map[string]map[string]bool{"a": {}, "b": {}}
		deliver := func(fails bool) {
			for _, c := range channels {
				if fails && rapid.Bool().Draw(rt, "fails") {
					continue
				}
				list, take := m.due(c, now)
				for i, a := range list {
					if began := a.State == "begun"; began == knows[c][a.Subject] {
						rt.Fatalf("%s was told twice that %s %s", c, a.Subject, a.State)
					} else {
						knows[c][a.Subject] = began
					}
					take[i]()
				}
			}
			m.settle(channels)
		}
		active := map[string]alert{}
		for range rapid.IntRange(1, 30).Draw(rt, "looks") {
			now = now.Add(time.Second)
			active = map[string]alert{}
			for i := range 3 {
				if name := fmt.Sprint(i); rapid.Bool().Draw(rt, "is there") {
					active["x "+name] = alert{Subject: name}
				}
			}
			m.reconcile(active, now)
			deliver(true)
		}
		deliver(false)
		for _, c := range channels {
			for _, name := range []string{"0", "1", "2"} {
				if _, lasts := active["x "+name]; knows[c][name] != lasts {
					rt.Fatalf("%s believes of %s: %t", c, name, knows[c][name])
				}
			}
		}
		if got, want := len(m.Open), len(active); got != want {
			rt.Fatalf("%d alerts are kept, %d last: %v", got, want, slices.Collect(maps.Keys(m.Open)))
		}
	})
}

//go:build !bivouac_wheel

package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"
)

// cause is why there is an alert.
type cause string

const (
	causeStall      cause = "stall"
	causeFailed     cause = "failed"
	causeLost       cause = "lost"
	causeDamaged    cause = "damaged"
	causeUnreadable cause = "unreadable"
)

// alert is what is told of a cause.
type alert struct {
	Version int       `json:"version"` // of this form
	Text    string    `json:"text"`    // all in one line, as chats show it
	Cause   cause     `json:"cause"`
	State   string    `json:"state"` // begun or over
	Run     string    `json:"run"`
	Subject string    `json:"subject,omitempty"` // a step, or another part of the run
	Step    int64     `json:"step"`              // the last step done, or the newest saved
	Message string    `json:"message"`
	Began   time.Time `json:"began"` // when the cause was noticed
	Time    time.Time `json:"time"`  // of this alert
}

// sight is what one look at a run shows.
type sight struct {
	err     error // why it could not be read
	steps   []int64
	tags    map[int64][]string
	aside   []string
	missing []string          // signed steps, and how that is known
	damage  map[string]string // what is wrong, by the directory of a step
	saved   time.Time         // when the newest step was saved

	journal  bool
	attempt  int
	fresh    bool // the last attempt began anew
	step     int64
	row      time.Time     // of the last row, by the clock of the trainer
	usual    time.Duration // time for a step; 0: not known
	outcome  string        // how the last attempt ended; "" if it has no end
	errorEnd string
}

// newest returns the newest step, or -1.
func (s *sight) newest() int64 {
	if len(s.steps) == 0 {
		return -1
	}
	return s.steps[len(s.steps)-1]
}

// progress returns the number that grows while the run goes on.
func (s *sight) progress() int64 {
	if s.journal {
		return s.step
	}
	return s.newest()
}

// sign returns when the run did something for the last time.
func (s *sight) sign() time.Time {
	if s.row.After(s.saved) {
		return s.row
	}
	return s.saved
}

// runMemory is what is remembered of a run from one look to the next, also in --state.
type runMemory struct {
	Seen     bool                   `json:"seen"`
	Old      bool                   `json:"old,omitempty"`  // it did nothing for long when it was first seen
	Newest   int64                  `json:"newest"`         // saved step
	Lost     map[int64]bool         `json:"lost,omitempty"` // steps, and whether they had a tag
	Tags     []int64                `json:"tags,omitempty"`
	Aside    []string               `json:"aside,omitempty"`
	Attempt  int                    `json:"attempt"`
	Step     int64                  `json:"step"`
	Moved    time.Time              `json:"moved"`              // when the last new step was noticed
	Moving   bool                   `json:"moving,omitempty"`   // a new step came while it was watched
	Ended    bool                   `json:"ended,omitempty"`    // no further step is expected
	Verified map[string]checkedStep `json:"verified,omitempty"` // by the directory of a step
	Unread   int                    `json:"unread,omitempty"`   // looks that failed one after the other
	Open     map[string]*told       `json:"open,omitempty"`     // alerts that are not over for all, by their keys
}

// checkedStep is what a verification of a step found.
type checkedStep struct {
	What  string `json:"what,omitempty"`  // what is wrong
	Files string `json:"files,omitempty"` // of a damaged step: its files, so that a repair is noticed
}

// told is an alert and who was told.
type told struct {
	Alert alert           `json:"alert"`
	Begun map[string]bool `json:"begun,omitempty"` // by channel
	Over  time.Time       `json:"over,omitzero"`
	Ended map[string]bool `json:"ended,omitempty"` // by channel
	Final bool            `json:"final,omitempty"` // the run is gone, so it is never over
}

// rules say what counts as a cause.
type rules struct {
	stall   time.Duration // 0: factor times the usual time
	factor  float64
	since   time.Duration
	patient int // looks that must fail one after the other
}

// Bounds of the time after which a run stalls. Rows of a journal are written every few seconds.
const (
	leastStall   = time.Minute
	unknownStall = 30 * time.Minute
)

// threshold returns how long a run may have no new step.
func (r rules) threshold(usual time.Duration) time.Duration {
	switch {
	case r.stall > 0:
		return r.stall
	case usual <= 0:
		return unknownStall
	}
	return time.Duration(min(max(r.factor*float64(usual), float64(leastStall)), float64(1<<62)))
}

// see takes a look into account: it opens alerts for new causes, and ends the others.
func (m *runMemory) see(run string, s *sight, now time.Time, r rules) {
	active := map[string]alert{}
	add := func(c cause, subject, format string, args ...any) {
		active[string(c)+" "+subject] = alert{Version: 1, Cause: c, Run: run, Subject: subject, Message: fmt.Sprintf(format,
			args...)}
	}
	if s.err != nil {
		if m.Unread++; m.Unread >= r.patient {
			add(causeUnreadable, "", "cannot be read: %s", oneLine(s.err))
		}
		// Nothing else is known, so nothing else begins or is over.
		for key, t := range m.Open {
			if t.Alert.Cause != causeUnreadable && t.Over.IsZero() {
				active[key] = t.Alert
			}
		}
		m.reconcile(active, now)
		return
	}
	m.Unread = 0
	m.losses(s, add)
	for dir, what := range s.damage {
		add(causeDamaged, dir, "step %s is damaged: %s", dir, what)
	}
	m.moves(s, now, r)
	m.Ended = s.outcome == "done" || s.outcome == "stopped" || s.outcome == "failed"
	if s.outcome == "failed" && !m.Old {
		add(causeFailed, "attempt "+strconv.Itoa(s.attempt), "attempt %d failed: %s", s.attempt, excerpt(s.errorEnd))
	}
	if still := now.Sub(m.Moved); !m.Ended && !m.Old && (s.journal || m.Moving) && still > r.threshold(s.usual) {
		add(causeStall, "", "no new step for %v; the last one is %d", still.Round(time.Second), s.progress())
	}
	for key, a := range active {
		a.Step = max(s.progress(), 0)
		active[key] = a
	}
	m.reconcile(active, now)
}

// losses notices what is not there any more.
func (m *runMemory) losses(s *sight, add func(c cause, subject, format string, args ...any)) {
	if s.fresh && s.attempt > m.Attempt {
		m.Newest, m.Lost, m.Tags, m.Aside = -1, nil, nil, s.aside // a start moved its steps aside, as it was told
	}
	if m.Lost == nil {
		m.Lost = map[int64]bool{}
	}
	if m.Seen && s.newest() < m.Newest {
		m.Lost[m.Newest] = false
	}
	for _, step := range m.Tags { // of the look before
		if !slices.Contains(s.steps, step) {
			m.Lost[step] = true
		}
	}
	// A step that comes back, or that the run has done again and passed, is not lost any more.
	maps.DeleteFunc(m.Lost, func(step int64, tagged bool) bool {
		return slices.Contains(s.steps, step) || s.newest() >= step && !tagged
	})
	for step := range m.Lost {
		add(causeLost, strconv.FormatInt(step, 10), "step %d is not there any more", step)
	}
	for _, name := range s.missing {
		add(causeLost, name, "a signed step is missing: %s", name)
	}
	for _, name := range s.aside {
		if m.Seen && !slices.Contains(m.Aside, name) {
			add(causeLost, name, "a step was set aside: %s", name)
		}
	}
	m.Newest = s.newest()
	if !m.Seen {
		m.Aside = s.aside
	}
	m.Tags = slices.Sorted(maps.Keys(s.tags))
}

// moves notices whether the run goes on.
func (m *runMemory) moves(s *sight, now time.Time, r rules) {
	switch at := s.progress(); {
	case !m.Seen:
		m.Moved = s.sign()
		if m.Moved.IsZero() || m.Moved.After(now) {
			m.Moved = now
		}
		m.Old = now.Sub(m.Moved) > r.since
	case at != m.Step || s.attempt != m.Attempt:
		// The clock of the trainer may differ, so the time of the look counts.
		m.Moved, m.Moving, m.Old = now, true, false
	}
	m.Step, m.Attempt, m.Seen = s.progress(), s.attempt, true
}

// gone notices that the run is not there any more.
func (m *runMemory) gone(run string, now time.Time) {
	active := map[string]alert{}
	if m.Seen && !m.Ended && !m.Old && m.Moving {
		active[string(causeLost)+" run"] = alert{Version: 1, Cause: causeLost, Run: run, Step: max(m.Step, 0),
			Message: "the run was removed before it had ended"}
	}
	m.reconcile(active, now)
	for _, t := range m.Open {
		t.Final = t.Over.IsZero()
	}
}

// reconcile opens the alerts that are new in active, and ends those that are not in it any more.
func (m *runMemory) reconcile(active map[string]alert, now time.Time) {
	for key, a := range active {
		t := m.Open[key]
		if t == nil {
			a.Began = now
			if m.Open == nil {
				m.Open = map[string]*told{}
			}
			m.Open[key] = &told{Alert: a}
			continue
		}
		if !t.Over.IsZero() { // it is there again before everybody was told that it was over
			for channel := range t.Ended {
				delete(t.Begun, channel)
			}
			t.Over, t.Ended = time.Time{}, nil
		}
		began := t.Alert.Began
		t.Alert = a
		t.Alert.Began = began
	}
	for key, t := range m.Open {
		if _, ok := active[key]; !ok && t.Over.IsZero() {
			t.Over = now
		}
	}
}

// due returns the alerts that a channel must be told, in the order of their times and keys. take is
// called after each one that was told.
func (m *runMemory) due(channel string, now time.Time) (list []alert, take []func()) {
	keys := slices.SortedFunc(maps.Keys(m.Open), func(a, b string) int {
		return cmp.Or(m.Open[a].Alert.Began.Compare(m.Open[b].Alert.Began), cmp.Compare(a, b))
	})
	for _, key := range keys {
		t := m.Open[key]
		a := t.Alert
		a.Time = now
		switch {
		case t.Over.IsZero() && !t.Begun[channel]:
			a.State = "begun"
			take = append(take, func() { mark(&t.Begun, channel) })
		case !t.Over.IsZero() && t.Begun[channel] && !t.Ended[channel]:
			a.State = "over"
			a.Message = "over: " + a.Message
			take = append(take, func() { mark(&t.Ended, channel) })
		default:
			continue
		}
		a.Text = fmt.Sprintf("%s: %s", a.Run, a.Message)
		list = append(list, a)
	}
	return list, take
}

// mark adds a channel to those that were told.
func mark(set *map[string]bool, channel string) {
	if *set == nil {
		*set = map[string]bool{}
	}
	(*set)[channel] = true
}

// settle forgets the alerts of which everybody was told everything.
func (m *runMemory) settle(channels []string) {
	maps.DeleteFunc(m.Open, func(_ string, t *told) bool {
		return !slices.ContainsFunc(channels, func(c string) bool {
			return t.Final && !t.Begun[c] || !t.Final && (t.Over.IsZero() || t.Begun[c] && !t.Ended[c])
		})
	})
}

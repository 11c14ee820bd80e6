package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/bivouac-ml/bivouac/errs"
)

// root is what the member of rank 0 knows of the others. All of it is in the documents: a new
// process of rank 0 goes on where the old one was.
type root struct {
	seats   map[int]seen
	round   round
	version string // of the round
	loaded  bool
	swept   bool
}

type seen struct {
	version string
	seat    *seat // nil if it is of another epoch
}

func newRoot(world int) *root {
	return &root{seats: map[int]seen{}, round: round{Version: version, Roster: make([]place, world)}}
}

// lead looks at all seats and writes the round.
func (m *Member) lead(ctx context.Context) (busy, news bool, err error) {
	if !m.root.loaded {
		if err := m.loadRound(ctx); err != nil {
			return true, false, err
		}
	}
	m.mu.Lock()
	waits := !m.isJoined || len(m.keys) > 0
	m.mu.Unlock()
	if err := m.look(ctx); err != nil {
		return true, false, err
	}
	if !m.root.swept {
		if err := m.sweepParts(ctx); err != nil {
			return true, false, err
		}
		m.root.swept = true
	}
	next, changed := settle(m.root.round, m.current(), m.o.World)
	if changed || m.root.version == "" || next.Root != m.self.Incarnation {
		next.Epoch, next.Root, next.Beat = m.epoch, m.self.Incarnation, next.Beat+1
		if err := m.publish(ctx, next); err != nil || m.why() != nil {
			return true, false, err
		}
		changed = true
	}
	m.deliver(&m.root.round)
	for _, e := range m.root.round.Open {
		waits = waits || len(e.Values) > 0 && !e.Done
	}
	return waits, changed, nil
}

// loadRound reads the round that an earlier process of rank 0 has left.
func (m *Member) loadRound(ctx context.Context) error {
	var doc Document
	err := m.once(ctx, func(ctx context.Context) (err error) {
		doc, err = m.Get(ctx, roundKey)
		return err
	})
	if errs.KindOf(err) == errs.NotFound {
		m.root.version, m.root.loaded = "", true
		return nil
	}
	if err != nil {
		return err
	}
	r := round{}
	if err := m.decode("cluster", doc, &r); err != nil {
		return err
	}
	m.root.version, m.root.loaded = doc.Version, true
	if r.Epoch == m.epoch && len(r.Roster) == m.o.World {
		m.root.round = r
	}
	return nil
}

// publish writes the round.
func (m *Member) publish(ctx context.Context, r round) error {
	err := m.once(ctx, func(ctx context.Context) error {
		v, err := m.Put(ctx, roundKey, encode(r), m.root.version)
		if err == nil {
			m.root.version, m.root.round = v, r
		}
		return err
	})
	if !errors.Is(err, ErrChanged) {
		return err
	}
	// A request of this member whose reply was lost, or another process of rank 0.
	m.root.loaded = false
	return m.lookAtSeat(ctx, seatKey(m.o.Rank))
}

// loads is how many seats are read at once.
const loads = 16

// look reads the seats that have changed.
func (m *Member) look(ctx context.Context) error {
	var docs []Document
	err := m.once(ctx, func(ctx context.Context) (err error) {
		docs, err = m.List(ctx, seatPrefix)
		return err
	})
	if err != nil {
		return err
	}
	there := map[int]bool{}
	type reading struct {
		rank int
		doc  Document
		seat *seat
		err  error
	}
	var fresh []*reading
	for _, d := range docs {
		rank, ok := rankOf(d.Key)
		if !ok || rank >= m.o.World {
			continue
		}
		there[rank] = true
		if m.root.seats[rank].version != d.Version {
			fresh = append(fresh, &reading{rank: rank, doc: d})
		}
	}
	var wait sync.WaitGroup
	turn := make(chan struct{}, loads)
	for _, r := range fresh {
		if r.doc.Value != nil {
			r.seat = &seat{}
			r.err = m.decode("cluster", r.doc, r.seat)
			continue
		}
		turn <- struct{}{}
		wait.Go(func() {
			defer func() { <-turn }()
			r.err = m.once(ctx, func(ctx context.Context) (err error) {
				r.doc, err = m.Get(ctx, r.doc.Key)
				return err
			})
			if r.err == nil {
				r.seat = &seat{}
				r.err = m.decode("cluster", r.doc, r.seat)
			}
		})
	}
	wait.Wait()
	for _, r := range fresh {
		switch {
		case errs.KindOf(r.err) == errs.NotFound:
			delete(there, r.rank)
		case r.err != nil:
			return r.err
		default:
			m.root.seats[r.rank] = seen{r.doc.Version, r.seat}
		}
	}
	maps.DeleteFunc(m.root.seats, func(rank int, _ seen) bool { return !there[rank] })
	return nil
}

// current returns the seats of the members, by rank; nil where nobody sits.
func (m *Member) current() []*seat {
	out := make([]*seat, m.o.World)
	for rank, s := range m.root.seats {
		if s.seat != nil && s.seat.Epoch == m.epoch {
			out[rank] = s.seat
		}
	}
	return out
}

// sweepParts removes the parts of values whose writers are not there any more.
func (m *Member) sweepParts(ctx context.Context) error {
	docs, err := m.list(ctx, "cluster", partPrefix)
	if err != nil {
		return err
	}
	present := map[string]bool{}
	for _, s := range m.current() {
		if s != nil {
			present[s.Incarnation] = true
		}
	}
	for _, d := range docs {
		if present[ownerOf(d.Key)] {
			continue
		}
		if err := m.drop(ctx, "cluster", d.Key, ""); err != nil {
			return err
		}
	}
	return nil
}

// settle computes the next round from what the members say.
//
// A release stays while a member lists one of its arrivals: so every member finds it, and no
// arrival counts twice. A member that comes to the key again has another nonce.
func settle(r round, seats []*seat, world int) (next round, changed bool) {
	next = r
	next.Roster, next.Open = make([]place, world), nil
	for rank, s := range seats {
		switch {
		case s != nil:
			next.Roster[rank] = place{s.who, s.Refused}
		case rank < len(r.Roster) && r.Roster[rank].Refused != "":
			next.Roster[rank] = place{} // it was told to those who waited
		}
	}
	released := map[string]bool{}
	for _, e := range r.Open {
		if len(e.Of) != world || !listed(e, seats) {
			changed = true
			continue
		}
		if !e.Done && have(e, seats) {
			e.Done, changed = true, true
		}
		for _, n := range e.Of {
			released[n] = true
		}
		next.Open = append(next.Open, e)
	}
	for rank, s := range seats {
		for i := 0; s != nil && i < len(s.Open); i++ {
			if a := s.Open[i]; a.Withdrawn && !released[a.Nonce] {
				e := release{Key: a.Key, Of: make([]string, world), Withdrawn: true}
				e.Of[rank] = a.Nonce
				next.Open, changed = append(next.Open, e), true
			}
		}
	}
	if seats[0] != nil {
		for _, a := range seats[0].Open {
			if released[a.Nonce] || a.Withdrawn {
				continue
			}
			if e, ok := gather(a.Key, seats, released); ok {
				next.Open, changed = append(next.Open, e), true
			}
		}
	}
	return next, changed || !slices.Equal(next.Roster, r.Roster)
}

// listed reports whether a member still lists an arrival of a release.
func listed(e release, seats []*seat) bool {
	for rank, n := range e.Of {
		if seats[rank].find(n) != nil {
			return true
		}
	}
	return false
}

// have reports whether all members have the values of a release.
func have(e release, seats []*seat) bool {
	for rank, n := range e.Of {
		if a := seats[rank].find(n); a != nil && !a.Got {
			return false
		}
	}
	return true
}

// gather makes the release of a key to which all members have come.
func gather(key string, seats []*seat, released map[string]bool) (e release, ok bool) {
	came := make([]*arrival, len(seats))
	e = release{Key: key, Of: make([]string, len(seats))}
	for rank, s := range seats {
		if s == nil || s.Refused != "" {
			return e, false
		}
		for i := range s.Open {
			if a := &s.Open[i]; a.Key == key && !a.Withdrawn && !released[a.Nonce] {
				came[rank], e.Of[rank] = a, a.Nonce
			}
		}
		if came[rank] == nil {
			return e, false
		}
	}
	first := came[0]
	for rank, a := range came {
		if a.Kind != first.Kind {
			e.Failure = fmt.Sprintf("%s calls %s, %s calls %s", seats[0].at(), first.Kind, seats[rank].at(), a.Kind)
			return e, true
		}
		if a.From != first.From {
			e.Failure = fmt.Sprintf("%s expects the value of rank %d, %s of rank %d", seats[0].at(), first.From,
				seats[rank].at(), a.From)
			return e, true
		}
	}
	switch first.Kind {
	case kindBroadcast:
		came = came[first.From : first.From+1]
	case kindAgree:
		for rank, a := range came {
			if a.Value == nil || first.Value == nil || a.Value.Sum != first.Value.Sum || a.Value.Size != first.Value.Size {
				e.Failure = fmt.Sprintf("%s has %s, %s has %s", seats[0].at(), first.Value, seats[rank].at(), a.Value)
				return e, true
			}
		}
		return e, true // each member has the value
	case kindBarrier:
		return e, true
	}
	for _, a := range came {
		if a.Value == nil {
			e.Failure, e.Values = "a member brings no value", nil
			return e, true
		}
		e.Values = append(e.Values, *a.Value)
	}
	return e, true
}

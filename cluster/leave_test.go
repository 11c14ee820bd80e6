package cluster

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
)

// leaving is a last member that leaves, and what it finds or meets.
type leaving struct {
	before func(b Board, epoch string) // is done before Close
	at     string                      // the request before which the next happens; empty: none
	do     func(b Board, epoch string)
	again  bool // do is done before each of these requests
	left   string
	kind   errs.Kind // of the error of Close
}

// What the last member leaves behind, and whether Close says that something is wrong.
func TestCloseMeetsOthers(t *testing.T) {
	const stays, comes = "job member/000000 round", "job member/000003 round"
	put := func(key string, document any) func(Board, string) {
		return func(b Board, _ string) { set(t, b, key, document) }
	}
	gone := func(key string) func(Board, string) { return func(b Board, _ string) { remove(t, b, key) } }
	another := func(b Board, epoch string) { set(t, b, seatKey(3), seated(epoch, 3, "b")) }
	closes := func(b Board, _ string) { mark(t, b) }
	changes := func(b Board, _ string) { set(t, b, jobKey, jobOf(t, b)) }
	garbage := []byte("<html>")
	for name, c := range map[string]leaving{
		"nothing":                   {},
		"no seat":                   {before: gone(seatKey(0))},
		"garbage in its seat":       {before: put(seatKey(0), garbage), left: stays, kind: errs.Corrupt},
		"another in its seat":       {before: put(seatKey(0), seated("old", 0, "b")), left: stays},
		"no job":                    {before: gone(jobKey), left: "round"},
		"garbage as the job":        {before: put(jobKey, garbage), left: "job round", kind: errs.Corrupt},
		"another job":               {before: put(jobKey, jobNamed("j", "next")), left: "job round"},
		"another one that closes":   {before: closes, left: "job round"},
		"another member":            {before: another, left: comes},
		"garbage in a seat":         {before: put(seatKey(3), garbage), left: comes, kind: errs.Corrupt},
		"a seat of an old job":      {before: put(seatKey(3), seated("old", 3, "b")), left: "member/000003"},
		"garbage as the round":      {before: put(roundKey, garbage), left: "job round", kind: errs.Corrupt},
		"no round":                  {before: gone(roundKey)},
		"the round of the next job": {before: put(roundKey, round{Version: version, Epoch: "next"}), left: "round"},
		"a job that changes":        {at: "Put job", do: changes, left: "job round"},
		"a member that comes":       {at: "Put job", do: another, left: comes},
		"a member that comes, and opens the job": {at: "Put job", again: true, do: func(b Board, epoch string) {
			if j := jobOf(t, b); j.Closing {
				j.Closing = false
				set(t, b, jobKey, j)
			}
			another(b, epoch)
		}, left: comes},
		"its own sign of life, late": {at: "Delete " + seatKey(0), do: func(b Board, _ string) {
			d, err := b.Get(t.Context(), seatKey(0))
			if err == nil {
				_, err = b.Put(t.Context(), d.Key, d.Value, d.Version)
			}
			if err != nil {
				t.Error(err)
			}
		}},
		"another process at that moment": {at: "Delete " + seatKey(0), do: put(seatKey(0), seated("old", 0, "b")), left: stays},
		"a seat that goes":               {before: another, at: "Get " + seatKey(3), do: gone(seatKey(3))},
	} {
		for _, bare := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s,bare=%v", name, bare), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					view := &script{Board: InProcess(), t: t, bare: bare}
					m, err := Join(t.Context(), view, short(0, 1))
					if err != nil {
						t.Fatal(err)
					}
					c.close(t, view, m)
				})
			})
		}
	}
}

func (c leaving) close(t *testing.T, view *script, m *Member) {
	t.Helper()
	part := partKey(m.self.Incarnation, "n", 0)
	set(t, view.Board, part, []byte("x"))
	if c.before != nil {
		c.before(view.Board, m.epoch)
	}
	done := false
	view.act(func(r request) error {
		if r.String() == "Delete "+seatKey(0) && slices.Contains(keys(t, view.Board), part) {
			t.Error("the parts outlive the seat")
		}
		if c.at != "" && strings.HasPrefix(r.String(), c.at) && (!done || c.again) {
			done = true
			c.do(view.Board, m.epoch)
		}
		return nil
	})
	n := view.asked()
	err := m.Close()
	if err != nil && c.kind == errs.Other || errs.KindOf(err) != c.kind {
		t.Errorf("want an error of kind %v, got %v", c.kind, err)
	}
	left := keys(t, view.Board)
	if got := strings.Join(left, " "); got != c.left && (c.at == "" || !strings.HasPrefix(c.at, "Get ") || view.bare) {
		t.Errorf("%q is left over, want %q; all: %v", got, c.left, view.since(n))
	}
	if !slices.Contains(left, jobKey) || c.kind != errs.Other {
		return
	}
	if j := jobOf(t, view.Board); j.Closing && view.times(n, "Put job") > 0 {
		t.Error("the job is still marked")
	} else if j.Epoch != m.epoch && view.times(n, "Put job") > 0 {
		t.Error("the next job was changed")
	} else if c.at == "" && view.times(n, "Put job") > 0 {
		t.Error("the job was changed")
	}
}

// A process that takes its seat in a job whose last member is about to go does not stay there.
func TestJobThatEndsIsNotJoined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		view := &script{Board: InProcess(), t: t}
		looks, last := 0, 0
		view.act(func(r request) error {
			switch r.String() {
			case "Put " + seatKey(0):
				if last == 0 {
					mark(t, view.Board)
					last = looks + 2
				}
			case "Get job":
				if looks++; looks == last { // the one that looks sees the mark; then the job is gone
					remove(t, view.Board, jobKey)
				}
			}
			return nil
		})
		m, err := Join(t.Context(), view, short(0, 1))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if err := m.Err(); err != nil || jobOf(t, view.Board).Epoch != m.epoch {
			t.Error(err)
		}
		closeAll(t, m)
	})
}

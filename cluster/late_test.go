package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
)

// The error of a call whose time is over says what is known of each missing member, and names no
// other one.
func TestWhoIsLate(t *testing.T) {
	waiting := func(s seat, key string) seat {
		s.Open = []arrival{{Kind: kindBarrier, Key: key, Nonce: key}}
		return s
	}
	beaten := func(s seat) seat { s.Beat++; return s }
	a, b := seated("e", 0, "a"), seated("e", 1, "b")
	refused := b
	refused.Refused = "it has another batch"
	const process = " on h (process 7, since 0001-01-01T00:00:00Z)"
	const rank0, rank1 = "rank 0" + process, "rank 1" + process
	const missing = "not all have come: "
	for name, c := range map[string]struct {
		rank, world int
		key         string
		early, now  map[string]any // documents at the first look, if there is one, and at the end
		want        string
	}{
		"nobody": {0, 3, "k", nil, nil, missing + "rank 1 has not joined; rank 2 has not joined"},
		"many": {0, 12, "k", nil, nil, missing + "rank 1 has not joined; rank 2 has not joined; rank 3 has not joined; " +
			"rank 4 has not joined; rank 5 has not joined; rank 6 has not joined; rank 7 has not joined; " +
			"rank 8 has not joined; 3 more"},
		"all in Join": {1, 2, "", nil, map[string]any{seatKey(0): a},
			"all have come, but rank 0 has not answered: " + rank0 + " is at no barrier"},
		"one in Join":     {0, 2, "", nil, nil, missing + "rank 1 has not joined"},
		"refused in Join": {0, 2, "", nil, map[string]any{seatKey(1): refused}, missing + rank1 + " was refused: it has another batch"},
		"refused":         {0, 2, "k", nil, map[string]any{seatKey(1): waiting(refused, "k")}, missing + rank1 + " was refused: it has another batch"},
		"of an old job":   {0, 2, "k", nil, map[string]any{seatKey(1): waiting(seated("old", 1, "b"), "k")}, missing + "rank 1 has not joined"},
		"garbage":         {0, 2, "k", nil, map[string]any{seatKey(1): []byte("<")}, missing + "rank 1 has not joined"},
		"a copy": {0, 2, "k", nil, map[string]any{seatKey(1): b, "member/000001~": waiting(b, "k")},
			missing + rank1 + " is at no barrier"},
		"a copy of rank 0": {1, 2, "k", nil, map[string]any{seatKey(0): a, "member/x": waiting(a, "k")},
			missing + rank0 + " is at no barrier"},
		"at no barrier": {0, 2, "k", nil, map[string]any{seatKey(1): b}, missing + rank1 + " is at no barrier"},
		"at another":    {0, 2, "k", nil, map[string]any{seatKey(1): waiting(b, "l")}, missing + rank1 + ` waits at "l"`},
		"has come": {1, 2, "k", nil, map[string]any{seatKey(0): waiting(a, "k")},
			"all have come, but rank 0 has not answered: " + rank0 + ` waits at "k"`},
		"gave up just now": {1, 2, "k", map[string]any{seatKey(0): waiting(a, "k")}, map[string]any{seatKey(0): beaten(a)},
			"all have come, but rank 0 has not answered: " + rank0 + ` waits at "k"`},
		"went on meanwhile": {1, 2, "k", map[string]any{seatKey(0): waiting(a, "k")},
			map[string]any{seatKey(0): waiting(beaten(a), "l")}, "all have come, but rank 0 has not answered: " + rank0 + ` waits at "l"`},
		"was elsewhere": {0, 2, "k", map[string]any{seatKey(1): waiting(b, "l")}, map[string]any{seatKey(1): beaten(b)},
			missing + rank1 + ` waits at "l"`},
		"another process by now": {0, 2, "k", map[string]any{seatKey(1): waiting(seated("e", 1, "c"), "k")},
			map[string]any{seatKey(1): b}, missing + rank1 + " is at no barrier"},
		"silent": {0, 2, "k", map[string]any{seatKey(1): b}, map[string]any{seatKey(1): b},
			missing + rank1 + " gives no sign of life (for 6s at least)"},
		"has left":  {0, 2, "k", map[string]any{seatKey(1): b}, nil, missing + "rank 1 has not joined"},
		"came late": {0, 2, "k", map[string]any{}, map[string]any{seatKey(1): b}, missing + rank1 + " is at no barrier"},
	} {
		for _, bare := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s,bare=%v", name, bare), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					view := &script{Board: InProcess(), t: t, bare: bare}
					m := newMember(view, short(c.rank, c.world))
					m.epoch = "e"
					var early *glance
					if c.key != "" {
						for key, d := range c.early {
							set(t, view.Board, key, d)
						}
						if c.early == nil {
							view.act(func(request) error { return injected(errs.Permission) }) // no answer: no look
						}
						ctx, cancel := context.WithTimeout(t.Context(), m.o.Lease)
						defer cancel()
						early = m.soon(ctx)
						defer early.stop()
						<-ctx.Done()
						view.act(nil)
					}
					for key := range c.early {
						remove(t, view.Board, key)
					}
					for key, d := range c.now {
						set(t, view.Board, key, d)
					}
					err := m.late(t.Context(), "cluster.Barrier", c.key, early, nil)
					wants(t, err, errs.Canceled)
					var e *errs.Error
					if !errors.As(err, &e) || e.Got != c.want {
						t.Errorf("got  %s\nwant %s", e.Got, c.want)
					}
					if want := c.key; want == "" && e.Subject != "script" || want != "" && e.Subject != want {
						t.Errorf("the subject is %q", e.Subject)
					}
				})
			})
		}
	}
}

// A seat that goes between the list and the look at it is nobody's.
func TestLateSeatGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		view := &script{Board: InProcess(), t: t, bare: true}
		m := newMember(view, short(0, 2))
		m.epoch = "e"
		set(t, view.Board, seatKey(1), seated("e", 1, "b"))
		view.act(once("Get "+seatKey(1), func() { remove(t, view.Board, seatKey(1)) }))
		wants(t, m.late(t.Context(), "cluster.Barrier", "k", nil, nil), errs.Canceled, "rank 1 has not joined")
	})
}

// A member that can read, but not write, does not miss itself.
func TestLateAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		view := &script{Board: InProcess(), t: t}
		o := short(0, 1)
		o.Deadline = 20 * time.Second
		m, err := Join(t.Context(), view, o)
		if err != nil {
			t.Fatal(err)
		}
		view.act(func(r request) error {
			if r.op == "Put" {
				return injected(errs.IO)
			}
			return nil
		})
		err = m.Barrier(t.Context(), "k")
		wants(t, err, errs.Canceled, "all have come, but rank 0 has not answered: rank 0 on h", "injected")
		view.act(nil)
		closeAll(t, m)
	})
}

// How a process does not fit into a job.
func TestDiffers(t *testing.T) {
	terms := map[string]string{"batch": "64", "note": ""}
	for name, c := range map[string]struct {
		terms map[string]string
		want  string
	}{
		"the same":       {map[string]string{"batch": "64", "note": ""}, ""},
		"another value":  {map[string]string{"batch": "32", "note": ""}, `rank 0 on h: batch: mismatch: want "64", as rank 0 on h has, got "32"`},
		"one lacks":      {map[string]string{"note": ""}, `batch: mismatch: want "64", as rank 0 on h has, got no such option`},
		"an empty lacks": {map[string]string{"batch": "64"}, `note: mismatch: want "", as rank 0 on h has, got no such option`},
		"an empty more": {map[string]string{"batch": "64", "note": "", "seed": ""},
			`seed: mismatch: want no such option, as rank 0 on h has none, got ""`},
	} {
		m := newMember(InProcess(), short(0, 1))
		m.o.Terms = c.terms
		j := jobNamed("j", "e")
		j.Terms = terms
		err := m.differs(&j)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: want %q, got %v", name, c.want, err)
		}
	}
}

// What is no document, or of another version, is told apart.
func TestDecode(t *testing.T) {
	d := desk{Board: InProcess()}
	for text, c := range map[string]struct {
		kind errs.Kind
		want string
	}{
		"":                             {errs.Corrupt, `got ""`},
		"{}":                           {errs.Corrupt, "see which other program writes there"},
		`{"version":2}`:                {errs.Unsupported, "give all members the same version of Bivouac"},
		`{"version":-1}`:               {errs.Unsupported, "got version -1"},
		`{"version":"1"}`:              {errs.Corrupt, "memory: job"},
		"\xff":                         {errs.Corrupt, `got "?"`},
		strings.Repeat("x", 60):        {errs.Corrupt, `got "` + strings.Repeat("x", 60) + `": `},
		strings.Repeat("x", 1000):      {errs.Corrupt, `got "` + strings.Repeat("x", 60) + `" …: `},
		string(encode(job{})) + "tail": {errs.Corrupt, "memory: job"},
	} {
		err := d.decode("cluster.Join", Document{Key: jobKey, Value: []byte(text)}, &job{})
		wants(t, err, c.kind, c.want)
	}
	if err := d.decode("cluster.Join", Document{Value: encode(jobNamed("j", "e"))}, &job{}); err != nil {
		t.Error(err)
	}
	defer func() {
		if recover() == nil {
			t.Error("what has no JSON form is a document")
		}
	}()
	encode(func() {})
}

// Members of another program that bring no value are told apart from those that bring one.
func TestValuesThatLack(t *testing.T) {
	some := &value{Size: 1, Sum: "s", Inline: []byte("x")}
	for _, c := range []struct {
		kind string
		of   [2]*value
		want string
	}{
		{kindAgree, [2]*value{some, nil}, `rank 0 on h has "x", rank 1 on h has no value`},
		{kindAgree, [2]*value{nil, some}, `rank 0 on h has no value, rank 0 on h has no value`},
		{kindGather, [2]*value{some, nil}, "a member brings no value"},
		{kindGather, [2]*value{some, some}, ""},
		{kindAgree, [2]*value{some, some}, ""},
	} {
		var seats []*seat
		for rank, v := range c.of {
			s := seated("e", rank, fmt.Sprint(rank))
			s.Open = []arrival{{Kind: c.kind, Key: "k", Nonce: fmt.Sprint("n", rank), Value: v}}
			seats = append(seats, &s)
		}
		next, changed := settle(round{}, seats, 2)
		if !changed || len(next.Open) != 1 || next.Open[0].Failure != c.want {
			t.Errorf("%s: %+v", c.kind, next.Open)
		}
	}
}

package cluster

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
)

// What a member makes of documents that others have changed: it is fenced, and from then on it asks
// nothing of the board; or its calls fail, and it goes on.
func TestTamperedDocuments(t *testing.T) {
	garbage := []byte("<html>It works!</html>")
	next := jobNamed("k", "next")
	for name, c := range map[string]struct {
		do   func(b Board, epoch string)
		want string // in the error with which the member is fenced; empty: it is not
	}{
		"no seat": {func(b Board, _ string) { remove(t, b, seatKey(0)) }, "the document of this member was removed"},
		"another process in its seat": {func(b Board, epoch string) { set(t, b, seatKey(0), seated(epoch, 0, "b")) },
			"rank 0 on h (process 7, since"},
		"garbage in its seat": {func(b Board, _ string) { set(t, b, seatKey(0), garbage) }, ""},
		"no job":              {func(b Board, _ string) { remove(t, b, jobKey) }, "the document of the job was removed"},
		"another job":         {func(b Board, _ string) { set(t, b, jobKey, next) }, `the job "k", begun by rank 0 on h`},
		"garbage as the job":  {func(b Board, _ string) { set(t, b, jobKey, garbage) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				view := &script{Board: InProcess(), t: t}
				o := short(0, 1)
				o.Deadline = time.Hour
				m, err := Join(t.Context(), view, o)
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Second)
				c.do(view.Board, m.epoch)
				n := view.asked()
				time.Sleep(o.beat())
				if c.want == "" {
					wants(t, m.Barrier(t.Context(), "k"), errs.Corrupt, "It works!")
					if m.Err() != nil {
						t.Error(m.Err())
					}
					err := m.Close()
					wants(t, err, errs.Corrupt, "It works!")
					return
				}
				wants(t, m.Err(), errs.Closed, c.want)
				if strings.Contains(name, "job") && view.times(n, "Put") > 0 {
					t.Errorf("it writes into another job: %v", view.since(n))
				}
				silent(t, view, m, ErrFenced)
			})
		})
	}
}

// silent checks that the calls of a member that has ended fail, and ask nothing of the board.
func silent(t *testing.T, view *script, m *Member, want error) {
	t.Helper()
	n, began, big := view.asked(), time.Now(), make([]byte, 3<<20)
	ctx := context.Background()
	_, gatherErr := m.Gather(ctx, "k", big)
	_, broadcastErr := m.Broadcast(ctx, "k", 0, big)
	_, acquireErr := m.Acquire(ctx, "writer")
	_, holderErr := m.Holder(ctx, "writer")
	barrierErr, agreeErr := m.Barrier(ctx, "k"), m.Agree(ctx, "k", nil)
	for _, err := range []error{barrierErr, agreeErr, gatherErr, broadcastErr, acquireErr, holderErr} {
		if want != nil && !errors.Is(err, want) || errs.KindOf(err) != errs.Closed {
			t.Errorf("want %v, got %v", want, err)
		}
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	if all := view.since(n); len(all) > 0 || time.Since(began) > 0 {
		t.Errorf("it took %v and asked %v", time.Since(began), all)
	}
}

func TestClosedMemberIsSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		view := &script{Board: InProcess(), t: t}
		m, err := Join(t.Context(), view, short(0, 1))
		if err != nil {
			t.Fatal(err)
		}
		closeAll(t, m)
		silent(t, view, m, nil)
	})
}

// A call whose context has ended asks nothing.
func TestCanceledCallIsSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		view := &script{Board: InProcess(), t: t}
		m, err := Join(t.Context(), view, short(0, 1))
		if err != nil {
			t.Fatal(err)
		}
		l, err := m.Acquire(t.Context(), "writer")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		n, began := view.asked(), time.Now()
		wants(t, m.Barrier(ctx, "k"), errs.Canceled, "k")
		_, err = m.Broadcast(ctx, "k", 0, make([]byte, 3<<20))
		wants(t, err, errs.Canceled, "k")
		wants(t, l.Check(ctx), errs.Canceled, "writer")
		synctest.Wait()
		if all := view.since(n); len(all) > 0 || time.Since(began) > 0 {
			t.Errorf("it took %v and asked %v", time.Since(began), all)
		}
		closeAll(t, m)
	})
}

// A fence ends a member, and its leases, once.
func TestFenceOnce(t *testing.T) {
	m, stops := newMember(InProcess(), short(0, 1)), 0
	m.stop = func() { stops++ }
	l := &Lease{m: m, ended: make(chan struct{}), stop: func() { stops++ }}
	m.leases[l] = true
	first := errors.New("first")
	m.fence(first)
	m.fence(errors.New("second"))
	if m.why() != first || l.Err() != first || stops != 2 {
		t.Errorf("%v, %v, %d", m.why(), l.Err(), stops)
	}
}

// The mark of a job that closes is taken back even if the board fails once. A member that finds it
// taken back by another one tells no error.
func TestClosingIsTakenBackAtLast(t *testing.T) {
	for _, fails := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			view := &script{Board: InProcess(), t: t}
			o := short(0, 2)
			var told []error
			o.OnError = func(err error) { told = append(told, err) }
			set(t, view.Board, jobKey, job{Version: version, Epoch: "e", Name: "j", World: 2})
			set(t, view.Board, seatKey(1), seated("e", 1, "b"))
			m, err := Join(t.Context(), view, o)
			if err != nil {
				t.Fatal(err)
			}
			mark(t, view.Board)
			tries := 0
			view.act(func(r request) error {
				if r.String() != "Put job" {
					return nil
				}
				if tries++; tries == 1 && fails {
					return injected(errs.IO)
				} else if tries == 1 {
					j := jobOf(t, view.Board)
					j.Closing = false
					set(t, view.Board, jobKey, j)
				}
				return nil
			})
			ctx, cancel := context.WithTimeout(t.Context(), o.beat()+time.Second)
			defer cancel()
			wants(t, m.Barrier(ctx, "k"), errs.Canceled)
			if jobOf(t, view.Board).Closing {
				t.Error("the mark is still there")
			}
			closeAll(t, m)
			if fails != (len(told) == 1) || fails && !errors.Is(told[0], errInjected) {
				t.Errorf("told: %v", told)
			}
		})
	}
}

// A round that does not fit, of another job or of another program, is no answer.
func TestRoundsThatDoNotFit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMember(InProcess(), short(1, 2))
		m.epoch = "e"
		c := &call{arrival: arrival{Nonce: "n"}, answer: make(chan release, 1), done: make(chan struct{})}
		m.calls["n"] = c
		own, other := place{who: m.self}, place{who: seated("e", 0, "b").who}
		refused := place{who: other.who, Refused: "it does not fit"}
		for _, r := range []round{
			{Epoch: "e"},
			{Epoch: "e", Roster: []place{other}},
			{Epoch: "e", Roster: []place{other, {}}, Open: []release{{Of: []string{"x"}}, {}}},
			{Epoch: "old", Roster: []place{other, own}},
			{Epoch: "old", Roster: []place{refused, own}},
			{Epoch: "old", Roster: []place{other, own}, Open: []release{{Of: []string{"x", "n"}}}},
		} {
			m.deliver(&r)
			if m.isJoined || len(m.unjoined) > 0 || len(c.answer) > 0 || r.Epoch == "old" && m.known[0].Rank != 0 {
				t.Errorf("%+v is taken for an answer", r)
			}
		}
		m.deliver(&round{Epoch: "e", Roster: []place{other, own}, Open: []release{{Of: []string{"x", "n"}, Done: true}}})
		if !m.isJoined || len(c.answer) != 1 || !c.isDone {
			t.Error("an answer is not taken for one")
		}
	})
}

// Documents that only look like seats, such as copies, are nobody's.
func TestStrayDocuments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := InProcess()
		o := short(0, 2)
		set(t, b, jobKey, job{Version: version, Epoch: "e", Name: "j", World: 2})
		set(t, b, seatKey(1), seated("e", 1, "b"))
		waits := seated("e", 1, "b")
		waits.Open = []arrival{{Kind: kindBarrier, Key: "k", Nonce: "n"}}
		for _, key := range []string{"member/000001.copy", "member/-1", "member/x", "member/99999999999999999999"} {
			set(t, b, key, waits)
		}
		set(t, b, "member/000000~", []byte("<html>"))
		m, err := Join(t.Context(), b, o)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		wants(t, m.Barrier(ctx, "k"), errs.Canceled, "not all have come: rank 1 on h (process 7")
		closeAll(t, m)
	})
}

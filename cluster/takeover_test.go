package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
)

// aboard is what has become of a process that joined alone and left.
type aboard struct {
	epoch string
	took  time.Duration
}

// joinAlone joins as the only member, and leaves.
func joinAlone(t *testing.T, b Board, o Options) aboard {
	t.Helper()
	began := time.Now()
	m, err := Join(t.Context(), b, o)
	if err != nil {
		t.Error(err)
		return aboard{}
	}
	got := aboard{m.epoch, time.Since(began)}
	closeAll(t, m)
	return got
}

// How long a process waits before it takes the place of what it finds, and that it takes it.
func TestWhatJoinWaitsFor(t *testing.T) {
	closing := jobNamed("j", "old")
	closing.Closing = true
	refused := seated("old", 0, "a")
	refused.Refused = "it does not fit"
	patience := short(0, 1).patience()
	for name, c := range map[string]struct {
		docs map[string]any
		wait time.Duration
	}{
		"nothing":                    {nil, 0},
		"seats of an old job":        {map[string]any{seatKey(0): seated("old", 0, "a"), seatKey(5): seated("old", 5, "b")}, 0},
		"a job without members":      {map[string]any{jobKey: jobNamed("j", "old")}, 0},
		"a rank of an older job":     {map[string]any{jobKey: jobNamed("j", "old"), seatKey(0): seated("older", 0, "a")}, 0},
		"a rank that was refused":    {map[string]any{jobKey: jobNamed("j", "old"), seatKey(0): refused}, 0},
		"a rank that died":           {map[string]any{jobKey: jobNamed("j", "old"), seatKey(0): seated("old", 0, "a")}, patience},
		"a job that closes":          {map[string]any{jobKey: closing}, 0},
		"and one that was refused":   {map[string]any{jobKey: closing, seatKey(0): refused}, 0},
		"and one of an older job":    {map[string]any{jobKey: closing, seatKey(0): seated("older", 0, "a")}, 0},
		"and garbage, maybe its own": {map[string]any{jobKey: closing, seatKey(5): []byte("<html>")}, patience},
		"another job":                {map[string]any{jobKey: jobNamed("other", "old")}, patience},
		"another job that died":      {map[string]any{jobKey: jobNamed("other", "old"), seatKey(5): seated("old", 5, "a")}, patience},
		"another job, and garbage":   {map[string]any{jobKey: jobNamed("other", "old"), seatKey(5): []byte("<html>")}, patience},
		"garbage in place of a rank": {map[string]any{seatKey(5): []byte("<html>")}, 0},
	} {
		for _, bare := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s,bare=%v", name, bare), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					view := &script{Board: InProcess(), t: t, bare: bare}
					for key, d := range c.docs {
						set(t, view.Board, key, d)
					}
					got := joinAlone(t, view, short(0, 1))
					if got.took < c.wait || got.took > c.wait+2*time.Second {
						t.Errorf("it took %v, want %v", got.took, c.wait)
					}
					if n := view.times(0, "Get "+seatKey(5)); !bare && n > 0 {
						t.Errorf("it reads %d times what the list has told", n)
					}
					if left := keys(t, view.Board); len(left) > 0 {
						t.Errorf("%v are left over", left)
					}
				})
			})
		}
	}
}

// What happens at the worst moment while a process joins.
func TestJoinMeetsOthers(t *testing.T) {
	const dead = "a rank that died"
	for name, c := range map[string]struct {
		begin string                 // what is there: "" or dead
		at    string                 // the request before which it happens
		nth   int                    // of these requests, from 1
		do    func(b Board) []string // returns what must stay
		epoch string                 // of the job that the process is in; "": one of its own
		wait  time.Duration
	}{
		"the job closes behind the claim": {"", "Put " + seatKey(0), 1, func(b Board) []string { mark(t, b); return nil }, "", 0},
		"the job goes behind the claim":   {"", "Put " + seatKey(0), 1, func(b Board) []string { remove(t, b, jobKey); return nil }, "", 0},
		"a job of the same name begins behind the claim": {"", "Put " + seatKey(0), 1, func(b Board) []string {
			set(t, b, jobKey, jobNamed("j", "next"))
			return nil
		}, "next", 0},
		"a job begins while the old one is swept": {"", "List " + seatPrefix, 1, func(b Board) []string {
			set(t, b, jobKey, jobNamed("j", "next"))
			set(t, b, seatKey(3), seated("next", 3, "c"))
			return []string{seatKey(3)}
		}, "next", 0},
		"a job begins before the parts are listed": {"", "List " + partPrefix, 1, func(b Board) []string {
			set(t, b, jobKey, jobNamed("j", "next"))
			set(t, b, seatKey(3), seated("next", 3, "c"))
			set(t, b, partKey("c", "n", 0), []byte("x"))
			return []string{seatKey(3), partKey("c", "n", 0)}
		}, "next", 0},
		"a member comes while the old job is swept": {"", "List " + seatPrefix, 1, func(b Board) []string {
			set(t, b, seatKey(3), seated(jobOf(t, b).Epoch, 3, "c"))
			return []string{seatKey(3)}
		}, "", 0},
		"a seat goes while it is swept": {"leftovers", "Get " + seatKey(5), 1, func(b Board) []string {
			remove(t, b, seatKey(5))
			return nil
		}, "", 0},
		"a seat goes while a dying job is watched": {"another", "Get " + seatKey(5), 1, func(b Board) []string {
			remove(t, b, seatKey(5))
			return nil
		}, "", 9 * time.Second},
		"another takes the job": {"", "Put " + jobKey, 1, func(b Board) []string {
			set(t, b, jobKey, jobNamed("j", "next"))
			return nil
		}, "next", 0},
		"the rank of the next job is taken": {"", "Get " + seatKey(0), 1, func(b Board) []string {
			set(t, b, jobKey, jobNamed("j", "next"))
			set(t, b, seatKey(0), seated("next", 0, "c"))
			return nil
		}, "next", 9 * time.Second},
		"the rank is taken first": {"", "Put " + seatKey(0), 1, func(b Board) []string {
			set(t, b, seatKey(0), seated(jobOf(t, b).Epoch, 0, "c"))
			return nil
		}, "", 9 * time.Second},
		"the rank goes while it is watched": {dead, "Get " + seatKey(0), 4, func(b Board) []string {
			remove(t, b, seatKey(0))
			return nil
		}, "old", time.Second},
		"the rank goes once it has changed": {dead, "Get " + seatKey(0), 4, func(b Board) []string {
			set(t, b, seatKey(0), seated("old", 0, "a"))
			return nil
		}, "busy", time.Second},
		"another process has the rank": {dead, "Get " + seatKey(0), 4, func(b Board) []string {
			set(t, b, seatKey(0), seated("old", 0, "c"))
			return nil
		}, "old", 10 * time.Second},
		"the process of the rank is in the next job": {dead, "Get " + seatKey(0), 4, func(b Board) []string {
			set(t, b, jobKey, jobNamed("j", "next"))
			set(t, b, seatKey(0), seated("next", 0, "a"))
			return nil
		}, "next", 10 * time.Second},
		"the other job ends while it is watched": {"another", "Get " + jobKey, 4, func(b Board) []string {
			remove(t, b, jobKey)
			return nil
		}, "", time.Second},
		"this job begins while another is watched": {"another", "Get " + jobKey, 4, func(b Board) []string {
			set(t, b, jobKey, jobNamed("j", "next"))
			return nil
		}, "next", time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				view := &script{Board: InProcess(), t: t, bare: strings.HasPrefix(name, "a seat goes")}
				switch c.begin {
				case dead:
					set(t, view.Board, jobKey, jobNamed("j", "old"))
					set(t, view.Board, seatKey(0), seated("old", 0, "a"))
				case "another":
					set(t, view.Board, jobKey, jobNamed("other", "old"))
					set(t, view.Board, seatKey(5), seated("old", 5, "b"))
				case "leftovers":
					set(t, view.Board, seatKey(5), seated("old", 5, "b"))
				}
				var stay []string
				seen := 0
				view.before = func(r request) error {
					if r.String() == "Get "+seatKey(0) { // it has swept
						there := keys(t, view.Board)
						for _, key := range stay {
							if !slices.Contains(there, key) {
								t.Errorf("%s has gone", key)
							}
						}
						stay = nil
					}
					if strings.HasPrefix(r.String(), c.at) {
						if seen++; seen == c.nth {
							stay = c.do(view.Board)
						}
					}
					return nil
				}
				began := time.Now()
				m, err := Join(t.Context(), view, short(0, 1))
				took := time.Since(began)
				if took < c.wait-time.Second || took > c.wait+2*time.Second || seen < c.nth {
					t.Errorf("it took %v, want %v; all: %v", took, c.wait, view.all)
				}
				if c.epoch == "busy" {
					wants(t, err, errs.Busy, "one that lives: rank 0 on h")
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if now := jobOf(t, view.Board); m.epoch != now.Epoch || now.Closing || c.epoch != "" && now.Epoch != c.epoch {
					t.Errorf("the job is %q, the process is in %q, want %q", now.Epoch, m.epoch, c.epoch)
				}
				closeAll(t, m)
			})
		})
	}
}

// A job that is marked as closing, and has a member that lives, is not replaced.
func TestClosingJobThatLives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &script{Board: InProcess(), t: t}
		o := short(1, 2)
		old := jobNamed("j", "old")
		old.World = 2
		set(t, b, jobKey, old)
		mark(t, b)
		live := seated("old", 0, "a")
		set(t, b, seatKey(0), live)
		stop := make(chan struct{})
		go func() {
			defer close(stop)
			for range 20 {
				live.Beat++
				set(t, b, seatKey(0), live)
				time.Sleep(time.Second)
			}
		}()
		o.Deadline = 10 * time.Second
		_, err := Join(t.Context(), b, o)
		wants(t, err, errs.Canceled)
		if now := jobOf(t, b); now.Epoch != "old" {
			t.Error("the job was replaced")
		}
		<-stop
	})
}

// A process of another job asks, and changes nothing. One with other options tells the members that
// wait for it.
func TestRefusedProcess(t *testing.T) {
	for name, c := range map[string]struct {
		change func(o *Options)
		tells  bool
	}{
		"another job":         {func(o *Options) { o.Job = "other" }, false},
		"a rank beyond":       {func(o *Options) { o.World, o.Rank = 4, 3 }, false},
		"another world":       {func(o *Options) { o.World = 4 }, true},
		"a term that lacks":   {func(o *Options) { o.Terms = nil }, true},
		"another term beside": {func(o *Options) { o.Terms["b"] = "" }, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &script{Board: InProcess(), t: t}
				o := short(0, 2)
				o.Terms, o.Deadline = map[string]string{"a": ""}, 20*time.Second
				first := make(chan error, 1)
				go func() {
					_, err := Join(t.Context(), b, o)
					first <- err
				}()
				time.Sleep(time.Second)
				before := keys(t, b)
				own := o
				own.Rank, own.Terms = 1, map[string]string{"a": ""}
				c.change(&own)
				_, err := Join(t.Context(), b, own)
				if err == nil {
					t.Fatal("it has joined")
				}
				if after := keys(t, b); !c.tells && !slices.Equal(before, after) {
					t.Errorf("it has changed %v to %v", before, after)
				}
				want := errs.Canceled
				if c.tells {
					want = errs.Mismatch
				}
				wants(t, <-first, want)
				if left := keys(t, b); len(left) > 0 {
					t.Errorf("%v are left over", left)
				}
			})
		})
	}
}

// The error of a Join whose context ends says what it waited for.
func TestJoinIsCanceled(t *testing.T) {
	for name, c := range map[string]struct {
		docs map[string]any
		want []string
	}{
		"another job": {map[string]any{jobKey: jobNamed("other", "old"), seatKey(0): seated("old", 0, "a")},
			[]string{`"other"`, "begun by rank 0 on h"}},
		"a rank": {map[string]any{jobKey: job{Version: version, Epoch: "old", Name: "j", World: 3},
			seatKey(0): seated("old", 0, "a")}, []string{"rank 1 has not joined", "rank 2 has not joined"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &script{Board: InProcess(), t: t}
				for key, d := range c.docs {
					set(t, b, key, d)
				}
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second) // together with a look
				defer cancel()
				_, err := Join(ctx, b, short(0, 3))
				wants(t, err, errs.Canceled, c.want...)
			})
		})
	}
}

// A board whose round has no room for the members is refused before anything is written.
func TestJoinTooMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		view := &script{Board: InProcess(), t: t}
		_, err := Join(t.Context(), &small{view}, short(0, 5))
		wants(t, err, errs.Unsupported, "at most 4 members on this board")
		if all := view.since(0); len(all) > 0 {
			t.Errorf("it asked %v", all)
		}
	})
}

// small is a board of small documents.
type small struct{ Board }

func (b *small) Properties() Properties {
	p := b.Board.Properties()
	p.MaxValue = 4*placeBytes + 1
	return p
}

// What a process that joins and leaves alone asks, and nothing else.
func TestTraceOfAMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		view := &script{Board: InProcess(), t: t}
		joinAlone(t, view, short(0, 1))
		want := []string{
			"Get job", "Put job", // begins the job
			"List member/", "List part/", "Get job", // nothing is to be swept
			"Get member/000000", "Put member/000000", "Get job", // takes the seat
			"Get job", "Put member/000000", // the first sign of life
			"Get round", "List member/", "List part/", "Put round", // is all there is
			"List part/ID/", "Get member/000000", "Delete member/000000", "Get member/000000", // leaves the seat
			"List member/", "Get job", "Put job", "List member/", // and is the last
			"Get round", "Delete round", "Delete job",
		}
		var got []string
		for _, r := range view.all {
			text := r.String()
			if owner := ownerOf(r.key); strings.HasPrefix(r.key, partPrefix) && owner != "" {
				text = strings.Replace(text, owner, "ID", 1)
			}
			got = append(got, text)
		}
		if !slices.Equal(got, want) {
			t.Errorf("got\n%v\nwant\n%v", got, want)
		}
	})
}

package cluster

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
)

// crew is members that each have a view of one board.
type crew struct {
	t     *testing.T
	views []*script
	all   []*Member
}

func newCrew(t *testing.T, world int, change func(o *Options)) *crew {
	t.Helper()
	c, b := &crew{t: t}, InProcess()
	var boards []Board
	for range world {
		view := &script{Board: b, t: t, slow: time.Millisecond}
		c.views = append(c.views, view)
		boards = append(boards, &watching{script: view})
	}
	c.all = joinAll(t, boards, change)
	return c
}

// together calls f for all members at once, and returns how long each took, and its error.
func (c *crew) together(f func(rank int, m *Member) error) (took []time.Duration, failed []error) {
	took, failed = make([]time.Duration, len(c.all)), make([]error, len(c.all))
	began := time.Now()
	var wait sync.WaitGroup
	for rank, m := range c.all {
		wait.Go(func() {
			failed[rank] = f(rank, m)
			took[rank] = time.Since(began)
		})
	}
	wait.Wait()
	return took, failed
}

// asked counts the requests of a member for parts of values.
func (c *crew) asked(rank, from int, text string) int { return c.views[rank].times(from, text) }

// Values of any size come to all. Each part is written once by its owner, and read once by each
// other member. Nothing waits for a sign of life.
func TestValuesOfAnySize(t *testing.T) {
	const world = 3
	synctest.Test(t, func(t *testing.T) {
		c := newCrew(t, world, nil)
		part := c.all[0].partBytes()
		for _, sizes := range [][]int{{0, 0, 0}, {1, 4096, 2000}, {4097, 0, 9}, {part + 1, 5, part}, {0, 0, 3 * part}} {
			given := make([][]byte, world)
			parts := 0
			for rank, n := range sizes {
				if n > 0 {
					given[rank] = bytes.Repeat([]byte{byte('a' + rank)}, n) // nil if it is empty
				}
				if n > c.all[rank].inline() {
					parts += (n + part - 1) / part
				}
			}
			var from [world]int
			for rank := range from {
				from[rank] = c.views[rank].asked()
			}
			took, failed := c.together(func(rank int, m *Member) error {
				got, err := m.Gather(t.Context(), "k", given[rank])
				for i := range got {
					if !bytes.Equal(got[i], given[i]) {
						t.Errorf("%v: %d bytes of rank %d", sizes, len(got[i]), i)
					}
				}
				if err == nil && len(got) != world {
					t.Errorf("%v: %d values", sizes, len(got))
				}
				return err
			})
			puts := 0
			for rank := range failed {
				own := 0
				if sizes[rank] > c.all[rank].inline() {
					own = (sizes[rank] + part - 1) / part
				}
				gets := c.asked(rank, from[rank], "Get "+partPrefix)
				puts += c.asked(rank, from[rank], "Put "+partPrefix)
				if failed[rank] != nil || took[rank] > 200*time.Millisecond || gets != parts-own {
					t.Errorf("%v: rank %d: %v, %v, %d parts read, want %d", sizes, rank, took[rank], failed[rank], gets, parts-own)
				}
				for _, r := range c.views[rank].since(from[rank]) {
					if strings.HasPrefix(r.key, seatPrefix) && len(r.value) > 8<<10 {
						t.Errorf("%v: the seat has %d bytes", sizes, len(r.value))
					}
				}
			}
			if puts != parts {
				t.Errorf("%v: %d parts were written, want %d", sizes, puts, parts)
			}
			for _, key := range keys(t, c.views[0].Board) {
				if strings.HasPrefix(key, partPrefix) {
					t.Errorf("%v: %s is left over", sizes, key)
				}
			}
		}
		closeAll(t, c.all...)
	})
}

// Only the value of the sender is written, and nil is an empty value.
func TestBroadcastOfOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrew(t, 2, nil)
		for _, sender := range []int{-1, 2} {
			_, err := c.all[0].Broadcast(t.Context(), "k", sender, nil)
			wants(t, err, errs.Invalid, "0 to 1")
		}
		for _, size := range []int{0, 10, 3 << 20} {
			var want []byte
			if size > 0 {
				want = bytes.Repeat([]byte("w"), size)
			}
			n := c.views[0].asked()
			_, failed := c.together(func(rank int, m *Member) error {
				given := want
				if rank == 0 {
					given = make([]byte, 2<<20)
				}
				got, err := m.Broadcast(t.Context(), "k", 1, given)
				if err == nil && !bytes.Equal(got, want) {
					t.Errorf("rank %d has %d bytes, want %d", rank, len(got), size)
				}
				return err
			})
			if err := errors.Join(failed...); err != nil {
				t.Errorf("%d bytes: %v", size, err)
			}
			if got := c.asked(0, n, "Put "+partPrefix); got > 0 {
				t.Errorf("%d parts of a value that is not used", got)
			}
		}
		closeAll(t, c.all...)
	})
}

// A member that gave a small value does not wait for one that reads a large value slowly. One that
// gave a large value does.
func TestWhoWaitsForAReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const slow = 1500 * time.Millisecond // less than an attempt may take
		c := newCrew(t, 3, nil)
		c.views[2].act(func(r request) error {
			if r.op == "Get" && strings.HasPrefix(r.key, partPrefix) {
				time.Sleep(slow)
			}
			return nil
		})
		took, failed := c.together(func(rank int, m *Member) error {
			given := make([]byte, 10)
			if rank == 0 {
				given = make([]byte, 1<<20)
			}
			_, err := m.Gather(t.Context(), "k", given)
			return err
		})
		if err := errors.Join(failed...); err != nil {
			t.Fatal(err)
		}
		if took[0] < slow || took[1] > time.Second || took[2] < slow || took[0] > slow+time.Second {
			t.Errorf("they took %v", took)
		}
		closeAll(t, c.all...)
	})
}

// A call with a large value that fails says so, and leaves no part.
func TestLargeValueThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrew(t, 2, func(o *Options) { o.Deadline = 10 * time.Second })
		_, err := c.all[0].Gather(t.Context(), "k", make([]byte, 3<<20))
		wants(t, err, errs.Canceled, "rank 1")
		for _, key := range keys(t, c.views[0].Board) {
			if strings.HasPrefix(key, partPrefix) {
				t.Errorf("%s is left over", key)
			}
		}
		closeAll(t, c.all...)
	})
}

// A value that is not the one that was given is never handed out.
func TestValuesAreChecked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := InProcess()
		m := newMember(b, short(0, 2))
		whole := []byte("0123456789")
		stored, err := m.store(t.Context(), "op", "n", bytes.Repeat(whole, 1000))
		if err != nil || stored.Parts != 1 {
			t.Fatal(stored, err)
		}
		small, err := m.store(t.Context(), "op", "n", whole)
		if err != nil || small.Parts != 0 {
			t.Fatal(small, err)
		}
		negative, other := *stored, *small
		negative.Size, other.Inline = -1, []byte("0123456780")
		for v, good := range map[*value]bool{stored: true, small: true, &negative: true, &other: false} {
			got, err := m.fetch(t.Context(), "op", "k", v)
			if good && (err != nil || len(got)%10 != 0 || len(got) == 0) {
				t.Errorf("%d bytes, %v", len(got), err)
			} else if !good {
				wants(t, err, errs.Corrupt, "memory: k", "10 bytes with the SHA-256")
			}
		}
		set(t, b, partKey(stored.Owner, "n", 0), bytes.Repeat([]byte("9876543210"), 1000))
		_, err = m.fetch(t.Context(), "op", "k", stored)
		wants(t, err, errs.Corrupt, "see which other program writes there")
	})
}

// A member whose time is over does not count from then on, though its look at the others takes
// long.
func TestWithdrawalComesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrew(t, 2, func(o *Options) { o.Lease = 40 * time.Second })
		c.views[1].act(func(r request) error {
			if r.op == "List" {
				time.Sleep(1500 * time.Millisecond) // less than it may take
			}
			return nil
		})
		_, failed := c.together(func(rank int, m *Member) error {
			if rank == 0 {
				time.Sleep(2 * time.Second)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			return m.Barrier(ctx, "k")
		})
		wants(t, failed[0], errs.Canceled)
		wants(t, failed[1], errs.Canceled, "rank 0 on h")
		c.views[1].act(nil)
		_, failed = c.together(func(_ int, m *Member) error { return m.Barrier(t.Context(), "k") })
		if err := errors.Join(failed...); err != nil {
			t.Error(err)
		}
		closeAll(t, c.all...)
	})
}

// A member whose time is over just when the others were released has passed with them.
func TestReleasedAtTheLastMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrew(t, 2, func(o *Options) { o.Lease = 40 * time.Second })
		late := make(chan struct{})
		c.views[1].act(func(r request) error {
			if r.String() == "Get round" { // which may be the one that releases it
				<-late
			}
			return nil
		})
		time.AfterFunc(1500*time.Millisecond, func() { close(late) })
		_, failed := c.together(func(_ int, m *Member) error {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			return m.Barrier(ctx, "k")
		})
		if err := errors.Join(failed...); err != nil {
			t.Error(err)
		}
		closeAll(t, c.all...)
	})
}

// A part whose reply was lost is there: it is not written twice, and the call goes on.
func TestLostReplyOfAPart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		view, lost := &script{Board: InProcess(), t: t}, false
		m := newMember(view, short(0, 1))
		view.act(func(r request) error {
			if r.op != "Put" || lost {
				return nil
			}
			lost = true
			set(t, view.Board, r.key, r.value)
			return injected(errs.IO)
		})
		given := make([]byte, 2<<20)
		v, err := m.store(t.Context(), "op", "n", given)
		if err != nil || v.Parts != 2 || view.asked() != 3 {
			t.Fatalf("%+v, %v, %v", v, err, view.since(0))
		}
		if got, err := m.fetch(t.Context(), "op", "k", v); err != nil || !bytes.Equal(got, given) {
			t.Errorf("%d bytes, %v", len(got), err)
		}
	})
}

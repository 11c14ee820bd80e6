package clustertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/bivouac-ml/bivouac/cluster"
	"github.com/bivouac-ml/bivouac/errs"
)

var callTests = []test{
	{"BarriersOfOneKey", func(e *env) {
		const world = 4
		all := e.all(world, nil)
		var counts [world]int
		turn := make(chan struct{}, 1)
		turn <- struct{}{}
		e.each(world, func(rank int) error {
			for round := range 20 {
				<-turn
				counts[rank]++
				least := slices.Min(counts[:])
				turn <- struct{}{}
				if least < round {
					return fmt.Errorf("round %d began before all ended round %d: %v", round, round-1, counts)
				}
				if err := all[rank].Barrier(context.Background(), "one key"); err != nil {
					return err
				}
				<-turn
				least = slices.Min(counts[:])
				turn <- struct{}{}
				if least < round+1 {
					return fmt.Errorf("the barrier of round %d opened before all had come: %v", round, counts)
				}
			}
			return nil
		})
		e.closeAll(all)
	}},
	{"NothingGrows", func(e *env) {
		const world = 3
		all := e.all(world, nil)
		var sizes []int
		goroutines := 0
		n := e.Barriers / 10
		for part := range 10 {
			e.each(world, func(rank int) error {
				for i := range n {
					if err := all[rank].Barrier(context.Background(), fmt.Sprint("step ", part*n+i)); err != nil {
						return err
					}
				}
				return nil
			})
			size := 0
			docs := e.docs()
			for _, d := range docs {
				if d = must(e.board().Get(context.Background(), d.Key))(e); true {
					size += len(d.Value)
				}
			}
			if len(docs) != world+2 {
				e.Errorf("%d documents after %d barriers", len(docs), (part+1)*n)
			}
			sizes = append(sizes, size)
			if part == 0 {
				goroutines = runtime.NumGoroutine()
			}
		}
		if slices.Max(sizes) > sizes[0]+2000 {
			e.Errorf("the documents grow: %v bytes", sizes)
		}
		if now := runtime.NumGoroutine(); e.Virtual && now > goroutines+5 {
			e.Errorf("%d goroutines, then %d", goroutines, now)
		}
		e.closeAll(all)
	}},
	{"ConcurrentKeys", func(e *env) {
		const world, keys = 3, 8
		all := e.all(world, nil)
		e.each(world*keys, func(i int) error {
			rank, key := i/keys, i%keys
			if rank == 1 {
				key = keys - 1 - key
			}
			for range 3 {
				if err := all[rank].Barrier(context.Background(), fmt.Sprint("key ", key)); err != nil {
					return err
				}
			}
			return nil
		})
		e.closeAll(all)
	}},
	{"OneKeyTwiceAtOnce", func(e *env) {
		all := e.all(2, nil)
		done := make(chan error, 1)
		go func() { done <- all[0].Barrier(context.Background(), "k") }()
		time.Sleep(e.Lease / 10)
		e.want(all[0].Barrier(context.Background(), "k"), errs.Sequence, `k`)
		if err := errors.Join(all[1].Barrier(context.Background(), "k"), <-done); err != nil {
			e.Error(err)
		}
		e.closeAll(all)
	}},
	{"DeadlineNamesTheMissing", func(e *env) {
		all := e.all(5, func(_ int, o *cluster.Options) { o.Deadline = 3 * e.Lease })
		all[2].view.kill()                     // dead
		if err := all[3].Close(); err != nil { // has left
			e.Error(err)
		}
		other := make(chan error, 1)
		ctx, cancel := context.WithCancel(context.Background())
		go func() { other <- all[4].Barrier(ctx, "another key") }() // is elsewhere
		for _, err := range together(2, func(rank int) error { return all[rank].Barrier(context.Background(), "run/3:end") }) {
			e.want(err, errs.Canceled, "run/3:end", "rank 2 on host-c", "no sign of life", "rank 3 on host-d", "has left",
				"rank 4 on host-e", `waits at "another key"`)
			if !errors.Is(err, context.DeadlineExceeded) {
				e.Errorf("want context.DeadlineExceeded, got %v", err)
			}
		}
		cancel()
		e.want(<-other, errs.Canceled, "rank 0 on host-a")
	}},
	{"ContextOfACall", func(e *env) {
		all := e.all(2, nil)
		ctx, cancel := context.WithCancelCause(context.Background())
		time.AfterFunc(e.Lease/4, func() { cancel(errors.New("stopped by hand")) })
		began := time.Now()
		e.want(all[0].Barrier(ctx, "k"), errs.Canceled, "stopped by hand", "rank 1 on host-b")
		if took := time.Since(began) - e.Lease/4; e.Virtual && took > 1900*time.Millisecond {
			e.Errorf("the call went on for %v", took)
		}
		e.want(all[0].Barrier(ctx, "k"), errs.Canceled, "stopped by hand") // at once
		// The one that gave up has not come.
		short, stop := context.WithTimeout(context.Background(), e.Lease/2)
		defer stop()
		e.want(all[1].Barrier(short, "k"), errs.Canceled, "rank 0 on host-a")
		e.each(2, func(rank int) error { return all[rank].Barrier(context.Background(), "k") })
		e.closeAll(all)
	}},
	{"GivingUpAtTheSameTime", func(e *env) { // members either all pass, or those that gave up come again
		all := e.all(3, nil)
		for i := range 20 {
			e.each(3, func(rank int) error {
				ctx, cancel := context.WithTimeout(context.Background(), e.Lease/50)
				defer cancel()
				if rank > 0 {
					time.Sleep(e.Lease / 50 * time.Duration(i) / 10)
				}
				err := all[rank].Barrier(ctx, "k")
				if errs.KindOf(err) == errs.Canceled {
					err = all[rank].Barrier(context.Background(), "k")
				}
				return err
			})
		}
		e.closeAll(all)
	}},
	{"BackInTheMiddle", func(e *env) { // a member dies at a barrier, and a new process of its rank comes to it
		for _, dies := range []int{1, 0} {
			all := e.all(3, nil)
			waiting := make(chan error, 2)
			var others []*process
			for rank, p := range all {
				if rank != dies {
					others = append(others, p)
				}
			}
			for _, p := range others {
				go func() { waiting <- p.Barrier(context.Background(), "k") }()
			}
			all[dies].view.kill()
			all[dies] = e.join(e.options(dies, 3))
			err := all[dies].Barrier(context.Background(), "k")
			if err := errors.Join(err, <-waiting, <-waiting); err != nil {
				e.Error(err)
			}
			e.closeAll(all)
		}
	}},
	{"Broadcast", func(e *env) {
		const world = 3
		all := e.all(world, nil)
		for i, size := range []int{0, 1, 1000, 5000, 10 << 20} {
			from := i % world
			want := make([]byte, size)
			for k := range want {
				want[k] = byte(k * k >> 3)
			}
			e.each(world, func(rank int) error {
				given := want
				if rank != from {
					given = []byte("not mine")
				}
				got, err := all[rank].Broadcast(context.Background(), "weights", from, given)
				if err == nil && !bytes.Equal(got, want) {
					err = fmt.Errorf("%d bytes, want %d", len(got), size)
				}
				return err
			})
			for _, d := range e.docs() {
				if len(d.Key) > 5 && d.Key[:5] == "part/" {
					e.Errorf("%s is left over", d.Key)
				}
			}
		}
		_, err := all[0].Broadcast(context.Background(), "weights", 3, nil)
		e.want(err, errs.Invalid, "0 to 2", "got 3")
		e.closeAll(all)
	}},
	{"Gather", func(e *env) {
		const world = 3
		all := e.all(world, nil)
		for _, size := range []int{0, 10, 100_000} {
			e.each(world, func(rank int) error {
				got, err := all[rank].Gather(context.Background(), "sums", bytes.Repeat([]byte{byte(rank)}, size))
				if err != nil || len(got) != world {
					return fmt.Errorf("%d values: %w", len(got), err)
				}
				for r, v := range got {
					if !bytes.Equal(v, bytes.Repeat([]byte{byte(r)}, size)) {
						return fmt.Errorf("the value of rank %d has %d bytes", r, len(v))
					}
				}
				return nil
			})
		}
		e.closeAll(all)
	}},
	{"Agree", func(e *env) {
		const world = 3
		all := e.all(world, nil)
		long := bytes.Repeat([]byte("state"), 20_000)
		for _, v := range [][]byte{nil, []byte("step 12"), long} {
			e.each(world, func(rank int) error { return all[rank].Agree(context.Background(), "state", v) })
		}
		for _, err := range together(world, func(rank int) error {
			v := []byte("step 12")
			if rank == 2 {
				v = []byte("step 13")
			}
			return all[rank].Agree(context.Background(), "state", v)
		}) {
			e.want(err, errs.Mismatch, "rank 0 on host-a has \"step 12\"", "rank 2 on host-c has \"step 13\"")
		}
		for _, err := range together(world, func(rank int) error {
			v := long
			if rank == 1 {
				v = append(bytes.Clone(long), 'x')
			}
			return all[rank].Agree(context.Background(), "state", v)
		}) {
			e.want(err, errs.Mismatch, "rank 1 on host-b has 100001 bytes")
		}
		e.each(world, func(rank int) error { return all[rank].Agree(context.Background(), "state", long) })
		e.closeAll(all)
	}},
	{"CallsThatDoNotFit", func(e *env) {
		all := e.all(2, nil)
		for _, err := range together(2, func(rank int) error {
			if rank == 0 {
				return all[0].Barrier(context.Background(), "k")
			}
			return all[1].Agree(context.Background(), "k", nil)
		}) {
			e.want(err, errs.Mismatch, "rank 0 on host-a calls Barrier", "rank 1 on host-b calls Agree")
		}
		for _, err := range together(2, func(rank int) error {
			_, err := all[rank].Broadcast(context.Background(), "k", rank, nil)
			return err
		}) {
			e.want(err, errs.Mismatch, "of rank 0", "of rank 1")
		}
		e.closeAll(all)
	}},
}

var leaseTests = []test{
	{"LeaseInTurn", func(e *env) {
		const world = 3
		all := e.all(world, nil)
		var tokens []int64
		has := 0
		turn := make(chan struct{}, 1)
		turn <- struct{}{}
		e.each(world, func(rank int) error {
			for range 3 {
				l, err := all[rank].Acquire(context.Background(), "writer")
				if err != nil {
					return err
				}
				<-turn
				if has++; has > 1 {
					e.Error("two have the lease")
				}
				tokens = append(tokens, l.Token())
				turn <- struct{}{}
				h, err := all[(rank+1)%world].Holder(context.Background(), "writer")
				if err != nil || h.Rank != rank || h.Token != l.Token() {
					e.Errorf("%+v has it, not rank %d: %v", h, rank, err)
				}
				err = l.Check(context.Background())
				<-turn
				has--
				turn <- struct{}{}
				if err := errors.Join(err, l.Release(context.Background())); err != nil {
					return err
				}
			}
			return nil
		})
		if len(tokens) != 3*world || !slices.IsSorted(tokens) || len(slices.Compact(tokens)) != 3*world {
			e.Errorf("the tokens do not grow: %v", tokens)
		}
		if _, err := all[0].Holder(context.Background(), "writer"); errs.KindOf(err) != errs.NotFound {
			e.Errorf("a lease that is free: %v", err)
		}
		e.closeAll(all)
		again := e.all(1, nil)
		l := must(again[0].Acquire(context.Background(), "writer"))(e)
		if l.Token() != 3*world+1 {
			e.Errorf("the token of the next job is %d", l.Token())
		}
		e.closeAll(again)
		select { // Close gives it back
		case <-l.Done():
		default:
			e.Error("the lease outlives its member")
		}
		e.want(l.Check(context.Background()), errs.Closed)
	}},
	{"LeaderIsLost", func(e *env) {
		all := e.all(2, nil)
		first := must(all[0].Lead(context.Background()))(e)
		if h := must(all[1].Leader(context.Background()))(e); h.Rank != 0 || h.Host != "host-a" || h.Token != first.Token() {
			e.Errorf("%+v leads", h)
		}
		all[0].view.kill()
		began := time.Now()
		second := must(all[1].Lead(context.Background()))(e)
		if took := time.Since(began); took < e.Lease/2 {
			e.Errorf("another member leads after %v", took)
		}
		if second.Token() <= first.Token() {
			e.Errorf("the token %d is not above %d", second.Token(), first.Token())
		}
		select {
		case <-first.Done(): // it could not renew
		case <-time.After(3 * e.Lease):
			e.Error("the first leader does not know that its lease is over")
		}
		if first.Err() == nil || first.Check(context.Background()) == nil {
			e.Error("the first leader still has its lease")
		}
		if err := second.Check(context.Background()); err != nil {
			e.Error(err)
		}
		if err := second.Release(context.Background()); err != nil {
			e.Error(err)
		}
		if err := second.Release(context.Background()); err != nil {
			e.Errorf("Release twice: %v", err)
		}
	}},
	{"LeaseIsHeld", func(e *env) {
		all := e.all(2, nil)
		l := must(all[0].Acquire(context.Background(), "writer"))(e)
		ctx, cancel := context.WithTimeout(context.Background(), 2*e.Lease)
		defer cancel()
		_, err := all[1].Acquire(ctx, "writer")
		e.want(err, errs.Canceled, "lease writer", "rank 0 on host-a")
		if err := l.Check(context.Background()); err != nil {
			e.Error(err)
		}
		e.closeAll(all)
	}},
}

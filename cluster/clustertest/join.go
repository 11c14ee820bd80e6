package clustertest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bivouac-ml/bivouac/cluster"
	"github.com/bivouac-ml/bivouac/errs"
)

var joinTests = []test{
	{"JoinAndClose", func(e *env) {
		for world := range 5 {
			all := e.all(world+1, nil)
			for rank, p := range all {
				if p.Rank() != rank || p.World() != world+1 || p.Incarnation() == "" || p.Err() != nil {
					e.Errorf("%d of %d: %+v", rank, world, p)
				}
			}
			e.closeAll(all)
			for _, p := range all {
				e.want(p.Barrier(context.Background(), "after"), errs.Closed)
				if err := p.Close(); err != nil {
					e.Errorf("Close twice: %v", err)
				}
			}
		}
	}},
	{"LateMember", func(e *env) {
		e.each(3, func(rank int) error {
			if rank == 1 {
				time.Sleep(e.Lease + e.Lease/2)
			}
			p, err := e.tryJoin(e.options(rank, 3))
			if err != nil {
				return err
			}
			if rank == 2 {
				time.Sleep(e.Lease / 2)
			}
			return p.Barrier(context.Background(), "k")
		})
	}},
	{"MissingMember", func(e *env) {
		for rank, err := range together(2, func(rank int) error {
			o := e.options([]int{0, 2}[rank], 4)
			o.Deadline = e.Lease
			_, err := e.tryJoin(o)
			return err
		}) {
			e.want(err, errs.Canceled, "rank 1 has not joined", "rank 3 has not joined")
			if !errors.Is(err, context.DeadlineExceeded) {
				e.Errorf("%d: %v", rank, err)
			}
		}
		e.clean()
	}},
	{"MissingRank0", func(e *env) {
		o := e.options(1, 2)
		o.Deadline = e.Lease / 2
		_, err := e.tryJoin(o)
		e.want(err, errs.Canceled, "rank 0 has not joined")
		e.clean()
	}},
	{"JoinIsCanceled", func(e *env) {
		ctx, cancel := context.WithTimeoutCause(context.Background(), e.Lease, errors.New("the user gave up"))
		defer cancel()
		_, err := cluster.Join(ctx, e.board(), e.options(0, 2))
		e.want(err, errs.Canceled, "the user gave up", "rank 1 has not joined")
		e.clean()
	}},
	{"RankTwice", func(e *env) {
		all := e.all(2, nil)
		o := e.options(1, 2)
		o.Host = "host-x"
		_, err := e.tryJoin(o)
		e.want(err, errs.Busy, "rank 1", "host-b", "process ", "since ")
		if err := all[1].Err(); err != nil {
			e.Errorf("the first process lost its rank: %v", err)
		}
		e.each(2, func(rank int) error { return all[rank].Barrier(context.Background(), "k") })
		e.closeAll(all)
	}},
	{"RankIsReplaced", func(e *env) {
		all := e.all(3, nil)
		old := all[1]
		old.view.kill()
		began := time.Now()
		all[1] = e.join(e.options(1, 3))
		if took := time.Since(began); took < e.Lease {
			e.Errorf("the rank was taken after %v, which is less than the lease", took)
		}
		if all[1].Incarnation() == old.Incarnation() {
			e.Error("the same incarnation")
		}
		e.each(3, func(rank int) error { return all[rank].Barrier(context.Background(), "k") })
		e.closeAll(all)
	}},
	{"OldProcessIsFenced", func(e *env) {
		all := e.all(2, nil)
		old := all[1]
		pause := newPaused(e.board())
		o := e.options(1, 2)
		old.view.kill()
		m, err := cluster.Join(context.Background(), pause, o)
		if err != nil {
			e.Fatal(err)
		}
		defer m.Close()
		pause.stop() // as a process that is stopped, or cut off
		all[1] = e.join(o)
		pause.goOn()
		select {
		case <-m.Done():
		case <-time.After(10 * e.Lease):
			e.Fatal("the process was not fenced")
		}
		_, agreeErr := m.Gather(context.Background(), "g", nil)
		_, leadErr := m.Lead(context.Background())
		for _, err := range []error{m.Err(), m.Barrier(context.Background(), "k"), agreeErr, leadErr} {
			e.want(err, errs.Closed, "rank 1 on host-b")
			if !errors.Is(err, cluster.ErrFenced) {
				e.Errorf("want ErrFenced, got %v", err)
			}
		}
		if err := m.Close(); err != nil {
			e.Error(err)
		}
		e.each(2, func(rank int) error { return all[rank].Barrier(context.Background(), "k") })
		e.closeAll(all)
	}},
	{"OtherJobFences", func(e *env) { // a process that was stopped while another job took the board
		stopped := newPaused(e.board())
		views := []cluster.Board{newMortal(e.board()), stopped}
		all := make([]*cluster.Member, 2)
		e.each(2, func(rank int) error {
			var err error
			all[rank], err = cluster.Join(context.Background(), views[rank], e.options(rank, 2))
			return err
		})
		if e.Failed() {
			return
		}
		defer all[0].Close()      //nolint:errcheck // it was killed
		defer all[1].Close()      //nolint:errcheck // it was fenced
		views[0].(*mortal).kill() //nolint:forcetypeassert // made above
		stopped.stop()
		o := e.options(0, 1)
		o.Job = "job-2"
		next := e.join(o)
		stopped.goOn()
		select {
		case <-all[1].Done():
		case <-time.After(3 * e.Lease):
			e.Fatal("the process does not notice the other job")
		}
		if err := all[1].Barrier(context.Background(), "k"); !errors.Is(err, cluster.ErrFenced) {
			e.Errorf("want ErrFenced, got %v", err)
		}
		e.want(all[1].Err(), errs.Closed, `the job "job-2"`, "rank 0 on host-a")
		if err := next.Barrier(context.Background(), "k"); err != nil {
			e.Error(err)
		}
		e.closeAll([]*process{next})
	}},
	{"ComesBackAtOnce", func(e *env) { // after Close, a rank is free
		all := e.all(3, nil)
		for range 3 {
			if err := all[2].Close(); err != nil {
				e.Error(err)
			}
			all[2] = e.join(e.options(2, 3))
			if err := all[0].Close(); err != nil { // the process that answers
				e.Error(err)
			}
			all[0] = e.join(e.options(0, 3))
			e.each(3, func(rank int) error { return all[rank].Barrier(context.Background(), "k") })
		}
		e.closeAll(all)
	}},
	{"TwoJobs", func(e *env) {
		all := e.all(2, nil)
		for _, world := range []int{1, 2, 3} {
			o := e.options(0, world)
			o.Job = "job-2"
			_, err := e.tryJoin(o)
			e.want(err, errs.Busy, `"job-1"`, `"job-2"`, "host-", "since ")
		}
		e.each(2, func(rank int) error { return all[rank].Barrier(context.Background(), "k") })
		e.closeAll(all)
	}},
	{"NextJob", func(e *env) { // after the end of a job, and after its death
		e.closeAll(e.all(2, nil))
		dead := e.all(4, nil)
		for _, p := range dead {
			p.view.kill()
		}
		all := e.all(3, func(_ int, o *cluster.Options) { o.Job = "job-2" })
		e.each(3, func(rank int) error { return all[rank].Barrier(context.Background(), "k") })
		e.closeAll(all)
	}},
	{"SameJobAgain", func(e *env) { // all processes were killed, and start again under one name
		for range 2 {
			for _, p := range e.all(3, nil) {
				p.view.kill()
			}
		}
		e.closeAll(e.all(3, nil))
	}},
	{"OtherWorld", func(e *env) {
		all := e.all(2, nil)
		_, err := e.tryJoin(e.options(0, 3))
		e.want(err, errs.Mismatch, "World", "want 2", "got 3", "rank 0 on host-a")
		_, err = e.tryJoin(e.options(2, 3))
		e.want(err, errs.Mismatch, "rank 2 on host-c: World", "got 3")
		for _, p := range all {
			p.view.kill()
		}
		e.closeAll(e.all(3, nil)) // nobody lives who says otherwise
	}},
	{"OtherTerms", func(e *env) {
		terms := func(rank int, o *cluster.Options) {
			o.Terms = map[string]string{"batch": "64", "layout": "zarr3"}
		}
		for name, change := range map[string]func(o *cluster.Options){
			"layout": func(o *cluster.Options) { o.Terms["layout"] = "zarr2" },
			"batch":  func(o *cluster.Options) { delete(o.Terms, "batch") },
			"seed":   func(o *cluster.Options) { o.Terms["seed"] = "1" },
		} {
			for rank, err := range together(3, func(rank int) error {
				o := e.options(rank, 3)
				o.Deadline = 4 * e.Lease
				terms(rank, &o)
				if rank == 2 {
					change(&o)
					time.Sleep(e.Lease / 2)
				}
				_, err := e.tryJoin(o)
				return err
			}) {
				e.want(err, errs.Mismatch, "rank 2 on host-c", name)
				if rank == 2 {
					e.want(err, errs.Mismatch, "rank 2 on host-c: "+name)
				}
			}
			e.clean()
		}
		all := e.all(3, terms)
		o := e.options(1, 3)
		o.Terms = map[string]string{"batch": "32", "layout": "zarr3"}
		_, err := e.tryJoin(o) // a process that starts again with other options
		e.want(err, errs.Mismatch, "rank 1 on host-b: batch", `want "64"`, `got "32"`)
		e.each(3, func(rank int) error { return all[rank].Barrier(context.Background(), "k") })
		e.closeAll(all)
	}},
	{"BadOptions", func(e *env) {
		for field, o := range map[string]cluster.Options{
			"Rank": {Rank: 2, World: 2}, "World": {World: -1}, "Deadline": {World: 1, Deadline: -1}, "Lease": {World: 1, Lease: -1},
		} {
			_, err := cluster.Join(context.Background(), e.board(), o)
			e.want(err, errs.Invalid, field)
		}
		if docs := e.docs(); len(docs) > 0 {
			e.Error(docs)
		}
	}},
	{"JobsInTurn", func(e *env) { // members leave and join at once: nobody is left in a job that ended
		for i := range 10 {
			a := e.join(e.options(0, 1))
			b := make(chan error, 1)
			go func() {
				o := e.options(0, 1)
				o.Job = fmt.Sprint("next-", i)
				for {
					p, err := e.tryJoin(o)
					if errs.KindOf(err) == errs.Busy {
						continue
					}
					if err == nil {
						err = errors.Join(p.Barrier(context.Background(), "k"), p.Close())
					}
					b <- err
					return
				}
			}()
			time.Sleep(time.Duration(i) * e.Lease / 40)
			if err := errors.Join(a.Barrier(context.Background(), "k"), a.Close(), <-b); err != nil {
				e.Fatal(err)
			}
		}
		e.clean()
	}},
}

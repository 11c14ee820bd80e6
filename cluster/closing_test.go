package cluster

import (
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"
)

// A member that thought to be the last marks the job and then dies. The members that are there take
// the mark back, and a process that comes meanwhile joins them: it does not begin another job.
func TestClosingIsTakenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &watching{script: &script{Board: InProcess(), t: t}}
		o := Options{World: 2, Job: "j", Lease: 8 * time.Second}
		all := make([]*Member, 2)
		done := make(chan error, 2)
		join := func(rank int) {
			own := o
			own.Rank = rank
			var err error
			all[rank], err = Join(t.Context(), b, own)
			done <- err
		}
		go join(0)
		go join(1)
		for range 2 {
			if err := <-done; err != nil {
				t.Fatal(err)
			}
		}
		if err := all[1].Close(); err != nil {
			t.Fatal(err)
		}
		mark(t, b)
		go join(1)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if all[0].epoch != all[1].epoch || all[0].Err() != nil {
			t.Errorf("the process has begun another job: %v", all[0].Err())
		}
		mark(t, b)
		time.Sleep(o.beat() + time.Second)
		if j := jobOf(t, b); j.Closing {
			t.Error("the mark is still there")
		}
		for _, m := range all {
			if err := m.Close(); err != nil {
				t.Error(err)
			}
		}
		if docs, err := b.List(t.Context(), ""); err != nil || len(docs) > 0 {
			t.Errorf("%v are left over, %v", docs, err)
		}
		// Nobody is there: the next process need not wait for a lease.
		left := job{Version: version, Epoch: "e", Name: "j", World: 1, Closing: true}
		if _, err := b.Put(t.Context(), jobKey, encode(left), ""); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		m, err := Join(t.Context(), b, Options{Job: "j", Lease: 8 * time.Second})
		if err != nil || time.Since(began) > time.Second {
			t.Fatalf("%v, after %v", err, time.Since(began))
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
}

func jobOf(t *testing.T, b Board) (j job) {
	d, err := b.Get(t.Context(), jobKey)
	if err == nil {
		err = json.Unmarshal(d.Value, &j)
	}
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func mark(t *testing.T, b Board) {
	d, err := b.Get(t.Context(), jobKey)
	if err != nil {
		t.Fatal(err)
	}
	j := jobOf(t, b)
	j.Closing = true
	if _, err := b.Put(t.Context(), jobKey, encode(j), d.Version); err != nil {
		t.Fatal(err)
	}
}

package storetest

import (
	"errors"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

// sharing checks that objects that several callers write into one transaction become visible at
// once, by the Commit of the caller that began it.
func sharing(s *suite) {
	host := s.begin("run/100", store.TxnOptions{Shared: true})
	join := store.TxnOptions{Join: host.Staging()}
	guest, other := s.begin("run/100", join), s.begin("run/100", join)
	s.ok(host.Put(s.ctx, "state/note", []byte("host")))
	s.write(guest, "state/d/1", "guest")
	s.write(other, "state/d/2", "other")
	s.write(host, "state/d/0", "host")
	s.is(guest.Put(s.ctx, "state/note", []byte("guest")), errs.Exists)
	s.want(host.Staging()+"/state/note", "host") // the callers read what the others have written
	s.want(host.Staging()+"/state/d/2", "other")
	if in, err := s.Stat(s.ctx, host.Staging()+"/state/d/1"); err != nil || in.Size != 5 || in.Dir {
		s.Fatalf("%+v, %v", in, err)
	}
	s.missing(host.Staging() + "/state/d/3")
	s.ok(other.Commit(s.ctx, store.Blob{}))
	s.missing("run/100")
	if guest.Stats().Files != 1 || guest.Staging() != host.Staging() {
		s.Fatalf("%+v in %s", guest.Stats(), guest.Staging())
	}
	s.is(guest.Commit(s.ctx, store.Blob{}), errs.Exists) // here a taken name is an error of the system, and sticky
	guest = s.begin("run/100", join)
	s.write(guest, "other/d/1", "guest")
	s.ok(guest.Commit(s.ctx, store.Blob{Name: "other/manifest", Data: []byte("guest")}))
	s.ok(guest.Abort()) // a no-op
	s.ok(host.Commit(s.ctx, manifest))
	for name, content := range map[string]string{"state/note": "host", "state/d/0": "host", "state/d/2": "other", "other/d/1": "guest", "other/manifest": "guest", "manifest": "all there"} {
		s.want("run/100/"+name, content)
	}
	s.wantList("run", "100")
	s.missing(host.Staging() + "/state/note") // it has another name now

	host = s.begin("run/200", store.TxnOptions{Shared: true})
	guest = s.begin("run/200", store.TxnOptions{Join: host.Staging()})
	s.write(guest, "d/1", "guest")
	s.ok(guest.Abort())
	s.write(host, "d/0", "host")
	s.ok(host.Abort())
	s.wantList("run", "100")
	if _, err := s.Begin(s.ctx, "run/200", store.TxnOptions{Join: host.Staging()}); !errors.Is(err, errs.NotFound) {
		s.Fatalf("joined a transaction that is over: %v", err)
	}
	for _, name := range []string{"run/100", "200.orbax-checkpoint-tmp-00", "run/200", "run/x.orbax-checkpoint-tmp"} {
		_, err := s.Begin(s.ctx, "run/200", store.TxnOptions{Join: name})
		if errs.KindOf(err) != errs.Invalid && errs.KindOf(err) != errs.NotFound {
			s.Fatalf("joined %s: %v", name, err)
		}
	}

	host = s.begin("run/300", store.TxnOptions{Shared: true})
	guest = s.begin("run/300", store.TxnOptions{Join: host.Staging()})
	s.ok(host.Abort())
	if err := guest.Put(s.ctx, "late", []byte("late")); errs.KindOf(err) != errs.NotFound {
		s.Fatalf("written into a transaction that is over: %v", err)
	}
	if err := guest.Commit(s.ctx, store.Blob{}); err == nil {
		s.Fatal("a transaction that is over was committed")
	}
	s.wantList("run", "100")
}

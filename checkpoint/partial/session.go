package partial

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

// session is the work of this process in one session. One part is saved at a time, because what a
// part may add depends on the earlier parts.
type session struct {
	turn   chan struct{} // holds one token; its holder may begin a part
	failed []*failure    // guarded by sessions.mu
	users  int           // guarded by sessions.mu
	place  place
}

// failure is a part that could not be saved.
type failure struct {
	err      error
	response atomic.Pointer[checkpoint.Response[checkpoint.SaveStats]]
}

// told reports whether the failure was returned to a caller.
func (f *failure) told() bool {
	r := f.response.Load()
	return r != nil && r.Observed()
}

// sessions has the sessions in which a save is under way or has failed. A session is found by its
// place, by functions that share nothing else.
var sessions = struct {
	mu sync.Mutex
	m  map[place]*session
}{m: map[place]*session{}}

// place is where a session is: in the store that the caller gave, else below
// the directory of the local file system that the store st was opened for.
type place struct{ store, name any }

func placeOf(given, st store.Store, name string) place {
	if given == nil || !reflect.TypeOf(given).Comparable() {
		return place{st.Properties().Name, name}
	}
	return place{given, name}
}

// enter waits until no part of the session is being saved. The caller must call leave.
func enter(ctx context.Context, at place) (*session, error) {
	sessions.mu.Lock()
	s := sessions.m[at]
	if s == nil {
		s = &session{turn: make(chan struct{}, 1), place: at}
		s.turn <- struct{}{}
		sessions.m[at] = s
	}
	s.users++
	sessions.mu.Unlock()
	select {
	case <-s.turn:
		return s, nil
	case <-ctx.Done():
		s.forget()
		return nil, &errs.Error{Kind: errs.Canceled, Subject: fmt.Sprint(at.name), Err: ctx.Err(),
			Remedy: "another part of the session is still being saved"}
	}
}

// leave lets the next part begin.
func (s *session) leave() {
	s.turn <- struct{}{}
	s.forget()
}

// forget ends the use of a session. The session is kept while it has a failure that was not
// returned.
func (s *session) forget() {
	sessions.mu.Lock()
	defer sessions.mu.Unlock()
	s.failed = slices.DeleteFunc(s.failed, (*failure).told)
	if s.users--; s.users == 0 && len(s.failed) == 0 {
		delete(sessions.m, s.place)
	}
}

// keep records a failure until it is returned to a caller.
func (s *session) keep(f *failure) {
	sessions.mu.Lock()
	defer sessions.mu.Unlock()
	s.failed = append(s.failed, f)
}

// tell returns the failures that were not returned to a caller yet, and forgets them.
func (s *session) tell() error {
	sessions.mu.Lock()
	defer sessions.mu.Unlock()
	var untold []error
	for _, f := range s.failed {
		if !f.told() {
			untold = append(untold, f.err)
		}
	}
	s.failed = nil
	return errors.Join(untold...)
}

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

// session is what this process is doing in one session. A part is saved at a
// time: what it may add depends on the parts before it.
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

// sessions are those in which a save is under way or has failed. A session is
// known by its name alone, to functions that share nothing else.
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

// enter waits until no part of the session is being saved. leave must be called.
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

// leave lets the next one in.
func (s *session) leave() {
	s.turn <- struct{}{}
	s.forget()
}

// forget ends the use of a session. It is kept while a failure is untold.
func (s *session) forget() {
	sessions.mu.Lock()
	defer sessions.mu.Unlock()
	s.failed = slices.DeleteFunc(s.failed, (*failure).told)
	if s.users--; s.users == 0 && len(s.failed) == 0 {
		delete(sessions.m, s.place)
	}
}

// keep remembers a failure until it is returned to a caller.
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

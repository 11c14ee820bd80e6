package object_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/object"
	"github.com/bivouac-ml/bivouac/store/object/simulated"
)

// stage is where a scripted call plays: a server, and another process on it.
type stage struct {
	*testing.T
	ctx    context.Context
	server *simulated.Server
	other  *object.Store
}

// on makes a stage on a server on which prepare was done.
func on(t *testing.T, prepare func(context.Context, *simulated.Server) error) stage {
	t.Helper()
	server, other := fresh(t, prepare)
	return stage{t, t.Context(), server, other}
}

// does returns what another process does.
func (s stage) does(all ...call) func() {
	return func() {
		for _, do := range all {
			ok(s.T, do(s.ctx, s.other))
		}
	}
}

// wants compares objects, by name, with what they should hold. "" is no object.
func (s stage) wants(all map[string]string) {
	s.Helper()
	fresh, _ := process(s.server) // remembers no tree
	for name, want := range all {
		got := content(s.T, fresh, name)
		if want == "" && !strings.Contains(got, "not found") || want != "" && got != want {
			s.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func look(name string) call {
	return func(ctx context.Context, st *object.Store) error { return second(st.Stat(ctx, name)) }
}

func remove(name string) call {
	return func(ctx context.Context, st *object.Store) error { return st.RemoveTree(ctx, name) }
}

func saves(name, text string) call {
	return func(ctx context.Context, st *object.Store) error { return saveDir(ctx, st, name, text) }
}

func overwrites(name, text string) call {
	return func(ctx context.Context, st *object.Store) error { return overwrite(ctx, st, name, text) }
}

// Requests of a rename of run/a to run/b, in their order: the new head waits, the old one says that
// the directory has moved, the tree is read, the new head counts, the old one is free.
const (
	waits    = "Put heads/b"
	moves    = "Put heads/a"
	readTree = "Read data/a.orbax-checkpoint-tmp-x/tree"
	arrives  = "Put heads/b"
	leaves   = "Put heads/a"
)

// A rename whose middle another process meets ends as if one had come after the other. It says that
// it is uncertain where the name changed since, or where nobody can say what happened.
func TestRenamesInterrupted(t *testing.T) {
	lost := func(s stage, all ...call) simulated.Fate { return simulated.Fate{Lost: true, Then: s.does(all...)} }
	for what, c := range map[string]struct {
		steps func(s stage) []step
		check func(s stage, err error)
		wants map[string]string
	}{
		"nobody": {
			func(stage) []step {
				return []step{{at: waits}, {at: moves}, {at: readTree}, {at: arrives}, {at: leaves}}
			},
			func(s stage, err error) {
				ok(s.T, err)
				b, _, err := s.server.Bucket(nil).Read(s.ctx, mine+"heads/a", 1000)
				if err != nil || !strings.Contains(string(b), `"removed"`) {
					s.Errorf("the old head is %q, %v", b, err)
				}
			},
			map[string]string{"run/b/manifest": "run/a", "run/b/later": "later", "run/a/manifest": "", "run/a/later": ""},
		},
		"the name cannot be noted": {
			func(stage) []step {
				return []step{{at: "Put data/a.orbax-checkpoint-tmp-x/names/", fate: simulated.Fate{Err: errRefused}}}
			},
			func(s stage, err error) {
				if keys := left(s.server, "heads"); !errors.Is(err, errRefused) || strings.Join(keys, " ") != "heads/a" {
					s.Errorf("%v, and the keys %q", err, keys)
				}
			},
			map[string]string{"run/a/manifest": "run/a", "run/b/manifest": ""},
		},
		"no reply to the new head": {
			func(s stage) []step { return []step{{at: waits, fate: lost(s)}} },
			func(s stage, err error) { ok(s.T, err) },
			map[string]string{"run/b/manifest": "run/a", "run/a/manifest": ""},
		},
		"the new head is put at the second attempt": {
			func(stage) []step { return []step{{at: waits, fate: simulated.Fate{Err: simulated.ErrServer}}} },
			func(s stage, err error) { ok(s.T, err) },
			map[string]string{"run/b/manifest": "run/a", "run/a/manifest": ""},
		},
		"another saves the new name": {
			func(s stage) []step { return []step{{at: waits}, {at: moves, do: s.does(saves("run/b", "other"))}} },
			func(s stage, err error) { exists(s.T, err, "run/b: already exists: a directory") },
			map[string]string{"run/b/manifest": "other", "run/a/manifest": "run/a"},
		},
		"another overwrites the old name": {
			func(s stage) []step {
				return []step{{at: waits}, {at: moves, do: s.does(overwrites("run/a", "other"))}}
			},
			func(s stage, err error) { ok(s.T, err) },
			map[string]string{"run/b/manifest": "other", "run/a/manifest": ""},
		},
		"another finishes it": {
			func(s stage) []step { return []step{{at: moves, fate: lost(s, look("run/b"))}} },
			func(s stage, err error) { ok(s.T, err) },
			map[string]string{"run/b/manifest": "run/a", "run/b/later": "later", "run/a/manifest": ""},
		},
		"another finishes it, and the look fails": {
			func(s stage) []step {
				return []step{
					{at: moves, fate: lost(s, look("run/b"))},
					{at: "Read heads/b", fate: simulated.Fate{Err: errRefused}},
				}
			},
			func(s stage, err error) {
				if !errors.Is(err, store.ErrUncertain) || !errors.Is(err, errRefused) {
					s.Error(err)
				}
			},
			map[string]string{"run/b/manifest": "run/a", "run/a/manifest": ""},
		},
		"not carried out, and another overwrites the old name": {
			func(s stage) []step {
				return []step{{at: moves, do: s.does(overwrites("run/a", "other")), fate: simulated.Fate{Err: simulated.ErrServer}}}
			},
			func(s stage, err error) { ok(s.T, err) },
			map[string]string{"run/b/manifest": "other", "run/a/manifest": ""},
		},
		"another finishes it and removes the directory": {
			func(s stage) []step { return []step{{at: moves, fate: lost(s, look("run/b"), remove("run/b"))}} },
			uncertain,
			map[string]string{"run/b/manifest": "", "run/a/manifest": ""},
		},
		"another finishes it and replaces the directory": {
			func(s stage) []step {
				return []step{{at: moves, fate: lost(s, look("run/b"), overwrites("run/b", "other"))}}
			},
			uncertain,
			map[string]string{"run/b/manifest": "other", "run/a/manifest": ""},
		},
		"another removes the directory before its tree is read": {
			func(s stage) []step { return []step{{at: readTree, do: s.does(look("run/b"), remove("run/b"))}} },
			func(s stage, err error) { ok(s.T, err) },
			map[string]string{"run/b/manifest": "", "run/a/manifest": ""},
		},
		"another removes the directory, and the look fails": {
			func(s stage) []step {
				return []step{
					{at: readTree, do: s.does(look("run/b"), remove("run/b"))},
					{at: "Read heads/b", fate: simulated.Fate{Err: errRefused}},
				}
			},
			func(s stage, err error) {
				if !errors.Is(err, errRefused) {
					s.Error(err)
				}
			},
			map[string]string{"run/b/manifest": "", "run/a/manifest": ""},
		},
		"something removes the tree": {
			func(s stage) []step {
				tree := mine + "data/" + strings.TrimPrefix(object.Sources(s.other, "run/a")[0], "run/") + "/tree"
				return []step{{at: readTree, do: func() { ok(s.T, s.server.Bucket(nil).DeleteAll(s.ctx, []string{tree})) }}}
			},
			func(s stage, err error) {
				if kind(s.T, "no tree", err, errs.Corrupt); !strings.Contains(err.Error(), "/tree, got no such key") {
					s.Error(err)
				}
			},
			nil,
		},
		"another finishes it before the new head counts": {
			func(s stage) []step { return []step{{at: waits}, {at: arrives, do: s.does(look("run/b"))}} },
			func(s stage, err error) { ok(s.T, err) },
			map[string]string{"run/b/manifest": "run/a", "run/b/later": "later", "run/a/manifest": ""},
		},
		"another finishes it before the old head is free": {
			func(s stage) []step { return []step{{at: moves}, {at: leaves, do: s.does(saves("run/a", "other"))}} },
			func(s stage, err error) { ok(s.T, err) },
			map[string]string{"run/b/manifest": "run/a", "run/a/manifest": "other"},
		},
	} {
		bubble(t, what, func(t *testing.T) {
			prepare := saved("run/a")
			if c.wants["run/b/later"] != "" {
				prepare = later
			}
			s := on(t, prepare)
			st, _ := scripted(t, s.server, c.steps(s)...)
			c.check(s, st.Rename(s.ctx, "run/a", "run/b"))
			s.wants(c.wants)
			if c.wants == nil {
				return
			}
			cleaned(t, s.other, nil)
			if _, broken := nothingOf(t, s.server, s.other); len(broken) > 0 {
				t.Error(broken)
			}
		})
	}
}

// exists checks that the error says that a name is taken, and that nothing is uncertain.
func exists(t *testing.T, err error, text string) {
	t.Helper()
	if errs.KindOf(err) != errs.Exists || errors.Is(err, store.ErrUncertain) || !strings.Contains(err.Error(), text) {
		t.Errorf("%v, want %q", err, text)
	}
}

func uncertain(s stage, err error) {
	s.Helper()
	if !errors.Is(err, store.ErrUncertain) {
		s.Errorf("%v, want an uncertain rename", err)
	}
}

// A rename to a name that is free since a removal, and that another process saves at this moment,
// leaves both directories as they are.
func TestRenameToWhatWasFree(t *testing.T) {
	bubble(t, "saved", func(t *testing.T) {
		s := on(t, before["free"]) // run/x is free, run/first is the directory
		st, _ := scripted(t, s.server, step{at: "Put heads/x", do: s.does(saves("run/x", "other"))})
		exists(t, st.Rename(s.ctx, "run/first", "run/x"), "run/x: already exists: a directory")
		s.wants(map[string]string{"run/x/manifest": "other", "run/first/manifest": "first"})
	})
}

// A save over a name for which a directory waits: the move is made impossible first, unless it has
// happened meanwhile.
func TestSavesStopMoves(t *testing.T) {
	// The look before asks whether there is an object of the name; then the old name is read once
	// more.
	stops := []step{{at: "Put data/b.orbax-checkpoint-tmp-x/tree"}, {at: "Head p/run/b"}}
	for what, c := range map[string]struct {
		steps func(s stage) []step
		check func(s stage, err error)
		wants map[string]string
	}{
		"nobody": {
			func(stage) []step { return stops },
			func(s stage, err error) { ok(s.T, err) },
			map[string]string{"run/b/manifest": "new", "run/a/manifest": "first"},
		},
		"it happens meanwhile": {
			func(s stage) []step {
				return append(stops, step{at: "Read heads/a", do: func() { s.happen("a", "b") }})
			},
			func(s stage, err error) { exists(s.T, err, "run/b: already exists: a directory") },
			map[string]string{"run/b/manifest": "first", "run/a/manifest": ""},
		},
		"another overwrites the old name": {
			func(s stage) []step { return []step{{at: "Put heads/a", do: s.does(overwrites("run/a", "other"))}} },
			func(s stage, err error) { ok(s.T, err) },
			map[string]string{"run/b/manifest": "new", "run/a/manifest": "other"},
		},
		"another saves the name": {
			func(s stage) []step { return []step{{at: "Put heads/b", do: s.does(saves("run/b", "other"))}} },
			func(s stage, err error) { exists(s.T, err, "run/b: already exists: a directory") },
			map[string]string{"run/b/manifest": "other", "run/a/manifest": "first"},
		},
	} {
		bubble(t, what, func(t *testing.T) {
			s := on(t, moving("run/a", "run/b", 1))
			st, _ := scripted(t, s.server, c.steps(s)...)
			c.check(s, saveDir(s.ctx, st, "run/b", "new"))
			s.wants(c.wants)
		})
	}
	bubble(t, "the old name is free", func(t *testing.T) {
		server := simulated.NewServer(0, simulated.Lies{NoDelete: true})
		ok(t, halfMoved(t.Context(), server, "run/a", "run/b", 1))
		other, _ := process(server)
		ok(t, other.RemoveTree(t.Context(), "run/a"))
		st, _ := scripted(t, server)
		ok(t, saveDir(t.Context(), st, "run/b", "new"))
		stage{t, t.Context(), server, other}.wants(map[string]string{"run/b/manifest": "new", "run/a/manifest": ""})
	})
}

// happen carries out the request with which a move happens, as one that was late.
func (s stage) happen(from, to string) {
	b, _, err := s.server.Bucket(nil).Read(s.ctx, mine+"heads/"+to, 1000)
	ok(s.T, err)
	_, after, _ := strings.Cut(string(b), `"move":"`)
	nonce, _, _ := strings.Cut(after, `"`)
	raw(s.T, s.server, mine+"heads/"+from, `{"moved":"`+nonce+`","to":"run/`+to+`"}`)
}

// A directory that was saved below another one keeps its name when that one gets another.
func TestRenameLeavesWhatWasSavedBelow(t *testing.T) {
	ctx := t.Context()
	server, st := fresh(t, later)
	ok(t, saveDir(ctx, st, "run/a/below", "below"), st.Rename(ctx, "run/a", "run/b"))
	stage{t, ctx, server, st}.wants(map[string]string{"run/a/below/manifest": "below", "run/b/manifest": "run/a",
		"run/b/later": "later", "run/b/below/manifest": ""})
}

// A rename of an object that cannot be finished leaves it where it is.
func TestRenamesOfObjectsInterrupted(t *testing.T) {
	bubble(t, "another puts the new name", func(t *testing.T) {
		s := on(t, saved("run/a"))
		st, _ := scripted(t, s.server, step{at: "Put p/run/l", do: s.does(func(ctx context.Context, st *object.Store) error {
			return st.Put(ctx, "run/l", []byte("other"), store.PutOptions{})
		})})
		exists(t, st.Rename(s.ctx, "run/loose", "run/l"), "store.Rename: run/l: already exists: an object")
		s.wants(map[string]string{"run/l": "other", "run/loose": "loose"})
	})
	bubble(t, "nobody knows whether there is one", func(t *testing.T) {
		s := on(t, saved("run/a"))
		st, _ := scripted(t, s.server, step{at: "List p/run/none/", fate: simulated.Fate{Err: errRefused}})
		err := st.Rename(s.ctx, "run/none", "run/l")
		if !errors.Is(err, errRefused) || errors.Is(err, errs.Unsupported) {
			t.Error(err)
		}
	})
}

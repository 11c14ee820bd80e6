package layout_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/layout"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

// slowStore has some files, waits at each Stat until all questions are there, and fails for one.
type slowStore struct {
	store.Store
	files   string // separated by spaces
	fails   string
	waiting atomic.Int32
	all     int32
}

var errAway = errors.New("away")

func (s *slowStore) Stat(_ context.Context, name string) (store.Info, error) {
	s.waiting.Add(1)
	for begin := time.Now(); s.waiting.Load() < s.all && time.Since(begin) < 10*time.Second; {
		time.Sleep(time.Millisecond)
	}
	switch {
	case s.waiting.Load() < s.all:
		return store.Info{}, errors.New("the questions come one by one")
	case name == s.fails:
		return store.Info{}, &errs.Error{Kind: errs.IO, Err: errAway}
	case strings.Contains(" "+s.files+" ", " "+name+" "):
		return store.Info{Name: name}, nil
	}
	return store.Info{}, &errs.Error{Kind: errs.NotFound}
}

// TestWithinAsksABucketAtOnce: the questions about the directories above a URL do not wait for each
// other, and the answers count in their order.
func TestWithinAsksABucketAtOnce(t *testing.T) {
	for name, c := range map[string]struct {
		files, fails string
		dir          string
		up           int
		err          error
	}{
		"none":              {"", "", "", 0, nil},
		"near":              {"a/b/c/_METADATA", "", "a/b/c", 1, nil},
		"the outermost":     {"a/b/c/_METADATA a/_CHECKPOINT_METADATA", "", "a", 3, nil},
		"the whole bucket":  {"bivouac.manifest", "", "", 4, nil},
		"failure":           {"", "a/_METADATA", "", 0, errAway},
		"failure behind it": {"a/_CHECKPOINT_METADATA", "a/_METADATA", "a", 3, nil},
	} {
		scheme := "t" + strconv.FormatInt(time.Now().UnixNano(), 10)
		st := &slowStore{files: c.files, fails: c.fails, all: 12}
		store.Register(scheme, func(context.Context, string) (store.Store, error) { return st, nil })
		dir, up, ok, err := layout.Within(t.Context(), scheme+"://b/a/b/c/d", nil, 1)
		want := ""
		if c.up > 0 {
			want = strings.TrimSuffix(scheme+"://b/"+c.dir, "/")
		}
		if dir != want || up != c.up || ok != (c.up > 0) || !errors.Is(err, c.err) {
			t.Errorf("%s: %q, %d, %v, %v, want %q", name, dir, up, ok, err, want)
		}
	}
}

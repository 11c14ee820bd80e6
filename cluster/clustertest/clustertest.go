// Package clustertest tests that a board keeps the laws of cluster.Board, and that clusters work on
// it, also when processes die and the board fails.
package clustertest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bivouac-ml/bivouac/cluster"
	"github.com/bivouac-ml/bivouac/errs"
)

// Suite is a kind of board to test.
type Suite struct {
	// Open returns an opener of one empty board. Each call of the opener is the view of one process.
	// The opener may call t.Cleanup.
	Open func(t *testing.T) (opener func() cluster.Board)
	// Virtual runs each test under the clock of testing/synctest. The board must not do I/O.
	Virtual bool
	// Lease is cluster.Options.Lease of the tests. The default is 2 seconds.
	Lease time.Duration
	// Barriers is how many barriers in a row must leave nothing behind. The default is 1,000.
	Barriers int
}

// Run runs the suite.
func Run(t *testing.T, s Suite) {
	if s.Lease == 0 {
		s.Lease = 2 * time.Second
	}
	if s.Barriers == 0 {
		s.Barriers = 1000
	}
	// The tests mostly wait. So more of them run at the same time than there are processors.
	var wait sync.WaitGroup
	turn := make(chan struct{}, atOnce)
	for _, c := range slices.Concat(boardTests, joinTests, callTests, leaseTests, faultTests) {
		if s.Virtual {
			t.Run(c.name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { c.run(newEnv(t, s)) }) })
			continue
		}
		wait.Go(func() {
			turn <- struct{}{}
			defer func() { <-turn }()
			t.Run(c.name, func(t *testing.T) { c.run(newEnv(t, s)) })
		})
	}
	wait.Wait()
}

// atOnce is how many tests run at once.
const atOnce = 8

type test struct {
	name string
	run  func(e *env)
}

// env is one empty board, and the processes that use it.
type env struct {
	*testing.T
	Suite
	board func() cluster.Board

	mu     sync.Mutex
	opened []cluster.Board
}

func newEnv(t *testing.T, s Suite) *env {
	e := &env{T: t, Suite: s}
	open := s.Open(t)
	e.board = func() cluster.Board {
		b := open()
		e.mu.Lock()
		defer e.mu.Unlock()
		e.opened = append(e.opened, b)
		return b
	}
	t.Cleanup(func() {
		for _, b := range e.opened {
			if err := b.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	return e
}

// options returns the options of a member.
func (e *env) options(rank, world int) cluster.Options {
	return cluster.Options{Rank: rank, World: world, Job: "job-1", Host: fmt.Sprintf("host-%c", 'a'+rank), Lease: e.Lease,
		Deadline: 30 * e.Lease}
}

// process is a process of a job: a member and its view of the board, which ends when it is killed.
type process struct {
	*cluster.Member
	view *mortal
}

// join joins a member with the options. The test fails if it cannot.
func (e *env) join(o cluster.Options) *process {
	e.Helper()
	p, err := e.tryJoin(o)
	if err != nil {
		e.Error(err)
		return nil
	}
	return p
}

func (e *env) tryJoin(o cluster.Options) (*process, error) {
	view := newMortal(e.board())
	m, err := cluster.Join(context.Background(), view, o)
	if err != nil {
		return nil, err
	}
	e.Cleanup(func() { m.Close() }) //nolint:errcheck // the tests that care close it
	return &process{m, view}, nil
}

// all joins all members of a world. change, if not nil, changes the options of a rank.
func (e *env) all(world int, change func(rank int, o *cluster.Options)) []*process {
	e.Helper()
	out := make([]*process, world)
	e.each(world, func(rank int) error {
		o := e.options(rank, world)
		if change != nil {
			change(rank, &o)
		}
		var err error
		out[rank], err = e.tryJoin(o)
		return err
	})
	if e.Failed() {
		e.FailNow()
	}
	return out
}

// each runs f for the ranks at once. The test fails with their errors.
func (e *env) each(n int, f func(rank int) error) {
	e.Helper()
	for rank, err := range together(n, f) {
		if err != nil {
			e.Errorf("rank %d: %v", rank, err)
		}
	}
}

func together(n int, f func(rank int) error) []error {
	out := make([]error, n)
	var wait sync.WaitGroup
	for rank := range n {
		wait.Go(func() { out[rank] = f(rank) })
	}
	wait.Wait()
	return out
}

// closeAll closes the members, and checks that nothing is left but leases. The documents of a
// member stay if its board was slower than its lease.
func (e *env) closeAll(all []*process) {
	e.Helper()
	lost := false
	for rank, m := range all {
		if m != nil && m.Err() != nil {
			e.Logf("rank %d has lost its place: %v", rank, m.Err())
			lost = true
		}
	}
	e.each(len(all), func(rank int) error {
		if all[rank] == nil {
			return nil
		}
		return all[rank].Close()
	})
	if !lost {
		e.clean()
	}
}

// clean checks that the board has no documents but leases.
func (e *env) clean() {
	e.Helper()
	for _, d := range e.docs() {
		if !strings.HasPrefix(d.Key, "lease/") {
			e.Errorf("%s is left over", d.Key)
		}
	}
}

func (e *env) docs() []cluster.Document {
	e.Helper()
	docs, err := e.board().List(context.Background(), "")
	if err != nil {
		e.Fatal(err)
	}
	return docs
}

// want checks the kind of an error and the words in its text.
func (e *env) want(err error, kind errs.Kind, words ...string) {
	e.Helper()
	if errs.KindOf(err) != kind {
		e.Errorf("want an error of kind %v, got %v", kind, err)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			e.Errorf("want %q in the error, got: %v", w, err)
		}
	}
}

// mortal is the view of a process that may be killed.
type mortal struct {
	cluster.Board
	dead chan struct{}

	mu     sync.Mutex
	killed bool
	sent   sync.WaitGroup // requests
}

func newMortal(b cluster.Board) *mortal { return &mortal{Board: b, dead: make(chan struct{})} }

// kill ends all requests of the process. None of them changes the board after kill: another process
// would take that for a sign of life.
func (b *mortal) kill() {
	b.mu.Lock()
	if !b.killed {
		b.killed = true
		close(b.dead)
	}
	b.mu.Unlock()
	b.sent.Wait()
}

var errKilled = &errs.Error{Kind: errs.Closed, Op: "clustertest", Got: "the process was killed"}

// do runs a request, which ends when the process is killed.
func (b *mortal) do(ctx context.Context, request func(ctx context.Context) error) error {
	b.mu.Lock()
	if b.killed {
		b.mu.Unlock()
		return errKilled
	}
	b.sent.Add(1)
	b.mu.Unlock()
	defer b.sent.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		select {
		case <-b.dead:
			cancel()
		case <-ended:
		}
	}()
	err := request(ctx)
	select {
	case <-b.dead:
		return errKilled
	default:
		return err
	}
}

func (b *mortal) Get(ctx context.Context, key string) (d cluster.Document, err error) {
	err = b.do(ctx, func(ctx context.Context) (err error) { d, err = b.Board.Get(ctx, key); return err })
	return d, err
}

func (b *mortal) Put(ctx context.Context, key string, value []byte, version string) (v string, err error) {
	err = b.do(ctx, func(ctx context.Context) (err error) { v, err = b.Board.Put(ctx, key, value, version); return err })
	return v, err
}

func (b *mortal) Delete(ctx context.Context, key, version string) error {
	return b.do(ctx, func(ctx context.Context) error { return b.Board.Delete(ctx, key, version) })
}

func (b *mortal) List(ctx context.Context, prefix string) (d []cluster.Document, err error) {
	err = b.do(ctx, func(ctx context.Context) (err error) { d, err = b.Board.List(ctx, prefix); return err })
	return d, err
}

// Changes passes on what the board tells, if it does.
func (b *mortal) Changes(ctx context.Context, prefix string) (<-chan struct{}, error) {
	if w, ok := b.Board.(cluster.Watcher); ok {
		return w.Changes(ctx, prefix)
	}
	c := make(chan struct{})
	context.AfterFunc(ctx, func() { close(c) })
	return c, &errs.Error{Kind: errs.Unsupported}
}

// The laws of boards.
var boardTests = []test{
	{"Versions", func(e *env) {
		ctx, b := context.Background(), e.board()
		if _, err := b.Get(ctx, "a"); errs.KindOf(err) != errs.NotFound {
			e.Errorf("a document that is not there: %v", err)
		}
		if _, err := b.Put(ctx, "a", []byte("0"), "no such version"); !errors.Is(err, cluster.ErrChanged) {
			e.Errorf("a version of a document that is not there: %v", err)
		}
		first := must(b.Put(ctx, "a", []byte("1"), ""))(e)
		if _, err := b.Put(ctx, "a", []byte("2"), ""); !errors.Is(err, cluster.ErrChanged) {
			e.Errorf("absent twice: %v", err)
		}
		second := must(b.Put(ctx, "a", []byte("1"), first))(e)
		if first == second {
			e.Errorf("the version %s came back with the same bytes", first)
		}
		for _, old := range []string{first, "x"} {
			if _, err := b.Put(ctx, "a", []byte("3"), old); !errors.Is(err, cluster.ErrChanged) {
				e.Errorf("version %s: %v", old, err)
			}
			if err := b.Delete(ctx, "a", old); !errors.Is(err, cluster.ErrChanged) {
				e.Errorf("removal of version %s: %v", old, err)
			}
		}
		if d := must(e.board().Get(ctx, "a"))(e); d.Key != "a" || string(d.Value) != "1" || d.Version != second {
			e.Errorf("%+v", d)
		}
		if err := b.Delete(ctx, "a", second); err != nil {
			e.Error(err)
		}
		if _, err := b.Get(ctx, "a"); errs.KindOf(err) != errs.NotFound {
			e.Errorf("a document that was removed: %v", err)
		}
		for _, v := range []string{"", second} {
			if err := b.Delete(ctx, "a", v); err != nil {
				e.Errorf("removal of a missing document: %v", err)
			}
		}
		if _, err := b.Put(ctx, "a", nil, second); !errors.Is(err, cluster.ErrChanged) {
			e.Errorf("the version of a document that was removed: %v", err)
		}
		third := must(b.Put(ctx, "a", nil, ""))(e)
		if third == first || third == second {
			e.Errorf("the version %s came back", third)
		}
		if d := must(b.Get(ctx, "a"))(e); len(d.Value) != 0 || d.Version != third {
			e.Errorf("an empty document: %+v", d)
		}
		if err := b.Delete(ctx, "a", ""); err != nil {
			e.Error(err)
		}
	}},
	{"Keys", func(e *env) {
		ctx, b := context.Background(), e.board()
		keys := []string{"lease/a b", "lease/a%20b", "lease/ü-ö.é", "lease/x/y", "member/000001", "member/000010", "round"}
		big := slices.Repeat([]byte{0, 255, '\n', 'x'}, 100_000)
		versions := map[string]string{}
		for _, k := range keys {
			versions[k] = must(b.Put(ctx, k, append([]byte(k+"\n"), big...), ""))(e)
		}
		for prefix, n := range map[string]int{"": 7, "lease/": 4, "lease/a": 2, "member/": 2, "member/00000": 1, "x": 0} {
			docs, err := e.board().List(ctx, prefix)
			if err != nil || len(docs) != n {
				e.Errorf("%q: %d documents, want %d: %v", prefix, len(docs), n, err)
			}
			for _, d := range docs {
				if d.Version != versions[d.Key] || d.Value != nil && string(d.Value) != d.Key+"\n"+string(big) {
					e.Errorf("%q: %q has the version %s, want %s, and %d bytes", prefix, d.Key, d.Version, versions[d.Key],
						len(d.Value))
				}
			}
		}
		for _, k := range keys {
			if d := must(b.Get(ctx, k))(e); string(d.Value) != k+"\n"+string(big) {
				e.Errorf("%q: %d bytes", k, len(d.Value))
			}
			if err := b.Delete(ctx, k, versions[k]); err != nil {
				e.Error(err)
			}
		}
		e.clean()
	}},
	{"OneWinner", func(e *env) {
		const writers, rounds = 8, 10
		ctx := context.Background()
		e.each(writers, func(rank int) error {
			b := e.board()
			for n := 0; n < rounds; {
				var have []byte
				d, err := b.Get(ctx, "count")
				if err != nil && errs.KindOf(err) != errs.NotFound {
					return err
				}
				have = d.Value
				_, err = b.Put(ctx, "count", append(slices.Clone(have), byte('a'+rank)), d.Version)
				switch {
				case err == nil:
					n++
				case errs.KindOf(err) == errs.Busy:
				case !errors.Is(err, cluster.ErrChanged):
					return err
				}
			}
			return nil
		})
		d := must(e.board().Get(ctx, "count"))(e)
		counts := map[byte]int{}
		for _, c := range d.Value {
			counts[c]++
		}
		if len(d.Value) != writers*rounds || len(counts) != writers || slices.Max(slices.Collect(maps.Values(counts))) != rounds {
			e.Errorf("%d changes succeeded, %s is there", writers*rounds, d.Value)
		}
	}},
	{"ContextEnds", func(e *env) {
		ctx, cancel := context.WithCancel(context.Background())
		b := e.board()
		cancel()
		_, getErr := b.Get(ctx, "a")
		_, putErr := b.Put(ctx, "a", nil, "")
		_, listErr := b.List(ctx, "")
		for what, err := range map[string]error{"Get": getErr, "Put": putErr, "List": listErr, "Delete": b.Delete(ctx, "a", "")} {
			if errs.KindOf(err) != errs.Canceled && errs.KindOf(err) != errs.IO {
				e.Errorf("%s: %v", what, err)
			}
		}
	}},
	{"Changes", func(e *env) {
		w, ok := e.board().(cluster.Watcher)
		if !ok {
			e.Skip("this board does not tell of changes")
		}
		ctx, cancel := context.WithCancel(context.Background())
		c, err := w.Changes(ctx, "member/")
		if err != nil {
			e.Fatal(err)
		}
		for i := range 3 {
			must(e.board().Put(ctx, fmt.Sprint("member/", i), nil, ""))(e)
			select {
			case _, ok := <-c:
				if !ok {
					e.Fatal("the channel was closed")
				}
			case <-time.After(10 * time.Second):
				e.Fatal("nothing was told")
			}
		}
		cancel()
		for range c { // is closed
		}
	}},
}

func must[T any](v T, err error) func(e *env) T {
	return func(e *env) T {
		e.Helper()
		if err != nil {
			e.Fatal(err)
		}
		return v
	}
}

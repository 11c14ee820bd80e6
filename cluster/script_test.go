package cluster

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
)

// script is the view that one process has of a board. It keeps what the process asks, and may act
// before each request, or answer in place of the board.
type script struct {
	Board
	t      *testing.T
	bare   bool                  // List gives no values
	slow   time.Duration         // what a request takes
	before func(r request) error // its error is the answer

	mu   sync.Mutex
	all  []request
	done int // how many of these belong to what is tested; 0: all
	over bool
}

// request is a request of a process: "Get job".
type request struct {
	op, key string
	value   []byte // of a Put
	n       int    // counts the requests of the view, from 1
}

func (r request) String() string { return r.op + " " + r.key }

// most is how many requests a test may make. Then the board refuses, so that a process that never
// stops asking does not keep the test.
const most = 20_000

// errInjected is in the chain of errors that a script makes.
var errInjected = errors.New("an injected failure")

// injected is an error of the board that time does not mend, or one that it may.
func injected(kind errs.Kind) error { return &errs.Error{Kind: kind, Op: "script", Err: errInjected} }

func (b *script) ask(ctx context.Context, r request) error {
	b.mu.Lock()
	r.n = len(b.all) + 1
	b.all = append(b.all, r)
	if r.n > most {
		if !b.over {
			b.t.Errorf("more than %d requests; the last are %v", most, b.all[most-20:])
		}
		b.over = true
		b.mu.Unlock()
		return injected(errs.Permission)
	}
	before := b.before
	b.mu.Unlock()
	if b.slow > 0 && !sleep(ctx, b.slow) {
		return alive(ctx, "script", r.key)
	}
	if before != nil {
		return before(r)
	}
	return nil
}

func (b *script) Get(ctx context.Context, key string) (Document, error) {
	if err := b.ask(ctx, request{op: "Get", key: key}); err != nil {
		return Document{}, err
	}
	return b.Board.Get(ctx, key)
}

func (b *script) Put(ctx context.Context, key string, value []byte, version string) (string, error) {
	if err := b.ask(ctx, request{op: "Put", key: key, value: value}); err != nil {
		return "", err
	}
	return b.Board.Put(ctx, key, value, version)
}

func (b *script) Delete(ctx context.Context, key, version string) error {
	if err := b.ask(ctx, request{op: "Delete", key: key}); err != nil {
		return err
	}
	return b.Board.Delete(ctx, key, version)
}

func (b *script) List(ctx context.Context, prefix string) ([]Document, error) {
	if err := b.ask(ctx, request{op: "List", key: prefix}); err != nil {
		return nil, err
	}
	docs, err := b.Board.List(ctx, prefix)
	for i := range docs {
		if b.bare {
			docs[i].Value = nil
		}
	}
	return docs, err
}

func (b *script) Properties() Properties {
	return Properties{Name: "script", MaxValue: 64 << 20, Poll: 10 * time.Millisecond, MaxPoll: 2 * time.Second}
}

// act sets what happens before each request.
func (b *script) act(before func(r request) error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.before = before
}

// end says that what comes now is not tested, and lets the board answer again.
func (b *script) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.before, b.done = nil, len(b.all)
}

// asked returns how many requests there were.
func (b *script) asked() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.all)
}

// since returns the requests behind the first n.
func (b *script) since(n int) []request {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.done > 0 {
		return slices.Clone(b.all[n:b.done])
	}
	return slices.Clone(b.all[n:])
}

// times counts the requests behind the first n that begin with a text.
func (b *script) times(n int, text string) (count int) {
	for _, r := range b.since(n) {
		if strings.HasPrefix(r.String(), text) {
			count++
		}
	}
	return count
}

// watching is a script that tells of changes.
type watching struct {
	*script
	asks    int // for Changes
	changes func(ctx context.Context, prefix string) (<-chan struct{}, error)
}

func (b *watching) Changes(ctx context.Context, prefix string) (<-chan struct{}, error) {
	b.mu.Lock()
	b.asks++
	b.mu.Unlock()
	if b.changes != nil {
		return b.changes(ctx, prefix)
	}
	return b.Board.(Watcher).Changes(ctx, prefix) //nolint:forcetypeassert // a board in memory tells
}

// subscriptions returns how often the member asked for changes.
func (b *watching) subscriptions() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.asks
}

// once returns a function that calls f the first time that a request begins with a text.
func once(text string, f func()) func(r request) error {
	var done sync.Once
	return func(r request) error {
		if strings.HasPrefix(r.String(), text) {
			done.Do(f)
		}
		return nil
	}
}

// short are options of a member on a board in a bubble.
func short(rank, world int) Options {
	return Options{Rank: rank, World: world, Job: "j", Host: "h", Lease: 8 * time.Second, Deadline: time.Minute}
}

// set writes a document, whatever its version is.
func set(t *testing.T, b Board, key string, document any) {
	t.Helper()
	value, ok := document.([]byte)
	if !ok {
		value = encode(document)
	}
	d, err := b.Get(t.Context(), key)
	if err == nil || errs.KindOf(err) == errs.NotFound {
		_, err = b.Put(t.Context(), key, value, d.Version)
	}
	if err != nil {
		t.Error(err)
	}
}

func remove(t *testing.T, b Board, key string) {
	t.Helper()
	if err := b.Delete(t.Context(), key, ""); err != nil {
		t.Error(err)
	}
}

// keys returns the keys of all documents.
func keys(t *testing.T, b Board) []string {
	t.Helper()
	docs, err := b.List(t.Context(), "")
	if err != nil {
		t.Error(err)
	}
	var out []string
	for _, d := range docs {
		out = append(out, d.Key)
	}
	return out
}

// seated is the seat of a process that does nothing any more.
func seated(epoch string, rank int, incarnation string) seat {
	return seat{Version: version, Epoch: epoch, Beat: 1,
		who: who{Incarnation: incarnation, Rank: rank, Host: "h", Process: 7}}
}

// jobNamed is the job of one process.
func jobNamed(name, epoch string) job {
	return job{Version: version, Epoch: epoch, Name: name, World: 1, First: seated(epoch, 0, "first").who, Nonce: nonce()}
}

// joinAll joins all members of a world, each with its view.
func joinAll(t *testing.T, views []Board, change func(o *Options)) []*Member {
	t.Helper()
	all, failed := make([]*Member, len(views)), make([]error, len(views))
	var wait sync.WaitGroup
	for rank := range views {
		wait.Go(func() {
			o := short(rank, len(views))
			if change != nil {
				change(&o)
			}
			all[rank], failed[rank] = Join(t.Context(), views[rank], o)
		})
	}
	wait.Wait()
	if err := errors.Join(failed...); err != nil {
		t.Fatal(err)
	}
	return all
}

// closeAll closes members at once.
func closeAll(t *testing.T, all ...*Member) {
	t.Helper()
	failed := make([]error, len(all))
	var wait sync.WaitGroup
	for i, m := range all {
		wait.Go(func() { failed[i] = m.Close() })
	}
	wait.Wait()
	if err := errors.Join(failed...); err != nil {
		t.Error(err)
	}
}

// wants checks the kind of an error and the words in its text.
func wants(t *testing.T, err error, kind errs.Kind, words ...string) {
	t.Helper()
	if errs.KindOf(err) != kind {
		t.Errorf("want an error of kind %v, got %v", kind, err)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("want %q in the error, got: %v", w, err)
		}
	}
}

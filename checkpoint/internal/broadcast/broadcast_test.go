package broadcast

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/crc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// network is the Peers of several processes in memory.
type network struct {
	world             int
	silence, deadline time.Duration

	mu     sync.Mutex
	rounds map[int]*round
	offers map[string]func(context.Context, int, io.Writer) error
	ends   map[string]context.Context
	pipe   func(name string, in io.Reader) io.Reader // changes what a receiver reads; may be nil
}

type round struct {
	given [][]byte
	n     int
	full  chan struct{}
}

func newNetwork(world int) *network {
	return &network{world: world, silence: time.Second, deadline: 5 * time.Second, rounds: map[int]*round{},
		offers: map[string]func(context.Context, int, io.Writer) error{}, ends: map[string]context.Context{}}
}

// process is the Peers of one process.
type process struct {
	*network
	rank, rounds int
}

func (p *process) Rank() int                                           { return p.rank }
func (p *process) World() int                                          { return p.world }
func (p *process) Limits() (silence, deadline time.Duration)           { return p.silence, p.deadline }
func (p *process) Acquire(context.Context) (release func(), err error) { return func() {}, nil }

func (p *process) Exchange(ctx context.Context, given []byte) ([][]byte, error) {
	p.mu.Lock()
	p.rounds++
	r := p.network.rounds[p.rounds]
	if r == nil {
		r = &round{given: make([][]byte, p.world), full: make(chan struct{})}
		p.network.rounds[p.rounds] = r
	}
	r.given[p.rank] = given
	if r.n++; r.n == p.world {
		close(r.full)
	}
	p.mu.Unlock()
	t := time.NewTimer(p.deadline)
	defer t.Stop()
	select {
	case <-r.full:
		return r.given, nil
	case <-ctx.Done():
		return nil, &errs.Error{Kind: errs.Canceled, Err: context.Cause(ctx)}
	case <-t.C:
		return nil, &errs.Error{Kind: errs.Canceled, Got: "not all have come"}
	}
}

func (p *process) Offer(name string, send func(context.Context, int, io.Writer) error) (withdraw func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	ctx, cancel := context.WithCancel(context.Background())
	p.offers[name], p.ends[name] = send, ctx
	return cancel
}

func (p *process) Open(_ context.Context, _ int, name string) (io.ReadCloser, error) {
	p.mu.Lock()
	send, ctx, pipe := p.offers[name], p.ends[name], p.pipe
	p.mu.Unlock()
	if send == nil {
		return nil, &errs.Error{Kind: errs.NotFound, Got: "no such stream"}
	}
	r, w := io.Pipe()
	go func() { _ = w.CloseWithError(send(ctx, p.rank, w)) }()
	if pipe != nil {
		return struct {
			io.Reader
			io.Closer
		}{pipe(name, r), r}, nil
	}
	return r, nil
}

// run has each process load, and returns their errors.
func (n *network) run(o Options, load func(rank int, s *Session) error) []error {
	out := make([]error, n.world)
	var wait sync.WaitGroup
	for rank := range n.world {
		wait.Go(func() {
			s, err := Begin(context.Background(), &process{network: n, rank: rank}, o)
			if err == nil {
				err = s.End(context.Background(), load(rank, s))
			}
			out[rank] = err
		})
	}
	wait.Wait()
	return out
}

// fill reads memory as if from a store, and tells of parts of it.
func fill(want, memory [][]byte) func(context.Context, func(array, from, n int)) ([]int, error) {
	return func(_ context.Context, done func(array, from, n int)) ([]int, error) {
		for i, b := range want {
			for from := 0; from < len(b); from += 1000 {
				n := copy(memory[i][from:], b[from:min(len(b), from+1000)])
				if done != nil && from%3 > 0 { // the rest is sent at the end
					done(i, from, n)
				}
			}
		}
		return []int{4, 2}, nil
	}
}

func blank(like [][]byte) [][]byte {
	out := make([][]byte, len(like))
	for i, b := range like {
		out[i] = make([]byte, len(b))
	}
	return out
}

func noise(sizes ...int) [][]byte {
	rng := rand.New(rand.NewPCG(3, 4))
	out := make([][]byte, len(sizes))
	for i, n := range sizes {
		out[i] = make([]byte, n)
		for k := range out[i] {
			out[i][k] = byte(rng.Uint32())
		}
	}
	return out
}

var never = func(context.Context, func(int, int, int)) ([]int, error) { return nil, errors.New("it was read") }

// All have what the primary has read, and its note. On a mesh each group has its own.
func TestRead(t *testing.T) {
	for _, c := range []struct {
		world int
		o     Options
	}{
		{1, Options{}}, {2, Options{}}, {4, Options{Primary: 2}}, {4, Options{Mesh: []int{2, 2}, Axis: 1}},
		{4, Options{Mesh: []int{1, 4}}}, {6, Options{Mesh: []int{3, 2}, Primary: 1}}, {3,
			Options{Memory: 2 * leastBuffer}},
	} {
		want := noise(5000, 0, 1, 3<<20, 77)
		reads := make([]int, c.world)
		for rank, err := range newNetwork(c.world).run(c.o, func(rank int, s *Session) error {
			for range 2 {
				got := blank(want)
				note, err := s.Read(t.Context(), got, []Field{{"boxes", fmt.Sprint(s.primary(rank))}},
					func(ctx context.Context, done func(int, int, int)) ([]int, error) {
						reads[rank]++
						return fill(want, got)(ctx, done)
					})
				if err != nil {
					return err
				}
				for i := range want {
					if !bytes.Equal(want[i], got[i]) {
						return fmt.Errorf("array %d differs", i)
					}
				}
				if fmt.Sprint(note) != "[4 2]" {
					return fmt.Errorf("note %v", note)
				}
			}
			if isPrimary := s.primary(rank) == rank; (reads[rank] == 2) != isPrimary {
				return fmt.Errorf("%d reads", reads[rank])
			}
			return nil
		}) {
			if err != nil {
				t.Errorf("%+v, process %d: %v", c, rank, err)
			}
		}
	}
}

// The groups are the processes that differ only on the axis of replicas.
func TestGroups(t *testing.T) {
	s := &Session{o: Options{Mesh: []int{2, 3, 2}, Axis: 1, Primary: 2}}
	seen := map[int]int{}
	for p := range 12 {
		g := s.group(p)
		if len(g) != 3 || s.primary(p) != g[2] {
			t.Fatalf("group of %d: %v, primary %d", p, g, s.primary(p))
		}
		for _, q := range g {
			seen[q]++
			if fmt.Sprint(s.group(q)) != fmt.Sprint(g) {
				t.Errorf("%d and %d: %v and %v", p, q, g, s.group(q))
			}
		}
	}
	for q, n := range seen {
		if n != 3 {
			t.Errorf("%d is in %d groups", q, n)
		}
	}
}

// A process that fails anywhere ends the load on all, with its reason.
func TestFailures(t *testing.T) {
	want := noise(3000)
	broken := &errs.Error{Kind: errs.Corrupt, Subject: "array w", Got: "damage"}
	for name, load := range map[string]func(rank int, s *Session) error{
		"primary before": func(rank int, s *Session) error {
			if rank == 1 {
				return broken
			}
			_, err := s.Read(context.Background(), blank(want), nil, never)
			return err
		},
		"primary while it reads": func(_ int, s *Session) error {
			_, err := s.Read(context.Background(), blank(want), nil, func(_ context.Context, done func(int, int,
				int)) ([]int, error) {
				done(0, 0, 1000)
				return nil, broken
			})
			return err
		},
		"a process after": func(rank int, s *Session) error {
			got := blank(want)
			_, err := s.Read(context.Background(), got, nil, fill(want, got))
			if rank == 1 {
				err = broken
			}
			return err
		},
	} {
		for rank, err := range newNetwork(3).run(Options{Primary: 1}, load) {
			if errs.KindOf(err) != errs.Corrupt || !strings.Contains(err.Error(), "array w") ||
				rank != 1 && !strings.Contains(err.Error(), "process 1") {
				t.Errorf("%s, process %d: %v", name, rank, err)
			}
		}
	}
}

// Whatever garbage a primary sends, cut or changed at any byte, its receivers say so, and all fail.
func TestGarbage(t *testing.T) {
	want := noise(2000, 10)
	var whole []byte
	s := newSender(want, []int{1}, mostBuffer, time.Second)
	s.end([]int{4, 2}, nil)
	var out bytes.Buffer
	if err := s.send(t.Context(), 1, &out); err != nil {
		t.Fatal(err)
	}
	whole = out.Bytes()
	take := func(b []byte) error {
		r := receiver{memory: blank(want), primary: 0, deadline: time.Second}
		_, err := r.receive(bytes.NewReader(b))
		return err
	}
	if err := take(whole); err != nil {
		t.Fatal(err)
	}
	for n := range len(whole) {
		if err := take(whole[:n]); errs.KindOf(err) != errs.IO || !strings.Contains(err.Error(), "process 0") {
			t.Fatalf("cut after %d bytes: %v", n, err)
		}
	}
	for n := range len(whole) {
		b := bytes.Clone(whole)
		b[n] ^= 0x10
		if err := take(b); err == nil || !strings.Contains(err.Error(), "process 0") {
			t.Fatalf("byte %d changed: %v", n, err)
		}
	}
	frames := func(list ...frame) (b []byte) {
		for _, f := range list {
			b = append(append(b, f.header[:]...), f.payload...)
		}
		return b
	}
	end := ending{Bytes: 2010}.frame()
	a, c := newFrame(kindData, 0, 0, want[0]), newFrame(kindData, 1, 0, want[1])
	long := newFrame(kindData, 0, 0, want[0][:1])
	binary.LittleEndian.PutUint32(long.header[16:], mostData+1)
	text := newFrame(kindEnd, 0, 0, nil)
	binary.LittleEndian.PutUint32(text.header[16:], 1<<31)
	for name, b := range map[string][]byte{
		"noise": noise(100)[0],
		"http":  []byte("HTTP/1.1 400 Bad Request\r\n\r\n"),
		"a gap": frames(a, end),
		"twice": frames(a, a, c, ending{Bytes: 4010}.frame()),
		"overlap": frames(newFrame(kindData, 0, 0, want[0][:1500]), newFrame(kindData, 0, 1000,
			want[0][1000:]), c, ending{Bytes: 2510}.frame()),
		"another array":    frames(newFrame(kindData, 2, 0, want[1])),
		"beyond":           frames(newFrame(kindData, 0, 1999, want[1])),
		"far beyond":       frames(newFrame(kindData, 0, -1, want[1])),
		"empty":            frames(newFrame(kindData, 0, 0, nil)),
		"too long":         frames(long),
		"a huge end":       frames(text),
		"a wrong count":    frames(a, c, ending{Bytes: 7}.frame()),
		"no JSON":          frames(a, c, newFrame(kindEnd, 0, 0, []byte("garbage"))),
		"no reason":        frames(newFrame(kindFail, 0, 0, []byte("{}"))),
		"a beat with text": frames(newFrame(kindBeat, 0, 0, []byte("x"))),
	} {
		if err := take(b); errs.KindOf(err) != errs.Corrupt || !strings.Contains(err.Error(), "process 0") ||
			!strings.Contains(err.Error(), "UseLoadAndBroadcast") ||
			name == "no JSON" && !strings.Contains(err.Error(), "JSON") {
			t.Errorf("%s: %v", name, err)
		}
	}
	// The whole job learns it.
	n := newNetwork(3)
	n.pipe = func(string, io.Reader) io.Reader { return strings.NewReader("garbage that is longer than a header") }
	n.silence = 300 * time.Millisecond
	for rank, err := range n.run(Options{}, func(_ int, s *Session) error {
		got := blank(want)
		_, err := s.Read(context.Background(), got, nil, fill(want, got))
		return err
	}) {
		if errs.KindOf(err) != errs.Corrupt || !strings.Contains(err.Error(), "process 0, which reads") {
			t.Errorf("process %d: %v", rank, err)
		}
	}
}

func FuzzReceive(f *testing.F) {
	memory := noise(300, 5)
	s := newSender(memory, []int{1}, mostBuffer, time.Second)
	s.end([]int{4, 2}, nil)
	var out bytes.Buffer
	if err := s.send(context.Background(), 1, &out); err != nil {
		f.Fatal(err)
	}
	f.Add(out.Bytes(), true)
	f.Add([]byte("HTTP/1.1 200 OK"), false)
	f.Fuzz(func(t *testing.T, b []byte, sum bool) {
		if sum && len(b) >= headerBytes { // the first frame has a right checksum
			n := min(int(binary.LittleEndian.Uint32(b[16:])), len(b)-headerBytes)
			binary.LittleEndian.PutUint32(b[20:], crc.Update(crc.Sum(b[:20]), b[headerBytes:][:max(0, n)]))
		}
		got := blank(memory)
		r := receiver{memory: got, deadline: time.Second}
		if _, err := r.receive(bytes.NewReader(b)); err == nil {
			if end := r.bytes; end != 305 {
				t.Errorf("%d bytes were taken for all", end)
			}
		}
	})
}

// A primary that gives only signs of life is named when the deadline is over; so is one that is
// silent.
func TestOnlyBeats(t *testing.T) {
	want := noise(10)
	n := newNetwork(2)
	n.silence, n.deadline = 100*time.Millisecond, 400*time.Millisecond
	stop := make(chan struct{})
	var once sync.Once
	for rank, err := range n.run(Options{}, func(rank int, s *Session) error {
		got := blank(want)
		_, err := s.Read(context.Background(), got, nil, func(context.Context, func(int, int, int)) ([]int, error) {
			<-stop // the store hangs
			return nil, errors.New("it was stopped")
		})
		if rank == 1 {
			once.Do(func() { close(stop) })
		}
		return err
	}) {
		if rank == 1 && (errs.KindOf(err) != errs.Canceled || !strings.Contains(err.Error(), "process 0") ||
			!strings.Contains(err.Error(), "signs of life")) {
			t.Error(err)
		}
	}
}

// slow reads a little at a time.
type slow struct{ in io.Reader }

func (s slow) Read(b []byte) (int, error) {
	time.Sleep(100 * time.Microsecond)
	return s.in.Read(b[:min(len(b), 4096)])
}

// A slow receiver gets all, and keeps nobody else from it; the primary waits for it, because the
// bytes are sent from its memory.
func TestSlowReceiver(t *testing.T) {
	want := noise(1 << 20)
	n := newNetwork(3)
	n.deadline = time.Minute
	first := true
	n.pipe = func(_ string, in io.Reader) io.Reader {
		n.mu.Lock()
		defer n.mu.Unlock()
		if first {
			first = false
			return slow{in}
		}
		return in
	}
	for rank, err := range n.run(Options{}, func(_ int, s *Session) error {
		got := blank(want)
		_, err := s.Read(context.Background(), got, nil, fill(want, got))
		if err == nil && !bytes.Equal(got[0], want[0]) {
			err = errors.New("it differs")
		}
		clear(got[0]) // the caller may change it from now on
		return err
	}) {
		if err != nil {
			t.Errorf("process %d: %v", rank, err)
		}
	}
}

// A receiver that gives up, or that never comes for its stream, does not keep the primary.
func TestReceiverGivesUp(t *testing.T) {
	want := noise(1 << 20)
	for _, name := range []string{"never comes", "in the middle"} {
		n := newNetwork(3)
		n.silence = 200 * time.Millisecond
		began := time.Now()
		for rank, err := range n.run(Options{}, func(rank int, s *Session) error {
			got := blank(want)
			if rank == 2 && name == "never comes" {
				if _, err := s.exchange(context.Background(), word{State: stateRead}); err != nil {
					return err
				}
				return context.Canceled
			}
			if rank == 2 {
				p := s.peers.(*process)
				words, err := s.exchange(context.Background(), word{State: stateRead})
				if err != nil {
					return err
				}
				in, err := p.Open(context.Background(), 0, words[0].Stream)
				if err != nil {
					return err
				}
				_, _ = io.CopyN(io.Discard, in, 1000)
				_ = in.Close()
				return context.Canceled
			}
			_, err := s.Read(context.Background(), got, nil, fill(want, got))
			return err
		}) {
			if err == nil || rank != 2 && !strings.Contains(err.Error(), "process 2") {
				t.Errorf("%s: process %d: %v", name, rank, err)
			}
		}
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("%s: it took %v", name, took)
		}
	}
}

// Streams are for the receivers of the group, once each.
func TestStreamsAreForTheGroup(t *testing.T) {
	s := newSender(noise(10), []int{1, 3}, mostBuffer, time.Second)
	s.end(nil, nil)
	for _, c := range []struct {
		rank int
		fine bool
	}{{2, false}, {1, true}, {1, false}, {3, true}, {0, false}} {
		err := s.send(t.Context(), c.rank, io.Discard)
		if (err == nil) != c.fine || err != nil && errs.KindOf(err) != errs.Sequence {
			t.Errorf("%+v: %v", c, err)
		}
	}
	s.wait(t.Context(), time.Minute)
}

// Processes of another version, or of another program, are named.
func TestWords(t *testing.T) {
	for want, b := range map[string]string{
		"process 1: version of the protocol": `{"protocol":2,"state":"read"}`,
		"process 1: corrupt":                 "garbage",
		"process 1":                          `{"protocol":1,"state":"failed"}`,
		"process 1: the state of the load":   `{"protocol":1,"state":"done","fields":[{"name":"a","value":"1"}]}`,
		"process 1: b":                       `{"protocol":1,"state":"read","fields":[{"name":"a","value":"1"},{"name":"b","value":"2"}]}`,
		"process 1: a":                       `{"protocol":1,"state":"read","fields":[{"name":"a","value":"2"}]}`,
	} {
		words, err := parse([][]byte{[]byte(`{"protocol":1,"state":"read","fields":[{"name":"a","value":"1"}]}`),
			[]byte(b)})
		if err == nil {
			err = judge(words, func(int) int { return 0 })
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// However the parts are told of, in whatever order, each byte is sent once.
func TestPartsInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := noise(rapid.SliceOfN(rapid.IntRange(0, 3000), 1, 5).Draw(t, "sizes")...)
		s := newSender(want, []int{1}, leastBuffer, time.Second)
		type part struct{ array, from, n int }
		var parts []part
		for i, b := range want {
			for at := 0; at < len(b); {
				n := rapid.IntRange(1, len(b)-at).Draw(t, "part")
				if rapid.Bool().Draw(t, "told") {
					parts = append(parts, part{i, at, n})
				}
				at += n
			}
		}
		for _, p := range rapid.Permutation(parts).Draw(t, "order") {
			s.done(p.array, p.from, p.n)
		}
		s.end(nil, nil)
		var out bytes.Buffer
		if err := s.send(context.Background(), 1, &out); err != nil {
			t.Fatal(err)
		}
		r := receiver{memory: blank(want), deadline: time.Second}
		if _, err := r.receive(&out); err != nil {
			t.Fatal(err)
		}
		for i := range want {
			if !bytes.Equal(r.memory[i], want[i]) {
				t.Fatalf("array %d differs", i)
			}
		}
	})
}

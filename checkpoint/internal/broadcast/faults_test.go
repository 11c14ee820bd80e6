package broadcast

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
)

// odd is the Peers of a process whose calls fail.
type odd struct {
	*process
	acquire, exchange, open, close error
}

func (o *odd) Acquire(context.Context) (release func(), err error) { return func() {}, o.acquire }

func (o *odd) Exchange(ctx context.Context, given []byte) ([][]byte, error) {
	all, err := o.process.Exchange(ctx, given)
	return all, errors.Join(err, o.exchange)
}

func (o *odd) Open(ctx context.Context, from int, name string) (io.ReadCloser, error) {
	if o.open != nil {
		return nil, o.open
	}
	in, err := o.process.Open(ctx, from, name)
	return closing{in, o.close}, err
}

type closing struct {
	io.ReadCloser
	err error
}

func (c closing) Close() error { return errors.Join(c.ReadCloser.Close(), c.err) }

// Each error of the peers is the error of the load, on the process that has it and on the others.
func TestPeersFail(t *testing.T) {
	bad := &errs.Error{Kind: errs.Permission, Got: "a refusal"}
	want := noise(3000)
	for name, set := range map[string]func(*odd){
		"acquire":  func(o *odd) { o.acquire = bad },
		"exchange": func(o *odd) { o.exchange = bad },
		"open":     func(o *odd) { o.open = bad },
		"close":    func(o *odd) { o.close = bad },
	} {
		for who := range 2 {
			n := newNetwork(2)
			n.silence, n.deadline = 200*time.Millisecond, 600*time.Millisecond
			var list [2]error
			var wait sync.WaitGroup
			for rank := range 2 {
				wait.Go(func() {
					p := &odd{process: &process{network: n, rank: rank}}
					if rank == who {
						set(p)
					}
					s, err := Begin(t.Context(), p, Options{})
					if err == nil {
						got := blank(want)
						_, err = s.Read(t.Context(), got, nil, fill(want, got))
						err = s.End(t.Context(), err)
					}
					list[rank] = err
				})
			}
			wait.Wait()
			if receives := name == "acquire" || name == "exchange" || who == 1; receives &&
				(!errors.Is(list[who], errs.Permission) || list[1-who] == nil) {
				t.Errorf("%s of process %d: %v", name, who, list)
			}
		}
	}
}

// Options that do not fit are refused on all processes, also where only one has them.
func TestOptionsDoNotFit(t *testing.T) {
	for want, o := range map[string]Options{
		"mesh_shape": {Mesh: []int{3}}, "replica_axis_index": {Axis: 1}, "primary_replica_id": {Primary: 2},
		"broadcast_memory_limit_bytes": {Memory: leastBuffer - 1},
	} {
		n := newNetwork(2)
		var list [2]error
		var wait sync.WaitGroup
		for rank := range 2 {
			wait.Go(func() {
				own := o
				if rank == 0 {
					own = Options{}
				}
				s, err := Begin(t.Context(), &process{network: n, rank: rank}, own)
				if err == nil {
					got := blank(noise(10))
					_, err = s.Read(t.Context(), got, nil, fill(noise(10), got))
					err = s.End(t.Context(), err)
				}
				list[rank] = err
			})
		}
		wait.Wait()
		for rank, err := range list {
			if errs.KindOf(err) != errs.Invalid || !strings.Contains(fmt.Sprint(err), want) {
				t.Errorf("%s: process %d: %v", want, rank, err)
			}
		}
	}
}

// Words that differ in the rounds of a group end the load; so do words of another program.
func TestWordsEndTheLoad(t *testing.T) {
	want := noise(100)
	for rank, err := range newNetwork(2).run(Options{}, func(rank int, s *Session) error {
		got := blank(want)
		_, err := s.Read(context.Background(), got, []Field{{"the boxes", fmt.Sprint(rank)}}, fill(want, got))
		return err
	}) {
		if errs.KindOf(err) != errs.Mismatch || !strings.Contains(err.Error(), "process 1: the boxes") {
			t.Errorf("process %d: %v", rank, err)
		}
	}
	n := newNetwork(2)
	go (&process{network: n, rank: 1}).Exchange(context.Background(), []byte("garbage")) //nolint:errcheck // a test
	s, err := Begin(t.Context(), &process{network: n}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Read(t.Context(), blank(want), nil, never)
	if err = s.End(t.Context(), err); errs.KindOf(err) != errs.Corrupt || !strings.Contains(err.Error(), "process 1") {
		t.Error(err)
	}
}

// full is a writer that takes n bytes.
type full struct{ n int }

func (f *full) Write(b []byte) (int, error) {
	if f.n -= len(b); f.n < 0 {
		return 0, io.ErrShortWrite
	}
	return len(b), nil
}

func (f *full) Flush() error {
	if f.n == 0 {
		return io.ErrClosedPipe
	}
	return nil
}

// A receiver that takes no more ends its stream with an error at each place.
func TestSendFails(t *testing.T) {
	want := noise(10000, 3)
	s := newSender(want, upTo(200), leastBuffer, time.Second)
	s.end(nil, nil)
	var out bytes.Buffer
	if err := s.send(t.Context(), 0, &out); err != nil {
		t.Fatal(err)
	}
	for i := 1; i < 200; i++ {
		if err := s.send(t.Context(), i, &full{out.Len() * i / 200}); !errors.Is(err, io.ErrShortWrite) {
			t.Errorf("after %d bytes: %v", out.Len()*i/200, err)
		}
	}
	// While there is nothing to send, signs of life and flushes fail too.
	for n, want := range map[int]error{0: io.ErrClosedPipe, 1: io.ErrShortWrite} {
		s := newSender(want2(), []int{1}, leastBuffer, time.Millisecond)
		if err := s.send(t.Context(), 1, &full{n}); !errors.Is(err, want) {
			t.Errorf("%d: %v", n, err)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(io.ErrNoProgress)
	for _, over := range []bool{true, false} {
		s := newSender(want2(), []int{1}, leastBuffer, time.Minute)
		if over {
			s.end(nil, nil)
		}
		if err := s.send(ctx, 1, io.Discard); !errors.Is(err, io.ErrNoProgress) {
			t.Error(err)
		}
	}
}

func want2() [][]byte { return noise(50) }

func upTo(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// After a failure nothing is sent that was not verified.
func TestNothingUnverifiedIsSent(t *testing.T) {
	want := noise(5000)
	s := newSender(want, []int{1}, leastBuffer, time.Second)
	s.done(0, 1000, 500)
	s.end(nil, errors.New("damage"))
	s.done(0, 0, 500) // a part that another goroutine had under way
	var out bytes.Buffer
	if err := s.send(t.Context(), 1, &out); err != nil {
		t.Fatal(err)
	}
	r := receiver{memory: blank(want), deadline: time.Second}
	if _, err := r.receive(&out); err == nil || !strings.Contains(err.Error(), "damage") || r.bytes != 500 {
		t.Errorf("%d bytes, %v", r.bytes, err)
	}
}

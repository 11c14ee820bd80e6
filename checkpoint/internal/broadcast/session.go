package broadcast

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
)

// Options say which process reads for which others.
type Options struct {
	Mesh    []int // extents of the mesh of processes; nil: one axis with all
	Axis    int   // the axis along which replicas lie
	Primary int   // which replica reads
	Memory  int64 // bounds the buffers of a process, in bytes; 0: no bound
}

// The buffers of one stream, in bytes: the smallest and the largest. A stream also has the buffers
// of its connection.
const (
	leastBuffer = 4 << 10
	mostBuffer  = 64 << 10
)

const optionsName = "array.loading.load_and_broadcast_options."

// Session is one load, from the view of one process. Its methods are called one after the other.
type Session struct {
	peers   options.Peers
	o       Options
	release func()
	over    bool    // the load has ended on all processes
	fields  []Field // the same on all processes
}

// Begin begins a load. It waits while another load of this process uses the peers. If it succeeds,
// the caller must call End. If it fails, the other processes are told.
func Begin(ctx context.Context, peers options.Peers, o Options) (*Session, error) {
	s := &Session{peers: peers, o: o}
	if s.o.Mesh == nil {
		s.o.Mesh = []int{peers.World()}
	}
	s.Same(Field{optionsName + "mesh_shape", fmt.Sprint(s.o.Mesh)},
		Field{optionsName + "replica_axis_index", strconv.Itoa(o.Axis)},
		Field{optionsName + "primary_replica_id", strconv.Itoa(o.Primary)})
	var err error
	if s.release, err = peers.Acquire(ctx); err != nil {
		return nil, err
	}
	if err := s.check(); err != nil {
		return nil, s.End(ctx, err)
	}
	return s, nil
}

func (s *Session) check() error {
	bad := func(field, want, got string) error {
		return &errs.Error{Kind: errs.Invalid, Subject: optionsName + field, Want: want, Got: got}
	}
	all := 1
	for _, n := range s.o.Mesh {
		if n < 1 || all > s.peers.World()/n {
			all = 0
			break
		}
		all *= n
	}
	switch {
	case all != s.peers.World():
		return bad("mesh_shape", fmt.Sprintf("a mesh of %d processes", s.peers.World()), fmt.Sprint(s.o.Mesh))
	case s.o.Axis < 0 || s.o.Axis >= len(s.o.Mesh):
		return bad("replica_axis_index", fmt.Sprintf("an axis of the mesh %v, counted from 0", s.o.Mesh),
			strconv.Itoa(s.o.Axis))
	case s.o.Primary < 0 || s.o.Primary >= s.o.Mesh[s.o.Axis]:
		return bad("primary_replica_id", fmt.Sprintf("one of %d replicas, counted from 0", s.o.Mesh[s.o.Axis]),
			strconv.Itoa(s.o.Primary))
	case s.o.Memory > 0 && s.buffer() < leastBuffer:
		return bad("broadcast_memory_limit_bytes", fmt.Sprintf("at least %d bytes, %d for each of %d receivers",
			leastBuffer*s.receivers(), leastBuffer, s.receivers()), strconv.FormatInt(s.o.Memory, 10))
	}
	return nil
}

// receivers returns the number of processes to which a primary sends.
func (s *Session) receivers() int { return s.o.Mesh[s.o.Axis] - 1 }

// buffer returns the bytes of the buffer of each stream.
func (s *Session) buffer() int {
	if s.o.Memory <= 0 || s.receivers() == 0 {
		return mostBuffer
	}
	return int(min(mostBuffer, s.o.Memory/int64(s.receivers())))
}

// group returns the processes of the group of p, ascending along the axis of replicas.
func (s *Session) group(p int) []int {
	stride := 1
	for _, n := range s.o.Mesh[s.o.Axis+1:] {
		stride *= n
	}
	n := s.o.Mesh[s.o.Axis]
	first := p - p/stride%n*stride
	out := make([]int, n)
	for i := range out {
		out[i] = first + i*stride
	}
	return out
}

// primary returns the process that reads for p.
func (s *Session) primary(p int) int { return s.group(p)[s.o.Primary] }

// Same adds fields that must be the same on all processes, or replaces the fields of the same name.
func (s *Session) Same(fields ...Field) {
	for _, f := range fields {
		if i := slices.IndexFunc(s.fields, func(g Field) bool { return g.Name == f.Name }); i >= 0 {
			s.fields[i] = f
		} else {
			s.fields = append(s.fields, f)
		}
	}
}

// exchange tells the others a word and returns theirs. Its error ends the load. If the words were
// exchanged, all processes have the same error. If they were not, the others may have them all the
// same, or not; so each process that fails in this way has another word to say.
func (s *Session) exchange(ctx context.Context, w word) ([]word, error) {
	w.Protocol, w.Fields = protocol, s.fields
	b, _ := json.Marshal(w) //nolint:errcheck // strings and numbers
	all, err := s.peers.Exchange(ctx, b)
	if err != nil {
		return nil, err
	}
	words, err := parse(all)
	if err == nil {
		err = judge(words, s.primary)
	}
	s.over = err != nil
	return words, err
}

// Read fills memory, the arrays of one round. On a primary it calls read, which reads all of it and
// may call done for parts that it has finished. The note that read returns is returned on all
// processes of the group. On the others the primary sends the bytes, and read is not called.
//
// round has what must be the same in the group: which boxes the memory is for.
func (s *Session) Read(ctx context.Context, memory [][]byte, round []Field,
	read func(ctx context.Context, done func(array, from, n int)) (note []int, err error)) ([]int, error) {
	self := s.peers.Rank()
	w, primary := word{State: stateRead, Round: round}, s.primary(self)
	if primary == self {
		w.Stream = rand.Text()
	}
	if primary != self || s.receivers() == 0 {
		words, err := s.exchange(ctx, w)
		if err != nil {
			return nil, err
		}
		if primary == self {
			return read(ctx, nil)
		}
		return s.receive(ctx, memory, primary, words[primary].Stream)
	}
	others := slices.DeleteFunc(s.group(self), func(p int) bool { return p == self })
	silence, _ := s.peers.Limits()
	out := newSender(memory, others, s.buffer(), silence/4)
	withdraw := s.peers.Offer(w.Stream, out.send)
	defer withdraw()
	if _, err := s.exchange(ctx, w); err != nil {
		return nil, err
	}
	note, err := read(ctx, out.done)
	out.end(note, err)
	out.wait(ctx, silence/2) // a receiver that has failed tells it for a longer time
	return note, err
}

func (s *Session) receive(ctx context.Context, memory [][]byte, primary int, stream string) ([]int, error) {
	in, err := s.peers.Open(ctx, primary, stream)
	if err != nil {
		return nil, errs.Wrap("broadcast", name(primary), err)
	}
	_, deadline := s.peers.Limits()
	r := receiver{memory: memory, primary: primary, deadline: deadline}
	note, err := r.receive(bufio.NewReaderSize(in, s.buffer()))
	if e := in.Close(); err == nil && e != nil {
		err = errs.Wrap("broadcast", name(primary), e)
	}
	return note, err
}

// End ends the load. err is how it ended on this process. End returns err, or the error with which
// the load ended on another process.
func (s *Session) End(ctx context.Context, err error) error {
	defer s.release()
	silence, _ := s.peers.Limits()
	if err != nil {
		if !s.over {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*silence)
			defer cancel()
			s.exchange(ctx, word{State: stateFailed, Failure: fail(err)}) //nolint:errcheck // err is returned
		}
		return err
	}
	ctx, stop := later(ctx, silence) // this process has all, and the others need its word
	defer stop()
	for {
		words, err := s.exchange(ctx, word{State: stateDone})
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(words, func(w word) bool { return w.State != stateDone }) {
			return nil
		}
		// Another group reads on. It tells the outcome with its next word.
	}
}

// later returns a context that ends some time after ctx ends.
func later(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	out, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
			cancel(context.Cause(ctx))
		case <-out.Done():
		}
	})
	return out, func() { stop(); cancel(nil) }
}

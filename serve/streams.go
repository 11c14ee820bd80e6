package serve

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"strconv"

	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/order"
)

// Bounds of the calls for streams.
const (
	maxStreams  = 1 << 16
	maxReplayed = 1 << 24 // items that a call counts again
	maxSeeds    = 1 << 16
)

// streamArg is a stream of a data set in the client: what the batches that were delivered since the
// state have read of it in this pass, and its states behind that.
type streamArg struct {
	Stream   int64   `json:"stream"`
	Items    int64   `json:"items"`
	Ended    bool    `json:"ended"`
	Initial  *string `json:"initial"` // state of the data set before the pass
	Dataset  *string `json:"dataset"`
	Iterator *string `json:"iterator"`
	seed     uint64  // of the stream in this epoch
}

// streamsArgs are the options of a loader of an iterable data set in the client, and what it has
// delivered since a state.
type streamsArgs struct {
	loaderArgs
	streams  int
	dataset  bool // the data set has a state
	iterator bool // its iterators have a state
	self     bool // the data set is its own iterator
	read     []streamArg
	// delivered is the number of batches. With end the epoch has ended behind them; with leave its
	// rest is left out.
	delivered  int64
	end, leave bool
}

// streamsArgs reads the arguments of loader.streams.
func (k *call) streamsArgs() (a streamsArgs, err error) {
	a.loaderArgs = loaderArgs{batchSize: 1, world: 1, batches: 1, ids: 1}
	read := k.args
	read.into("fingerprint", &a.fingerprint)
	read.into("batch_size", &a.batchSize)
	read.into("seed", &a.seed)
	read.into("name", &a.name)
	read.into("drop_last", &a.dropLast)
	read.into("rank", &a.rank)
	read.into("world", &a.world)
	read.into("state", &a.state)
	read.into("streams", &a.streams)
	read.into("dataset", &a.dataset)
	read.into("iterator", &a.iterator)
	read.into("self", &a.self)
	read.into("read", &a.read)
	read.into("delivered", &a.delivered)
	read.into("end", &a.end)
	read.into("leave", &a.leave)
	if err := read.finish(); err != nil {
		return a, err
	}
	if err := a.check(); err != nil {
		return a, err
	}
	items := int64(0)
	for _, s := range a.read {
		if s.Items < 0 || s.Items > maxReplayed || s.Stream < 0 {
			return a, wrongArgument("read", "0 to "+strconv.Itoa(maxReplayed)+" items of a stream",
				strconv.FormatInt(s.Items, 10)+" of stream "+strconv.FormatInt(s.Stream, 10))
		}
		items += s.Items
	}
	switch {
	case a.streams < 1 || a.streams > maxStreams:
		return a, wrongArgument("streams", "1 to "+strconv.Itoa(maxStreams), strconv.Itoa(a.streams))
	case items > maxReplayed:
		return a, wrongArgument("read", "at most "+strconv.Itoa(maxReplayed)+" items", strconv.FormatInt(items, 10))
	case a.delivered < 0 || a.delivered > items:
		return a, wrongArgument("delivered", "0 to "+strconv.FormatInt(items, 10)+", an item for each batch",
			strconv.FormatInt(a.delivered, 10))
	}
	return a, nil
}

// replay is the client's data set. Its streams have the items that the client has read.
type replay struct {
	*streamsArgs
	streams map[int64]*streamArg
}

// Open implements loader.Iterable. Streams are clones, so it is not called.
func (r replay) Open(context.Context) (loader.Iterator[*pick], error) { return nil, io.EOF }

// Fingerprint implements loader.Fingerprinted.
func (r replay) Fingerprint() string { return r.fingerprint }

// Clone implements loader.IterableCloner.
func (r replay) Clone(ctx context.Context) (loader.Iterable[*pick], error) {
	w, _ := loader.WorkerInfoOf(ctx)
	arg := r.streams[int64(w.ID)]
	if arg == nil {
		arg = &streamArg{Stream: int64(w.ID)}
		r.streams[int64(w.ID)] = arg
	}
	arg.seed = w.Seed
	s := &replayed{arg: arg, iterates: r.iterator, left: arg.Items}
	switch {
	case r.self:
		return &replayedSelf{s}, nil
	case r.dataset:
		return &replayedStateful{s}, nil
	}
	return s, nil
}

// statefulReplay is the data set of a client that has a state. Only the streams have it.
type statefulReplay struct{ replay }

// AppendState implements state.Stateful.
func (statefulReplay) AppendState(dst []byte) ([]byte, error) { return dst, nil }

// SetState implements state.Stateful.
func (statefulReplay) SetState([]byte) error { return nil }

// replayed is a stream of a replay.
type replayed struct {
	arg      *streamArg
	iterates bool
	left     int64 // items
	dataset  string
	iterator string
	opened   bool
}

// Open implements loader.Iterable.
func (s *replayed) Open(context.Context) (loader.Iterator[*pick], error) {
	s.opened = true
	if s.iterates {
		return &replayedIterator{replayedPass{s}}, nil
	}
	return replayedPass{s}, nil
}

// replayedPass is an iterator without a state.
type replayedPass struct{ *replayed }

// Next implements loader.Iterator.
func (s replayedPass) Next(context.Context) (*pick, error) {
	if s.left > 0 {
		s.left--
		return nil, nil //nolint:nilnil // an item is only counted
	}
	if s.arg.Ended {
		return nil, io.EOF
	}
	return nil, wrongArgument("read", "the items of the batches that were delivered",
		"too few of stream "+strconv.FormatInt(s.arg.Stream, 10))
}

// replayedIterator is an iterator with a state.
type replayedIterator struct{ replayedPass }

// AppendState implements state.Stateful.
func (s *replayedIterator) AppendState(dst []byte) ([]byte, error) {
	return appendLater(dst, s.iterator, s.arg.Iterator), nil
}

// SetState implements state.Stateful.
func (s *replayedIterator) SetState(b []byte) error {
	s.iterator = string(b)
	return nil
}

// replayedStateful is a stream of a data set with a state.
type replayedStateful struct{ *replayed }

// AppendState implements state.Stateful.
func (s *replayedStateful) AppendState(dst []byte) ([]byte, error) {
	later := s.arg.Dataset
	if !s.opened {
		later = nil
		if s.dataset == "" {
			later = s.arg.Initial
		}
	}
	return appendLater(dst, s.dataset, later), nil
}

// SetState implements state.Stateful.
func (s *replayedStateful) SetState(b []byte) error {
	s.dataset = string(b)
	return nil
}

// replayedSelf is a stream of a data set that is its own iterator.
type replayedSelf struct{ *replayed }

// Open implements loader.Iterable.
func (s *replayedSelf) Open(context.Context) (loader.Iterator[*pick], error) {
	s.opened = true
	return s, nil
}

// Next implements loader.Iterator.
func (s *replayedSelf) Next(ctx context.Context) (*pick, error) {
	return replayedPass{s.replayed}.Next(ctx)
}

// AppendState implements state.Stateful.
func (s *replayedSelf) AppendState(dst []byte) ([]byte, error) {
	later := s.arg.Iterator
	if !s.opened {
		later = nil
		if s.dataset == "" {
			later = s.arg.Initial
		}
	}
	return appendLater(dst, s.dataset, later), nil
}

// SetState implements state.Stateful.
func (s *replayedSelf) SetState(b []byte) error {
	s.dataset = string(b)
	return nil
}

// appendLater appends the later one of two states, if there is one.
func appendLater(dst []byte, before string, later *string) []byte {
	if later != nil {
		return append(dst, *later...)
	}
	return append(dst, before...)
}

// loaderStreams answers with the state of a loader of an iterable data set in the client, after the
// batches that it has delivered since another state. It goes through these batches with the items
// that the client has counted, so package loader has the only rules of streams.
func loaderStreams(k *call) (reply, error) {
	a, err := k.streamsArgs()
	if err != nil {
		return reply{}, err
	}
	told := &block{}
	l, r, err := told.openStreams(&a)
	if err != nil {
		return reply{}, err
	}
	defer l.Close() //nolint:errcheck // the streams do not block
	if a.state != nil {
		if err := l.SetState([]byte(*a.state)); err != nil {
			return reply{}, err
		}
	}
	if err := a.follow(k.ctx, l); err != nil {
		return reply{}, err
	}
	text, err := l.AppendState(nil)
	if err != nil {
		return reply{}, err
	}
	if err := l.Start(k.ctx); err != nil { // the streams learn their seeds
		return reply{}, err
	}
	return describeStreams(text, &a, r, told.warned)
}

// openStreams returns a loader over a replay.
func (b *block) openStreams(a *streamsArgs) (*loader.Loader[*pick, *pick], replay, error) {
	r := replay{a, map[int64]*streamArg{}}
	for i := range a.read {
		r.streams[a.read[i].Stream] = &a.read[i]
	}
	o := loader.Options[*pick, *pick]{
		BatchSize: a.batchSize, Seed: a.seed, Name: a.name, Rank: a.rank, World: a.world, Streams: a.streams,
		Log:     slog.New(b),
		Workers: 1, Prefetch: 1, // with a worker each stream has a clone
		Collate: func([]*pick) (*pick, error) { return nil, nil }, //nolint:nilnil // a batch is only counted
	}
	if a.dropLast {
		o.Tail = order.Drop
	}
	var data loader.Iterable[*pick] = r
	if a.dataset || a.self {
		data = statefulReplay{r}
	}
	l, err := loader.NewIterable(data, o)
	return l, r, err
}

// follow takes the batches that the client has delivered.
func (a *streamsArgs) follow(ctx context.Context, l *loader.Loader[*pick, *pick]) error {
	for range a.delivered {
		if _, err := l.Next(ctx); errors.Is(err, io.EOF) {
			return wrongArgument("delivered", "batches of streams that have not ended", "one more")
		} else if err != nil {
			return err
		}
	}
	if a.end {
		if _, err := l.Next(ctx); err == nil {
			return wrongArgument("end", "streams that have all ended", "another batch")
		} else if !errors.Is(err, io.EOF) {
			return err
		}
	}
	if !a.leave {
		return nil
	}
	if a.delivered == 0 || a.end {
		if err := l.Start(ctx); err != nil {
			return err
		}
	}
	return l.Restart(ctx)
}

// streamState is a stream of a state as it travels to the client.
type streamState struct {
	Items    int64   `json:"items"`
	Ended    bool    `json:"ended"`
	Dataset  *string `json:"dataset"`
	Iterator *string `json:"iterator"`
	Seed     uint64  `json:"seed"`
}

// describeStreams answers with a state and what it says of the streams.
func describeStreams(text []byte, a *streamsArgs, r replay, warned []string) (reply, error) {
	var d struct {
		Epoch int64
		Extra struct {
			Turn    int64
			Streams []struct {
				Alike, Items      int64
				Ended             bool
				Dataset, Iterator *string
			}
		}
	}
	if err := json.Unmarshal(text, &d); err != nil {
		return reply{}, err
	}
	streams := []streamState{}
	for _, s := range d.Extra.Streams {
		for range max(1, s.Alike) {
			made := streamState{Items: s.Items, Ended: s.Ended, Dataset: s.Dataset, Iterator: s.Iterator}
			if arg := r.streams[int64(len(streams))]; arg != nil {
				made.Seed = arg.seed
			}
			streams = append(streams, made)
		}
	}
	world, rank := int64(a.world), int64(a.rank)
	return answer(map[string]any{
		"state": string(text), "epoch": d.Epoch, "turn": max(0, (d.Extra.Turn-rank+world-1)/world), "streams": streams,
		"warnings": append([]string{}, warned...),
	})
}

// loaderSeeds answers with the seeds of items of a stream.
func loaderSeeds(k *call) (reply, error) {
	var seed uint64
	var at, n int64
	k.args.into("seed", &seed)
	k.args.into("at", &at)
	k.args.into("n", &n)
	if err := k.args.finish(); err != nil {
		return reply{}, err
	}
	if at < 0 || n < 0 || n > maxSeeds {
		return reply{}, wrongArgument("n", "0 to "+strconv.Itoa(maxSeeds)+" seeds from 0 on", strconv.FormatInt(n, 10))
	}
	stream := loader.WorkerInfo{Seed: seed}
	words := make([]byte, 0, 8*n)
	for i := range n {
		words = binary.LittleEndian.AppendUint64(words, stream.Random(at+i).Seed())
	}
	return answer(map[string][]byte{"seeds": words})
}

// loaderMerge answers with one state of the states of all ranks.
func loaderMerge(k *call) (reply, error) {
	var texts []string
	k.args.into("states", &texts)
	if err := k.args.finish(); err != nil {
		return reply{}, err
	}
	states := make([][]byte, len(texts))
	for i, t := range texts {
		states[i] = []byte(t)
	}
	merged, err := loader.Merge(states...)
	if err != nil {
		return reply{}, err
	}
	return answer(map[string]string{"state": string(merged)})
}

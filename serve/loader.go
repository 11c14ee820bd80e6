package serve

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"math"
	"strconv"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/order"
)

// Bounds of a call. A client asks for far less.
const (
	maxBatches = 1 << 16
	maxIDs     = 1 << 20 // of one rank; a single batch may have more
	maxGlobal  = 1 << 24 // samples of a batch over all ranks
	maxEpochs  = 1 << 16 // that are left out at once
)

// loaderArgs are the options of a loader in the client, and what it asks for.
type loaderArgs struct {
	samples     int64
	fingerprint string
	batchSize   int
	shuffle     bool
	seed        uint64
	name        string
	dropLast    bool
	uneven      string
	rank, world int
	sampler     *samplerArg
	seeds       bool
	state       *string
	epoch       *int64
	batches     int
	ids         int
}

// samplerArg is a sampler in the client: its length, and its ids from a position on.
type samplerArg struct {
	Name string  `json:"name"`
	Len  int64   `json:"len"`
	At   int64   `json:"at"`
	IDs  []int64 `json:"ids"`
}

// loaderArgs reads the arguments of loader.batches.
func (k *call) loaderArgs() (a loaderArgs, err error) {
	a = loaderArgs{batchSize: 1, world: 1, batches: 1024, ids: 1 << 16}
	read := k.args
	read.into("samples", &a.samples)
	read.into("fingerprint", &a.fingerprint)
	read.into("batch_size", &a.batchSize)
	read.into("shuffle", &a.shuffle)
	read.into("seed", &a.seed)
	read.into("name", &a.name)
	read.into("drop_last", &a.dropLast)
	read.into("uneven", &a.uneven)
	read.into("rank", &a.rank)
	read.into("world", &a.world)
	read.into("sampler", &a.sampler)
	read.into("seeds", &a.seeds)
	read.into("state", &a.state)
	read.into("epoch", &a.epoch)
	read.into("batches", &a.batches)
	read.into("ids", &a.ids)
	if err := read.finish(); err != nil {
		return a, err
	}
	return a, a.check()
}

// check returns an error for the first argument that is out of its bounds. loader.New checks the
// others.
func (a *loaderArgs) check() error {
	for _, c := range []struct {
		name        string
		value       int64
		least, most int64
	}{
		{"samples", a.samples, 0, math.MaxInt64}, {"batch_size", int64(a.batchSize), 1, maxGlobal},
		{"world", int64(a.world), 1, maxGlobal}, {"batch_size of all ranks", int64(a.batchSize) * int64(a.world), 1, maxGlobal},
		{"batches", int64(a.batches), 1, maxBatches}, {"ids", int64(a.ids), 1, maxIDs},
	} {
		if c.value < c.least || c.value > c.most {
			return wrongArgument(c.name, strconv.FormatInt(c.least, 10)+" to "+strconv.FormatInt(c.most, 10),
				strconv.FormatInt(c.value, 10))
		}
	}
	if s := a.sampler; s != nil && (s.Len < 0 || s.At < 0 || s.At > s.Len || int64(len(s.IDs)) > s.Len-s.At) {
		return wrongArgument("sampler", "ids within its length, "+strconv.FormatInt(s.Len, 10),
			strconv.Itoa(len(s.IDs))+" from "+strconv.FormatInt(s.At, 10)+" on")
	}
	return nil
}

func wrongArgument(name, want, got string) error {
	return &errs.Error{Kind: errs.Invalid, Subject: "argument " + name, Want: want, Got: got}
}

// pick is a sample of the client's data set. Loaders here have samples and batches that are
// pointers, so that the command has one instance of the code of loaders.
type pick struct {
	id   int64
	seed uint64
}

// picks is the client's data set: its samples are their ids.
type picks struct {
	n           int64
	fingerprint string
	seeds       bool
	batch       []pick // what AtAll returned last
	refs        []*pick
}

// Len implements loader.Map.
func (p *picks) Len() int64 { return p.n }

// Fingerprint implements loader.Fingerprinted.
func (p *picks) Fingerprint() string { return p.fingerprint }

// At implements loader.Map.
func (p *picks) At(_ context.Context, id int64, r loader.Random) (*pick, error) {
	if !p.seeds {
		return &pick{id: id}, nil
	}
	return &pick{id, r.Seed()}, nil
}

// AtAll implements loader.Bulk. The loader has no workers, so one batch is made at a time.
func (p *picks) AtAll(_ context.Context, ids []int64, r func(i int) loader.Random) ([]*pick, error) {
	p.batch, p.refs = p.batch[:0], p.refs[:0]
	for i, id := range ids {
		made := pick{id: id}
		if p.seeds {
			made.seed = r(i).Seed()
		}
		p.batch = append(p.batch, made)
	}
	for i := range p.batch {
		p.refs = append(p.refs, &p.batch[i])
	}
	return p.refs, nil
}

// sampler is the sampler of the client.
type sampler struct{ *samplerArg }

// String returns the name of the sampler in states.
func (s sampler) String() string { return s.Name }

// Len implements order.Sampler.
func (s sampler) Len() int64 { return s.samplerArg.Len }

// Open implements order.Sampler.
func (s sampler) Open() order.Cursor[int64] { return &samplerCursor{samplerArg: s.samplerArg} }

// samplerCursor is an iteration of the sampler. It is at a position of it.
type samplerCursor struct {
	*samplerArg
	at int64
}

// Skip moves forward in constant time.
func (c *samplerCursor) Skip(n int64) bool {
	c.at += n
	return c.at <= c.Len
}

// Next implements order.Cursor.
func (c *samplerCursor) Next() (int64, bool, error) {
	if c.at >= c.Len {
		return 0, false, nil
	}
	i := c.at - c.At
	if i < 0 || i >= int64(len(c.IDs)) {
		return 0, false, wrongArgument("sampler", "the id at position "+strconv.FormatInt(c.at, 10),
			strconv.Itoa(len(c.IDs))+" ids from position "+strconv.FormatInt(c.At, 10)+" on")
	}
	c.at++
	return c.IDs[i], true, nil
}

// block is what loader.batches answers with.
type block struct {
	ids     []int64
	seeds   []uint64
	ends    []int64 // of each batch in ids
	at      []int64 // position of the first sample of each batch
	repeats []int64 // how many samples of the batch another rank delivers too
	states  []int64 // where each state begins in text, and where the last one ends
	text    []byte
	warned  []string
}

// Enabled implements slog.Handler.
func (b *block) Enabled(context.Context, slog.Level) bool { return true }

// Handle implements slog.Handler: a warning of the loader goes to the client.
func (b *block) Handle(_ context.Context, r slog.Record) error {
	b.warned = append(b.warned, r.Message)
	return nil
}

// WithAttrs implements slog.Handler.
func (b *block) WithAttrs([]slog.Attr) slog.Handler { return b }

// WithGroup implements slog.Handler.
func (b *block) WithGroup(string) slog.Handler { return b }

// open returns a loader with the options of the client.
func (b *block) open(a *loaderArgs) (*loader.Loader[*pick, *pick], error) {
	o := loader.Options[*pick, *pick]{
		BatchSize: a.batchSize, Shuffle: a.shuffle, Seed: a.seed, Name: a.name, Rank: a.rank, World: a.world,
		Log:         slog.New(b),
		EmptyEpochs: true, // a client decides whether they are an error
		Collate: func(samples []*pick) (*pick, error) {
			for _, s := range samples {
				b.ids = append(b.ids, s.id)
				if a.seeds {
					b.seeds = append(b.seeds, s.seed)
				}
			}
			return nil, nil //nolint:nilnil // the block has the batch
		},
	}
	if a.dropLast {
		o.Tail = order.Drop
	}
	if a.sampler != nil {
		o.Sampler = sampler{a.sampler}
	}
	if a.uneven != "" {
		var err error
		if o.Uneven, err = order.ParseUneven(a.uneven); err != nil {
			return nil, wrongArgument("uneven", `"repeat sample" or "end early"`, strconv.Quote(a.uneven))
		}
	}
	return loader.New(&picks{n: a.samples, fingerprint: a.fingerprint, seeds: a.seeds}, o)
}

// note appends the state of the loader.
func (b *block) note(l *loader.Loader[*pick, *pick]) (err error) {
	b.text, err = l.AppendState(b.text)
	b.states = append(b.states, int64(len(b.text)))
	return err
}

// loaderBatches answers with the next batches of a loader of the client: their ids and states. The
// call keeps nothing: the state says where the batches begin.
func loaderBatches(k *call) (reply, error) {
	a, err := k.loaderArgs()
	if err != nil {
		return reply{}, err
	}
	b := &block{states: []int64{0}}
	l, err := b.open(&a)
	if err != nil {
		return reply{}, err
	}
	defer l.Close() //nolint:errcheck // it has no workers
	if a.state != nil {
		if err := l.SetState([]byte(*a.state)); err != nil {
			return reply{}, err
		}
	}
	epoch, err := moveTo(k.ctx, l, &a)
	if err != nil {
		return reply{}, err
	}
	ended, err := b.fill(k.ctx, l, &a)
	if err != nil {
		return reply{}, err
	}
	return b.reply(epoch, ended, order.Key(a.seed, epoch, "workers/"+a.name))
}

// moveTo leaves epochs out until a loader is at the beginning of the given one, and returns the
// epoch. A loader in the midst of that epoch stays where it is.
func moveTo(ctx context.Context, l *loader.Loader[*pick, *pick], a *loaderArgs) (int64, error) {
	text, err := l.AppendState(nil)
	if err != nil {
		return 0, err
	}
	var d struct{ Epoch int64 }
	if err := json.Unmarshal(text, &d); err != nil || a.epoch == nil || *a.epoch == d.Epoch {
		return d.Epoch, err
	}
	epoch := *a.epoch
	if epoch < d.Epoch || epoch-d.Epoch > maxEpochs || epoch >= math.MaxInt64/max(1, a.samples) {
		return 0, wrongArgument("epoch", strconv.FormatInt(d.Epoch, 10)+", the epoch of the state, or at most "+
			strconv.Itoa(maxEpochs)+" epochs after it", strconv.FormatInt(epoch, 10))
	}
	if err := l.Start(ctx); err != nil { // so that Restart leaves the epoch of the state
		return 0, err
	}
	for range epoch - d.Epoch {
		if err := l.Restart(ctx); err != nil {
			return 0, err
		}
	}
	return epoch, nil
}

// fill takes batches up to the bounds of the call, or to the end of the epoch. A failure after the
// first batch ends the block, and is the failure of the next call.
func (b *block) fill(ctx context.Context, l *loader.Loader[*pick, *pick], a *loaderArgs) (ended bool, err error) {
	if err := b.note(l); err != nil {
		return false, err
	}
	for len(b.ends) < a.batches && len(b.ids) < a.ids && a.room(len(b.ends)) {
		if err := context.Cause(ctx); err != nil {
			return false, err
		}
		before := len(b.ids)
		_, err := l.Next(ctx)
		if errors.Is(err, io.EOF) {
			return true, b.note(l)
		}
		if err != nil && len(b.ends) > 0 {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		info := l.LastBatch()
		b.ends = append(b.ends, int64(len(b.ids)))
		b.at = append(b.at, info.Position)
		b.repeats = append(b.repeats, int64(info.Repeated))
		if err := b.note(l); err != nil {
			return false, err
		}
		if 2*len(b.ids)-before > maxIDs { // with another batch of this size
			break
		}
	}
	return false, nil
}

// room reports whether the client has sent the ids of its sampler for one batch more. The first one
// is always tried, so that a client that sends none is told.
func (a *loaderArgs) room(batches int) bool {
	s := a.sampler
	if s == nil || batches == 0 {
		return true
	}
	sent := s.At + int64(len(s.IDs))
	return sent == s.Len || int64(batches+1)*int64(a.batchSize)*int64(a.world) <= int64(len(s.IDs))
}

// reply writes the block into shared memory.
func (b *block) reply(epoch int64, ended bool, workers uint64) (reply, error) {
	words := len(b.ids) + len(b.seeds) + 3*len(b.ends) + len(b.states)
	size := pageUp(max(1, int64(8*words+len(b.text))))
	if err := checkRoom(size); err != nil {
		return reply{}, errs.Wrap("serve.loader.batches", "", err)
	}
	f, mem, err := sharedMemory("bivouac-batches", size)
	if err != nil {
		return reply{}, errs.Wrap("serve.loader.batches", "", err)
	}
	defer unmap(mem)
	to := mem[:0]
	put := func(words []int64) {
		for _, w := range words {
			to = binary.LittleEndian.AppendUint64(to, uint64(w))
		}
	}
	put(b.ids)
	for _, w := range b.seeds {
		to = binary.LittleEndian.AppendUint64(to, w)
	}
	put(b.ends)
	put(b.at)
	put(b.repeats)
	put(b.states)
	copy(mem[len(to):], b.text)
	r, err := answer(map[string]any{
		"batches": len(b.ends), "ids": len(b.ids), "states": len(b.states) - 1, "ended": ended, "epoch": epoch,
		"workers": workers &^ (1 << 63), "warnings": append([]string{}, b.warned...), "bytes": len(mem),
	})
	r.files = filesOf(f)
	return r, err
}

package dali

import (
	"errors"
	"math"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/compat/dali/stateproto"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/rng/libstdcxx"
)

var _ order.Order = (*ReaderOrder)(nil)

func drawOptions(t *rapid.T) ReaderOptions {
	o := ReaderOptions{
		Samples:      rapid.Int64Range(1, 40).Draw(t, "samples"),
		BatchSize:    rapid.IntRange(0, 9).Draw(t, "batch"),
		Seed:         rapid.Int64().Draw(t, "seed"),
		PadLastBatch: rapid.Bool().Draw(t, "pad"),
		Container:    rapid.Bool().Draw(t, "container"),
	}
	o.NumShards = rapid.IntRange(1, int(min(o.Samples, 5))).Draw(t, "shards")
	o.ShardID = rapid.IntRange(0, o.NumShards-1).Draw(t, "shard")
	switch rapid.IntRange(0, 2).Draw(t, "shuffle") {
	case 0:
		o.StickToShard = rapid.Bool().Draw(t, "stick")
	case 1:
		o.StickToShard = rapid.Bool().Draw(t, "stick")
		o.RandomShuffle = true
		o.InitialFill = rapid.IntRange(0, 50).Draw(t, "fill")
	case 2:
		o.ShuffleAfterEpoch = true
		o.Checkpointing = rapid.Bool().Draw(t, "checkpointing")
		if rapid.Bool().Draw(t, "own seed") {
			seed := rapid.Int64().Draw(t, "shuffle seed")
			o.ShuffleSeed = &seed
		}
	}
	return o
}

func newReader(t interface{ Fatal(...any) }, o ReaderOptions) *ReaderOrder {
	r, err := NewReaderOrder(o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The order computed without a buffer equals the order of a loader with a buffer.
func TestBufferLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := drawOptions(t)
		got := make([]int64, 300)
		newReader(t, o).Fill(0, got)
		l := newLoader(o)
		for i := range got {
			if want := l.next(); got[i] != want {
				t.Fatalf("position %d: %d, with a buffer %d", i, got[i], want)
			}
		}
	})
}

// A reader of containers shuffles its files with shuffle_after_epoch. DALI 2.4.0 gave these orders
// for readers.tfrecord, with and without enable_checkpointing.
func TestContainersShuffleFiles(t *testing.T) {
	for _, c := range []struct {
		files  []int64
		shards int
		shard  int
		want   []int64
	}{
		{[]int64{20}, 2, 1, []int64{10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 10, 11, 12}},
		{[]int64{4, 8}, 2, 0, []int64{0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5, 4, 5, 6, 7, 8, 9, 0, 1, 2, 3, 4, 5, 4, 5, 6, 7,
			8, 9, 0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5, 4, 5, 6, 7, 8, 9}},
		{[]int64{8, 4}, 2, 1, []int64{6, 7, 8, 9, 10, 11, 6, 7, 8, 9, 10, 11, 2, 3, 4, 5, 6, 7, 6, 7, 8, 9, 10, 11, 2, 3, 4, 5,
			6, 7, 6, 7, 8, 9, 10, 11, 6, 7, 8, 9, 10, 11, 2, 3, 4, 5}},
		{[]int64{3, 3, 3, 3}, 2, 0, []int64{9, 10, 11, 3, 4, 5, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 0, 1, 2, 9, 10, 11, 6, 7,
			8, 0, 1, 2, 9, 10, 11, 3, 4, 5, 9, 10, 11, 3, 4, 5, 3, 4, 5, 9, 10, 11}},
	} {
		for _, checkpointing := range []bool{false, true} {
			o := ReaderOptions{Samples: sum(c.files), Files: c.files, BatchSize: 4, NumShards: c.shards, ShardID: c.shard,
				ShuffleAfterEpoch: true, Container: true, Checkpointing: checkpointing}
			r := newReader(t, o)
			got := make([]int64, len(c.want))
			r.Fill(0, got)
			if !slices.Equal(got, c.want) || r.Meta().StickToShard != 1 {
				t.Errorf("%v, shard %d: got %v, %+v, want %v", c.files, c.shard, got, r.Meta(), c.want)
			}
		}
	}
	if _, err := NewReaderOrder(ReaderOptions{Samples: 3, Files: []int64{1, 1}}); !errors.Is(err, errs.Invalid) {
		t.Errorf("files with fewer samples: %v", err)
	}
}

// loader reads ahead into a ring, as DALI's documentation describes its loader.
type loader struct {
	o                     ReaderOptions
	rng                   libstdcxx.MinstdRand0
	list                  []int32
	ring                  []int64
	windows               [][2]int // of epochs in the ring, by running numbers
	at, readEpoch, inRead int64    // of reading
	inBatch               int
	returned              int64
	last                  int64
}

func newLoader(o ReaderOptions) *loader {
	o = o.withDefaults()
	l := &loader{o: o, rng: libstdcxx.SeedSeq{uint32(o.Seed)}.Minstd(), list: identity(o.Samples)}
	if o.RandomShuffle && !o.Container {
		g := libstdcxx.NewMT19937(DefaultShuffleSeed)
		libstdcxx.Shuffle(&g, l.list)
	}
	l.ring = make([]int64, 1)
	if o.RandomShuffle {
		l.ring = make([]int64, o.InitialFill)
	}
	l.o.StickToShard = o.StickToShard || o.ShuffleAfterEpoch
	l.windows = [][2]int{{}}
	l.at = l.first(int64(o.ShardID))
	l.reshuffle()
	for range l.ring {
		l.put()
	}
	return l
}

func (l *loader) first(shard int64) int64 { return l.o.Samples * shard / int64(l.o.NumShards) }

func (l *loader) reshuffle() {
	if !l.o.ShuffleAfterEpoch || l.o.Container && len(l.o.Files) == 1 {
		return
	}
	if l.o.Checkpointing {
		l.list = identity(l.o.Samples)
	}
	g := libstdcxx.NewMT19937x64(uint64(*l.o.ShuffleSeed) + uint64(l.readEpoch+1)<<32)
	libstdcxx.Shuffle(&g, l.list)
}

func (l *loader) put() {
	shard := int64(l.o.ShardID)
	if !l.o.StickToShard {
		shard = (shard + l.readEpoch) % int64(l.o.NumShards)
	}
	back := &l.windows[len(l.windows)-1]
	if l.inRead == l.first(shard+1)-l.first(shard) {
		l.windows = append(l.windows, [2]int{back[1], back[1]})
		back = &l.windows[len(l.windows)-1]
		l.inRead = 0
		l.readEpoch++
		switch {
		case l.o.StickToShard:
			l.at = l.first(shard)
		case l.at == l.o.Samples:
			l.at = 0
		}
		l.reshuffle()
	}
	l.ring[back[1]%len(l.ring)] = int64(l.list[l.at])
	l.at++
	l.inRead++
	back[1]++
}

func (l *loader) next() int64 {
	defer func() { l.inBatch = (l.inBatch + 1) % l.o.BatchSize }()
	w := &l.windows[0]
	largest := (l.o.Samples + int64(l.o.NumShards) - 1) / int64(l.o.NumShards)
	if w[0] == w[1] {
		if l.o.PadLastBatch && (l.inBatch > 0 || l.returned < largest) {
			l.returned++
			return l.last
		}
		l.windows = l.windows[1:]
		w = &l.windows[0]
		l.returned = 0
	}
	offset := 0
	if l.o.RandomShuffle {
		offset = int(libstdcxx.UniformInt(&l.rng, 0, int64(w[1]-w[0]-1)))
	}
	i, j := w[0]%len(l.ring), (w[0]+offset)%len(l.ring)
	l.ring[i], l.ring[j] = l.ring[j], l.ring[i]
	l.last = l.ring[i]
	w[0]++
	l.put()
	l.returned++
	return l.last
}

// Any position gives the same continuation, by itself, by a saved state and in
// any order of calls.
func TestSeekLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := drawOptions(t)
		whole := make([]int64, 500)
		r := newReader(t, o)
		r.Fill(0, whole)
		for range 4 {
			pos := rapid.Int64Range(0, 450).Draw(t, "position")
			part := make([]int64, rapid.IntRange(0, 50).Draw(t, "length"))
			if n := r.Fill(pos, part); n != len(part) || !slices.Equal(part, whole[pos:pos+int64(n)]) {
				t.Fatalf("position %d: %v, want %v", pos, part, whole[pos:pos+int64(n)])
			}
			saved, err := newReader(t, o).State(pos)
			if err != nil {
				t.Fatal(err)
			}
			b := (&stateproto.Reader{Loader: saved}).AppendState(nil)
			s, err := stateproto.ParseReader(b)
			if err != nil {
				t.Fatalf("%x: %v", b, err)
			}
			other := newReader(t, o)
			back, err := other.Position(s.Loader)
			if err != nil || back != pos {
				t.Fatalf("state %x of position %d gives %d: %v", b, pos, back, err)
			}
			other.Fill(back, part)
			if !slices.Equal(part, whole[pos:pos+int64(len(part))]) {
				t.Fatalf("restored at %d: %v", pos, part)
			}
		}
	})
}

// Each epoch is a shard, and the shards of all ranks make up the data set.
func TestShardLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := drawOptions(t)
		number := rapid.Int64Range(0, 6).Draw(t, "epoch")
		var all []int64
		for o.ShardID = range o.NumShards {
			r := newReader(t, o)
			begin := r.shards.Begin(number)
			if e, age := r.Locate(begin); e != number || age != 0 {
				t.Fatalf("position %d is %d of epoch %d, want the first of %d", begin, age, e, number)
			}
			if e, _ := r.Locate(begin + r.EpochLength(number)); e != number+1 {
				t.Fatalf("epoch %d follows %d", e, number)
			}
			ids := make([]int64, r.EpochLength(number))
			r.Fill(begin, ids)
			size := r.shards.Size(number)
			for _, id := range ids[size:] {
				if id != ids[size-1] {
					t.Fatalf("padding %v after %v", ids[size:], ids[:size])
				}
			}
			all = append(all, ids[:size]...)
		}
		slices.Sort(all)
		for i, id := range all {
			if id != int64(i) {
				t.Fatalf("%v", all)
			}
		}
		if int64(len(all)) != o.Samples {
			t.Fatalf("%d of %d samples", len(all), o.Samples)
		}
	})
}

// The states that are kept thin out, and are right wherever a seek begins.
func TestKeptNumbers(t *testing.T) {
	o := ReaderOptions{Samples: 3, RandomShuffle: true, Seed: 5}
	r := newReader(t, o)
	const epochs = 3*keptNumbers + 17
	far := make([]int64, 3)
	r.Fill(3*epochs, far)
	if n := len(r.numbers.starts); n > keptNumbers || n < keptNumbers/2 || r.numbers.stride < 2 {
		t.Errorf("%d states at stride %d", n, r.numbers.stride)
	}
	g := libstdcxx.SeedSeq{5}.Minstd()
	for e := range int64(epochs + 1) {
		if e%1000 == 0 || e == epochs {
			s, err := r.State(3 * e)
			if err != nil || s.RNG != g.String() {
				t.Fatalf("epoch %d: %s, want %s: %v", e, s.RNG, g, err)
			}
		}
		r.numbers.draw(&g, 3, func(_, _ int64) {})
	}
}

func TestReaderErrors(t *testing.T) {
	for name, o := range map[string]ReaderOptions{
		"no samples":      {},
		"too many":        {Samples: math.MaxInt32 + 1},
		"negative batch":  {Samples: 1, BatchSize: -1},
		"huge batch":      {Samples: 1, BatchSize: math.MaxInt32},
		"negative fill":   {Samples: 1, InitialFill: -1},
		"many shards":     {Samples: 3, NumShards: 4},
		"negative shards": {Samples: 3, NumShards: -1},
		"negative shard":  {Samples: 3, ShardID: -1},
		"shard":           {Samples: 3, NumShards: 2, ShardID: 2},
		"both shuffles":   {Samples: 3, ShuffleAfterEpoch: true, RandomShuffle: true},
		"sticking twice":  {Samples: 3, ShuffleAfterEpoch: true, StickToShard: true},
	} {
		if _, err := NewReaderOrder(o); !errors.Is(err, errs.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	r := newReader(t, ReaderOptions{Samples: 10, RandomShuffle: true, Seed: 1, InitialFill: 4})
	s, err := r.State(23)
	if err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]ReaderOptions{
		"another seed":  {Samples: 10, RandomShuffle: true, Seed: 2, InitialFill: 4},
		"a smaller set": {Samples: 9, RandomShuffle: true, Seed: 1, InitialFill: 4},
		"shards":        {Samples: 10, RandomShuffle: true, Seed: 1, InitialFill: 4, NumShards: 4},
	} {
		if _, err := newReader(t, o).Position(s); !errors.Is(err, errs.Mismatch) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, bad := range []stateproto.Loader{{RNG: s.RNG, Epoch: 2, Age: 10}, {RNG: s.RNG, Epoch: 2, Age: -1},
		{RNG: s.RNG, Epoch: -1}, {Epoch: 2}} {
		if _, err := r.Position(bad); !errors.Is(err, errs.Mismatch) {
			t.Errorf("%v: %v", bad, err)
		}
	}
	plain := newReader(t, ReaderOptions{Samples: 10})
	if _, err := plain.State(10 << 31); !errors.Is(err, errs.Unsupported) {
		t.Error(err)
	}
	if pos, err := plain.Position(s); err != nil || pos != 23 {
		t.Errorf("without random numbers their state does not matter: %d, %v", pos, err)
	}
}

func TestReaderEnds(t *testing.T) {
	r := newReader(t, ReaderOptions{Samples: 10, NumShards: 3, ShardID: 2})
	dst := make([]int64, 5)
	if n := r.Fill(-1, dst); n != 0 {
		t.Errorf("%d samples before the first", n)
	}
	if n := r.Fill(math.MaxInt64-2, dst); n != 2 {
		t.Errorf("%d samples at the largest position", n)
	}
	if _, ok := r.Len(); ok {
		t.Error("a reader never ends")
	}
}

// Equal strings mean equal orders.
func TestReaderString(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := newReader(t, drawOptions(t)), newReader(t, drawOptions(t))
		if a.String() != b.String() {
			return
		}
		x, y := make([]int64, 100), make([]int64, 100)
		a.Fill(0, x)
		b.Fill(0, y)
		if !slices.Equal(x, y) {
			t.Fatalf("%s: %v and %v", a, x, y)
		}
	})
	all := newReader(t, ReaderOptions{Samples: 9, NumShards: 2, RandomShuffle: true, Seed: -1, StickToShard: true,
		PadLastBatch: true, BatchSize: 4}).String()
	if want := "dali-reader(n=9 shard=0/2 pad=4 fill=1024 seed=4294967295 container=false stick)"; all != want {
		t.Errorf("%s, want %s", all, want)
	}
	after := newReader(t, ReaderOptions{Samples: 9, ShuffleAfterEpoch: true, Checkpointing: true}).String()
	if want := "dali-reader(n=9 shard=0/1 shuffle=524287 original=true stick)"; after != want {
		t.Errorf("%s, want %s", after, want)
	}
}

func TestConcurrentFill(t *testing.T) {
	r := newReader(t, ReaderOptions{Samples: 50, RandomShuffle: true, InitialFill: 8})
	want := make([]int64, 1000)
	r.Fill(0, want)
	var wg sync.WaitGroup
	for k := range 4 {
		wg.Go(func() {
			got := make([]int64, 30)
			for i := range 30 {
				pos := (i*97 + k*211) % 970
				r.Fill(int64(pos), got)
				if !slices.Equal(got, want[pos:pos+30]) {
					t.Errorf("position %d", pos)
				}
			}
		})
	}
	wg.Wait()
}

// Reading on within an epoch, and over its end and back, computes nothing anew.
func TestNoAllocation(t *testing.T) {
	for _, o := range []ReaderOptions{{Samples: 100}, {Samples: 100, RandomShuffle: true}} {
		r := newReader(t, o)
		dst, pos := make([]int64, 64), int64(60)
		r.Fill(pos, dst)
		if allocs := testing.AllocsPerRun(50, func() { r.Fill(pos, dst); pos = 120 - pos }); allocs != 0 {
			t.Errorf("%s: %v allocations", r, allocs)
		}
	}
}

// Readers without a seed of their own are in the vectors.
func TestPipelineSeeds(t *testing.T) {
	if w := PipelineSeeds(1<<32 + 42); w[0] != PipelineSeeds(42)[0] || w[0] == PipelineSeeds(43)[0] {
		t.Error("the low 32 bits of the seed count")
	}
	// Philox keys of three operators in a pipeline of seed 1.
	if w := PipelineSeeds(1); w[0] != 0x8D03A907 || w[1] != 0x6D32F92B || w[2] != 0x3F758936 {
		t.Errorf("%x", w[:4])
	}
}

func BenchmarkFill(b *testing.B) {
	b.ReportAllocs()
	r := newReader(b, ReaderOptions{Samples: 1 << 20, RandomShuffle: true})
	dst, pos := make([]int64, 256), int64(0)
	for b.Loop() {
		r.Fill(pos, dst)
		pos += int64(len(dst))
	}
}

// A seek of a fresh reader of 1.28 million samples to epoch 90.
func BenchmarkSeek(b *testing.B) {
	dst := make([]int64, 1)
	for b.Loop() {
		r := newReader(b, ReaderOptions{Samples: 1_281_167, RandomShuffle: true})
		r.Fill(90*1_281_167, dst)
	}
}

package serve

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/order"
)

// handed is a batch as a loader hands it out, and the state after it.
type handed struct {
	ids      []int64
	seeds    []uint64
	at       int64
	repeated int64
	state    string
}

// blockOf is the answer of loader.batches. states[0] is the state before the first batch. If the
// epoch has ended, the last one is the state after the end.
type blockOf struct {
	batches []handed
	states  []string
	ended   bool
	epoch   int64
	warned  []string
}

// batches calls loader.batches and takes the memory apart.
func (c *client) batches(args object) blockOf {
	c.t.Helper()
	s := c.call("loader.batches", args)
	var v struct {
		Batches, IDs, States, Bytes, Epoch int64
		Ended                              bool
		Warnings                           []string
	}
	s.into(c.t, &v)
	fd := c.fd()
	defer unix.Close(fd)
	mem, err := unix.Mmap(fd, 0, int(v.Bytes), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		c.t.Fatal(err)
	}
	defer unix.Munmap(mem)
	at := 0
	words := func(n int64) []int64 {
		out := make([]int64, n)
		for i := range out {
			out[i] = int64(binary.LittleEndian.Uint64(mem[at:]))
			at += 8
		}
		return out
	}
	ids, seeds := words(v.IDs), []int64{}
	if args["seeds"] == true {
		seeds = words(v.IDs)
	}
	ends, positions, repeats, states := words(v.Batches), words(v.Batches), words(v.Batches), words(v.States+1)
	out := blockOf{ended: v.Ended, epoch: v.Epoch, warned: v.Warnings}
	for i := range v.States {
		out.states = append(out.states, string(mem[at+int(states[i]):at+int(states[i+1])]))
	}
	begin := int64(0)
	for i, end := range ends {
		h := handed{ids: ids[begin:end], at: positions[i], repeated: repeats[i], state: out.states[i+1]}
		if len(seeds) > 0 {
			for _, w := range seeds[begin:end] {
				h.seeds = append(h.seeds, uint64(w))
			}
		}
		out.batches = append(out.batches, h)
		begin = end
	}
	return out
}

// options of a loader of both kinds: in this process, and asked of the server.
type both struct {
	n             int64
	batch         int
	shuffle, drop bool
	early         bool
	seed          uint64
	name          string
	fingerprint   string
	rank, world   int
	ids           []int64 // of a sampler
}

func (o both) args() object {
	a := object{"samples": o.n, "batch_size": o.batch, "shuffle": o.shuffle, "seed": o.seed, "name": o.name,
		"drop_last": o.drop, "rank": o.rank, "world": o.world, "fingerprint": o.fingerprint, "seeds": true}
	if o.early {
		a["uneven"] = "end early"
	}
	return a
}

// list is a sampler of an epoch: the ids, and in odd epochs the same from behind.
type list struct {
	ids   []int64
	epoch int64
}

func (l *list) SetEpoch(epoch int64) { l.epoch = epoch }
func (l *list) Len() int64           { return int64(len(l.ids)) }
func (l *list) String() string       { return "list" }
func (l *list) of(epoch int64) []int64 {
	out := slices.Clone(l.ids)
	if epoch%2 == 1 {
		slices.Reverse(out)
	}
	return out
}
func (l *list) Open() order.Cursor[int64] { return &listCursor{ids: l.of(l.epoch)} }

type listCursor struct{ ids []int64 }

func (c *listCursor) Next() (int64, bool, error) {
	if len(c.ids) == 0 {
		return 0, false, nil
	}
	id := c.ids[0]
	c.ids = c.ids[1:]
	return id, true, nil
}

// mapped is a data set in this process, with the fingerprint of the client's.
type mapped struct {
	loader.Map[pick]
	fingerprint string
}

func (m mapped) Fingerprint() string { return m.fingerprint }

func (o both) open(t testing.TB) *loader.Loader[pick, []pick] {
	t.Helper()
	data := loader.Func(o.n, func(_ context.Context, id int64, r loader.Random) (pick, error) {
		return pick{id, r.Seed()}, nil
	})
	lo := loader.Options[pick, []pick]{BatchSize: o.batch, Shuffle: o.shuffle, Seed: o.seed, Name: o.name,
		EmptyEpochs: true, Rank: o.rank, World: o.world, Log: discard, Workers: 2,
		Collate: func(s []pick) ([]pick, error) { return slices.Clone(s), nil }}
	if o.drop {
		lo.Tail = order.Drop
	}
	if o.early {
		lo.Uneven = order.EndEarly
	}
	if o.ids != nil {
		lo.Sampler = &list{ids: o.ids}
	}
	l, err := loader.New(mapped{data, o.fingerprint}, lo)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

var discard = Options{}.withDefaults().Log

// next is the next batch of a loader of this process. ok is false at the end of an epoch, where
// only the state is set.
func next(t testing.TB, l *loader.Loader[pick, []pick]) (h handed, ok bool) {
	t.Helper()
	b, err := l.Next(t.Context())
	if err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	text, failed := l.AppendState(nil)
	if failed != nil {
		t.Fatal(failed)
	}
	h.state = string(text)
	if err != nil {
		return h, false
	}
	for _, p := range b {
		h.ids, h.seeds = append(h.ids, p.id), append(h.seeds, p.seed)
	}
	h.at, h.repeated = l.LastBatch().Position, int64(l.LastBatch().Repeated)
	return h, true
}

func randomOptions(r *rand.Rand) both {
	o := both{n: r.Int64N(60), batch: 1 + r.IntN(9), shuffle: r.IntN(3) > 0, drop: r.IntN(3) == 0, early: r.IntN(3) == 0,
		seed: r.Uint64(), world: 1 + r.IntN(4)}
	o.rank = r.IntN(o.world)
	if r.IntN(2) == 0 {
		o.name, o.fingerprint = "images", "v1"
	}
	if o.n > 0 && !o.shuffle && r.IntN(2) == 0 {
		o.ids = []int64{}
		for range r.IntN(50) {
			o.ids = append(o.ids, r.Int64N(o.n))
		}
	}
	return o
}

// TestBatchesAreThoseOfLoader compares batches, positions, seeds and states with a loader of this
// process, byte by byte, over several epochs, while ranks, sizes of batches and of blocks change.
func TestBatchesAreThoseOfLoader(t *testing.T) {
	c := served(t)
	for round := range 60 {
		r := rand.New(rand.NewPCG(1, uint64(round)))
		o := randomOptions(r)
		var saved *string
		var epoch, index int64
		for range 4 { // runs
			l := o.open(t)
			if saved != nil {
				if err := l.SetState([]byte(*saved)); err != nil {
					t.Fatalf("%+v: %v", o, err)
				}
			}
			for calls, most := 0, 1+r.IntN(5); calls < most; calls++ {
				args := o.args()
				args["batches"], args["ids"] = 1+r.IntN(6), 1+r.IntN(40)
				if saved != nil {
					args["state"] = *saved
				}
				if o.ids != nil {
					all := (&list{ids: o.ids}).of(epoch)
					rest := all[min(index, int64(len(all))):]
					rest = rest[:min(len(rest), o.batch*o.world*(1+r.IntN(6)))]
					args["sampler"] = object{"name": "list", "len": len(all), "at": index, "ids": append([]int64{}, rest...)}
				}
				got := c.batches(args)
				if saved != nil && got.states[0] != *saved && calls > 0 {
					t.Fatalf("%+v: begins at\n%s\nwant\n%s", o, got.states[0], *saved)
				}
				for _, g := range got.batches {
					want, ok := next(t, l)
					if !ok || fmt.Sprint(g) != fmt.Sprint(want) {
						t.Fatalf("%+v: got\n%v\nwant\n%v", o, g, want)
					}
				}
				if got.ended {
					if h, ok := next(t, l); ok || h.state != got.states[len(got.states)-1] {
						t.Fatalf("%+v: ended at %s, want %s", o, got.states[len(got.states)-1], h.state)
					}
				}
				last := got.states[len(got.states)-1]
				saved = &last
				epoch, index = placeOf(t, last)
			}
			o.batch, o.world = 1+r.IntN(9), 1+r.IntN(4)
			o.rank = r.IntN(o.world)
			o.drop, o.early = r.IntN(3) == 0, r.IntN(3) == 0
		}
	}
}

func placeOf(t testing.TB, text string) (epoch, index int64) {
	t.Helper()
	var d struct {
		Epoch int64
		Extra struct{ Index int64 }
	}
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	return d.Epoch, d.Extra.Index
}

// TestBatchesLeaveEpochsOut compares an epoch of the call with Restart of a loader.
func TestBatchesLeaveEpochsOut(t *testing.T) {
	c := served(t)
	o := both{n: 20, batch: 3, shuffle: true, seed: 7, world: 1}
	args := o.args()
	args["batches"] = 2
	first := c.batches(args)
	l := o.open(t)
	for range 2 {
		next(t, l)
	}
	for range 3 {
		if err := l.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	args["state"], args["epoch"] = first.states[2], 3
	got := c.batches(args)
	if text, _ := l.AppendState(nil); got.states[0] != string(text) || got.epoch != 3 {
		t.Errorf("%s, want %s", got.states[0], text)
	}
	if want, _ := next(t, l); fmt.Sprint(want) != fmt.Sprint(got.batches[0]) {
		t.Errorf("%v, want %v", got.batches[0], want)
	}
	args["epoch"] = 0 // where the state is: nothing is left out
	if again := c.batches(args); again.states[0] != first.states[2] {
		t.Errorf("%s, want %s", again.states[0], first.states[2])
	}
	args["state"] = got.states[0]
	if f := c.refused(errs.Invalid, "loader.batches", args); f.Subject != "argument epoch" {
		t.Errorf("%+v", f)
	}
}

// TestBatchesRefuse checks that each state and argument that does not fit is refused by its name.
func TestBatchesRefuse(t *testing.T) {
	c := served(t)
	o := both{n: 20, batch: 3, shuffle: true, seed: 7, world: 2, fingerprint: "v1"}
	args := o.args()
	args["batches"] = 2
	saved := c.batches(args).states[2]
	with := func(name string, value any) object {
		a := o.args()
		a["state"] = saved
		a[name] = value
		return a
	}
	for _, tt := range []struct {
		name    string
		value   any
		kind    errs.Kind
		subject string
	}{
		{"samples", 21, errs.Mismatch, "order"}, {"seed", 8, errs.Mismatch, "order"},
		{"shuffle", false, errs.Mismatch, "order"}, {"name", "other", errs.Mismatch, "name"},
		{"fingerprint", "v2", errs.Mismatch, "data set fingerprint"}, {"fingerprint", "", errs.Mismatch, "data set fingerprint"},
		{"state", "", errs.Corrupt, ""}, {"state", "{}", errs.Corrupt, "version"}, {"state", "[]", errs.Corrupt, ""},
		{"state", strings.Replace(saved, `"version":2`, `"version":3`, 1), errs.Unsupported, "version"},
		{"state", strings.Replace(saved, `"index":12`, `"index":13`, 1), errs.Corrupt, "checksum"},
		{"samples", -1, errs.Invalid, "argument samples"}, {"batch_size", 0, errs.Invalid, "argument batch_size"},
		{"batch_size", 1 << 24, errs.Invalid, "argument batch_size of all ranks"}, {"world", 0, errs.Invalid, "argument world"},
		{"rank", 2, errs.Invalid, "Rank"}, {"rank", -1, errs.Invalid, "Rank"}, {"uneven", "odd", errs.Invalid, "argument uneven"},
		{"batches", 0, errs.Invalid, "argument batches"}, {"ids", 1 << 30, errs.Invalid, "argument ids"},
		{"seed", -1, errs.Invalid, "argument seed"}, {"epoch", 1 << 40, errs.Invalid, "argument epoch"},
		{"epoch", -1, errs.Invalid, "argument epoch"}, {"batch", 3, errs.Invalid, "argument batch"},
		{"sampler", object{"name": "s", "len": 3, "at": 0, "ids": []int{0, 1, 2, 3}}, errs.Invalid, "argument sampler"},
		{"sampler", object{"name": "s", "len": 3, "at": 4, "ids": []int{}}, errs.Invalid, "argument sampler"},
		{"sampler", object{"name": "s", "len": 3, "at": 0, "ids": []int{}}, errs.Invalid, "Sampler"},
	} {
		f := c.refused(tt.kind, "loader.batches", with(tt.name, tt.value))
		if f.Subject != tt.subject {
			t.Errorf("%s %v: %s", tt.name, tt.value, f.Text)
		}
	}
	for _, ids := range []object{
		{"name": "s", "len": 9, "at": 0, "ids": []int{}}, {"name": "s", "len": 9, "at": 3, "ids": []int{0, 1, 2, 3, 4, 5}},
		{"name": "s", "len": 9, "at": 0, "ids": []int{0, 20, 1, 2, 3, 4}}, {"name": "s", "len": 9, "at": 0, "ids": []int{0, -1, 1, 2, 3, 4}},
	} {
		c.refused(errs.Invalid, "loader.batches", object{"samples": 20, "batch_size": 3, "world": 2, "sampler": ids})
	}
	if b := c.batches(args); b.states[2] != saved {
		t.Error("the connection does not go on as before")
	}
}

// TestEveryDamageOfAStateIsSeen changes each byte of a state.
func TestEveryDamageOfAStateIsSeen(t *testing.T) {
	c := served(t)
	args := both{n: 20, batch: 3, shuffle: true, seed: 7, world: 1}.args()
	args["batches"] = 2
	saved := c.batches(args).states[2]
	for i := range len(saved) {
		changed := []byte(saved)
		changed[i] ^= 1
		args["state"] = string(changed)
		if s := c.wait(c.start("loader.batches", args)); s.Error == nil {
			t.Fatalf("byte %d: %s was taken", i, changed)
		}
	}
	for i := range len(saved) {
		args["state"] = saved[:i]
		c.refused(errs.Corrupt, "loader.batches", args)
	}
}

// TestBatchesWarn checks that warnings of the loader reach the client.
func TestBatchesWarn(t *testing.T) {
	c := served(t)
	b := c.batches(both{n: 5, batch: 1, world: 4}.args())
	if len(b.warned) != 1 || !strings.Contains(b.warned[0], "1 samples for 4 ranks") {
		t.Errorf("%q", b.warned)
	}
	if last := b.batches[len(b.batches)-1]; last.repeated != 1 || last.ids[0] != 4 {
		t.Errorf("%+v", last)
	}
}

// TestABlockIsBounded checks that a block ends where the call says, and that a batch larger than
// that still comes.
func TestABlockIsBounded(t *testing.T) {
	c := served(t)
	args := both{n: 1 << 40, batch: 1, shuffle: true, world: 1}.args()
	if b := c.batches(args); len(b.batches) != 1024 {
		t.Error(len(b.batches))
	}
	args["batch_size"], args["ids"] = 1<<17, 5
	if b := c.batches(args); len(b.batches) != 1 || len(b.batches[0].ids) != 1<<17 {
		t.Error(len(b.batches))
	}
}

// FuzzBatches checks that no arguments make loader.batches panic, and that what is answered can be
// asked for again from the last state. bits choose flags, and which arguments there are.
func FuzzBatches(f *testing.F) {
	f.Fuzz(func(t *testing.T, samples int64, batch, world, rank int32, seed uint64, bits uint8, epoch int64, saved string,
		at int64, ids []byte,
	) {
		args := object{"samples": samples, "batch_size": batch % 5000, "world": world % 100, "rank": rank, "seed": seed,
			"shuffle": bits&1 != 0, "drop_last": bits&2 != 0, "seeds": bits&4 != 0, "batches": 5}
		if bits&8 != 0 {
			args["epoch"] = epoch
		}
		if bits&16 != 0 {
			args["state"] = saved
		}
		if bits&32 != 0 {
			list := []int64{}
			for _, id := range ids {
				list = append(list, int64(int8(id)))
			}
			args["sampler"] = object{"name": saved, "len": at + int64(len(list)), "at": at, "ids": list}
		}
		if bits&64 != 0 {
			args["uneven"] = saved
		}
		ask := func() (reply, error) {
			text, err := json.Marshal(args)
			if err != nil {
				t.Fatal(err)
			}
			k := &call{connection: &connection{Options: Options{}.withDefaults()}, ctx: t.Context(), args: newArgs(text)}
			return loaderBatches(k)
		}
		r, err := ask()
		if err != nil {
			if errs.KindOf(err) == errs.Other {
				t.Fatalf("%v: %v", args, err)
			}
			return
		}
		last := lastState(t, r)
		if bits&32 != 0 {
			return // the ids of the sampler would have to move
		}
		delete(args, "epoch")
		args["state"] = last
		if r, err = ask(); err != nil {
			if _, index := placeOf(t, last); index == 0 && samples > 1<<60 {
				return // epochs whose number is too large
			}
			t.Fatalf("%v: %v", args, err)
		}
		closeFiles(r.files)
	})
}

// lastState returns the last state of a block, and closes its memory.
func lastState(t *testing.T, r reply) string {
	t.Helper()
	var v struct{ Bytes int64 }
	if err := json.Unmarshal(r.json, &v); err != nil {
		t.Fatal(err)
	}
	mem := make([]byte, v.Bytes)
	if _, err := r.files[0].ReadAt(mem, 0); err != nil {
		t.Fatal(err)
	}
	closeFiles(r.files)
	text := bytes.TrimRight(mem, "\x00")
	return string(text[max(bytes.LastIndex(text, []byte(`{"batch":`)), bytes.LastIndex(text, []byte(`{"checksum":`))):])
}

// BenchmarkBatches measures a block of 2^16 samples in batches of 64.
func BenchmarkBatches(b *testing.B) {
	c := served(b)
	for _, world := range []int{1, 8} {
		b.Run("world="+strconv.Itoa(world), func(b *testing.B) {
			args := both{n: 1 << 30, batch: 64, shuffle: true, world: world}.args()
			for b.Loop() {
				c.call("loader.batches", args)
				unix.Close(c.fd())
			}
		})
	}
}

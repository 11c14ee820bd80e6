package serve

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// feed feeds samples, each a row of int32, back to back or with gaps.
func (p *piping) feed(rows [][]int32) *fault {
	p.t.Helper()
	samples, data := []object{}, []byte{}
	for i, row := range rows {
		if p.fed%3 == 2 && i > 0 {
			data = append(data, 1, 2, 3, 4)
		}
		samples = append(samples, object{"offset": len(data), "shape": []int{len(row)}})
		for _, v := range row {
			data = binary.LittleEndian.AppendUint32(data, uint32(v))
		}
	}
	p.fed++
	return p.feedWith(data, object{"dtype": "int32", "samples": samples})
}

// feedWith puts data into a room and feeds it.
func (p *piping) feedWith(data []byte, described object) *fault {
	p.t.Helper()
	if len(p.slots[p.room]) < len(data) {
		p.enter(p.wait(p.start("pipeline.room", object{"pipeline": p.number, "bytes": max(1, len(data)), "room": p.room})))
	}
	copy(p.slots[p.room], data)
	args := object{"pipeline": p.number, "name": "E", "data": []object{described}}
	if p.room != 0 {
		args["room"] = p.room
	}
	s := p.wait(p.start("pipeline.feed", args))
	if s.Error == nil {
		p.enter(s)
	}
	return s.Error
}

// enter takes the room that an answer has.
func (p *piping) enter(s said) {
	p.t.Helper()
	var v struct {
		Room slotUse
		Gone []int64
	}
	s.into(p.t, &v)
	if v.Room.New {
		p.mapSlot(v.Room)
	}
	p.room = v.Room.Slot
	for _, n := range v.Gone {
		p.unmap(n)
	}
}

// mapSlot maps the memory of a slot that is new.
func (p *piping) mapSlot(use slotUse) {
	p.t.Helper()
	fd := p.nextFD()
	mem, err := unix.Mmap(fd, 0, use.Bytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		p.t.Fatal(err)
	}
	unix.Close(fd)
	p.slots[use.Slot] = mem
	p.t.Cleanup(func() { p.unmap(use.Slot) })
}

// TestPipelineFed: what is fed comes back, ragged or not, small or in slots of its own, while the
// client holds some of the batches. A slot that is held never changes.
func TestPipelineFed(t *testing.T) {
	p := served(t).openPipeline(fedPipeline(t, 4), nil)
	random := rand.New(rand.NewPCG(1, 2))
	type holding struct {
		b    taken
		want [][]int32
	}
	var held []holding
	check := func(h holding) {
		t.Helper()
		plus := [][]int32{}
		for _, row := range h.want {
			next := make([]int32, len(row))
			for i, v := range row {
				next[i] = v + 1
			}
			plus = append(plus, next)
		}
		if got := h.b.words(0); fmt.Sprint(got) != fmt.Sprint(h.want) {
			t.Fatalf("got %v, want %v", got, h.want)
		}
		if got := h.b.words(1); fmt.Sprint(got) != fmt.Sprint(plus) {
			t.Fatalf("got %v, want %v", got, plus)
		}
	}
	for i := range 200 {
		var rows [][]int32
		size := random.IntN(6) * random.IntN(400)
		for range 1 + random.IntN(4) {
			if random.IntN(3) == 0 {
				size = random.IntN(2000)
			}
			if random.IntN(8) == 0 {
				size = random.IntN(60_000)
			}
			row := make([]int32, size)
			for k := range row {
				row[k] = int32(random.Uint32() >> 2)
			}
			rows = append(rows, row)
		}
		if f := p.feed(rows); f != nil {
			t.Fatal(f.Text)
		}
		var freed []int64
		for len(held) > 0 && random.IntN(3) > 0 {
			k := random.IntN(len(held))
			check(held[k])
			freed = append(freed, held[k].b.slots()...)
			held = slices.Delete(held, k, k+1)
		}
		b, f := p.run(1, true, freed...)
		if f != nil {
			t.Fatal(f.Text)
		}
		if b.Begun != int64(i+1) || b.Flight != 0 {
			t.Fatalf("batch %d: begun %d, in flight %d", i, b.Begun, b.Flight)
		}
		held = append(held, holding{b, rows})
	}
	for _, h := range held {
		check(h)
	}
}

// TestPipelineRooms: data that is wrong is an error, nothing is fed, and the client keeps its room.
// Data goes on as a batch in the room that it was fed in.
func TestPipelineRooms(t *testing.T) {
	p := served(t).openPipeline(fedPipeline(t, 4), nil)
	data := make([]byte, 16)
	for i := range data {
		data[i] = byte(i / 4 * 0x11)
	}
	many := make([]object, 1)
	many[0] = object{"offset": 0, "shape": []int{1 << 40}}
	for name, data := range map[string]object{
		"a sample behind the end":   {"samples": []object{{"offset": 1 << 30, "shape": []int{3}}}},
		"a sample before the start": {"samples": []object{{"offset": -4, "shape": []int{1}}}},
		"a sample between elements": {"samples": []object{{"offset": 2, "shape": []int{1}}}},
		"a sample of any size":      {"samples": many},
		"rows behind the end":       {"shape": []int{1 << 20, 1}},
		"rows between elements":     {"shape": []int{1, 1}, "offset": 2},
		"rows without elements":     {"shape": []int{1 << 40, 0}},
		"a scalar":                  {"shape": []int{}},
		"an unknown type":           {"dtype": "int33", "shape": []int{4, 1}},
		"other dimensions":          {"samples": []object{{"offset": 0, "shape": []int{1}}, {"offset": 4, "shape": []int{1, 1}}}},
		"too many samples":          {"shape": []int{5, 1}, "offset": 0},
	} {
		all := object{"dtype": "int32"}
		for k, v := range data {
			all[k] = v
		}
		if f := p.feedWith(make([]byte, 16), all); f == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if f := p.feedWith(data, object{"dtype": "int32", "shape": []int{4, 1}}); f != nil {
		t.Fatal(f.Text)
	}
	if b, f := p.run(1, true); f != nil || fmt.Sprint(b.words(0)) != "[[0] [286331153] [572662306] [858993459]]" {
		t.Fatalf("%+v, %v", b, f)
	}
	row := make([]int32, ownSlot)
	for i := range row {
		row[i] = int32(i)
	}
	for k := range 40 {
		first := p.room
		var got []int32
		if f := p.feed([][]int32{row, row[:k], row}); f != nil {
			t.Fatal(f.Text)
		}
		if k > 0 && p.room == first {
			t.Fatal("the client has the room that it has fed")
		}
		b, f := p.run(1, true)
		if f != nil {
			t.Fatal(f.Text)
		}
		if got = b.words(0)[2]; !slices.Equal(got, row) || len(b.words(0)[1]) != k {
			t.Fatalf("batch %d has other elements", k)
		}
		if gaps := p.fed%3 == 0; k > 0 && (b.Outputs[0].Slot == first) == gaps {
			t.Errorf("batch %d lies in slot %d and was fed in %d, with gaps: %v", k, b.Outputs[0].Slot, first, gaps)
		}
		if _, f := p.run(0, false, b.slots()...); f != nil {
			t.Fatal(f.Text)
		}
	}
	if n := len(p.slots); n > 12 {
		t.Errorf("the client has mapped %d slots", n)
	}
	for range 200 { // large memory does not stay for small batches
		if f := p.feed([][]int32{{1}}); f != nil {
			t.Fatal(f.Text)
		}
		b, f := p.run(1, true)
		if f != nil {
			t.Fatal(f.Text)
		}
		if _, f := p.run(0, false, b.slots()...); f != nil {
			t.Fatal(f.Text)
		}
	}
	if n := len(p.slots[p.room]); n > 1<<12 {
		t.Errorf("a room for 4 bytes has %d", n)
	}
}

// oneBatch is an engine with one batch in flight. It ends a wait for it with the context.
type oneBatch struct {
	engine
	made bool
}

func (o oneBatch) InFlight() int    { return 1 }
func (o oneBatch) ready(i int) bool { return o.made && i == 0 }

func (o oneBatch) next(ctx context.Context, _ int) (*slotBatch, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return &slotBatch{Outputs: []slotOutput{{DType: "uint8"}}, data: [][]byte{{1, 2, 3}}}, nil
}

// TestAheadBringsWhatIsReady: a call that asks ahead brings a batch that is ready, also if another
// call has come. It does not wait then for one that is not ready.
func TestAheadBringsWhatIsReady(t *testing.T) {
	for _, ready := range []bool{true, false} {
		p := &piped{engine: oneBatch{made: ready}, slots: slots{most: mostHeld}}
		defer p.slots.close()
		k := &call{ctx: t.Context(), turn: p.lane.join()}
		p.lane.join() // another call
		r, err := pipelineRun(k, p, runArgs{take: true, ahead: true})
		if err != nil {
			t.Fatal(err)
		}
		closeFiles(r.files)
		var b taken
		if err := json.Unmarshal(r.json, &b); err != nil {
			t.Fatal(err)
		}
		if got := b.Number == 1 && len(b.Outputs) == 1; got != ready {
			t.Errorf("ready %v: a batch came %v: %s", ready, got, r.json)
		}
	}
}

// TestDataComesAfterItsFeed: a batch has the data that lies in the room when the batch begins.
func TestDataComesAfterItsFeed(t *testing.T) {
	p := served(t).openPipeline(fedPipeline(t, 4), nil)
	for i := range int32(20) {
		p.feed([][]int32{{-1, -1}}) // the next one finds a room that is large enough
		if b, f := p.run(1, true); f != nil || fmt.Sprint(b.words(0)) != "[[-1 -1]]" {
			t.Fatalf("%+v %+v", b, f)
		}
		room := p.slots[p.room]
		clear(room)
		if f := p.feedWith(nil, object{"dtype": "int32", "shape": []int{1, 2}, "offset": 0}); f != nil {
			t.Fatal(f.Text)
		}
		binary.LittleEndian.PutUint32(room, uint32(i))
		binary.LittleEndian.PutUint32(room[4:], 7)
		b, f := p.run(1, true)
		if f != nil || fmt.Sprint(b.words(0)) != fmt.Sprintf("[[%d 7]]", i) {
			t.Fatalf("%+v %+v", b, f)
		}
	}
}

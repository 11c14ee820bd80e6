package serve

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/bivouac-ml/bivouac/compat/dali"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/pipeline/fn"
	"github.com/bivouac-ml/bivouac/tensor"
)

// piping is a pipeline of a test client.
type piping struct {
	*client
	number int64
	slots  map[int64][]byte
	room   int64 // 0: none
	fed    int
}

// taken is a batch of a test client.
type taken struct {
	delivery
	End bool
	mem map[int64][]byte
}

// slots returns the numbers of the slots that the batch lies in.
func (b *taken) slots() (numbers []int64) {
	for _, use := range b.Slots {
		numbers = append(numbers, use.Slot)
	}
	return numbers
}

// openPipeline opens a pipeline.
func (c *client) openPipeline(d *dali.Definition, args object) *piping {
	c.t.Helper()
	graph, err := dali.Serialize(d)
	if err != nil {
		c.t.Fatal(err)
	}
	all := object{"graph": graph}
	for name, v := range args {
		all[name] = v
	}
	var v struct{ Pipeline int64 }
	c.call("pipeline.open", all).into(c.t, &v)
	return &piping{client: c, number: v.Pipeline, slots: map[int64][]byte{}}
}

// run calls pipeline.run. The program has what was taken before.
func (p *piping) run(schedule int, take bool, freed ...int64) (b taken, failed *fault) {
	p.t.Helper()
	return p.runs(object{"schedule": schedule, "take": take, "freed": freed})
}

// runs calls pipeline.run with arguments.
func (p *piping) runs(args object) (b taken, failed *fault) {
	p.t.Helper()
	args["pipeline"] = p.number
	s := p.wait(p.start("pipeline.run", args))
	if s.Error != nil {
		return b, s.Error
	}
	s.into(p.t, &b)
	for _, n := range b.Gone {
		p.unmap(n)
	}
	b.mem = map[int64][]byte{}
	for _, use := range b.Slots {
		if use.New {
			p.mapSlot(use)
		}
		b.mem[use.Slot] = p.slots[use.Slot]
	}
	return b, nil
}

// unmap gives the memory of a slot back, unless that was done.
func (p *piping) unmap(slot int64) {
	if mem := p.slots[slot]; mem != nil {
		unix.Munmap(mem)
		delete(p.slots, slot)
	}
}

// words returns the samples of an output of int32.
func (b *taken) words(output int) (samples [][]int32) {
	o := b.Outputs[output]
	for i := range o.Samples {
		at, shape := o.Offset, o.Shape
		if o.Offsets != nil {
			at, shape = o.Offsets[i], o.Dims[i*o.NDim:][:o.NDim]
		} else {
			at += int64(i * 4 * tensor.Shape(shape).Len())
		}
		sample := make([]int32, tensor.Shape(shape).Len())
		for k := range sample {
			sample[k] = int32(binary.LittleEndian.Uint32(b.mem[o.Slot][at+int64(4*k):]))
		}
		samples = append(samples, sample)
	}
	return samples
}

// fedPipeline is an external source of int32 and the same numbers plus one.
func fedPipeline(t testing.TB, batch int) *dali.Definition {
	t.Helper()
	d, err := dali.Define(dali.PipelineOptions{Options: pipeline.Options{BatchSize: batch, Workers: 1}},
		func(b *pipeline.Builder) []pipeline.Node {
			in := pipeline.ExternalSource(b, pipeline.Source{}, pipeline.SourceOptions{
				Name: "E", Specs: []tensor.Spec{{DType: tensor.Int32, Shape: tensor.Shape{-1}}},
			})[0]
			return []pipeline.Node{in, in.Add(int32(1))}
		})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestPipelineEnds: a batch that nobody began is no error, and a batch that was not fed is one that
// changes nothing.
func TestPipelineEnds(t *testing.T) {
	p := served(t).openPipeline(fedPipeline(t, 2), nil)
	if b, f := p.run(0, true); f != nil || !b.End {
		t.Fatalf("%+v, %v", b, f)
	}
	for range 2 {
		if _, f := p.run(1, true); f == nil || f.Kind != errs.Invalid.String() {
			t.Fatalf("got %v, want an error of a batch that was not fed", f)
		}
	}
	p.feed([][]int32{{1}, {2}})
	b, f := p.run(2, true)
	if f != nil || b.Begun != 1 || b.Flight != 0 || fmt.Sprint(b.words(1)) != "[[2] [3]]" {
		t.Fatalf("%+v, %v", b, f)
	}
}

// TestPipelineHold: a client that holds too many batches is told, loses no batch, and goes on when
// it has freed one.
func TestPipelineHold(t *testing.T) {
	p := served(t).openPipeline(fedPipeline(t, 1), object{"hold": 3})
	for i := range 5 {
		p.feed([][]int32{{int32(i)}})
	}
	var slots []int64
	for i := range 3 {
		b, f := p.run(1, true)
		if f != nil || b.words(0)[0][0] != int32(i) {
			t.Fatalf("batch %d: %v", i, f)
		}
		slots = append(slots, b.slots()...)
	}
	if _, f := p.run(1, true); f == nil || f.Kind != errs.Exhausted.String() || f.Got != "3" {
		t.Fatalf("got %+v, want exhausted at 3", f)
	}
	b, f := p.run(1, true, slots[1])
	if f != nil || slices.Contains([]int64{slots[0], slots[2]}, b.slots()[0]) || b.words(0)[0][0] != 3 {
		t.Fatalf("slots %v, %v", b.slots(), f)
	}
	for _, wrong := range []int64{slots[1] + 100, 0, -1} {
		if _, f := p.run(0, false, wrong); f == nil || f.Kind != errs.Invalid.String() {
			t.Fatalf("freed slot %d: %v", wrong, f)
		}
	}
	if _, f := p.run(0, false, slots[0], slots[0]); f == nil {
		t.Fatal("a slot was freed twice")
	}
}

// TestPipelineState: the state after a batch leads to the same batches, in the same pipeline and in
// one that is opened with it, whatever was made ahead.
func TestPipelineState(t *testing.T) {
	o := dali.PipelineOptions{Options: pipeline.Options{BatchSize: 3, Seed: 5}, EnableCheckpointing: true}
	d, err := dali.Define(o,
		func(b *pipeline.Builder) []pipeline.Node {
			return []pipeline.Node{fn.RandomUniform(b, fn.RandomUniformArgs{Values: op.Const([]float64{1, 2, 3, 4, 5, 6, 7, 8}),
				DType: tensor.Int32, Shape: op.Const([]int{4})})}
		})
	if err != nil {
		t.Fatal(err)
	}
	c := served(t)
	p := c.openPipeline(d, nil)
	take := func(p *piping, n int) (out []string) {
		t.Helper()
		for i := range n {
			schedule := 1
			if i == 0 {
				schedule = 2
			}
			b, f := p.run(schedule, true)
			if f != nil {
				t.Fatal(f.Text)
			}
			out = append(out, fmt.Sprint(b.words(0)))
			p.run(0, false, b.slots()...)
		}
		return out
	}
	take(p, 4)
	var s struct{ State []byte }
	c.call("pipeline.state", object{"pipeline": p.number, "consumer": "counters"}).into(t, &s)
	want := take(p, 5)
	c.call("pipeline.restore", object{"pipeline": p.number, "state": s.State})
	if got := take(p, 5); !slices.Equal(got, want) {
		t.Fatalf("restored: %v, want %v", got, want)
	}
	if got := take(c.openPipeline(d, object{"state": s.State}), 5); !slices.Equal(got, want) {
		t.Fatalf("opened: %v, want %v", got, want)
	}
	graph, _ := dali.Serialize(d)
	var v struct{ Consumer string }
	c.call("pipeline.open", object{"graph": graph, "state": s.State}).into(t, &v)
	if v.Consumer != "counters" {
		t.Fatalf("consumer %q", v.Consumer)
	}
}

// TestPipelineAhead: a client has batches that its program does not have. A state stands behind the
// batch that the program got last.
func TestPipelineAhead(t *testing.T) {
	o := dali.PipelineOptions{Options: pipeline.Options{BatchSize: 1, Workers: 1}, EnableCheckpointing: true}
	d, err := dali.Define(o, func(b *pipeline.Builder) []pipeline.Node {
		return []pipeline.Node{fn.RandomUniform(b, fn.RandomUniformArgs{DType: tensor.Int32,
			Range: op.Const([]float64{0, 1 << 20})})}
	})
	if err != nil {
		t.Fatal(err)
	}
	c := served(t)
	plain, p := c.openPipeline(d, nil), c.openPipeline(d, nil)
	var want []string
	var states [][]byte
	state := func(p *piping, taken int64) []byte {
		t.Helper()
		var s struct{ State []byte }
		c.call("pipeline.state", object{"pipeline": p.number, "taken": taken}).into(t, &s)
		return s.State
	}
	for i := range int64(20) {
		states = append(states, state(plain, i))
		b, f := plain.run(1, true)
		if f != nil {
			t.Fatal(f.Text)
		}
		want = append(want, fmt.Sprint(b.words(0)))
	}
	p.run(3, false)
	for i := range int64(16) { // the program gets batch i now
		b, f := p.runs(object{"schedule": 1, "take": true, "ahead": true, "taken": max(0, i-1)})
		if f != nil || b.Number != i+1 || b.Flight != 3 || fmt.Sprint(b.words(0)) != want[i] {
			t.Fatalf("batch %d: got %+v, %v, want %s", i, b, f, want[i])
		}
		for _, taken := range []int64{max(0, i-1), i} {
			if i%3 != 0 && taken == i { // the next call says it
				continue
			}
			if !bytes.Equal(state(p, taken), states[taken]) {
				t.Fatalf("batch %d: the state is not the one after %d batches", i, taken)
			}
		}
		p.runs(object{"schedule": 0, "freed": b.slots(), "taken": max(0, i-1)})
	}
	if b, f := p.runs(object{"take": true, "taken": 15}); f != nil || b.Number != 17 {
		t.Fatalf("got %+v, %v", b, f)
	}
	if _, f := p.runs(object{"take": true, "taken": 15}); f == nil || f.Kind != errs.Invalid.String() {
		t.Fatalf("a third batch that the program does not have: %v", f)
	}
	if b, f := p.runs(object{"take": true, "taken": 17}); f != nil || fmt.Sprint(b.words(0)) != want[17] {
		t.Fatalf("got %+v, %v", b, f)
	}
	if b, f := p.runs(object{"take": true, "ahead": true, "taken": 18}); f != nil || fmt.Sprint(b.words(0)) != want[18] {
		t.Fatalf("got %+v, %v", b, f)
	}
	b, f := p.runs(object{"take": true, "ahead": true, "taken": 19})
	if f != nil || b.Number != 0 || b.End || b.Flight != 0 {
		t.Fatalf("without a batch in flight: %+v, %v", b, f)
	}
}

// TestPipelineTogether: small batches that are ready come in one answer, in their order. A state
// stands behind those that the program has. Large ones come one by one.
func TestPipelineTogether(t *testing.T) {
	for _, c := range []struct{ elements, together int }{
		{1, 7}, {1000, 7}, {2000, 4}, {smallTogether / 4, 1}, {ownSlot, 1},
	} {
		o := dali.PipelineOptions{Options: pipeline.Options{BatchSize: 1, Workers: 1}, EnableCheckpointing: true}
		d, err := dali.Define(o, func(b *pipeline.Builder) []pipeline.Node {
			return []pipeline.Node{fn.RandomUniform(b, fn.RandomUniformArgs{DType: tensor.Int32,
				Range: op.Const([]float64{0, 1 << 20}), Shape: op.Const([]int{c.elements})})}
		})
		if err != nil {
			t.Fatal(err)
		}
		s := served(t)
		plain, p := s.openPipeline(d, nil), s.openPipeline(d, nil)
		var got [][]int32
		random := rand.New(rand.NewPCG(1, 1))
		most, took := 0, int64(0) // what the program has
		var held []int64
		for len(got) < 40 {
			args := object{"schedule": 7, "take": true, "ahead": true, "most": 7, "taken": took, "freed": held}
			b, f := p.runs(args)
			if f != nil || b.Number != int64(len(got)+1) || b.Together != c.together {
				t.Fatalf("%d elements: got batch %d, together %d, %v; want batch %d, together %d",
					c.elements, b.Number, b.Together, f, len(got)+1, c.together)
			}
			held = b.slots()
			for _, one := range append([]*slotBatch{&b.slotBatch}, b.More...) {
				got = append(got, (&taken{delivery: delivery{slotBatch: *one}, mem: b.mem}).words(0)[0])
			}
			most = max(most, 1+len(b.More))
			has := b.Number + int64(random.IntN(1+len(b.More)))
			var state, same struct{ State []byte }
			s.call("pipeline.state", object{"pipeline": p.number, "taken": has}).into(t, &state)
			for ; took < has; took++ {
				if b, f := plain.run(1, true); f != nil || !slices.Equal(b.words(0)[0], got[took]) {
					t.Fatalf("%d elements: batch %d differs", c.elements, took)
				}
			}
			s.call("pipeline.state", object{"pipeline": plain.number}).into(t, &same)
			if !bytes.Equal(state.State, same.State) {
				t.Fatalf("%d elements: the state is not the one after %d batches", c.elements, has)
			}
			took = int64(len(got))
			for k := has; k < took; k++ { // the other pipeline follows
				if b, f := plain.run(1, true); f != nil || !slices.Equal(b.words(0)[0], got[k]) {
					t.Fatalf("%d elements: batch %d differs", c.elements, k)
				}
			}
		}
		if most > c.together || c.elements == 1 && most == 1 {
			t.Errorf("%d elements: up to %d batches came at a time, want %d", c.elements, most, c.together)
		}
		for _, wrong := range []int{-1, mostTogether + 1} {
			if _, f := p.runs(object{"most": wrong}); f == nil || f.Kind != errs.Invalid.String() {
				t.Errorf("most %d: %v", wrong, f)
			}
		}
	}
}

// TestPipelineResetAhead: an epoch that the client ends while batches are in flight ends behind
// them. A state from before the end leads to the batches that are left, and a state behind it to
// the next epoch.
func TestPipelineResetAhead(t *testing.T) {
	o := dali.PipelineOptions{Options: pipeline.Options{BatchSize: 1, Workers: 1}, EnableCheckpointing: true}
	d, err := dali.Define(o, func(b *pipeline.Builder) []pipeline.Node {
		return pipeline.ExternalSource(b, pipeline.Source{}, pipeline.SourceOptions{
			Name: "E", Specs: []tensor.Spec{{DType: tensor.Int32, Shape: tensor.Shape{-1}}}})
	})
	if err != nil {
		t.Fatal(err)
	}
	for taken := range 4 {
		c := served(t)
		p := c.openPipeline(d, nil)
		take := func(want int32) {
			t.Helper()
			b, f := p.run(0, true)
			if f != nil || b.End || b.words(0)[0][0] != want {
				t.Fatalf("want %d, got %+v, %v", want, b, f)
			}
			p.run(0, false, b.slots()...)
		}
		begins := func(want flight) {
			t.Helper()
			var s struct{ State []byte }
			c.call("pipeline.state", object{"pipeline": p.number}).into(t, &s)
			graph, _ := dali.Serialize(d)
			var got flight
			c.call("pipeline.open", object{"graph": graph, "state": s.State}).into(t, &got)
			if got != want {
				t.Fatalf("taken %d: a state begins at %+v, want %+v", taken, got, want)
			}
		}
		for i := range int32(3) {
			p.feed([][]int32{{i}})
		}
		p.run(3, false)
		for i := range taken {
			take(int32(i))
		}
		var f flight
		c.call("pipeline.reset", object{"pipeline": p.number}).into(t, &f)
		if want := (flight{Resets: 1, Flight: 3 - taken}); f != want {
			t.Fatalf("%+v, want %+v", f, want)
		}
		for i := range int32(2) {
			p.feed([][]int32{{100 + i}})
		}
		p.run(2, false)
		for i := taken; i < 3; i++ {
			begins(flight{Begun: int64(i)})
			take(int32(i))
		}
		begins(flight{Resets: 1})
		take(100)
		begins(flight{Resets: 1, Begun: 1})
		take(101)
		c.call("pipeline.reset", object{"pipeline": p.number})
		begins(flight{Resets: 2})
	}
}

// TestPipelineMistakes: wrong calls are errors that name the mistake, and the server goes on.
func TestPipelineMistakes(t *testing.T) {
	c := served(t)
	p := c.openPipeline(fedPipeline(t, 2), nil)
	graph, err := dali.Serialize(fedPipeline(t, 2))
	if err != nil {
		t.Fatal(err)
	}
	one := []object{{"dtype": "int32", "samples": []object{{"offset": 0, "shape": []int{1}}}}}
	for _, m := range []struct {
		op   string
		args object
		kind errs.Kind
	}{
		{"pipeline.open", object{}, errs.Corrupt},
		{"pipeline.open", object{"graph": []byte("no pipeline")}, errs.Corrupt},
		{"pipeline.open", object{"graph": graph, "hold": -1}, errs.Invalid},
		{"pipeline.open", object{"graph": graph, "state": []byte("no state")}, errs.Other},
		{"pipeline.open", object{"graph": graph, "sate": []byte("x")}, errs.Invalid},
		{"pipeline.run", object{"pipeline": 99}, errs.NotFound},
		{"pipeline.run", object{"pipeline": p.number, "schedule": -1}, errs.Invalid},
		{"pipeline.run", object{"pipeline": p.number, "schedule": 1 << 30}, errs.Invalid},
		{"pipeline.feed", object{"pipeline": p.number, "name": "F", "data": one}, errs.Invalid},
		{"pipeline.feed", object{"pipeline": p.number, "name": "E", "data": one}, errs.Invalid},
		{"pipeline.feed", object{"pipeline": p.number, "name": "E", "room": 7, "data": one}, errs.Invalid},
		{"pipeline.feed", object{"pipeline": p.number, "name": "E", "data": []object{{"dtype": "int33", "shape": []int{0}}}}, errs.Invalid},
		{"pipeline.feed", object{"pipeline": p.number, "name": "E", "data": []object{{"dtype": "int32", "shape": []int{-1}}}}, errs.Invalid},
		{"pipeline.feed", object{"pipeline": p.number, "name": "E", "data": []object{{"dtype": "int32", "samples": []object{}}}}, errs.Invalid},
		{"pipeline.room", object{"pipeline": p.number}, errs.Invalid},
		{"pipeline.room", object{"pipeline": p.number, "bytes": 1 << 47}, errs.Invalid},
		{"pipeline.room", object{"pipeline": p.number, "bytes": 8, "room": 7}, errs.Invalid},
		{"pipeline.close", object{"pipeline": 99}, errs.NotFound},
		{"operator.outputs", object{"graph": graph}, errs.Invalid},
		{"pipeline.dot", object{"graph": []byte("x")}, errs.Corrupt},
		{"operator.outputs", object{"graph": []byte("x")}, errs.Corrupt},
	} {
		s := c.wait(c.start(m.op, m.args))
		if s.Error == nil || m.kind != errs.Other && s.Error.Kind != m.kind.String() {
			t.Errorf("%s %v: got %+v, want an error of kind %v", m.op, m.args, s.Error, m.kind)
		}
	}
	p.feed([][]int32{{7}, {8}})
	if b, f := p.run(1, true); f != nil || fmt.Sprint(b.words(0)) != "[[7] [8]]" {
		t.Fatalf("after the mistakes: %+v, %v", b, f)
	}
	c.call("pipeline.close", object{"pipeline": p.number})
	if _, f := p.run(0, false); f == nil || f.Kind != errs.NotFound.String() {
		t.Fatalf("after close: %v", f)
	}
}

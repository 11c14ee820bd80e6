package serve

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bivouac-ml/bivouac/compat/dali/pipeproto"
	"github.com/bivouac-ml/bivouac/errs"
)

// questioned is a pipeline of a test client that answers the questions of its functions.
type questioned struct {
	*piping
	mem   []byte
	calls []int64 // numbers
}

// callingPipeline opens a pipeline: an external source of int32, and a function of it.
func callingPipeline(t testing.TB, args object) *questioned {
	t.Helper()
	text := func(name, value string) pipeproto.Argument {
		return pipeproto.Argument{Name: name, Type: "string", Strings: []string{value}}
	}
	edge := func(name string) []pipeproto.Edge { return []pipeproto.Edge{{Name: name, Device: "cpu"}} }
	p := &pipeproto.Pipeline{BatchSize: 4, Ops: []pipeproto.Op{
		{Name: "ExternalSource", Instance: "E", Outputs: edge("E"), Args: []pipeproto.Argument{text("device", "cpu")}},
		{Name: "DLTensorPythonFunctionImpl", Instance: "F", Inputs: edge("E"), Outputs: edge("F"),
			Args: []pipeproto.Argument{text("device", "cpu"), {Name: "function_id", Type: "int64", Ints: []int64{1}}}},
	}, Outputs: edge("F")}
	c := served(t)
	all := object{"graph": pipeproto.Append(nil, p), "functions": []string{"first", "second"}}
	for name, v := range args {
		all[name] = v
	}
	var v struct{ Pipeline int64 }
	c.call("pipeline.open", all).into(c.t, &v)
	return &questioned{piping: &piping{client: c, number: v.Pipeline, slots: map[int64][]byte{}}}
}

// question takes the next frame, which must be a question.
func (c *questioned) question() (q question) {
	c.t.Helper()
	kind, body := c.frame()
	if kind != kindAsk {
		c.t.Fatalf("frame of kind %d: %s", kind, body)
	}
	if err := json.Unmarshal(body, &q); err != nil {
		c.t.Fatal(err)
	}
	if q.New {
		fd := c.fd()
		mem, err := unix.Mmap(fd, 0, q.Bytes, unix.PROT_READ, unix.MAP_SHARED)
		if err != nil {
			c.t.Fatal(err)
		}
		unix.Close(fd)
		c.t.Cleanup(func() { unix.Munmap(mem) })
		c.mem = mem
	}
	c.calls = append(c.calls, q.Call)
	return q
}

// input returns the first input, each sample a row of int32.
func (c *questioned) input(q question) (rows [][]int32) {
	in := q.Inputs[0]
	for s := range in.Samples {
		var row []int32
		at := in.Offset
		if in.Offsets == nil {
			row = make([]int32, in.Shape[0])
			at += int64(4 * s * in.Shape[0])
		} else {
			row = make([]int32, in.Dims[s])
			at = in.Offsets[s]
		}
		for k := range row {
			row[k] = int32(binary.LittleEndian.Uint32(c.mem[at+int64(4*k):]))
		}
		rows = append(rows, row)
	}
	return rows
}

// give gives rows of uint8 as the output, and answers.
func (c *questioned) give(q question, sizes ...int) *fault {
	c.t.Helper()
	var samples []object
	var a struct{ Arena, Bytes int64 }
	c.call("arena.new", object{"bytes": 1 << 12}).into(c.t, &a)
	mem, err := unix.Mmap(c.fd(), 0, int(a.Bytes), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		c.t.Fatal(err)
	}
	defer unix.Munmap(mem)
	for i, n := range sizes {
		samples = append(samples, object{"offset": 64 * i, "shape": []int{n}})
		for k := range n {
			mem[64*i+k] = byte(10*i + k)
		}
	}
	s := c.wait(c.start("pipeline.give", object{"pipeline": c.number, "call": q.Call, "arena": a.Arena,
		"data": []object{{"dtype": "uint8", "samples": samples}}}))
	clear(mem) // what was given is a copy
	c.call("arena.free", object{"arena": a.Arena})
	if s.Error == nil {
		c.send(kindAnswer, object{"ask": q.Ask, "value": object{}})
	}
	return s.Error
}

// begin begins to run a batch.
func (c *questioned) begin() int64 {
	return c.start("pipeline.run", object{"pipeline": c.number, "schedule": 1, "take": true, "freed": []int64{}})
}

// TestFunctionCalls: inputs go to the client in shared memory, which grows with them, and what the
// client gives comes out of the pipeline.
func TestFunctionCalls(t *testing.T) {
	c := callingPipeline(t, nil)
	for i, rows := range [][][]int32{
		{{1, 2}, {3}}, {{}, {7, 8, 9}, {1}, {2}}, {make([]int32, 5000)}, {{4}}, {{1, 2}, {3, 4}},
	} {
		if f := c.feed(rows); f != nil {
			t.Fatal(f.Text)
		}
		run := c.begin()
		q := c.question()
		if q.Function != 1 || q.Samples != len(rows) || q.Pipeline != c.number || q.Call != int64(i+1) {
			t.Errorf("question %+v", q)
		}
		if got := c.input(q); fmt.Sprint(got) != fmt.Sprint(rows) {
			t.Errorf("input %v, want %v", got, rows)
		}
		sizes := make([]int, len(rows))
		for s := range sizes {
			sizes[s] = s + 1
		}
		if f := c.give(q, sizes...); f != nil {
			t.Fatal(f.Text)
		}
		var b taken
		c.wait(run).into(t, &b)
		for _, use := range b.Slots {
			if use.New {
				unix.Close(c.nextFD())
			}
		}
		if o := b.Outputs[0]; o.DType != "uint8" || o.Samples != len(rows) || o.NDim != 1 {
			t.Errorf("output %+v", o)
		}
	}
}

// TestAheadGivesWay: a call that asks ahead ends without a batch when another call comes, which
// does not wait for the batch.
func TestAheadGivesWay(t *testing.T) {
	c := callingPipeline(t, nil)
	if f := c.feed([][]int32{{1}}); f != nil {
		t.Fatal(f.Text)
	}
	run := c.start("pipeline.run", object{"pipeline": c.number, "schedule": 1, "take": true, "ahead": true})
	q := c.question() // the batch waits for the answer
	progress := c.start("pipeline.progress", object{"pipeline": c.number})
	var b taken
	c.wait(run).into(t, &b) // it comes first
	var f flight
	c.wait(progress).into(t, &f)
	if want := (flight{Begun: 1, Flight: 1}); f != want || b.flight != want || b.Number != 0 {
		t.Fatalf("got %+v and %+v, want %+v twice", f, b.flight, want)
	}
	if f := c.give(q, 3); f != nil {
		t.Fatal(f.Text)
	}
	run = c.start("pipeline.run", object{"pipeline": c.number, "take": true})
	c.wait(run).into(t, &b)
	if b.Number != 1 || b.Outputs[0].Samples != 1 {
		t.Fatalf("got %+v", b)
	}
	for range b.Slots {
		unix.Close(c.nextFD())
	}
}

// TestFunctionFails: an error, a wrong number of samples and an answer without outputs fail the
// batch. The next try asks again, and the stream goes on.
func TestFunctionFails(t *testing.T) {
	c := callingPipeline(t, nil)
	if f := c.feed([][]int32{{1}, {2}}); f != nil {
		t.Fatal(f.Text)
	}
	for _, w := range []struct {
		says string
		give func(q question)
	}{
		{"oh dear", func(q question) { c.send(kindAnswer, object{"ask": q.Ask, "error": "oh dear"}) }},
		{"pipeline.give before", func(q question) { c.send(kindAnswer, object{"ask": q.Ask, "value": object{}}) }},
		{"2 samples", func(q question) { c.give(q, 1) }},
	} {
		run := c.begin()
		w.give(c.question())
		if s := c.wait(run); s.Error == nil || !strings.Contains(s.Error.Text, w.says) {
			t.Errorf("got %+v, want an error that says %q", s.Error, w.says)
		}
	}
	run := c.begin()
	if f := c.give(c.question(), 1, 2); f != nil {
		t.Fatal(f.Text)
	}
	if s := c.wait(run); s.Error != nil {
		t.Error(s.Error.Text)
	}
	c.refused(errs.Sequence, "pipeline.give", object{"pipeline": c.number, "call": 4, "data": []object{}})
}

// TestFunctionHangs: a time limit ends the wait with an error that names the function. What comes
// late is refused and ends nothing. Closing the pipeline, or the connection, does not wait.
func TestFunctionHangs(t *testing.T) {
	c := callingPipeline(t, object{"callback_timeout": 0.05})
	if f := c.feed([][]int32{{1}}); f != nil {
		t.Fatal(f.Text)
	}
	run := c.begin()
	q := c.question()
	s := c.wait(run)
	if s.Error == nil || s.Error.Subject != "function second" || !strings.Contains(s.Error.Text, "within 50ms") ||
		fmt.Sprint(s.Error.Tags) != "[deadline]" {
		t.Fatalf("got %+v", s.Error)
	}
	if f := c.give(q, 1); f == nil || f.Kind != errs.Sequence.String() {
		t.Errorf("what came late: %+v", f)
	}
	c.send(kindAnswer, object{"ask": q.Ask, "error": "late"})

	unlimited := callingPipeline(t, nil)
	if f := unlimited.feed([][]int32{{1}}); f != nil {
		t.Fatal(f.Text)
	}
	run = unlimited.begin()
	unlimited.question()
	end := unlimited.start("pipeline.close", object{"pipeline": unlimited.number})
	for range 2 { // they come in any order
		s := unlimited.next()
		if s.ID == end && s.Error != nil || s.ID == run && (s.Error == nil || s.Error.Kind != errs.Closed.String()) {
			t.Errorf("got %+v", s)
		}
	}

	gone := callingPipeline(t, nil)
	if f := gone.feed([][]int32{{1}}); f != nil {
		t.Fatal(f.Text)
	}
	gone.begin()
	gone.question() // and the cleanup of the test ends the connection
}

// TestFunctionLimits: wrong limits and functions that the graph needs and nobody has are errors.
func TestFunctionLimits(t *testing.T) {
	c := served(t)
	for _, seconds := range []float64{-1, 1e300} {
		c.refused(errs.Invalid, "pipeline.open", object{"graph": []byte{}, "callback_timeout": seconds})
	}
	if time.Duration(mostSeconds*float64(time.Second)) <= 0 {
		t.Error("the longest time is not a time")
	}
}

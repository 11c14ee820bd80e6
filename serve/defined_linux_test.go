package serve

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
)

// defined writes files of different lengths, and returns their definition and its directory.
func defined(t testing.TB) (text, base string) {
	t.Helper()
	base = t.TempDir()
	for i := range 10 {
		name := filepath.Join(base, "texts", fmt.Sprint("class", i%2), fmt.Sprintf("%02d.txt", i))
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(strings.Repeat("x", i+1)), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return "path: texts\nreader: file\nargs: {file_filters: ['*.txt']}\nshuffle: true\nseed: 3\nbatch_size: 3\n" +
		"rank: env MY_RANK or 0\n", base
}

// rest takes the batches up to the end of the epoch.
func (p *piping) rest() (told []string) {
	p.t.Helper()
	for {
		b, f := p.run(1, true)
		if f != nil {
			p.t.Fatal(f.Text)
		}
		if b.End {
			return told
		}
		one := ""
		for _, o := range b.Outputs {
			one += fmt.Sprint(o.Name, o.Shape, " ")
			if o.Name == "files_ends" {
				one += fmt.Sprint(b.mem[o.Slot][o.Offset:][:8*o.Shape[0]])
			}
		}
		told = append(told, one)
		p.run(0, false, b.slots()...)
	}
}

// TestPipelineOfDefinition: a definition gives epochs of named outputs, whose states lead to the
// same batches, and a reset leaves the rest of an epoch out.
func TestPipelineOfDefinition(t *testing.T) {
	text, base := defined(t)
	c := served(t)
	open := func(more object) *piping {
		t.Helper()
		args := object{"definition": text, "base": base}
		for name, v := range more {
			args[name] = v
		}
		var v struct {
			Pipeline, Samples int64
			Length            struct{ Batches int64 }
		}
		c.call("pipeline.open", args).into(t, &v)
		if v.Samples != 10 || v.Length.Batches != 4 {
			t.Fatalf("%+v", v)
		}
		return &piping{client: c, number: v.Pipeline, slots: map[int64][]byte{}}
	}
	p := open(nil)
	first, second := p.rest(), p.rest()
	if len(first) != 4 || slices.Equal(first, second) || !strings.HasPrefix(first[0], "files[") ||
		!strings.Contains(first[0], "labels[3") {
		t.Fatalf("%q, %q", first, second)
	}
	q := open(nil)
	b, _ := q.run(1, true)
	q.run(0, false, b.slots()...)
	var s struct{ State []byte }
	c.call("pipeline.state", object{"pipeline": q.number}).into(t, &s)
	c.call("pipeline.reset", object{"pipeline": q.number})
	if got := q.rest(); !slices.Equal(got, second) {
		t.Fatalf("after a reset: %q, want %q", got, second)
	}
	for range 2 {
		c.call("pipeline.reset", object{"pipeline": q.number}) // at the end of an epoch it leaves nothing out
		c.call("pipeline.restore", object{"pipeline": q.number, "state": s.State})
		if got := q.rest(); !slices.Equal(got, first[1:]) {
			t.Fatalf("restored: %q, want %q", got, first[1:])
		}
	}
	c.call("pipeline.reset", object{"pipeline": q.number})
	if got := q.rest(); !slices.Equal(got, second) {
		t.Fatalf("after the end and a reset: %q, want %q", got, second)
	}
	if got := open(object{"state": s.State}).rest(); !slices.Equal(got, first[1:]) {
		t.Fatalf("opened: %q, want %q", got, first[1:])
	}
	c.call("pipeline.close", object{"pipeline": q.number})
	for _, wrong := range []struct {
		op   string
		args object
		kind errs.Kind
		want string
	}{
		{"pipeline.open", object{"definition": text + "bacth_size: 2\n"}, errs.Invalid, "line 8"},
		{"pipeline.open", object{"definition": "path: none\n"}, errs.NotFound, "none"},
		{"pipeline.open", object{"definition": ""}, errs.Invalid, ""},
		{"pipeline.open", object{"definition": text, "base": base, "rank": 2, "world": 2}, errs.Invalid, "Rank"},
		{"pipeline.open", object{"definition": text, "base": base, "environment": object{"MY_RANK": "x"}}, errs.Invalid,
			"MY_RANK"},
		{"pipeline.open", object{"definition": text, "base": base, "hold": -1}, errs.Invalid, "hold"},
		{"pipeline.open", object{"definition": text, "base": base, "state": []byte("no state")}, errs.Corrupt, ""},
		{"pipeline.open", object{"definition": text, "base": base, "graph": []byte("x")}, errs.Invalid, "graph"},
		{"pipeline.state", object{"pipeline": p.number, "consumer": "x"}, errs.Invalid, "consumer"},
		{"pipeline.restore", object{"pipeline": p.number, "state": []byte("no state")}, errs.Corrupt, ""},
		{"pipeline.feed", object{"pipeline": p.number, "name": "E", "data": []object{}}, errs.NotFound, "E"},
	} {
		if f := c.refused(wrong.kind, wrong.op, wrong.args); !strings.Contains(f.Text, wrong.want) {
			t.Errorf("%s %v: %s", wrong.op, wrong.args, f.Text)
		}
	}
	if got := len(p.rest()); got != 4 {
		t.Errorf("%d batches after the mistakes", got)
	}
}

// TestStateOfDefinitionBeforeTaken: a batch, and the end of an epoch, counts in a state from the
// call on that says that the program has it. A reset leaves out what it does not have.
func TestStateOfDefinitionBeforeTaken(t *testing.T) {
	text, base := defined(t)
	c := served(t)
	open := func(more object) *piping {
		t.Helper()
		args := object{"definition": text, "base": base}
		for name, v := range more {
			args[name] = v
		}
		var v struct{ Pipeline int64 }
		c.call("pipeline.open", args).into(t, &v)
		return &piping{client: c, number: v.Pipeline, slots: map[int64][]byte{}}
	}
	stateOf := func(p *piping, taken int64) (state string) {
		t.Helper()
		var s struct{ State []byte }
		c.call("pipeline.state", object{"pipeline": p.number, "taken": taken}).into(t, &s)
		return string(s.State)
	}
	straight := open(nil)
	first, second, third := straight.rest(), straight.rest(), straight.rest()
	p := open(nil)
	states := []string{stateOf(p, 0)}
	for number := int64(1); number <= 10; number++ { // two epochs of four batches and an end
		b, f := p.runs(object{"schedule": 1, "take": true, "taken": number - 1})
		if f != nil {
			t.Fatal(f.Text)
		}
		if b.Number != number || b.End != (number%5 == 0) {
			t.Fatalf("number %d, end %v; want %d", b.Number, b.End, number)
		}
		for range 2 {
			if got := stateOf(p, number-1); got != states[number-1] {
				t.Fatalf("before %d was taken:\n%s, want\n%s", number, got, states[number-1])
			}
		}
		if states = append(states, stateOf(p, number)); states[number] == states[number-1] {
			t.Fatalf("%d was taken: %s", number, states[number])
		}
		if got := stateOf(p, number-1); got != states[number] { // what was taken stays taken
			t.Fatalf("after %d was taken:\n%s, want\n%s", number, got, states[number])
		}
		if !b.End {
			p.runs(object{"schedule": 0, "taken": number, "freed": b.slots()})
		}
	}
	want := append(slices.Clone(first), second...)
	for i, state := range states {
		left := i - i/5 // batches
		got := open(object{"state": []byte(state)}).rest()
		if rest := want[left:]; i < 5 && !slices.Equal(got, rest[:4-left]) || i >= 5 && i < 10 &&
			!slices.Equal(got, rest) || i == 10 && !slices.Equal(got, third) {
			t.Errorf("from state %d: %q", i, got)
		}
	}
	for i, want := range [][]string{first, second, second, second, second, second, third} {
		for _, ahead := range []bool{false, true} {
			q := open(object{"state": []byte(states[i])})
			if ahead { // a batch comes that is not the program's
				q.runs(object{"schedule": 1, "take": true, "taken": 0})
			}
			c.call("pipeline.reset", object{"pipeline": q.number, "taken": 0})
			if got := q.rest(); !slices.Equal(got, want) {
				t.Errorf("state %d, ahead %v, reset: %q, want %q", i, ahead, got, want)
			}
		}
	}
}

package serve

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
)

// runValue is what the calls of a checkpointer return.
type runValue struct {
	Checkpointer int64
	Saved, Save  bool
	Saving       bool
	Deleted      bool
	Reason       string
	Stats        *stats
	Step         int64
	Checkpoints  []stepInfo
	Custom       raw
	Steps        []struct {
		Step   int64
		Keep   bool
		Reason string
	}
	Info    infoText
	Remains []remain
}

// quiet makes a call that must succeed, and passes over events of checkpointers.
func (c *client) quiet(op string, args object) (v runValue) {
	c.t.Helper()
	id := c.start(op, args)
	s := c.await(func(s said) bool { return s.ID == id && s.Event == "" })
	if s.Error != nil {
		c.t.Fatalf("%s: %s", op, s.Error.Text)
	}
	s.into(c.t, &v)
	return v
}

// failed makes a call that must fail, and passes over events.
func (c *client) failed(kind errs.Kind, op string, args object) {
	c.t.Helper()
	id := c.start(op, args)
	s := c.await(func(s said) bool { return s.ID == id && s.Event == "" })
	if s.Error == nil || s.Error.Kind != kind.String() {
		c.t.Fatalf("%s: %s, want %v", op, s.Body, kind)
	}
}

// TestRun goes through the calls of a checkpointer.
func TestRun(t *testing.T) {
	c := served(t)
	dir := filepath.Join(t.TempDir(), "run")
	id, mem := c.arena(4096)
	mem[0] = 5
	v := c.quiet("training.open", object{"dir": dir, "save_policy": object{"policy": "FixedIntervalPolicy",
		"args": object{"interval": 10}},
		"preservation_policy": object{"policy": "LatestN", "args": object{"n": 2}}, "custom": object{"model": "m"},
		"names": object{"prefix": "step", "fixed_length": 4}})
	run := v.Checkpointer
	with := func(more object) object {
		more["checkpointer"] = run
		return more
	}
	for step := range 31 {
		args := with(object{"step": step, "items": state(8), "arena": id, "metrics": object{"loss": 0.5, "n": step}})
		v := c.quiet("training.save", args)
		switch {
		case v.Saved != (step%10 == 0):
			t.Fatalf("step %d: %+v", step, v)
		case v.Saved && (v.Stats == nil || v.Stats.Bytes == 0):
			t.Errorf("step %d: %+v", step, v.Stats)
		case !v.Saved && v.Reason == "":
			t.Errorf("step %d has no reason", step)
		}
	}
	c.quiet("training.wait", with(object{}))
	if v = c.quiet("training.checkpoints", with(object{})); len(v.Checkpoints) != 2 ||
		v.Checkpoints[0].Directory != "step_0020" || v.Saving ||
		string(v.Checkpoints[1].Metrics["loss"]) != "0.5" || string(v.Checkpoints[1].Metrics["n"]) != "30.0" {
		t.Errorf("%+v", v)
	}
	if v = c.quiet("training.root_metadata", with(object{})); string(v.Custom) != `{"model":"m"}` {
		t.Errorf("%s", v.Custom)
	}
	if v = c.quiet("training.should_save", with(object{"step": 31})); v.Save || v.Reason == "" {
		t.Errorf("%+v", v)
	}
	if v = c.quiet("training.retention", with(object{})); len(v.Steps) != 2 || !v.Steps[1].Keep {
		t.Errorf("%+v", v.Steps)
	}
	if got := c.load("training.load", with(object{"step": -1})); got.Step != 30 || got.mem[0] != 5 {
		t.Errorf("%+v", got)
	}
	if got := c.load("training.load_items", with(object{"step": 20, "items": object{"state": nil,
		"metrics": nil}})); got.Step != 20 || got.Items["metrics"]["json"] == nil {
		t.Errorf("%+v", got)
	}
	if v = c.quiet("training.metadata", with(object{"step": -1, "item": "state"})); v.Step != 30 ||
		len(v.Info.Items) != 1 {
		t.Errorf("%+v", v)
	}
	c.failed(errs.NotFound, "training.metadata", with(object{"step": -1, "item": "none"}))
	c.failed(errs.NotFound, "training.load", with(object{"step": 7}))
	c.failed(errs.Exists, "training.save", with(object{"step": 30, "items": state(8), "arena": id, "force": true}))
	c.quiet("training.save", with(object{"step": 30, "items": state(8), "arena": id, "force": true,
		"overwrite": true}))
	c.quiet("training.reload", with(object{}))
	if v = c.quiet("training.remains", with(object{})); len(v.Remains) != 0 {
		t.Fatalf("%+v", v)
	}
	c.failed(errs.NotFound, "training.quarantine", with(object{"step": 7, "why": "damaged"}))
	c.failed(errs.NotFound, "training.delete", with(object{"step": 7}))
	if v = c.quiet("training.delete", with(object{"step": 20})); !v.Deleted {
		t.Errorf("%+v", v)
	}
	c.failed(errs.Invalid, "training.delete", with(object{"step": 30}))
	c.quiet("training.delete", with(object{"step": 30, "last": true}))
	c.failed(errs.NotFound, "training.load", with(object{"step": -1}))
	c.quiet("training.close", with(object{}))
	c.failed(errs.NotFound, "training.wait", with(object{}))
	c.failed(errs.Invalid, "training.open", object{"dir": dir, "save_policy": object{"policy": "None"}})
	c.failed(errs.Invalid, "training.open", object{})
	c.failed(errs.Invalid, "training.open", object{"dir": dir, "names": object{"prefix": "a/b"}})
}

// TestNamesOfSeveralForms reads steps of two forms and writes one.
func TestNamesOfSeveralForms(t *testing.T) {
	c := served(t)
	dir := t.TempDir()
	save := func(names object) runValue {
		v := c.quiet("training.open", object{"dir": dir, "names": names})
		steps := c.quiet("training.checkpoints", object{"checkpointer": v.Checkpointer}).Checkpoints
		c.quiet("training.save", object{"checkpointer": v.Checkpointer, "step": len(steps), "force": true,
			"items": object{"state": object{"tree": raw(`["d",["a"],[1]]`)}}})
		m := c.quiet("training.metadata", object{"checkpointer": v.Checkpointer, "step": -1})
		if filepath.Dir(m.Info.Path) != dir {
			t.Error(m.Info.Path)
		}
		m = c.quiet("training.metadata", object{"checkpointer": v.Checkpointer, "step": -1, "allow_no_manifest": true})
		if filepath.Dir(m.Info.Path) != dir {
			t.Error(m.Info.Path)
		}
		v = c.quiet("training.checkpoints", object{"checkpointer": v.Checkpointer})
		c.quiet("training.close", object{"checkpointer": c.lastCheckpointer})
		return v
	}
	c.lastCheckpointer = 1
	save(object{"prefix": "old"})
	c.lastCheckpointer = 2
	two := object{"prefix": "new"}
	v := save(object{"prefix": "new", "read": []object{two, {"prefix": "old"}}})
	if len(v.Checkpoints) != 2 || v.Checkpoints[0].Directory != "old_0" || v.Checkpoints[1].Directory != "new_1" {
		t.Errorf("%+v", v.Checkpoints)
	}
}

// TestDeclinedSave checks that a save that the policy does not want has neither event, and that its
// arena is free.
func TestDeclinedSave(t *testing.T) {
	c := served(t)
	id, _ := c.arena(4096)
	c.quiet("training.open", object{"dir": t.TempDir(), "save_policy": object{"policy": "SpecificStepsPolicy",
		"args": object{"steps": []int{3}}}})
	k := c.start("training.save", object{"checkpointer": 1, "step": 2, "items": state(8), "arena": id})
	var heard []string
	for {
		s := c.next()
		if s.ID == k && s.Event == "" {
			if !strings.Contains(string(s.Value), `{"saved":false,"reason":"`) {
				t.Errorf("%s", s.Body)
			}
			break
		}
		heard = append(heard, fmt.Sprint(s.ID, s.Event))
	}
	if !slices.Equal(heard, []string{"0declined"}) && !slices.Equal(heard, []string{"0 declined"}) {
		t.Error(heard)
	}
}

// TestClientPreserves has the client decide what is kept: as it answers, and everything where it
// fails or answers something else.
func TestClientPreserves(t *testing.T) {
	for _, f := range []struct {
		answer object
		left   []int64
	}{
		{object{"value": object{"keep": []bool{false, true, false}}}, []int64{2, 3}}, // the newest is never removed
		{object{"value": object{"keep": []bool{false}}}, []int64{1, 2, 3}},
		{object{"value": 7}, []int64{1, 2, 3}},
		{object{"error": "it failed"}, []int64{1, 2, 3}},
	} {
		c := served(t)
		c.quiet("training.open", object{"dir": t.TempDir(), "preservation_policy": object{"ask": true}})
		for step := range 3 {
			c.start("training.save", object{"checkpointer": 1, "step": step + 1, "force": true,
				"items": object{"state": object{"tree": raw(`["d",["a"],[1]]`)}}})
			question := c.await(func(s said) bool { return s.Ask != 0 && s.Op == "preserve" })
			answer := object{"ask": question.Ask, "value": object{"keep": []bool{true, true, true}[:step+1]}}
			if step == 2 {
				f.answer["ask"] = question.Ask
				answer = f.answer
			}
			c.send(kindAnswer, answer)
		}
		c.quiet("training.wait", object{"checkpointer": 1})
		var left []int64
		for _, s := range c.quiet("training.checkpoints", object{"checkpointer": 1}).Checkpoints {
			left = append(left, s.Step)
		}
		if !slices.Equal(left, f.left) {
			t.Errorf("%v: %v, want %v", f.answer, left, f.left)
		}
	}
}

// TestClientGoneKeepsAll checks that everything is kept when the client leaves a question open.
func TestClientGoneKeepsAll(t *testing.T) {
	dir := t.TempDir()
	c := served(t)
	c.quiet("training.open", object{"dir": dir, "preservation_policy": object{"ask": true}})
	for step := range 2 {
		c.start("training.save", object{"checkpointer": 1, "step": step, "force": true,
			"items": object{"state": object{"tree": raw(`["d",["a"],[1]]`)}}})
		question := c.await(func(s said) bool { return s.Ask != 0 })
		if step == 1 {
			break
		}
		c.send(kindAnswer, object{"ask": question.Ask, "value": object{"keep": []bool{true}}})
	}
	c.conn.Close()
	c = served(t)
	waitFor(t, func() bool { // the lock of the first connection goes with it
		id := c.start("training.open", object{"dir": dir, "clean": true})
		s := c.await(func(s said) bool { return s.ID == id })
		return s.Error == nil
	})
	entries, _ := os.ReadDir(dir)
	for _, want := range []string{"0", "1"} {
		if !slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == want }) {
			t.Errorf("step %s is gone: %v", want, entries)
		}
	}
}

// TestMetrics checks which metrics are numbers.
func TestMetrics(t *testing.T) {
	for text, want := range map[string]float64{`1`: 1, `2.5`: 2.5, `["f","-inf"]`: math.Inf(-1),
		`["u","18446744073709551615"]`: math.MaxUint64} {
		if v, err := number(json.RawMessage(text)); err != nil || v != want {
			t.Error(text, v, err)
		}
	}
	for _, text := range []string{`"1"`, `null`, `["l",[1]]`, `["y","int"]`} {
		if _, err := number(json.RawMessage(text)); errs.KindOf(err) != errs.Invalid {
			t.Error(text, err)
		}
	}
}

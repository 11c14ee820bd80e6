package serve

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// flat describes the leaves of a tree with their contents. NaN is equal to itself as text.
func flat(n *tree.Node) []string {
	var out []string
	for _, e := range tree.Flatten(n) {
		v := e.Node.Value
		if t, ok := v.(tensor.Tensor); ok {
			v = fmt.Sprintf("%s %x", t, t.Data)
		}
		out = append(out, fmt.Sprintf("%s %v %T %+v", e.Path, e.Node.Kind, v, v))
	}
	return out
}

// TestHello checks that another protocol and another version are refused by an error that says so.
func TestHello(t *testing.T) {
	for _, h := range []object{{"protocol": 2, "version": testVersion, "pid": 1}, {"protocol": 1,
		"version": "other", "pid": 1}, {"protocol": 1}} {
		ours, theirs := pair(t)
		done := make(chan error, 1)
		go func() { done <- Serve(context.Background(), theirs, Options{Version: testVersion}) }()
		c := &client{t: t, conn: ours}
		c.send(kindHello, h)
		if kind, body := c.frame(); kind != kindHello {
			t.Errorf("%d %s", kind, body)
		}
		if kind, body := c.frame(); kind != kindError || !bytes.Contains(body, []byte(`"kind":"mismatch"`)) {
			t.Errorf("%d %s", kind, body)
		}
		if _, _, err := c.tryFrame(); err != io.EOF {
			t.Error(err)
		}
		if err := <-done; errs.KindOf(err) != errs.Mismatch {
			t.Error(err)
		}
		ours.Close()
	}
}

// TestViolationsEndTheConnection sends what the protocol does not have. Each ends its connection
// with an error of id 0, and another connection goes on.
func TestViolationsEndTheConnection(t *testing.T) {
	other := served(t)
	frame := func(kind byte, body string) []byte {
		return appendFrame(nil, kind, func(b []byte) []byte { return append(b, body...) })
	}
	for name, b := range map[string][]byte{
		"second hello":    frame(kindHello, `{"protocol":1,"version":"test","pid":1}`),
		"result":          frame(kindResult, `{"id":1,"value":{}}`),
		"garbage":         []byte("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
		"huge":            {255, 255, 255, 255, kindCall, '{'},
		"unknown kind":    frame(77, `{}`),
		"no JSON":         frame(kindCall, `{"id":`),
		"wrong type":      frame(kindCall, `{"id":"1","op":"load"}`),
		"cancel":          frame(kindCancel, `{}`),
		"unasked":         frame(kindAnswer, `{"ask":1,"value":{}}`),
		"answer of both":  frame(kindAnswer, `{"ask":1,"value":{},"error":"x"}`),
		"answer of array": frame(kindAnswer, `[]`),
	} {
		c := served(t)
		if _, err := c.conn.Write(b); err != nil {
			t.Fatal(name, err)
		}
		if s := c.next(); s.Error == nil || s.ID != 0 || s.Error.Kind != "invalid" || s.Error.Subject != "frame" {
			t.Errorf("%s: %s", name, s.Body)
		}
		if _, _, err := c.tryFrame(); err != io.EOF {
			t.Errorf("%s: %v", name, err)
		}
		other.refused(errs.NotFound, "load", object{"path": "/nowhere/at/all"})
	}
}

// TestIDInUse checks that a number of a call in flight cannot be used.
func TestIDInUse(t *testing.T) {
	c := served(t)
	path := filepath.Join(t.TempDir(), "run")
	c.call("training.open", object{"dir": path, "preservation_policy": object{"ask": true}})
	c.start("training.save", object{"checkpointer": 1, "step": 1,
		"items": object{"state": object{"tree": raw("[\"d\",[\"a\"],[1]]")}}})
	c.await(func(s said) bool { return s.Ask != 0 }) // and no answer: Wait waits
	c.last = 100
	c.start("training.wait", object{"checkpointer": 1})
	c.last = 100
	c.start("training.wait", object{"checkpointer": 1})
	c.await(func(s said) bool { return s.ID == 0 && s.Error != nil && s.Error.Kind == "invalid" })
}

// await reads until something is said, and returns it.
func (c *client) await(is func(said) bool) said {
	c.t.Helper()
	for {
		if s := c.next(); is(s) {
			return s
		}
	}
}

// TestTruncatedFrames ends connections within frames. The server takes it for the end.
func TestTruncatedFrames(t *testing.T) {
	whole := appendFrame(nil, kindCall, func(b []byte) []byte {
		return append(b,
			`{"id":1,"op":"load","args":{"path":"/x"}}`...)
	})
	for n := range whole {
		ours, theirs := pair(t)
		done := make(chan error, 1)
		go func() { done <- Serve(context.Background(), theirs, Options{Version: testVersion}) }()
		c := &client{t: t, conn: ours}
		c.greet()
		c.conn.Write(whole[:n])
		ours.Close()
		select {
		case err := <-done:
			if err != nil && errs.KindOf(err) != errs.Invalid {
				t.Error(n, err)
			}
		case <-time.After(time.Minute):
			t.Fatal("the server waits")
		}
	}
}

// TestCallsSideBySide checks that a call that waits does not hold up others.
func TestCallsSideBySide(t *testing.T) {
	c := served(t)
	dir := t.TempDir()
	c.call("training.open", object{"dir": dir, "preservation_policy": object{"ask": true}})
	c.start("training.save", object{"checkpointer": 1, "step": 1,
		"items": object{"state": object{"tree": raw(`["d",["a"],[1]]`)}}})
	question := c.await(func(s said) bool { return s.Ask != 0 })
	waiting := c.start("training.wait", object{"checkpointer": 1})
	id := c.start("is_checkpoint", object{"path": dir})
	c.await(func(s said) bool { return s.ID == id && s.Value != nil })
	c.send(kindCancel, object{"id": waiting})
	if s := c.await(func(s said) bool { return s.ID == waiting }); s.Error == nil || s.Error.Kind != "canceled" {
		t.Errorf("%s", s.Body)
	}
	c.send(kindCancel, object{"id": waiting}) // which is over
	c.send(kindAnswer, object{"ask": question.Ask, "value": object{"keep": []bool{true}}})
	last := c.start("training.wait", object{"checkpointer": 1})
	if s := c.await(func(s said) bool { return s.ID == last }); s.Error != nil {
		t.Errorf("%s", s.Body)
	}
}

// TestContextEndsTheServer checks that Serve ends with its context, and finishes the saves.
func TestContextEndsTheServer(t *testing.T) {
	ours, theirs := pair(t)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- Serve(ctx, theirs, Options{Version: testVersion}) }()
	c := &client{t: t, conn: ours}
	defer ours.Close()
	c.greet()
	id, _ := c.arena(4 << 20)
	path := filepath.Join(t.TempDir(), "ckpt")
	k := c.start("save", object{"path": path, "arena": id, "items": state(1 << 20)})
	c.await(func(s said) bool { return s.ID == k && s.Event == "accepted" })
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, err := checkpoint.Load(t.Context(), path, nil); err != nil {
		t.Error(err)
	}
}

// TestPanicEndsTheCall checks that a panic within a call is its error and not the end of the
// server.
func TestPanicEndsTheCall(t *testing.T) {
	c := served(t)
	k := &call{connection: &connection{Options: Options{}.withDefaults(), ops: ops()}, op: "load"} // without arguments
	if _, err := k.do(); err == nil {
		t.Error("no error")
	}
	c.refused(errs.NotFound, "load", object{"path": "/nowhere/at/all"})
}

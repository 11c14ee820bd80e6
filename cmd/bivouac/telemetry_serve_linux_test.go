//go:build !bivouac_wheel

package main

import (
	"encoding/binary"
	"encoding/json"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/compat/dali"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/pipeline/fn"
)

// caller is a client of bivouac serve.
type caller struct {
	t *testing.T
	net.Conn
	last int64
}

// send sends a frame; see docs/format/serve.md.
func (c *caller) send(kind byte, body any) {
	c.t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		c.t.Fatal(err)
	}
	frame := binary.LittleEndian.AppendUint32(nil, uint32(len(text)+1))
	if _, err := c.Write(append(append(frame, kind), text...)); err != nil {
		c.t.Fatal(err)
	}
}

// receive returns the next frame.
func (c *caller) receive(body any) (kind byte) {
	c.t.Helper()
	var head [5]byte
	if _, err := io.ReadFull(c, head[:]); err != nil {
		c.t.Fatal(err)
	}
	text := make([]byte, binary.LittleEndian.Uint32(head[:])-1)
	if _, err := io.ReadFull(c, text); err != nil {
		c.t.Fatal(err)
	}
	if err := json.Unmarshal(text, body); err != nil {
		c.t.Fatalf("%s: %v", text, err)
	}
	return head[4]
}

// call makes a call and returns its value. Descriptors that come with it are dropped.
func (c *caller) call(op string, args map[string]any) map[string]any {
	c.t.Helper()
	const call, result, event = 2, 3, 5
	c.last++
	c.send(call, map[string]any{"id": c.last, "op": op, "args": args})
	for {
		var answer struct {
			Value map[string]any
			Error any
		}
		switch kind := c.receive(&answer); kind {
		case event:
		case result:
			return answer.Value
		default:
			c.t.Fatalf("%s: a frame of kind %d: %v", op, kind, answer.Error)
		}
	}
}

// TestTelemetryOfServe: what a client has the side-car do is observed, as in a trainer in Go.
func TestTelemetryOfServe(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "c")
	if err := checkpoint.Save(t.Context(), dir, map[string]any{"w": make([]float32, 64)}, nil); err != nil {
		t.Fatal(err)
	}
	d, err := dali.Define(dali.PipelineOptions{Options: pipeline.Options{BatchSize: 4, Workers: 1}},
		func(b *pipeline.Builder) []pipeline.Node {
			return []pipeline.Node{fn.RandomUniform(b, fn.RandomUniformArgs{})}
		})
	if err != nil {
		t.Fatal(err)
	}
	graph, err := dali.Serialize(d)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "ours"), os.NewFile(uintptr(pair[1]), "theirs")
	collector := newCollector(t)
	cmd := started([]string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + collector.URL}, "serve", "--fd", "3")
	cmd.ExtraFiles, cmd.Stderr = []*os.File{theirs}, os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	conn, err := net.FileConn(ours)
	ours.Close()
	if err != nil {
		t.Fatal(err)
	}
	c := &caller{t: t, Conn: conn}
	var hello map[string]any
	const greeting = 1
	c.receive(&hello)
	c.send(greeting, map[string]any{"protocol": hello["protocol"], "version": hello["version"], "pid": os.Getpid()})
	c.call("verify", map[string]any{"path": dir})
	p := c.call("pipeline.open", map[string]any{"graph": graph})["pipeline"]
	for range 3 {
		c.call("pipeline.run", map[string]any{"pipeline": p, "schedule": 1, "take": true})
	}
	c.call("pipeline.progress", map[string]any{"pipeline": p}) // the last batch is taken
	conn.Close()
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if list := collector.of(nil, "bivouac serve"); len(list) != 1 || list[0].attributes["process.exit.code"] != "0" {
		t.Errorf("spans of the command: %v", list)
	}
	if list := collector.of(nil, "bivouac.verify"); len(list) != 1 || list[0].attributes["bivouac.path"] != dir {
		t.Errorf("spans of a verification: %v", list)
	}
	if n := collector.metric(cmd.Process.Pid, "bivouac.samples pipeline"); n != 12 {
		t.Errorf("%v samples, want 12", n)
	}
}

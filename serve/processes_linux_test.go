package serve

import (
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
)

// job is a job of several processes, each with a connection of its own.
type job struct {
	mu      sync.Mutex
	count   int
	waiting map[string][]func() // answers of the processes that are there, by key
	keys    []string            // of barriers that all have passed
	gone    map[int]bool        // processes that do not answer any more
}

// arrive notes that a process is at a barrier. The last one lets all go on.
func (j *job) arrive(process int, key string, pass func()) {
	j.mu.Lock()
	if j.gone[process] {
		j.mu.Unlock()
		return
	}
	all := append(j.waiting[key], pass)
	j.waiting[key] = all
	if len(all) < j.count {
		j.mu.Unlock()
		return
	}
	delete(j.waiting, key)
	j.keys = append(j.keys, key)
	j.mu.Unlock()
	for _, pass := range all {
		pass()
	}
}

// finish answers barriers until the last word of a call. It may run in any goroutine.
func (j *job) finish(process int, c *client, id int64) (s said, err error) {
	for {
		_, body, err := c.tryFrame()
		if err != nil {
			return s, err
		}
		s = said{}
		var asked struct {
			Ask     int64
			Op, Key string
		}
		if err := json.Unmarshal(body, &s); err != nil {
			return s, err
		}
		if err := json.Unmarshal(body, &asked); err != nil {
			return s, err
		}
		switch {
		case asked.Op == "barrier":
			j.arrive(process, asked.Key, func() { c.send(kindAnswer, object{"ask": asked.Ask, "value": object{}}) })
		case s.ID == id && s.Event == "":
			return s, nil
		}
	}
}

// half is the tree of a process that has one row of an array of two.
func half(process int) object {
	const node = `["d",["step","w"],[7,["m","float32",[2,2],[[[%d,0],[1,2],0]]]]]`
	return object{"state": object{"tree": rawf(node, process)}}
}

func rows(process int, mem []byte) {
	for i := range 2 {
		binary.LittleEndian.PutUint32(mem[4*i:], uint32(10*process+i))
	}
}

// TestProcessesSaveOneCheckpoint saves one array by two connections, each with one half of it.
func TestProcessesSaveOneCheckpoint(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ckpt")
	j := &job{count: 2, waiting: map[string][]func(){}}
	var both [2]*client
	var ids [2]int64
	for p := range both {
		c := served(t)
		id, mem := c.arena(64)
		rows(p, mem)
		both[p] = c
		ids[p] = c.start("save", object{"path": path, "arena": id, "items": half(p),
			"processes": object{"index": p, "count": 2, "prefix": "1."}})
	}
	var all sync.WaitGroup
	for p, c := range both {
		all.Go(func() {
			if s, err := j.finish(p, c, ids[p]); err != nil || s.Error != nil {
				t.Errorf("process %d: %v %s", p, err, s.Body)
			}
		})
	}
	all.Wait()
	if want := "1." + path + ":begin"; len(j.keys) != 5 || !strings.HasSuffix(j.keys[0], ":begin") || j.keys[0] != want {
		t.Errorf("barriers %q, the first should be %q", j.keys, want)
	}
	got := both[0].load("load", object{"path": path})
	if want := `["d",["step","w"],[7,["a","float32",[2,2],0]]]`; string(got.Tree) != want {
		t.Errorf("got %s, want %s", got.Tree, want)
	}
	for i, want := range []uint32{0, 1, 10, 11} {
		if v := binary.LittleEndian.Uint32(got.mem[4*i:]); v != want {
			t.Errorf("element %d is %d, want %d", i, v, want)
		}
	}
}

// TestAProcessThatEndsIsNamed ends one of two connections while both save. The other one reports
// what its client says, and there is no checkpoint.
func TestAProcessThatEndsIsNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ckpt")
	args := func(p int, c *client) object {
		id, mem := c.arena(64)
		rows(p, mem)
		return object{"path": path, "arena": id, "items": half(p), "processes": object{"index": p, "count": 2}}
	}
	first, second := served(t), served(t)
	call := first.start("save", args(0, first))
	other := second.start("save", args(1, second))
	if s := second.next(); s.Op != "barrier" || other == 0 {
		t.Fatalf("got %s, want a barrier", s.Body)
	}
	second.conn.Close()
	s := first.next()
	if s.Op != "barrier" {
		t.Fatalf("got %s, want a barrier", s.Body)
	}
	first.send(kindAnswer, object{"ask": s.Ask, "error": "process 1 is missing"})
	end := first.wait(call)
	if end.Error == nil || !strings.Contains(end.Error.Text, "process 1 is missing") {
		t.Errorf("got %s, want an error that names process 1", end.Body)
	}
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) != 0 {
		t.Errorf("there is %v, %v", left, err)
	}
}

// TestACancelledBarrierEnds cancels a save that waits for another process. The barrier may be
// answered later.
func TestACancelledBarrierEnds(t *testing.T) {
	c := served(t)
	id, _ := c.arena(64)
	call := c.start("save", object{"path": filepath.Join(t.TempDir(), "ckpt"), "arena": id, "items": half(0),
		"processes": object{"index": 0, "count": 2}})
	s := c.next()
	c.send(kindCancel, object{"id": call})
	c.send(kindAnswer, object{"ask": s.Ask, "error": "interrupted"})
	if end := c.wait(call); end.Error == nil {
		t.Errorf("got %s, want an error", end.Body)
	}
	c.call("is_checkpoint", object{"path": "/nothing"})
}

// TestProcessesAreChecked refuses jobs that cannot be.
func TestProcessesAreChecked(t *testing.T) {
	c := served(t)
	path := filepath.Join(t.TempDir(), "ckpt")
	for _, bad := range []string{
		`{"count":2}`, `{"index":2,"count":2}`, `{"index":-1,"count":2}`, `{"index":0,"count":2,"primary":2}`,
		`{"index":0,"count":2,"active":[1]}`, `{"index":0,"count":2,"rank":1}`, `3`,
	} {
		c.refused(errs.Invalid, "save", object{"path": path, "items": object{"state": object{"tree": raw("7")}},
			"processes": raw(bad)})
	}
	c.call("save", object{"path": path, "items": object{"state": object{"tree": raw(`["l",[7]]`)}}, "processes": nil})
}

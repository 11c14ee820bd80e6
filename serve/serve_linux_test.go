package serve

import (
	"path/filepath"
	"testing"
)

func TestSaveLoad(t *testing.T) {
	c := served(t)
	id, mem := c.arena(256)
	copy(mem, "\x00\x00\x80\x3f\x00\x00\x00\x40")
	mem[64] = 7
	path := filepath.Join(t.TempDir(), "ckpt")
	const node = `["d",["a","b","c","d","e","f","g","h"],[["a","float32",[2],0],["a","int8",[1],64],3,2.5,"text",null,true,["d",[],[]]]]`
	s := c.call("save", object{"path": path, "arena": id, "items": object{"state": object{"tree": raw(node)}}})
	if len(s.events) != 2 || s.events[0] != "accepted" || s.events[1] != "released" {
		t.Error(s.events)
	}
	t.Log(string(s.Body))
	s = c.call("load", object{"path": path})
	t.Log(string(s.Body))
	var v struct {
		Tree  raw
		Bytes int64
	}
	s.into(t, &v)
	got := c.mapped(v.Bytes)
	if string(got[:8]) != string(mem[:8]) {
		t.Error(got[:8])
	}
	t.Log(string(c.call("metadata", object{"path": path}).Body))
	c.call("arena.free", object{"arena": id})
}

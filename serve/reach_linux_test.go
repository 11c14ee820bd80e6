package serve

import (
	"bytes"
	"encoding/hex"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/errs"
)

// rooms are rooms of this process, which is its own client.
type rooms struct {
	t    testing.TB
	made []window // mem is the room
}

// make makes a room and returns its address.
func (rs *rooms) make(offset, size int64) (uint64, error) {
	mem, err := scratch(size)
	if err != nil {
		rs.t.Fatal(err)
	}
	rs.t.Cleanup(func() { unix.Munmap(mem) })
	rs.made = append(rs.made, window{mem: mem, offset: offset})
	return address(mem), nil
}

// at returns n bytes at an offset of the load.
func (rs *rooms) at(offset int64, n int) []byte {
	for i := len(rs.made) - 1; ; i-- {
		if w := rs.made[i]; offset >= w.offset {
			return w.mem[offset-w.offset:][:n]
		}
	}
}

func address(mem []byte) uint64 { return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(mem)))) }

// TestRooms fills arrays of random sizes. Random parts of them become final, in any order, and are
// spoilt here afterwards: the rooms have every byte.
func TestRooms(t *testing.T) {
	rs := &rooms{t: t}
	r := &result{reach: &reach{os.Getpid()}, ask: rs.make}
	rng := rand.New(rand.NewPCG(5, 6))
	var arrays [][]byte
	for i := range 60 {
		n := rng.IntN(1 << (1 + rng.IntN(23)))
		if i == 30 {
			n = firstRoom + 5
		}
		mem, err := r.allocate(n)
		if err != nil {
			t.Fatal(err)
		}
		for k := range mem {
			mem[k] = byte(i + k)
		}
		arrays = append(arrays, mem)
	}
	offsets := make([]int64, len(arrays))
	for i, a := range arrays {
		var err error
		if offsets[i], err = r.offset(a); err != nil || offsets[i]%alignment != 0 {
			t.Fatal(offsets[i], err)
		}
	}
	type part struct{ array, from, to int }
	var parts []part
	for i, a := range arrays {
		for from := 0; from < len(a); {
			to := min(len(a), from+leastSent/2+rng.IntN(4<<20))
			parts = append(parts, part{i, from, to})
			from = to
		}
	}
	rng.Shuffle(len(parts), func(i, k int) { parts[i], parts[k] = parts[k], parts[i] })
	for _, p := range parts[:2*len(parts)/3] {
		mem := arrays[p.array][p.from:p.to]
		if err := r.final(mem); err != nil {
			t.Fatal(err)
		}
		if len(mem) >= leastSent {
			clear(mem)
		}
	}
	sizes := make([]int, len(arrays)) // finish unmaps the arrays
	for i, a := range arrays {
		sizes[i] = len(a)
	}
	if f, _, err := r.finish(); f != nil || err != nil {
		t.Fatal(f, err)
	}
	for i, n := range sizes {
		for k, b := range rs.at(offsets[i], n) {
			if b != byte(i+k) {
				t.Fatalf("array %d of %d bytes, byte %d", i, n, k)
			}
		}
	}
	if len(rs.made) < 2 {
		t.Errorf("%d rooms", len(rs.made))
	}
}

// roomed makes a load call that offers memory, and answers its questions with answer. It returns
// the last word and how many questions there were.
func (c *client) roomed(path string, memory any, answer func(s said) object) (last said, questions int) {
	c.t.Helper()
	c.start("load", object{"path": path, "memory": memory})
	for {
		s := c.next()
		if s.Op != "room" {
			return s, questions
		}
		questions++
		a := answer(s)
		a["ask"] = s.Ask
		c.send(kindAnswer, a)
	}
}

// TestLoadToRooms loads into memory of the client, and into shared memory where the token does not
// fit. A wrong address is an error, and the server goes on.
func TestLoadToRooms(t *testing.T) {
	c := served(t)
	const n = 3 << 20
	id, mem := c.arena(n)
	for i := range mem {
		mem[i] = byte(i>>9) ^ byte(i)
	}
	path := filepath.Join(t.TempDir(), "ckpt")
	c.call("save", object{"path": path, "arena": id, "items": object{"state": object{"tree": rawf(
		`["d",["a","b","n"],[["a","uint8",[1024,1024],0],["a","float32",[%d],1048576],7]]`, (n-1<<20)/4)}}})
	token := bytes.Repeat([]byte{7, 9}, 8)
	known := object{"address": address(token), "token": hex.EncodeToString(token)}

	rs := &rooms{t: t}
	s, questions := c.roomed(path, known, func(s said) object {
		var q struct{ Offset, Bytes int64 }
		said{Value: s.Body}.into(t, &q)
		at, _ := rs.make(q.Offset, q.Bytes)
		return object{"value": object{"address": at}}
	})
	var v struct {
		Bytes int64
		Rooms bool
		Tree  []any
	}
	if s.Error != nil {
		t.Fatal(s.Error.Text)
	}
	s.into(t, &v)
	nodes := v.Tree[2].([]any)
	offset := func(i int) int64 { return int64(nodes[i].([]any)[3].(float64)) }
	if !v.Rooms || questions != 1 || len(c.fds) != 0 || !bytes.Equal(rs.at(offset(0), 1<<20), mem[:1<<20]) ||
		!bytes.Equal(rs.at(offset(1), 2<<20), mem[1<<20:]) {
		t.Fatalf("%d questions, %s", questions, s.Value)
	}

	none := func(said) object { t.Error("a question for a room"); return object{"error": "none"} }
	for name, memory := range map[string]any{
		"another token":   object{"address": address(token), "token": hex.EncodeToString(make([]byte, 16))},
		"no such address": object{"address": 4096, "token": known["token"]},
		"short token":     object{"address": address(token), "token": "0709"},
		"no token":        nil,
	} {
		s, _ := c.roomed(path, memory, none)
		if s.Error != nil {
			t.Fatal(name, s.Error.Text)
		}
		s.into(t, &v)
		if got := c.mapped(v.Bytes); !bytes.Equal(got[:1<<20], mem[:1<<20]) {
			t.Errorf("%s: other bytes", name)
		}
	}

	for want, answer := range map[string]object{
		"memory of the client":  {"value": object{"address": 1 << 20}},
		"answer to room":        {"value": object{"address": address(token) | 1}},
		"no memory for a room":  {"error": "no memory for a room"},
		"an address that is a ": {"value": object{}},
	} {
		s, _ := c.roomed(path, known, func(said) object { return answer })
		if s.Error == nil || !strings.Contains(s.Error.Text, want) {
			t.Errorf("%s, want %q", s.Body, want)
		}
	}
	c.refused(errs.NotFound, "arena.free", object{"arena": 99})
	runtime.KeepAlive(token)
}

// TestPull fills private arenas: pieces of all sizes, in any order, come to their places, and a
// save of the arena has their bytes. Pieces outside of the arena and addresses without memory are
// refused.
func TestPull(t *testing.T) {
	c := served(t)
	token := bytes.Repeat([]byte{3, 1}, 8)
	known := object{"address": address(token), "token": hex.EncodeToString(token)}
	const n = 24 << 20
	mem, err := scratch(n)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(mem)
	rng := rand.New(rand.NewPCG(8, 9))
	for i := range mem {
		mem[i] = byte(i) ^ byte(i>>10)
	}
	var v struct {
		Arena, Bytes int64
		Private      bool
	}
	c.call("arena.new", object{"bytes": n, "memory": known}).into(t, &v)
	if !v.Private || v.Bytes < n || len(c.fds) != 0 {
		t.Fatalf("%+v", v)
	}
	var pieces [][3]uint64
	for from := 0; from < n; {
		size := min(n-from, 1+rng.IntN(1<<(1+rng.IntN(24))))
		pieces = append(pieces, [3]uint64{address(mem) + uint64(from), uint64(from), uint64(size)})
		from += size
	}
	for from := range 3000 { // small ones, more than one system call takes
		pieces = append(pieces, [3]uint64{address(mem) + uint64(from), uint64(from), 1})
	}
	rng.Shuffle(len(pieces), func(i, k int) { pieces[i], pieces[k] = pieces[k], pieces[i] })
	c.call("arena.pull", object{"arena": v.Arena, "pieces": pieces})
	clear(mem[:n/2]) // the save does not see it
	path := filepath.Join(t.TempDir(), "ckpt")
	c.call("save", object{"path": path, "arena": v.Arena, "items": object{"state": object{"tree": rawf(
		`["a","uint8",[%d],0]`, n)}}})
	loaded, err := checkpoint.Load(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, _ := loaded.Tensor()
	for i, b := range got.Data {
		if b != byte(i)^byte(i>>10) {
			t.Fatalf("byte %d is %d", i, b)
		}
	}
	for _, bad := range [][3]int64{{4096, v.Bytes, 1}, {4096, 0, v.Bytes + 1}, {4096, -1, 1}, {4096, 0, -1}} {
		c.refused(errs.Invalid, "arena.pull", object{"arena": v.Arena, "pieces": [][3]int64{bad}})
	}
	c.refused(errs.IO, "arena.pull", object{"arena": v.Arena, "pieces": [][3]int64{{4096, 0, 64}}})
	c.refused(errs.NotFound, "arena.pull", object{"arena": 99, "pieces": [][3]int64{}})
	shared, _ := c.arena(10)
	c.refused(errs.Invalid, "arena.pull", object{"arena": shared, "pieces": [][3]int64{}})
	runtime.KeepAlive(token)
}

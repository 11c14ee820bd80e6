package serve

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/handler"
	"github.com/bivouac-ml/bivouac/errs"
)

// loadedTree is the value of a load.
type loadedTree struct {
	Tree   raw
	Items  map[string]map[string]raw
	Bytes  int64
	Report []leafReport
	Step   int64
	mem    []byte
}

// load makes a load and maps its memory.
func (c *client) load(op string, args object) loadedTree {
	c.t.Helper()
	var v loadedTree
	c.call(op, args).into(c.t, &v)
	if v.Bytes > 0 {
		v.mem = c.mapped(v.Bytes)
	}
	return v
}

// state is what one float32 array of n elements and a number are as items.
func state(n int) object {
	return object{"state": object{"tree": rawf(`["d",["w","step"],[["a","float32",[%d],0],7]]`, n)}}
}

// TestEveryLeafSurvives saves a tree with every kind of leaf and loads it: as saved, the same bytes
// and the same node. Its numbers, texts and empty containers come back as they were.
func TestEveryLeafSurvives(t *testing.T) {
	c := served(t)
	id, mem := c.arena(4096)
	for i := range mem {
		mem[i] = byte(i * 7)
	}
	for i, bits := range []uint32{0x3f800000, 0x40000000} {
		binary.LittleEndian.PutUint32(mem[4*i:], bits)
	}
	clear(mem[128:192]) // int4
	path := filepath.Join(t.TempDir(), "ckpt")
	const node = `["d",["a","b","c","d","e","f","g","h","i","j","k","l","m","n","o","p"],[` +
		`["a","float32",[2],0],["a","bfloat16",[2,3],64],["a","int4",[3],128],3,2.5,"text \"quoted\" é",null,true,` +
		`["d",[],[]],` +
		`["l",[]],["t",[1,2]],["n","opt.Adam",["mu","nu"],[["a","int64",[2],256],-1]],["k","threefry2x32",[2],320],` +
		`["u","18446744073709551615"],["f","nan"],["a","float32",[0],0]]]`
	s := c.call("save", object{"path": path, "arena": id, "items": object{"state": object{"tree": raw(node)}},
		"context": raw(`{"pytree":{"saving":{"pytree_metadata_options":{"support_rich_types":true}}}}`),
		"custom":  object{"lr": 0.5}})
	if !slices.Equal(s.events, []string{"accepted", "released"}) {
		t.Error(s.events)
	}
	got := c.load("load", object{"path": path})
	sent, err := readTree([]byte(node), &arena{mem: mem, uses: 1})
	if err != nil {
		t.Fatal(err)
	}
	back, err := readTree(got.Tree, &arena{mem: got.mem, uses: 1})
	if err != nil {
		t.Fatal(err)
	}
	if a, b := fmt.Sprintf("%+v", flat(sent)), fmt.Sprintf("%+v", flat(back)); a != b {
		t.Errorf("got  %s\nwant %s", b, a)
	}
	var m struct{ Info infoText }
	c.call("metadata", object{"path": path}).into(t, &m)
	if string(m.Info.Custom) != `{"lr":0.5}` || m.Info.CommitNS == 0 || m.Info.Items[0].Name != "state" ||
		!m.Info.Items[0].RichTypes {
		t.Errorf("%+v", m.Info)
	}
	for _, want := range []string{`["s","bfloat16",[2,3],{"value_type":"np.ndarray"`, `["y","int"]`, `["y","str"]`,
		`"key_impl":"threefry2x32"`} {
		if !strings.Contains(string(m.Info.Items[0].Tree), want) {
			t.Errorf("no %s in %s", want, m.Info.Items[0].Tree)
		}
	}
	// The library reads what the server has saved.
	n, err := checkpoint.Load(t.Context(), path, nil)
	if err != nil || n.Get("d").Value != int64(3) {
		t.Error(n, err)
	}
}

// TestAbstractLoads checks casts, boxes, skipped leaves and partial loads: all in the memory that
// is sent.
func TestAbstractLoads(t *testing.T) {
	c := served(t)
	id, mem := c.arena(64)
	for i := range 8 {
		binary.LittleEndian.PutUint32(mem[4*i:], math.Float32bits(float32(i)))
	}
	path := filepath.Join(t.TempDir(), "ckpt")
	c.call("save", object{"path": path, "arena": id,
		"items": object{"state": object{"tree": raw(
			`["d",["w","v","n"],[["a","float32",[4,2],0],["a","float32",[4],0],5]]`)}}})
	got := c.load("load", object{"path": path,
		"abstract": raw(`["d",["w","v","n"],[["s",null,[4,2],[[[2,0],[2,1]],[[0,1],[1,1]]]],` +
			`["s","int64",null],["y","float"]]]`)})
	back, err := readTree(got.Tree, &arena{mem: got.mem, uses: 1})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(got.Tree), `["d",["w","v","n"],[["m","float32",[4,2],[[[2,0],[2,1],`) ||
		!strings.HasSuffix(string(got.Tree), `,5.0]]`) {
		t.Errorf("%s", got.Tree)
	}
	if v, _ := back.Items[1].Tensor(); fmt.Sprint(v) != "int64[4] [0 1 2 3]" {
		t.Error(v)
	}
	if len(got.Report) != 2 || !got.Report[0].Cast && !got.Report[1].Cast {
		t.Errorf("%+v", got.Report)
	}
	got = c.load("load", object{"path": path,
		"abstract": raw(`["d",["w","v","n"],[["x"],["s",null,null,[[[1],[2]]]],null]]`)})
	if !strings.HasPrefix(string(got.Tree), `["d",["w","v","n"],[["x"],["m","float32",null,[[[1],[2],0]]],5]]`) {
		t.Errorf("%s", got.Tree)
	}
	f := c.refused(errs.Mismatch, "load", object{"path": path, "abstract": raw(`["d",["v"],[null]]`)})
	if !strings.Contains(f.Remedy, "PartialLoad") {
		t.Errorf("%+v", f)
	}
	got = c.load("load", object{"path": path, "abstract": raw(`["d",["n"],[null]]`),
		"context": raw(`{"pytree":{"loading":{"partial_load":true}}}`)})
	if string(got.Tree) != `["d",["n"],[5]]` || got.Bytes != 0 {
		t.Errorf("%s", got.Tree)
	}
	c.refused(errs.Mismatch, "load", object{"path": path,
		"abstract": raw(`["d",["w","v","n"],[["s",null,[4,3]],null,null]]`)})
}

// TestItems saves items of every kind and loads them, also as files of a handler in the client.
func TestItems(t *testing.T) {
	c := served(t)
	dir := t.TempDir()
	given := filepath.Join(dir, "given")
	if err := os.MkdirAll(filepath.Join(given, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"a.txt": "alpha", "sub/b.txt": "beta"} {
		if err := os.WriteFile(filepath.Join(given, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(given, "link")); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "ckpt")
	c.call("save", object{"path": path, "items": object{"state": object{"tree": raw(`["d",["n"],[1]]`)},
		"cfg": object{"json": `{"a":[1,2]}`},
		"msg": object{"proto": "name: \"x\"\n"}, "own": object{"files": given, "type": "my.mod.Handler"}}})
	if _, err := os.Stat(given); !os.IsNotExist(err) {
		t.Error("the directory of the item is left:", err)
	}
	v := c.load("load_items", object{"path": path})
	if string(v.Items["state"]["tree"]) != `["d",["n"],[1]]` ||
		string(v.Items["cfg"]["json"]) != `"{\"a\":[1,2]}"` || v.Items["msg"]["proto"] == nil ||
		v.Items["own"] != nil {
		t.Errorf("%s", v.Items)
	}
	v = c.load("load_items", object{"path": path, "items": object{"own": object{"files": true}, "cfg": nil,
		"msg":   object{"proto": true},
		"state": object{"tree": raw(`["d",["n"],[["y","float"]]]`)}}})
	if len(v.Items) != 4 || string(v.Items["own"]["type"]) != `"my.mod.Handler"` ||
		string(v.Items["state"]["tree"]) != `["d",["n"],[1.0]]` {
		t.Fatalf("%s", v.Items)
	}
	var got string
	json.Unmarshal(v.Items["own"]["files"], &got)
	defer os.RemoveAll(got)
	info, err := os.Stat(got)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Error(info, err)
	}
	for name, text := range map[string]string{"a.txt": "alpha", "sub/b.txt": "beta"} {
		if b, err := os.ReadFile(filepath.Join(got, name)); string(b) != text {
			t.Errorf("%s: %q %v", name, b, err)
		}
	}
	if _, err := os.Lstat(filepath.Join(got, "link")); err == nil {
		t.Error("a link was copied")
	}
	var m struct{ Info infoText }
	c.call("metadata", object{"path": path, "item": "own"}).into(t, &m)
	if len(m.Info.Items) != 1 || m.Info.Items[0].Handler != "my.mod.Handler" {
		t.Errorf("%+v", m.Info.Items)
	}
	c.refused(errs.NotFound, "load_items", object{"path": path, "items": object{"no": nil}})
	for _, bad := range []string{`{}`, `{"x":{}}`, `{"x":{"tree":1,"json":"1"}}`,
		`{"x":{"files":"rel","type":"a.B"}}`, `{"x":{"files":"/","type":"a.B"}}`,
		`{"x":{"files":"/nowhere/at/all","type":"a.B"}}`, `{"x":7}`, `{"x":{"json":7}}`, `{"x":{"json":"{"}}`,
		`{"x":{"tree":1},"x":{"tree":1}}`, `[]`} {
		c.refused(errs.Invalid, "save", object{"path": filepath.Join(dir, "bad"), "items": raw(bad)})
	}
}

// TestItemsOfAnyName saves files under a built-in type string, two items of one type, and items
// that are no trees under the name that the library binds to trees.
func TestItemsOfAnyName(t *testing.T) {
	c := served(t)
	dir := t.TempDir()
	given := func(name string) object {
		path := filepath.Join(dir, "given-"+name)
		if err := os.Mkdir(path, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(path, "f"), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
		return object{"files": path, "type": handler.TypeObjects}
	}
	c.call("save", object{"path": filepath.Join(dir, "1"),
		"items": object{"a": given("a"), "b": given("b"), "state": given("state")}})
	v := c.load("load_items", object{"path": filepath.Join(dir, "1"),
		"items": object{"state": object{"files": true}, "b": object{"files": true}}})
	for _, name := range []string{"state", "b"} {
		var got string
		if err := json.Unmarshal(v.Items[name]["files"], &got); err != nil {
			t.Fatalf("%s: %s", name, v.Items)
		}
		if b, err := os.ReadFile(filepath.Join(got, "f")); string(b) != name {
			t.Errorf("%s: %q %v", name, b, err)
		}
		if string(v.Items[name]["type"]) != strconv.Quote(handler.TypeObjects) {
			t.Errorf("%s", v.Items[name]["type"])
		}
		os.RemoveAll(got)
	}
	c.call("save", object{"path": filepath.Join(dir, "2"), "items": object{"state": object{"json": "[1]"}}})
	v = c.load("load_items", object{"path": filepath.Join(dir, "2"), "items": object{"state": object{"json": true}}})
	if string(v.Items["state"]["json"]) != `"[1]"` {
		t.Errorf("%s", v.Items)
	}
}

// TestDirectoriesGoWithRefusals checks that a directory of files is removed also if the save is
// refused.
func TestDirectoriesGoWithRefusals(t *testing.T) {
	c := served(t)
	for _, args := range []object{{"arena": 99}, {"nonsense": 1}, {"overwrite": "yes"}} {
		dir := t.TempDir()
		given := filepath.Join(dir, "given")
		if err := os.Mkdir(given, 0o755); err != nil {
			t.Fatal(err)
		}
		args["path"], args["items"] = filepath.Join(dir, "ckpt"), object{"own": object{"files": given,
			"type": "my.Handler"}}
		if s := c.wait(c.start("save", args)); s.Error == nil {
			t.Fatalf("%s", s.Body)
		}
		if _, err := os.Stat(given); !os.IsNotExist(err) {
			t.Error(args, err)
		}
	}
}

// TestAdmissionErrors checks that a refused save has its error as the last word, without accepted,
// and that the arena is free again.
func TestAdmissionErrors(t *testing.T) {
	c := served(t)
	id, _ := c.arena(4096)
	path := filepath.Join(t.TempDir(), "ckpt")
	c.call("save", object{"path": path, "arena": id, "items": state(8)})
	for _, f := range []struct {
		kind errs.Kind
		args object
	}{
		{errs.Exists, object{"path": path, "arena": id, "items": state(8)}},
		{errs.Invalid, object{"path": path + "2", "arena": id, "items": state(5000)}},
		{errs.NotFound, object{"path": path + "2", "arena": id + 1, "items": state(8)}},
		{errs.Invalid, object{"path": path + "2", "items": state(8)}},
		{errs.Invalid, object{"path": path + "2", "arena": id}},
		{errs.Invalid, object{"arena": id, "items": state(8)}},
		{errs.Invalid, object{"path": path + "2", "arena": id, "items": state(8), "overwrit": true}},
		{errs.Invalid, object{"path": path + "2", "arena": id, "items": state(8), "context": raw(`{"arrays":1}`)}},
		{errs.Invalid, object{"path": path + "2", "arena": "one", "items": state(8)}},
	} {
		s := c.wait(c.start("save", f.args))
		if s.Error == nil || s.Error.Kind != f.kind.String() || len(s.events) > 0 {
			t.Errorf("%v: %v %s", f.args, s.events, s.Body)
		}
	}
	if f := c.refused(errs.Exists, "save", object{"path": path, "arena": id, "items": state(8)}); f.Op == "" &&
		f.Remedy == "" || f.Text == "" {
		t.Errorf("%+v", f)
	}
	c.call("save", object{"path": path, "arena": id, "items": state(8), "overwrite": true})
	c.call("arena.free", object{"arena": id})
	c.refused(errs.NotFound, "arena.free", object{"arena": id})
	c.refused(errs.NotFound, "save", object{"path": path, "arena": id, "items": state(8), "overwrite": true})
}

// TestManage goes through the calls that neither save nor load.
func TestManage(t *testing.T) {
	c := served(t)
	id, _ := c.arena(4096)
	path := filepath.Join(t.TempDir(), "ckpt")
	is := func() bool {
		var v struct{ Is bool }
		c.call("is_checkpoint", object{"path": path}).into(t, &v)
		return v.Is
	}
	if is() {
		t.Error("nothing is a checkpoint")
	}
	items := state(8)
	items["cfg"] = object{"json": "{}"}
	s := c.call("save", object{"path": path, "arena": id, "items": items, "progress": true})
	if !slices.Contains(s.events, "progress") {
		t.Error(s.events)
	}
	if !is() {
		t.Error("a checkpoint is none")
	}
	var verdict struct{ Verdict, Text string }
	c.call("verify", object{"path": path}).into(t, &verdict)
	if verdict.Verdict != "sound" || verdict.Text == "" {
		t.Errorf("%+v", verdict)
	}
	c.call("save", object{"path": path, "arena": id,
		"items": object{"more": object{"tree": raw(`["d",["a"],[1]]`)}}, "partial_update": true})
	c.call("delete", object{"path": path, "item": "cfg"})
	c.refused(errs.NotFound, "delete", object{"path": path, "item": "cfg"})
	var v struct{ Deleted bool }
	c.call("delete", object{"path": path, "item": "cfg", "missing_ok": true}).into(t, &v)
	if v.Deleted {
		t.Error("what is not there was deleted")
	}
	c.call("delete", object{"path": path}).into(t, &v)
	if !v.Deleted || is() {
		t.Error("not deleted")
	}
	c.refused(errs.NotFound, "load", object{"path": path})
	c.refused(errs.NotFound, "metadata", object{"path": path})
	c.refused(errs.Invalid, "load", object{})
	c.refused(errs.Invalid, "load", object{"path": 7})
	if f := c.refused(errs.Unsupported, "lod", object{"path": path}); !strings.Contains(f.Remedy, `"load"`) {
		t.Errorf("%+v", f)
	}
	c.refused(errs.Invalid, "arena.new", object{"bytes": -1})
	c.refused(errs.Invalid, "arena.new", object{"bytes": int64(math.MaxInt64)})
	if f := c.refused(errs.Exhausted, "arena.new", object{"bytes": int64(1) << 45}); f.Want == "" || f.Got == "" {
		t.Errorf("%+v", f)
	}
}

// TestParts saves a checkpoint in parts.
func TestParts(t *testing.T) {
	c := served(t)
	id, mem := c.arena(4096)
	mem[0] = 9
	path := filepath.Join(t.TempDir(), "ckpt")
	part := func(node string) object { return object{"state": object{"tree": raw(node)}} }
	s := c.call("partial.save", object{"path": path, "arena": id, "items": part(`["d",["a"],[["a","int8",[1],0]]]`)})
	if !slices.Equal(s.events, []string{"accepted", "released"}) {
		t.Error(s.events)
	}
	c.refused(errs.Exists, "partial.save", object{"path": path, "arena": id,
		"items": part(`["d",["a"],[["a","int8",[1],0]]]`)})
	c.call("partial.save", object{"path": path, "arena": id, "items": part(`["d",["b"],[["a","int8",[2],64]]]`)})
	c.call("partial.save", object{"path": path, "arena": id, "replace": true,
		"items": part(`["d",["b"],[["a","int8",[3],64]]]`)})
	c.call("partial.finalize", object{"path": path})
	if v := c.load("load", object{"path": path}); !strings.Contains(string(v.Tree), `["a","int8",[3],`) ||
		v.mem[0] != 9 {
		t.Errorf("%s", v.Tree)
	}
	c.refused(errs.NotFound, "partial.abort", object{"path": path})
	c.call("partial.save", object{"path": path + "2", "arena": id,
		"items": part(`["d",["b"],[["a","int8",[3],64]]]`)})
	c.call("partial.abort", object{"path": path + "2"})
	c.refused(errs.NotFound, "partial.finalize", object{"path": path + "2"})
}

// TestTransform loads trees that are made of others, by rules and by references.
func TestTransform(t *testing.T) {
	c := served(t)
	id, mem := c.arena(4096)
	mem[0], mem[64] = 1, 2
	dir := t.TempDir()
	one, two := filepath.Join(dir, "1"), filepath.Join(dir, "2")
	c.call("save", object{"path": one, "arena": id,
		"items": object{"state": object{"tree": raw(`["d",["a","b"],[["a","int8",[1],0],["l",[["a","int8",[1],64],3]]]]`)}}})
	c.call("save", object{"path": two, "arena": id,
		"items": object{"state": object{"tree": raw(`["d",["c"],[["a","int8",[1],64]]]`)}}})
	v := c.load("load_transform", object{"paths": []string{one},
		"rules": "rules:\n- rename: {pattern: a, to: new.a}\n- drop: {pattern: 'b\\..*'}\n"})
	if string(v.Tree) != `["d",["new"],[["d",["a"],[["a","int8",[1],0]]]]]` || v.mem[0] != 1 {
		t.Errorf("%s", v.Tree)
	}
	v = c.load("load_transform", object{"paths": []string{one, two},
		"leaves": raw(`["d",["x","y","z","k"],[["r",0,["b"]],["r",1,["c"]],["r",0,["b","1"]],"new"]]`)})
	if !strings.HasPrefix(string(v.Tree),
		`["d",["x","y","z","k"],[["l",[["a","int8",[1],0],3]],["a","int8",[1],64],3,"new"]]`) || v.mem[0] != 2 {
		t.Errorf("%s", v.Tree)
	}
	v = c.load("load_transform", object{"paths": []string{one}, "leaves": raw(`["d",["x"],[["r",0,["a"]]]]`),
		"abstract": raw(`["d",["x"],[["s","float32",[1]]]]`)})
	if string(v.Tree) != `["d",["x"],[["a","float32",[1],0]]]` {
		t.Errorf("%s", v.Tree)
	}
	c.refused(errs.NotFound, "load_transform", object{"paths": []string{one}, "leaves": raw(`["r",1,["a"]]`)})
	c.refused(errs.NotFound, "load_transform", object{"paths": []string{one}, "leaves": raw(`["r",0,["aa"]]`)})
	c.refused(errs.Invalid, "load_transform", object{"paths": []string{one}})
	c.refused(errs.Invalid, "load_transform", object{"paths": []string{one}, "rules": "nonsense", "leaves": raw(`1`)})
	c.refused(errs.Invalid, "load_transform", object{"paths": []string{}, "rules": "rules: []"})
}

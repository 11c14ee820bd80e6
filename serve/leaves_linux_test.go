package serve

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/errs"
)

// written makes the directory of a leaf handler with files.
func written(t *testing.T, files map[string]string) string {
	t.Helper()
	dir, err := os.MkdirTemp(t.TempDir(), "leaves")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// handedOver makes a save whose leaf handlers have written a directory, answers the question for
// the directory, and returns the last word.
func (c *client) handedOver(op string, args object, answer object) said {
	c.t.Helper()
	id := c.start(op, args)
	for {
		s := c.next()
		switch {
		case s.Ask != 0:
			answer["ask"] = s.Ask
			c.send(kindAnswer, answer)
		case s.ID == id && s.Event == "":
			return s
		}
	}
}

// twoKinds is a tree with an array and leaves of two leaf handlers.
const twoKinds = `["d",["w","a","b"],[["a","int8",[2],0],["h","test.A"],["l",[["h","test.B"],["h","test.A"]]]]]`

// TestLeavesOfHandlers saves the files of leaf handlers with a tree and loads them: the manifest
// covers them, the tree has the leaves, and a load without their handlers is refused.
func TestLeavesOfHandlers(t *testing.T) {
	c := served(t)
	id, _ := c.arena(64)
	path := filepath.Join(t.TempDir(), "ckpt")
	dir := written(t, map[string]string{"a/one": "first", "b.bin": "second"})
	s := c.handedOver("save", object{"path": path, "arena": id,
		"items": object{"state": object{"tree": raw(twoKinds), "files": dir}}}, object{"value": object{}})
	if s.Error != nil {
		t.Fatal(s.Error.Text)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Error("the directory is left:", err)
	}

	f := c.refused(errs.Unsupported, "load", object{"path": path})
	if !strings.Contains(f.Text, `leaf "a"`) || !strings.Contains(f.Text, "test.A") ||
		!strings.Contains(f.Remedy, "skip the leaf") {
		t.Errorf("%+v", f)
	}
	c.refused(errs.Unsupported, "load", object{"path": path, "leaf_types": []string{"test.A"}})
	got := c.load("load", object{"path": path, "abstract": raw(`["d",["w","a","b"],[null,["x"],["l",[["x"],["x"]]]]]`)})
	if want := `["d",["w","a","b"],[["a","int8",[2],0],["x"],["l",[["x"],["x"]]]]]`; string(got.Tree) != want {
		t.Errorf("got %s, want %s", got.Tree, want)
	}

	var v struct {
		Tree   raw
		Items  map[string]map[string]raw
		Leaves []leafDirectory
	}
	both := []string{"test.B", "test.A", "test.A", "test.Unused"}
	c.call("load", object{"path": path, "leaf_types": both}).into(t, &v)
	c.mapped(4096)
	want := `["d",["w","a","b"],[["a","int8",[2],0],["h","test.A",0,["a"]],` +
		`["l",[["h","test.B",0,["b","0"]],["h","test.A",0,["b","1"]]]]]]`
	if string(v.Tree) != want || len(v.Leaves) != 1 || !v.Leaves[0].UseOCDBT || !v.Leaves[0].UseZarr3 {
		t.Fatalf("got %s, want %s; %+v", v.Tree, want, v.Leaves)
	}
	checkFiles(t, v.Leaves[0].Files, map[string]string{"a/one": "first", "b.bin": "second"})

	c.call("load_items", object{"path": path, "leaf_types": both,
		"items": object{"state": object{"tree": raw(`["d",["w","a","b"],[["x"],null,["l",[["x"],["x"]]]]]`)}}}).into(t, &v)
	want = `["d",["w","a","b"],[["x"],["h","test.A",0,["a"]],["l",[["x"],["x"]]]]]`
	if string(v.Items["state"]["tree"]) != want || len(v.Leaves) != 1 {
		t.Errorf("got %s, want %s; %+v", v.Items["state"]["tree"], want, v.Leaves)
	}
	checkFiles(t, v.Leaves[0].Files, map[string]string{"a/one": "first", "b.bin": "second"})

	var m struct{ Info infoText }
	c.call("metadata", object{"path": path}).into(t, &m)
	if !strings.Contains(string(m.Info.Items[0].Tree), `["h","test.A",0],["l",[["h","test.B",0],["h","test.A",1]]]`) {
		t.Errorf("%s", m.Info.Items[0].Tree)
	}

	// The files are in the manifest.
	damaged := filepath.Join(path, "state", "b.bin")
	if err := os.Chmod(damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(damaged, []byte("sEcond"), 0o600); err != nil {
		t.Fatal(err)
	}
	var r struct{ Verdict, Text string }
	c.call("verify", object{"path": path}).into(t, &r)
	if r.Verdict == "sound" || !strings.Contains(r.Text, "b.bin") {
		t.Errorf("%+v", r)
	}
	before := itemDirectories(t)
	c.refused(errs.Corrupt, "load", object{"path": path, "leaf_types": both})
	if after := itemDirectories(t); after != before {
		t.Errorf("%d directories are left of the load that failed", after-before)
	}
}

// checkFiles compares the files of a directory, and removes it as a client does.
func checkFiles(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	for name, text := range want {
		if b, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(b) != text {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(names) != len(want) {
		t.Errorf("files %q, %v", names, err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Error(err)
	}
}

// itemDirectories counts the private directories of loads.
func itemDirectories(t *testing.T) int {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(os.TempDir(), "bivouac-item-*"))
	if err != nil {
		t.Fatal(err)
	}
	return len(found)
}

// TestLeafHandlerFails checks that nothing is saved if the client says that a handler failed, or is
// gone before it has said anything.
func TestLeafHandlerFails(t *testing.T) {
	c := served(t)
	path := filepath.Join(t.TempDir(), "ckpt")
	node := raw(`["d",["a"],[["h","test.A"]]]`)
	dir := written(t, map[string]string{"half": "wri"})
	s := c.handedOver("save", object{"path": path, "items": object{"state": object{"tree": node, "files": dir}}},
		object{"error": "ValueError: out of words"})
	if s.Error == nil || !strings.Contains(s.Error.Text, "leaf handler test.A.Commit") ||
		!strings.Contains(s.Error.Text, "out of words") {
		t.Errorf("%s", s.Body)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Error("the directory is left:", err)
	}
	gone := served(t)
	second := written(t, nil)
	gone.start("save", object{"path": path, "items": object{"state": object{"tree": node, "files": second}}})
	gone.await(func(s said) bool { return s.Ask != 0 })
	gone.conn.Close()
	for _, err := os.Stat(second); !os.IsNotExist(err); _, err = os.Stat(second) {
	}
	if checkpoint.IsCheckpoint(t.Context(), path, nil) {
		t.Error("saved without the files of the handler")
	}
}

// TestLeavesThatAreRefused lists mistakes of a client.
func TestLeavesThatAreRefused(t *testing.T) {
	c := served(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "ckpt")
	for item, want := range map[string]string{
		`{"tree":["h","test.A"]}`:                                   "directory of files",
		`{"tree":["h","test.A"],"files":"relative"}`:                "an absolute path",
		`{"tree":["h","test.A"],"files":7}`:                         "a string",
		`{"tree":["h",7],"files":"` + dir + `/1"}`:                  "a string",
		`{"tree":["h","test.A",0],"files":"` + dir + `/2"}`:         "the end of the array",
		`{"tree":["h","NoDot"],"files":"` + dir + `/3"}`:            "a dot",
		`{"tree":["h","jax.Array"],"files":"` + dir + `/4"}`:        "not one of Orbax's",
		`{"tree":["h","test.A"],"files":"` + dir + `/5","type":""}`: "tree, json, proto",
	} {
		for i := range 6 {
			if err := os.MkdirAll(filepath.Join(dir, string(rune('0'+i))), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		s := c.wait(c.start("save", object{"path": path, "items": object{"state": raw(item)}}))
		if s.Error == nil || !strings.Contains(s.Error.Text, want) {
			t.Errorf("%s: %s, want %q", item, s.Body, want)
		}
	}
	f := c.refused(errs.Invalid, "load", object{"path": path, "leaf_types": []string{"NoDot"}})
	if !strings.Contains(f.Text, "leaf_types") {
		t.Errorf("%+v", f)
	}
	f = c.refused(errs.Invalid, "load_items", object{"path": path,
		"items": object{"state": object{"tree": nil, "files": true}}})
	if !strings.Contains(f.Text, "one member") {
		t.Errorf("%+v", f)
	}
}

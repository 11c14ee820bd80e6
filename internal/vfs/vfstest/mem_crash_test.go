package vfstest_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/internal/vfs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
)

// show renders a file system as "name=content name/ …"; runs of bytes are
// shortened to one with a count.
func show(fsys vfs.FS) string {
	var out []string
	var walk func(dir string)
	walk = func(dir string) {
		list, err := fsys.ReadDir("/" + dir)
		if err != nil {
			panic(err)
		}
		for _, e := range list {
			name := dir + e.Name()
			if e.IsDir() {
				out = append(out, name+"/")
				walk(name + "/")
				continue
			}
			f, err := fsys.Open(name)
			if err != nil {
				panic(err)
			}
			b, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<40))
			if err := errors.Join(err, f.Close()); err != nil {
				panic(err)
			}
			out = append(out, name+"="+short(b))
		}
	}
	walk("")
	return strings.Join(out, " ")
}

func short(b []byte) string {
	var s strings.Builder
	for len(b) > 0 {
		n := len(b) - len(bytes.TrimLeft(b, string(b[:1])))
		c := string(b[:1])
		if b[0] == 0 {
			c = "."
		}
		s.WriteString(c)
		if n > 1 {
			fmt.Fprint(&s, n)
		}
		b = b[n:]
	}
	return s.String()
}

func states(m *vfstest.Mem) []string {
	set := map[string]bool{}
	for s := range m.States() {
		set[show(s)] = true
	}
	return slices.Sorted(maps.Keys(set))
}

// script runs one-line commands on a file system; "!" syncs everything.
func script(t interface{ Fatal(...any) }, m *vfstest.Mem, commands string) {
	files := map[string]vfs.File{}
	for line := range strings.SplitSeq(commands, ";") {
		w := strings.Fields(line)
		var err error
		switch w[0] {
		case "create":
			files[w[1]], err = m.Create(w[1], 0o666)
		case "write": // file, byte, count, offset
			var n int
			var off int64
			fmt.Sscan(w[3], &n)
			fmt.Sscan(w[4], &off)
			_, err = files[w[1]].WriteAt(bytes.Repeat([]byte(w[2]), n), off)
		case "allocate", "truncate":
			var n int64
			fmt.Sscan(w[2], &n)
			if w[0] == "allocate" {
				err = files[w[1]].Allocate(n)
			} else {
				err = files[w[1]].Truncate(n)
			}
		case "sync":
			err = files[w[1]].Sync()
		case "syncdir":
			err = m.SyncDir(w[1])
		case "mkdir":
			err = m.Mkdir(w[1], 0o777)
		case "remove":
			err = m.Remove(w[1])
		case "rename":
			err = m.Rename(w[1], w[2])
		case "exchange":
			err = m.Exchange(w[1], w[2])
		case "link":
			err = m.Link(w[1], w[2])
		case "!":
			m.SyncAll()
		default:
			err = fmt.Errorf("unknown command %q", w[0])
		}
		if err != nil {
			t.Fatal(line, ": ", err)
		}
	}
}

// TestCrashModel is the documented model, case by case: all states after power loss.
func TestCrashModel(t *testing.T) {
	for _, c := range []struct {
		name, script string
		want         []string
	}{
		{"nothing", "!", []string{""}},
		{"an entry", "create a", []string{"", "a="}},
		{"an entry with synced content", "create a; write a x 3 0; sync a", []string{"", "a=x3"}},
		{"content under a durable entry", "create a; !; write a x 3 0", []string{"a=", "a=.3", "a=x3"}},
		{"both durable", "create a; write a x 3 0; sync a; syncdir /", []string{"a=x3"}},
		{"the directory alone is not enough", "create a; write a x 3 0; syncdir /", []string{"a=", "a=.3", "a=x3"}},
		{"blocks one by one", "create a; write a x 1024 0; sync a; syncdir /; write a y 1024 0",
			[]string{"a=x1024", "a=x512y512", "a=y1024", "a=y512x512"}},
		{"versions of a block", "create a; write a x 1 0; !; write a y 1 0; write a z 1 0", []string{"a=x", "a=y", "a=z"}},
		{"allocated and not written", "create a; !; allocate a 600; write a x 600 0",
			[]string{"a=", "a=.512x88", "a=.600", "a=x512.88", "a=x600"}},
		{"cut", "create a; write a x 600 0; !; truncate a 2", []string{"a=x2", "a=x2.510x88", "a=x2.598", "a=x512.88", "a=x600"}},
		{"removal", "create a; !; remove a", []string{"", "a="}},
		{"durable removal", "create a; !; remove a; syncdir /", []string{""}},
		{"created and removed", "create a; remove a", []string{"", "a="}},
		{"rename of a file", "create a; !; rename a b", []string{"", "a=", "a= b=", "b="}},
		{"rename over a file", "create a; write a x 1 0; create b; write b y 1 0; !; rename a b",
			[]string{"a=x b=x", "a=x b=y", "b=x", "b=y"}},
		{"rename between directories, one synced", "mkdir d; create a; !; rename a d/a; syncdir d", []string{"a= d/ d/a=", "d/ d/a="}},
		{"rename of a directory", "mkdir d; create d/x; !; rename d e", []string{"", "d/ d/x=", "e/ e/x="}},
		{"rename of a directory to another", "mkdir d; mkdir e; !; rename d e/d; syncdir e", []string{"e/ e/d/"}},
		{"exchange", "mkdir d; create d/x; mkdir e; !; exchange d e", []string{"d/ d/x= e/", "d/ e/ e/x="}},
		{"exchange between directories", "mkdir p; create p/x; create y; !; exchange p/x y; syncdir /", []string{"p/ p/x= y="}},
		{"link", "create a; !; link a b", []string{"a=", "a= b="}},
		{"content of both links", "create a; link a b; !; write a x 1 0", []string{"a= b=", "a=. b=.", "a=x b=x"}},
		{"entries of a lost directory", "mkdir d; create d/x", []string{"", "d/", "d/ d/x="}},
		{"a directory renamed twice", "mkdir a; !; rename a b; rename b c", []string{"", "a/", "b/", "c/"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := vfstest.NewMem()
			script(t, m, c.script)
			before := show(m)
			if diff := cmp.Diff(c.want, states(m)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.want, states(m.Clone())); diff != "" {
				t.Errorf("of a clone (-want +got):\n%s", diff)
			}
			if show(m) != before {
				t.Error("enumeration changed the file system")
			}
		})
	}
}

// TestLostWrites: after a failed Sync a second one promises nothing.
func TestLostWrites(t *testing.T) {
	m := vfstest.NewMem()
	f, err := vfstest.NewFault(m, vfstest.Plan{
		N: 1, Err: syscall.EIO, Only: func(c vfstest.Call) bool { return c.Op == vfstest.OpSync },
	}).Create("a", 0o666)
	if err != nil {
		t.Fatal(err)
	}
	m.SyncAll()
	if _, err := f.WriteAt([]byte("x"), 0); err != nil {
		t.Fatal(err)
	}
	if err := f.Sync(); !errors.Is(err, syscall.EIO) {
		t.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a="}, states(m)); diff != "" {
		t.Fatal(diff)
	}
	if got := show(m); got != "a=x" {
		t.Fatalf("seen: %q", got)
	}
}

// TestCrashLaws holds for random histories.
func TestCrashLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := vfstest.NewMem()
		history(t, m)
		all := map[[16]byte]bool{}
		n := 0
		for s := range m.States() {
			if n++; n > 5000 {
				t.Skip("too many states")
			}
			all[s.Hash()] = true
			if once := states(s); len(once) != 1 || once[0] != show(s) {
				t.Fatalf("a state is not durable itself: %q", once)
			}
		}
		if !all[m.Hash()] {
			t.Fatalf("losing nothing is no state: %q", show(m))
		}
		for s := range m.Edges() {
			if !all[s.Hash()] {
				t.Fatalf("an edge that is no state: %q", show(s))
			}
		}
		rng := rand.New(rand.NewPCG(1, 2))
		for range 20 {
			if s := m.Sample(rng); !all[s.Hash()] {
				t.Fatalf("a sample that is no state: %q", show(s))
			}
		}
		m.SyncAll()
		if once := states(m); len(once) != 1 || once[0] != show(m) {
			t.Fatalf("after SyncAll: %q, seen %q", once, show(m))
		}
	})
}

// history does a few random operations; those that fail change nothing.
func history(t *rapid.T, m *vfstest.Mem) {
	files := map[string]vfs.File{}
	name := rapid.SampledFrom([]string{"/a", "/b", "/d", "/d/x", "/d/y"})
	for range rapid.IntRange(1, 12).Draw(t, "operations") {
		a, b := name.Draw(t, "a"), name.Draw(t, "b")
		var err error
		switch rapid.IntRange(0, 9).Draw(t, "op") {
		case 0:
			var f vfs.File
			if f, err = m.Create(a, 0o666); err == nil {
				files[a] = f
			}
		case 1:
			err = m.Mkdir("/d", 0o777)
		case 2:
			err = m.Rename(a, b)
		case 3:
			err = m.Exchange(a, b)
		case 4:
			err = m.Remove(a)
		case 5:
			err = m.SyncDir(rapid.SampledFrom([]string{"/", "/d"}).Draw(t, "dir"))
		case 6:
			err = m.Link(a, b)
		default:
			f := files[a]
			if f == nil {
				continue
			}
			switch rapid.IntRange(0, 2).Draw(t, "file op") {
			case 0:
				_, err = f.WriteAt(bytes.Repeat([]byte{'z'}, rapid.IntRange(1, 700).Draw(t, "n")), rapid.Int64Range(0, 600).Draw(t, "off"))
			case 1:
				err = f.Truncate(rapid.Int64Range(0, 1100).Draw(t, "size"))
			case 2:
				err = f.Sync()
			}
		}
		if err != nil {
			t.Log(err)
		}
	}
}

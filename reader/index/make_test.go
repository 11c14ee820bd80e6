package index

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
)

// counted is the format lines, and counts how often each file is scanned.
func counted() (f Format, scans func() map[string]int) {
	var mu sync.Mutex
	n := map[string]int{}
	f = lines
	f.Scan = func(ctx context.Context, r *io.SectionReader, add func(Record) error) error {
		b, _ := io.ReadAll(io.NewSectionReader(r, 0, r.Size()))
		mu.Lock()
		n[string(b)]++
		mu.Unlock()
		return lines.Scan(ctx, r, add)
	}
	return f, func() map[string]int {
		defer clear(n)
		return maps.Clone(n)
	}
}

// A run that was stopped goes on: files that are done are not read again, unless they changed.
func TestMakeGoesOn(t *testing.T) {
	dir := t.TempDir()
	paths := write(t, dir, "a\n", "b\n", "c\n", "d\n", "e\n")
	target := filepath.Join(dir, Name)
	f, scans := counted()
	o := BuildOptions{Workers: 1, Root: dir}
	stop := func(after int) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		stopped := o
		stopped.OnFile = func(files int, _ int64) {
			if files == after {
				cancel()
			}
		}
		if _, _, err := Make(ctx, "test", target, open(t, paths), f, stopped); !errors.Is(err, errs.Canceled) {
			t.Fatalf("a stopped run: %v", err)
		}
		if _, err := os.Stat(target); err == nil {
			t.Fatal("a stopped run has written an index")
		}
	}
	stop(2)
	if got := scans(); len(got) < 2 || len(got) > 3 {
		t.Fatalf("the first run read %v", got)
	}
	// The run was killed while it wrote: the rest of an entry is left out, and later entries are read.
	journal, err := os.OpenFile(target+".journal", os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := journal.WriteString("\x99\x00\x00\x00\x00\x00\x00\x00half"); err != nil {
		t.Fatal(err)
	}
	journal.Close()
	stop(3)
	if got := scans(); got["a\n"]+got["b\n"] != 0 {
		t.Fatalf("the second run read %v", got)
	}
	if err := os.WriteFile(paths[0], []byte("x\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	x, reused, err := Make(context.Background(), "test", target, open(t, paths), f, o)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if got := scans(); got["x\n"] != 1 || got["b\n"] != 0 || got["c\n"] != 0 || len(got)+reused != 5 || reused < 2 {
		t.Errorf("the last run read %v and took %d", got, reused)
	}
	fresh, err := Build(context.Background(), "test", open(t, paths), lines, BuildOptions{Root: dir})
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(all(t, x), all(t, fresh)) || x.Fingerprint() != fresh.Fingerprint() ||
		!reflect.DeepEqual(x.Files(), fresh.Files()) {
		t.Errorf("got %v, want %v", all(t, x), all(t, fresh))
	}
	if left, _ := filepath.Glob(target + ".*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// A journal that is damaged, or of another format, is no reason to fail: the files are read again.
func TestMakeWithAnotherJournal(t *testing.T) {
	dir := t.TempDir()
	paths := write(t, dir, "a\n", "b\n")
	target := filepath.Join(dir, Name)
	j, err := openJournal(target+".journal", "other")
	if err != nil {
		t.Fatal(err)
	}
	x, err := Build(context.Background(), "test", open(t, paths[:1]), lines, BuildOptions{Root: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := j.keep(x); err != nil {
		t.Fatal(err)
	}
	if err := j.close(false); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(target + ".journal")
	if err != nil {
		t.Fatal(err)
	}
	other := lines
	other.Name = "another"
	for what, c := range map[string]struct {
		journal []byte
		format  Format
		reused  int
	}{
		"whole": {good, lines, 1}, "of another format": {good, other, 0}, "cut": {good[:len(good)-1], lines, 0},
		"flipped": {append(good[:len(good)-1:len(good)-1], good[len(good)-1]^1), lines, 0}, "text": {[]byte(strings.Repeat("text ", 9)), lines, 0},
	} {
		if err := os.WriteFile(target+".journal", c.journal, 0o666); err != nil {
			t.Fatal(err)
		}
		x, reused, err := Make(context.Background(), "test", target, open(t, paths), c.format, BuildOptions{Root: dir})
		if err != nil || reused != c.reused || x.Records() != 2 {
			t.Errorf("%s: took %d files, want %d: %v", what, reused, c.reused, err)
			continue
		}
		x.Close()
	}
	if _, _, err := Make(context.Background(), "test", filepath.Join(dir, "no", Name), open(t, paths), lines,
		BuildOptions{}); !errors.Is(err, errs.NotFound) {
		t.Errorf("a folder that is not there: %v", err)
	}
}

// Two runs at once both end well, with the same index.
func TestMakeTwiceAtOnce(t *testing.T) {
	dir := t.TempDir()
	var contents []string
	for i := range 40 {
		contents = append(contents, strings.Repeat(fmt.Sprint(i%10, "\n"), i+1))
	}
	paths := write(t, dir, contents...)
	target := filepath.Join(dir, Name)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			x, _, err := Make(context.Background(), "test", target, open(t, paths), lines, BuildOptions{Root: dir, Workers: 2})
			if err != nil {
				t.Error(err)
				return
			}
			x.Close()
		})
	}
	group.Wait()
	x, err := Open(target)
	if err != nil || x.Records() != 40*41/2 {
		t.Fatalf("%v", err)
	}
	x.Close()
}

// An index from lists has the fingerprint of one from the files, and refuses records outside.
func TestFromLists(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	set := open(t, write(t, dir, "ab\ncd\n", "ef\n"))
	built, err := Build(ctx, "test", set, lines, BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	listed, err := FromLists(ctx, "test", set, "lines", func(_ context.Context, i int, add func(Record) error) error {
		from, to := built.In(i)
		for id := from; id < to; id++ {
			r, err := built.Record(id)
			if err == nil {
				err = add(r)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || listed.Fingerprint() != built.Fingerprint() || !reflect.DeepEqual(all(t, listed), all(t, built)) {
		t.Errorf("%v: got %v, want %v", err, all(t, listed), all(t, built))
	}
	for _, r := range []Record{{Offset: -1, Length: 1}, {Offset: 0, Length: 7}, {Offset: 7},
		{Offset: 1, Length: -1}, {Offset: 1 << 62, Length: 1 << 62}} {
		_, err := FromLists(ctx, "test", set, "lines",
			func(_ context.Context, _ int, add func(Record) error) error { return add(r) })
		if !errors.Is(err, errs.Mismatch) || !strings.Contains(err.Error(), dir) {
			t.Errorf("%+v: %v", r, err)
		}
	}
}

// An index is found in the folder that all files are below, whether paths are absolute or not.
func TestFindLooksUp(t *testing.T) {
	dir := t.TempDir()
	var paths []string
	for i, sub := range []string{"x", "x/y", "z"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o777); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, filepath.Join(dir, sub, "f.txt"))
		if err := os.WriteFile(paths[i], []byte(fmt.Sprint(i, "\n")), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	x, err := Build(context.Background(), "test", open(t, paths), lines, BuildOptions{Root: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := Write(filepath.Join(dir, Name), x); err != nil {
		t.Fatal(err)
	}
	f := lines
	f.Scan = func(context.Context, *io.SectionReader, func(Record) error) error { return errors.New("scanned") }
	t.Chdir(dir)
	for _, list := range [][]string{paths, {paths[2], paths[0]}, {"x/f.txt", "./z/f.txt"}} {
		found, err := Find(context.Background(), "test", open(t, list), f, "")
		if err != nil || found.Records() != int64(len(list)) {
			t.Errorf("%v: %v", list, err)
			continue
		}
		found.Close()
	}
	if found, err := Find(context.Background(), "test", open(t, paths[:1]), f, Name); err != nil {
		t.Errorf("an index by its relative name: %v", err)
	} else {
		found.Close()
	}
}

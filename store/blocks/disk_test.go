//go:build unix

package blocks_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store/blocks"
)

// kept returns the files of blocks in a cache, and the sum of their sizes.
func kept(t testing.TB, dir string) (files []string, size int64) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(dir, "blocks"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) { // another cache is at work
			return nil
		}
		if err == nil {
			files, size = append(files, path), size+info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files, size
}

// sizeOf returns the bytes of all blocks, while no cache takes room for another.
func sizeOf(t testing.TB, dir string) (size int64) {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, "usage"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // it was only read
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	files, _ := kept(t, dir)
	for _, path := range files {
		if strings.HasSuffix(path, ".part") { // it waits for its room
			continue
		}
		if info, err := os.Stat(path); err == nil {
			size += info.Size()
		}
	}
	return size
}

// TestBlocksStayOnDisk reads from a directory that another cache has filled: no request.
func TestBlocksStayOnDisk(t *testing.T) {
	dir := t.TempDir()
	s := newServer(10_500)
	first := open(t, blocks.Options{Block: 1000, Dir: dir})
	s.check(t, s.object(first, "tag"), 0, len(s.b))
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	before := s.requests.Load()
	c := open(t, blocks.Options{Block: 1000, Dir: dir})
	s.check(t, s.object(c, "tag"), 0, len(s.b))
	if n := s.requests.Load() - before; n != 0 {
		t.Errorf("%d requests for blocks that are there", n)
	}
	// Another version, another object and another size of blocks have none of them.
	other := newServer(10_500)
	other.b[5000]++
	other.check(t, other.object(c, "another tag"), 0, len(s.b))
	other.check(t, c.Object(blocks.Version{URL: "s3://bucket/other", Tag: "tag", Size: 10_500}, other.fetch), 0, len(s.b))
	other.check(t, other.object(open(t, blocks.Options{Block: 500, Dir: dir}), "tag"), 0, len(s.b))
}

// TestDamageIsFound changes the files of blocks: each is requested again.
func TestDamageIsFound(t *testing.T) {
	for name, damage := range map[string]func(path string, b []byte) error{
		"a flipped bit of the data":   func(path string, b []byte) error { b[64+500] ^= 4; return os.WriteFile(path, b, 0o600) },
		"a flipped bit of the header": func(path string, b []byte) error { b[30] ^= 1; return os.WriteFile(path, b, 0o600) },
		"a file that is cut":          func(path string, b []byte) error { return os.Truncate(path, int64(len(b)-1)) },
		"an empty file":               func(path string, _ []byte) error { return os.Truncate(path, 0) },
		"zeros":                       func(path string, b []byte) error { clear(b); return os.WriteFile(path, b, 0o600) },
		"a file that is gone":         func(path string, _ []byte) error { return os.Remove(path) },
		"a link": func(path string, b []byte) error {
			if err := os.WriteFile(path+".target", b, 0o600); err != nil {
				return err
			}
			return errors.Join(os.Remove(path), os.Symlink(path+".target", path))
		},
	} {
		dir := t.TempDir()
		s := newServer(3000)
		c := open(t, blocks.Options{Block: 1000, Dir: dir})
		s.check(t, s.object(c, ""), 0, 3000)
		c.Close() //nolint:errcheck // checked elsewhere
		files, _ := kept(t, dir)
		if len(files) != 3 {
			t.Fatalf("%d files", len(files))
		}
		for _, path := range files {
			b, err := os.ReadFile(path)
			if err == nil {
				err = damage(path, b)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		for round := range 2 {
			before := s.bytes.Load()
			c := open(t, blocks.Options{Block: 1000, Dir: dir})
			s.check(t, s.object(c, ""), 0, 3000)
			if n := s.bytes.Load() - before; n != []int64{3000, 0}[round] {
				t.Errorf("%s: %d bytes were requested in round %d", name, n, round)
			}
			c.Close() //nolint:errcheck // checked elsewhere
		}
	}
}

// TestDamageWhileOpen cuts the files of blocks that the cache has open.
func TestDamageWhileOpen(t *testing.T) {
	dir := t.TempDir()
	s := newServer(3000)
	x := s.object(open(t, blocks.Options{Block: 1000, Dir: dir}), "")
	s.check(t, x, 0, 3000)
	files, _ := kept(t, dir)
	for _, path := range files {
		if err := os.Truncate(path, 70); err != nil {
			t.Fatal(err)
		}
	}
	s.check(t, x, 0, 3000)
	s.check(t, x, 10, 2900)
}

// TestSwappedBlocks puts the file of one block in the place of another.
func TestSwappedBlocks(t *testing.T) {
	dir := t.TempDir()
	s := newServer(2000)
	c := open(t, blocks.Options{Block: 1000, Dir: dir})
	s.check(t, s.object(c, ""), 0, 2000)
	c.Close() //nolint:errcheck // checked elsewhere
	files, _ := kept(t, dir)
	b, err := os.ReadFile(files[0])
	if err == nil {
		err = os.WriteFile(files[1], b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	s.check(t, s.object(open(t, blocks.Options{Block: 1000, Dir: dir}), ""), 0, 2000)
}

// TestSizeIsABound reads more than a cache may keep, by two processes at once. The blocks that were
// used lately stay.
func TestSizeIsABound(t *testing.T) {
	dir := t.TempDir()
	const size = 20 * 1064
	s := newServer(200_000)
	o := blocks.Options{Block: 1000, Dir: dir, Size: size}
	var group sync.WaitGroup
	for range 2 {
		c := open(t, o)
		group.Go(func() {
			x := s.object(c, "")
			for off := 0; off < len(s.b); off += 1000 {
				s.check(t, x, off, 1000)
				if n := sizeOf(t, dir); n > size {
					t.Errorf("%d bytes are kept, want at most %d", n, size)
				}
			}
		})
	}
	group.Wait()
	c := open(t, o)
	s.check(t, s.object(c, ""), 195_000, 5000)
	time.Sleep(20 * time.Millisecond) // clocks of file systems are coarse
	s.check(t, s.object(c, ""), 50_000, 5000)
	before := s.requests.Load()
	s.check(t, s.object(open(t, o), ""), 195_000, 5000)
	if n := s.requests.Load() - before; n != 0 {
		t.Errorf("%d requests for blocks that were used lately", n)
	}
	// A wrong count of the bytes is put right.
	for _, b := range [][]byte{{}, {1}, bytes.Repeat([]byte{255}, 8), {0, 0, 0, 0, 0, 0, 0, 64}} {
		if err := os.WriteFile(filepath.Join(dir, "usage"), b, 0o600); err != nil {
			t.Fatal(err)
		}
		x := s.object(open(t, o), fmt.Sprint(b))
		s.check(t, x, 0, 100_000)
		if _, n := kept(t, dir); n > size || n == 0 {
			t.Errorf("usage %v: %d bytes are kept, want at most %d", b, n, size)
		}
	}
}

// TestForeignFilesStay is a law: the cache removes nothing that it has not written.
func TestForeignFilesStay(t *testing.T) {
	precious := t.TempDir()
	want := map[string]string{}
	put := func(path string) {
		t.Helper()
		want[path] = "the only copy of " + path
		err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(want[path]), 0o644))
		if err != nil {
			t.Fatal(err)
		}
	}
	check := func(what string) {
		t.Helper()
		for path, text := range want {
			if b, err := os.ReadFile(path); err != nil || string(b) != text {
				t.Errorf("%s: %s: %q, %v", what, path, b, err)
			}
		}
	}
	// A directory with data is refused as it is.
	put(filepath.Join(precious, "shard.00000.mds"))
	if _, err := blocks.Open(blocks.Options{Dir: precious}); !errors.Is(err, errs.Invalid) ||
		!strings.Contains(err.Error(), "shard.00000.mds") {
		t.Errorf("a directory with data: %v", err)
	}
	if entries, err := os.ReadDir(precious); err != nil || len(entries) != 1 {
		t.Errorf("a directory that was refused has %v, %v", entries, err)
	}
	// Files that come later, with any name, stay too, and nothing behind a link is removed.
	dir := t.TempDir()
	s := newServer(100_000)
	o := blocks.Options{Block: 1000, Dir: dir, Size: 5000}
	s.check(t, s.object(open(t, o), ""), 0, 5000)
	hash := strings.Repeat("ab", 20)
	for _, name := range []string{"data.tar", "blocks/data.tar", "blocks/ab/data.tar", "blocks/ab/" + hash + "-0",
		"blocks/ab/" + hash + "-1.part", "blocks/cd/" + hash + "-0", "blocks/other/" + hash + "-0", "BIVOUAC_CACHE.old"} {
		put(filepath.Join(dir, name))
	}
	put(filepath.Join(precious, hash+"-7"))
	if err := errors.Join(os.Symlink(filepath.Join(precious, hash+"-7"), filepath.Join(dir, "blocks/ab/"+hash+"-7")),
		os.RemoveAll(filepath.Join(dir, "blocks/fe")), os.Symlink(precious, filepath.Join(dir, "blocks/fe"))); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Hour)
	for path := range want {
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
	}
	x := s.object(open(t, o), "more")
	for off := 0; off < len(s.b); off += 1000 {
		s.check(t, x, off, 1000)
	}
	check("after many removals")
}

// TestDirectories opens caches in directories of all kinds.
func TestDirectories(t *testing.T) {
	base := t.TempDir()
	file := filepath.Join(base, "file")
	other := filepath.Join(base, "other")
	newer := filepath.Join(base, "newer")
	if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Mkdir(other, 0o755), os.Mkdir(newer, 0o700),
		os.WriteFile(filepath.Join(newer, "BIVOUAC_CACHE"), []byte("bivouac block cache 2\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		dir  string
		kind errs.Kind
	}{{file, errs.Invalid}, {filepath.Join(file, "below"), errs.Invalid}, {newer, errs.Mismatch}} {
		_, err := blocks.Open(blocks.Options{Dir: c.dir})
		if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.dir) {
			t.Errorf("%s: %v, want %v", c.dir, err, c.kind)
		}
	}
	if os.Geteuid() == 0 {
		if err := os.Chown(other, 12345, 12345); err != nil {
			t.Fatal(err)
		}
	} else if err := os.Chmod(other, 0o500); err != nil {
		t.Fatal(err)
	}
	if _, err := blocks.Open(blocks.Options{Dir: other}); !errors.Is(err, errs.Permission) {
		t.Errorf("a directory of another user, or one that cannot be written: %v", err)
	}
	// A process that was killed while it made the mark is no obstacle.
	empty := filepath.Join(base, "empty")
	markOf := filepath.Join(empty, "BIVOUAC_CACHE")
	if err := errors.Join(os.Mkdir(empty, 0o700), os.WriteFile(markOf, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	s := newServer(1000)
	s.check(t, s.object(open(t, blocks.Options{Dir: empty}), ""), 0, 1000)
	// Many caches may make one directory at once.
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			c, err := blocks.Open(blocks.Options{Dir: filepath.Join(base, "new/deep")})
			if err != nil {
				t.Error(err)
				return
			}
			s.check(t, s.object(c, ""), 0, 1000)
			c.Close() //nolint:errcheck // checked elsewhere
		})
	}
	group.Wait()
	if n := s.requests.Load(); n != 2 {
		t.Errorf("%d requests, want one for each directory", n)
	}
}

// TestDiskThatTakesNothing keeps blocks in memory if the disk does not take them.
func TestDiskThatTakesNothing(t *testing.T) {
	dir := t.TempDir()
	c := open(t, blocks.Options{Block: 1000, Dir: dir})
	// A file in the place of each folder: no file of a block can be made.
	for i := range 256 {
		if err := os.WriteFile(filepath.Join(dir, "blocks", fmt.Sprintf("%02x", i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := newServer(10_000)
	x := s.object(c, "")
	x.Ahead(0, 10_000)
	s.check(t, x, 0, 10_000)
	s.check(t, x, 0, 10_000)
	if n := s.bytes.Load(); n != 10_000 {
		t.Errorf("%d bytes were requested", n)
	}
	if n := c.Stats().Unkept; n == 0 {
		t.Error("no block counts as not kept")
	}
}

// TestFullDisk runs on a file system of 64 kB, if the system lets the test mount one.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := mountSmall(dir); err != nil {
		t.Skipf("no small file system: %v", err)
	}
	t.Cleanup(func() { unmount(dir) })
	c, err := blocks.Open(blocks.Options{Block: 1000, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	s := newServer(500_000)
	x := s.object(c, "")
	for range 2 {
		s.check(t, x, 0, len(s.b))
	}
	if st := c.Stats(); st.Unkept == 0 || s.bytes.Load() != int64(len(s.b)) {
		t.Errorf("%+v, %d bytes requested", st, s.bytes.Load())
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

const childVariable = "BIVOUAC_BLOCKS_CHILD"

// TestMain makes the test program a process that reads from a cache.
func TestMain(m *testing.M) {
	mode, rest, _ := strings.Cut(os.Getenv(childVariable), ":")
	if mode == "" {
		os.Exit(m.Run())
	}
	c, err := blocks.Open(blocks.Options{Block: 1000, Dir: rest})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	s := newServer(100_000)
	x := c.Object(blocks.Version{URL: "s3://bucket/object", Tag: mode, Size: int64(len(s.b))},
		func(ctx context.Context, p []byte, off int64) error {
			if mode == "hang" {
				fmt.Println("at work")
				time.Sleep(time.Hour)
			}
			time.Sleep(time.Millisecond)
			return s.fetch(ctx, p, off)
		})
	p := make([]byte, 1000)
	for off := 0; off < len(s.b); off += len(p) {
		if err := x.ReadAt(context.Background(), p, int64(off)); err != nil || !bytes.Equal(p, s.b[off:off+len(p)]) {
			fmt.Println("wrong bytes", off, err)
			os.Exit(1)
		}
	}
	fmt.Println(s.bytes.Load())
	os.Exit(0)
}

func child(t *testing.T, mode, dir string) *exec.Cmd {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(program)
	c.Env = append(os.Environ(), childVariable+"="+mode+":"+dir)
	return c
}

// TestProcessesShareRequests starts several processes that read one object through one directory:
// together they request each byte once.
func TestProcessesShareRequests(t *testing.T) {
	dir := t.TempDir()
	total := atomicSum{}
	var group sync.WaitGroup
	for range 4 {
		c := child(t, "share", dir)
		group.Go(func() {
			out, err := c.CombinedOutput()
			n, bad := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
			if err != nil || bad != nil {
				t.Errorf("%v: %s", err, out)
			}
			total.add(n)
		})
	}
	group.Wait()
	if total.n != 100_000 {
		t.Errorf("%d bytes were requested of an object of 100000", total.n)
	}
}

type atomicSum struct {
	sync.Mutex
	n int64
}

func (s *atomicSum) add(n int64) {
	s.Lock()
	defer s.Unlock()
	s.n += n
}

// TestKilledProcess kills a process in the middle of a block. The next one requests the block, and
// a half file does no harm.
func TestKilledProcess(t *testing.T) {
	dir := t.TempDir()
	c := child(t, "hang", dir)
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 7)); err != nil {
		t.Fatal(err)
	}
	parts, _ := kept(t, dir)
	if len(parts) == 0 || !strings.HasSuffix(parts[0], ".part") {
		t.Fatalf("files %v, want one that is on its way", parts)
	}
	s := newServer(100_000)
	done := make(chan bool)
	go func() { // it waits for the other process
		s.check(t, s.object(open(t, blocks.Options{Block: 1000, Dir: dir}), "hang"), 0, 5000)
		close(done)
	}()
	time.Sleep(100 * time.Millisecond)
	select {
	case <-done:
		t.Error("a block was requested twice, although its process lived")
	default:
	}
	// What a process leaves that is killed while it writes: some of the bytes.
	if err := os.WriteFile(parts[0], bytes.Repeat([]byte("half"), 100), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := c.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	c.Wait() //nolint:errcheck // it was killed
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("the block of a killed process does not come")
	}
	files, _ := kept(t, dir)
	for _, path := range files {
		if strings.HasSuffix(path, ".part") {
			t.Errorf("%s is left", path)
		}
	}
}

package serve

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/bivouac-ml/bivouac/errs"
)

// TestRoom checks the limits that are found in the files of the kernel.
func TestRoom(t *testing.T) {
	const gib = 1 << 30
	for name, c := range map[string]struct {
		files map[string]string
		n     int64
		want  string // of the limit that is exceeded, or ""
	}{
		"machine": {map[string]string{"proc/meminfo": "MemTotal:  2097152 kB\nMemAvailable:  1048576 kB\n"}, gib,
			"machine"},
		"fits": {map[string]string{"proc/meminfo": "MemTotal:  2097152 kB\nMemAvailable:  1048576 kB\n"},
			gib / 2, ""},
		"unified": {map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/memory.max": "1073741824\n",
			"sys/fs/cgroup/a/memory.current": "1000000000\n",
			"sys/fs/cgroup/a/memory.stat":    "anon 1\ninactive_file 100000000\nactive_file 0\n",
			"sys/fs/cgroup/a/b/memory.max":   "max\n", "sys/fs/cgroup/a/b/memory.current": "5\n"}, 200_000_000, "/a"},
		"cache counts as free": {map[string]string{"proc/self/cgroup": "0::/a\n",
			"sys/fs/cgroup/a/memory.max":     "1073741824\n",
			"sys/fs/cgroup/a/memory.current": "1000000000\n",
			"sys/fs/cgroup/a/memory.stat":    "inactive_file 300000000\nactive_file 200000000\n"}, 400_000_000, ""},
		"legacy": {map[string]string{"proc/self/cgroup": "5:cpu:/x\n4:memory:/docker/7\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "1073741824\n",
			"sys/fs/cgroup/memory/memory.usage_in_bytes": "1073741824\n"}, 1, "control group /"},
		"legacy without a limit": {map[string]string{"proc/self/cgroup": "4:memory:/\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
			"sys/fs/cgroup/memory/memory.usage_in_bytes": "1073741824\n"}, gib, ""},
		"nothing is known": {nil, gib, ""},
	} {
		root := t.TempDir()
		for path, text := range c.files {
			path = filepath.Join(root, path)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		err := system(root).check(c.n)
		if c.want == "" && err != nil || c.want != "" && (errs.KindOf(err) != errs.Exhausted ||
			!strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// TestResultMemory allocates arrays of random sizes: each lies where the client finds it, none
// overlap, and the file is no longer than they are.
func TestResultMemory(t *testing.T) {
	r := &result{}
	rng := rand.New(rand.NewPCG(3, 4))
	var arrays [][]byte
	var total int64
	for i := range 400 {
		n := rng.IntN(1 << (1 + rng.IntN(18)))
		if i%100 == 50 {
			n = 5 << 20
		}
		mem, err := r.allocate(n)
		if err != nil {
			t.Fatal(err)
		}
		for k := range mem {
			mem[k] = byte(i)
		}
		arrays = append(arrays, mem)
		total += int64(n)
	}
	foreign := []byte{9, 8, 7}
	at, err := r.offset(foreign)
	if err != nil {
		t.Fatal(err)
	}
	offsets := make([]int64, len(arrays))
	for i, a := range arrays {
		if offsets[i], err = r.offset(a); err != nil || offsets[i]%alignment != 0 {
			t.Fatal(offsets[i], err)
		}
	}
	f, size, err := r.finish()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if size > pageUp(total+int64(len(arrays)+1)*alignment) {
		t.Errorf("%d bytes for %d", size, total)
	}
	mem, err := unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(mem)
	for i, a := range arrays {
		for k := range a {
			if mem[offsets[i]+int64(k)] != byte(i) {
				t.Fatalf("array %d, byte %d", i, k)
			}
		}
	}
	if string(mem[at:at+3]) != string(foreign) {
		t.Error(mem[at : at+3])
	}
}

// TestArenasKeepTheirSize checks that a client cannot cut an arena: to read behind the cut would be
// a signal.
func TestArenasKeepTheirSize(t *testing.T) {
	a, f, err := newArena(8192, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer a.drop()
	defer f.Close()
	for _, size := range []int64{0, 4096, 16384} {
		if err := f.Truncate(size); err == nil {
			t.Errorf("cut to %d bytes", size)
		}
	}
}

// TestArenaUses checks that an arena lives as long as somebody uses it.
func TestArenaUses(t *testing.T) {
	a, f, err := newArena(1, nil)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	var as arenas
	id, err := as.add(a)
	if err != nil {
		t.Fatal(err)
	}
	used, err := as.use(id)
	if err != nil || as.free(id) != nil {
		t.Fatal(err)
	}
	used.mem[0] = 1 // still mapped
	used.drop()
	if used.mem != nil || used.use() {
		t.Error("the arena lives on")
	}
	as.freeAll()
	b, f, err := newArena(1, nil)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	if _, err := as.add(b); errs.KindOf(err) != errs.Closed || b.mem != nil {
		t.Error(err)
	}
}

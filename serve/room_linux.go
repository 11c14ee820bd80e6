package serve

import (
	"bufio"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
)

// checkRoom returns errs.Exhausted unless machine and control groups have room for n bytes more.
// Without it the kernel would end a process when the pages are allocated.
func checkRoom(n int64) error { return system("/").check(n) }

// system is the root of the file system in which the kernel's files are found.
type system string

// keptFree is what stays free beside new memory, for the page tables and buffers that come with it.
const keptFree = 32 << 20

// limit is one bound on memory.
type limit struct {
	of    string
	room  int64 // bytes that are left
	total int64
}

func (s system) check(n int64) error {
	for _, l := range s.limits() {
		if n > l.room-keptFree {
			return &errs.Error{Kind: errs.Exhausted, Subject: l.of,
				Want:   strconv.FormatInt(n, 10) + " bytes of memory",
				Got:    strconv.FormatInt(max(l.room, 0), 10) + " left of " + strconv.FormatInt(l.total, 10),
				Remedy: "free memory, or save and load less at once"}
		}
	}
	return nil
}

// limits returns the bounds that are known. A system that hides its files has none.
func (s system) limits() []limit {
	var out []limit
	info := s.table("proc/meminfo", ":")
	if free, ok := info["MemAvailable"]; ok {
		out = append(out, limit{"memory of the machine", free << 10, info["MemTotal"] << 10})
	}
	f, err := os.Open(filepath.Join(string(s), "proc/self/cgroup"))
	if err != nil {
		return out
	}
	defer closeFile(f)
	for lines := bufio.NewScanner(f); lines.Scan(); {
		id, rest, _ := strings.Cut(lines.Text(), ":")
		controllers, group, _ := strings.Cut(rest, ":")
		switch {
		case id == "0" && controllers == "":
			out = append(out, s.groups("sys/fs/cgroup", group, s.unified)...)
		case strings.Contains(","+controllers+",", ",memory,"):
			out = append(out, s.groups("sys/fs/cgroup/memory", group, s.legacy)...)
		}
	}
	return out
}

// groups returns the limits of a control group and of those that it is in. In a container the path
// of the group may not exist below the mount; then the mount itself is the group.
func (s system) groups(mount, group string, read func(dir string) (limit, bool)) []limit {
	var out []limit
	for dir := filepath.Join("/", group); ; dir = filepath.Dir(dir) {
		if l, ok := read(filepath.Join(mount, dir)); ok {
			l.of = "control group " + dir
			out = append(out, l)
		}
		if dir == "/" {
			return out
		}
	}
}

// unified reads a group of cgroup v2.
func (s system) unified(dir string) (limit, bool) {
	return s.group(filepath.Join(dir, "memory.max"), filepath.Join(dir, "memory.current"),
		filepath.Join(dir, "memory.stat"), "inactive_file", "active_file")
}

// legacy reads a group of cgroup v1.
func (s system) legacy(dir string) (limit, bool) {
	return s.group(filepath.Join(dir, "memory.limit_in_bytes"), filepath.Join(dir, "memory.usage_in_bytes"),
		filepath.Join(dir, "memory.stat"), "total_inactive_file", "total_active_file")
}

// group reads a limit. The cache of files counts as free, because the kernel gives it up.
func (s system) group(most, used, stat string, cache ...string) (limit, bool) {
	total, ok := s.number(most)
	current, known := s.number(used)
	if !ok || !known || total >= math.MaxInt64>>12<<12-1<<20 {
		return limit{}, false
	}
	room := total - current
	table := s.table(stat, " ")
	for _, name := range cache {
		room += table[name]
	}
	return limit{room: min(room, total), total: total}, true
}

// number reads a file that holds one number. "max" is not a number.
func (s system) number(path string) (int64, bool) {
	b, err := os.ReadFile(filepath.Join(string(s), path))
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	return n, err == nil
}

// table reads lines of a name and a number.
func (s system) table(path, separator string) map[string]int64 {
	out := map[string]int64{}
	b, err := os.ReadFile(filepath.Join(string(s), path))
	if err != nil {
		return out
	}
	for line := range strings.Lines(string(b)) {
		name, rest, _ := strings.Cut(line, separator)
		fields := strings.Fields(rest)
		if len(fields) == 0 {
			continue
		}
		if n, err := strconv.ParseInt(fields[0], 10, 64); err == nil {
			out[name] = n
		}
	}
	return out
}

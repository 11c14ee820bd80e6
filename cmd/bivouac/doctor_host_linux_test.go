package main

import (
	"io/fs"
	"testing"
)

// The tightest limit of a control group and those above it counts, in both versions.
func TestCgroupMemory(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		most  limit
		used  int64
	}{
		"none":  {nil, -1, 0},
		"other": {map[string]string{"/proc/self/cgroup": "1:name=systemd:/x\nmalformed\n"}, -1, 0},
		"version 2": {map[string]string{
			"/proc/self/cgroup":                   "0::/a/b\n",
			"/sys/fs/cgroup/a/b/memory.max":       "max\n",
			"/sys/fs/cgroup/a/memory.max":         "4096\n",
			"/sys/fs/cgroup/a/memory.current":     "1500\n",
			"/sys/fs/cgroup/a/memory.stat":        "anon 1\ninactive_file 500\n",
			"/sys/fs/cgroup/memory.max":           "9999\n",
			"/sys/fs/cgroup/a/b/memory.current":   "7\n",
			"/sys/fs/cgroup/a/b/memory.something": "8\n",
		}, 4096, 1000},
		"version 2, seen as the root": {map[string]string{
			"/proc/self/cgroup": "0::/../elsewhere\n", "/sys/fs/cgroup/memory.max": "77\n",
			"/sys/fs/cgroup/memory.current": "damaged",
		}, 77, 0},
		"version 1": {map[string]string{
			"/proc/self/cgroup": "5:memory:/job\n4:cpu:/x\n",
			"/sys/fs/cgroup/memory/job/memory.limit_in_bytes": "2048\n",
			"/sys/fs/cgroup/memory/job/memory.usage_in_bytes": "10\n",
			"/sys/fs/cgroup/memory/memory.limit_in_bytes":     "9223372036854771712\n",
		}, 2048, 10},
	} {
		most, used := cgroupMemory(func(file string) ([]byte, error) {
			if text, ok := c.files[file]; ok {
				return []byte(text), nil
			}
			return nil, fs.ErrNotExist
		})
		if most != c.most || used != c.used {
			t.Errorf("%s: %d, %d, want %d, %d", name, most, used, c.most, c.used)
		}
	}
}

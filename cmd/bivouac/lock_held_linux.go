package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/bivouac-ml/bivouac/store"
)

// lockHeld reports whether a process of this machine holds the lock of the run in dir. It reads the
// list of locks of the system and takes no lock, so no start of a job can fail because of it. known
// is false if the system does not tell.
func lockHeld(dir string) (held, known bool) {
	info, err := os.Stat(filepath.Join(dir, store.LockName))
	if os.IsNotExist(err) {
		return false, true
	}
	if err != nil {
		return false, false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	f, err := os.Open("/proc/locks")
	if err != nil || !ok {
		return false, false
	}
	defer f.Close() //nolint:errcheck // only read
	id := fmt.Sprintf("%02x:%02x:%d", unix.Major(st.Dev), unix.Minor(st.Dev), st.Ino)
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		// 1: FLOCK  ADVISORY  WRITE 4242 08:01:131090 0 EOF
		fields := strings.Fields(lines.Text())
		if len(fields) > 5 && fields[1] == "FLOCK" && fields[3] == "WRITE" && fields[5] == id {
			return true, true
		}
	}
	return false, lines.Err() == nil
}

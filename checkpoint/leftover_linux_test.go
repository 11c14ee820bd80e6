package checkpoint_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/store"
)

// stoppedSave tells the test binary to save this path and to stop in the middle.
const stoppedSave = "BIVOUAC_STOPPED_SAVE"

// TestStoppedSave is the child: it says that it is in the middle of a save, and goes on
// when its standard input ends.
func TestStoppedSave(t *testing.T) {
	path := os.Getenv(stoppedSave)
	if path == "" {
		t.Skip("this is the child of TestKilledSaveIsFreed")
	}
	asked := false
	err := checkpoint.Save(context.Background(), path, map[string]any{"w": make([]float32, 1<<20)},
		&checkpoint.SaveOptions{Progress: func(done, total int64) {
			if !asked {
				asked = true
				fmt.Println("in the middle")
				io.Copy(io.Discard, os.Stdin) //nolint:errcheck // its end is what counts
			}
		}})
	if err != nil {
		t.Fatal(err)
	}
}

func staged(t *testing.T, dir string) (names []string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if store.IsStaging(e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names
}

// The next save of the name or of a neighbour removes what a killed process left behind. It leaves
// alone the save of a living process, and what another process may have under way.
func TestKilledSaveIsFreed(t *testing.T) {
	for _, next := range []string{"a", "b"} {
		dir := t.TempDir()
		start := func() (*exec.Cmd, io.Closer) {
			cmd := exec.Command(os.Args[0], "-test.run=^TestStoppedSave$")
			cmd.Env = append(os.Environ(), stoppedSave+"="+filepath.Join(dir, "a"))
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewScanner(out)
			for lines.Scan() && lines.Text() != "in the middle" {
			}
			return cmd, in
		}
		save := func(name string) {
			t.Helper()
			if err := checkpoint.Save(t.Context(), filepath.Join(dir, name), map[string]any{"n": int64(1)}, nil); err != nil {
				t.Fatal(err)
			}
		}
		foreign := filepath.Join(dir, store.StagingName("a", "1700000000000000")) // as Orbax names it
		if err := os.Mkdir(foreign, 0o777); err != nil {
			t.Fatal(err)
		}
		cmd, in := start()
		save("c")
		if n := len(staged(t, dir)); n != 2 {
			t.Errorf("beside a living save %d staging directories, want that and the one of another program", n)
		}
		if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		cmd.Wait() //nolint:errcheck // it was killed
		save(next)
		if left := staged(t, dir); len(left) != 1 || !strings.HasSuffix(foreign, left[0]) {
			t.Errorf("after the save of %s there is %v", next, left)
		}
		if next == "a" {
			in.Close() //nolint:errcheck // nobody reads it
			continue
		}
		cmd, in = start()
		save("d")
		if err := in.Close(); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("a living save beside another one: %v", err)
		}
		if _, err := checkpoint.Load(t.Context(), filepath.Join(dir, "a"), nil); err != nil {
			t.Error(err)
		}
	}
}

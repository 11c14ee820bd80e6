package cluster_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/cluster"
)

// putsIn tells the test binary to write two documents into a directory.
const putsIn = "BIVOUAC_CLUSTER_PUTS_IN"

// The document of a lease, and its name, survive a power failure, so that no token comes back.
// Other documents are not worth the time.
func TestTokensAreSynced(t *testing.T) {
	if dir := os.Getenv(putsIn); dir != "" {
		b, err := cluster.Directory(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"member/000000", "lease/writer"} {
			if _, err := b.Put(t.Context(), key, []byte("{}"), ""); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		return
	}
	strace, err := exec.LookPath("strace")
	if err != nil {
		if os.Getenv("BIVOUAC_REQUIRE_STRACE") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	dir := t.TempDir()
	log, board := filepath.Join(dir, "log"), filepath.Join(dir, "board")
	c := exec.Command(strace, "-f", "-y", "-e", "trace=fsync,fdatasync,link,linkat", "-o", log, os.Args[0],
		"-test.run=^TestTokensAreSynced$", "-test.count=1")
	c.Env = append(os.Environ(), putsIn+"="+board)
	if out, err := c.CombinedOutput(); err != nil {
		t.Skipf("strace does not work here: %v\n%s", err, out)
	}
	b, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(string(b)) {
		switch {
		case strings.Contains(line, "sync(") && strings.Contains(line, "/.new-"):
			got = append(got, "sync a file")
		case strings.Contains(line, "sync(") && strings.Contains(line, "<"+board+">"):
			got = append(got, "sync the directory")
		case strings.Contains(line, "link") && strings.Contains(line, "lease%2Fwriter"):
			got = append(got, "lease")
		case strings.Contains(line, "link") && strings.Contains(line, "member%2F"):
			got = append(got, "member")
		}
	}
	if text := strings.Join(got, ", "); text != "member, sync a file, lease, sync the directory" {
		t.Errorf("want member, sync a file, lease, sync the directory; got %s\n%s", text, b)
	}
}

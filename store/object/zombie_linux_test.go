package object_test

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store/object"
	"github.com/bivouac-ml/bivouac/store/object/simulated"
)

// TestZombie: a process that has ended holds no lock, even if nobody has waited for it. One that
// is stopped does.
func TestZombie(t *testing.T) {
	for name, free := range map[string]bool{"exec true": true, "kill -STOP $$": false} {
		child := exec.Command("sh", "-c", name)
		if err := child.Start(); err != nil {
			t.Skip(err)
		}
		t.Cleanup(func() {
			child.Process.Kill() //nolint:errcheck // it may have ended
			child.Wait()         //nolint:errcheck // its status is not of interest
		})
		want := map[bool]string{true: ") Z ", false: ") T "}[free]
		for begin := time.Now(); ; time.Sleep(time.Millisecond) {
			b, err := os.ReadFile("/proc/" + strconv.Itoa(child.Process.Pid) + "/stat")
			if err != nil || time.Since(begin) > 10*time.Second {
				t.Fatalf("%s: want the state%s, got %s, %v", name, want, b, err)
			}
			if strings.Contains(string(b), want) {
				break
			}
		}
		server := simulated.NewServer(0, simulated.Lies{})
		b := server.Bucket(nil)
		l, err := object.New(b, "", object.Options{}).Lock(t.Context(), "run")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close() //nolint:errcheck // the test replaces its document
		for _, key := range server.Keys() {
			if !strings.HasSuffix(key, "/lock") {
				continue
			}
			doc, _, err := b.Read(t.Context(), key, 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			mine, its := object.Process(os.Getpid()), object.Process(child.Process.Pid)
			other := []byte(strings.Replace(string(doc), strings.Trim(mine, "{}"), strings.Trim(its, "{}"), 1))
			if string(other) == string(doc) {
				t.Fatalf("%s does not name the process: %s", key, doc)
			}
			if _, err := b.Put(t.Context(), key, other, sum(other), object.Condition{}); err != nil {
				t.Fatal(err)
			}
		}
		again, err := object.New(b, "", object.Options{}).Lock(t.Context(), "run")
		if free != (err == nil) || !free && errs.KindOf(err) != errs.Busy {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			if err := again.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

package object_test

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/object"
	"github.com/bivouac-ml/bivouac/store/object/simulated"
)

// TestEndedProcess: the lock and the leftovers of a process of this system that has ended are free
// at once. What a living process holds, or any process of another system, is not.
func TestEndedProcess(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has a name for one boot and its process numbers")
	}
	child := exec.Command("true")
	if err := child.Run(); err != nil {
		t.Skip(err)
	}
	for name, c := range map[string]struct {
		process string
		free    bool
	}{
		"ended":          {object.Process(child.Process.Pid), true},
		"living":         {object.Process(os.Getppid()), false},
		"this process":   {object.Process(os.Getpid()), false},
		"another system": {strings.Replace(object.Process(child.Process.Pid), `"system":"`, `"system":"other `, 1), false},
		"unknown":        {`{}`, false},
		"no number":      {object.Process(0), false},
		"a bad number":   {object.Process(-1 << 30), false},
	} {
		server := simulated.NewServer(0, simulated.Lies{})
		b := server.Bucket(nil)
		st := object.New(b, "", object.Options{})
		if _, err := st.Begin(t.Context(), "run/1", store.TxnOptions{}); err != nil {
			t.Fatal(err)
		}
		l, err := st.Lock(t.Context(), "run")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close() //nolint:errcheck // the test replaces its document
		mine := object.Process(os.Getpid())
		for _, key := range server.Keys() {
			if !strings.HasSuffix(key, "/lock") && !strings.Contains(key, "/live/") {
				continue
			}
			doc, _, err := b.Read(t.Context(), key, 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			other := strings.Replace(string(doc), strings.Trim(mine, "{}"), strings.Trim(c.process, "{}"), 1)
			other = strings.Replace(other, ",,", ",", 1)
			if name != "this process" && other == string(doc) {
				t.Fatalf("%s: %s does not name the process: %s", name, key, doc)
			}
			if _, err := b.Put(t.Context(), key, []byte(other), sum([]byte(other)), object.Condition{}); err != nil {
				t.Fatal(err)
			}
		}
		st = object.New(b, "", object.Options{})
		removed, err := st.CleanStaging(t.Context(), "run", nil)
		if err != nil || len(removed) == 1 != c.free {
			t.Errorf("%s: removed %q, %v", name, removed, err)
		}
		again, err := st.Lock(t.Context(), "run")
		if c.free != (err == nil) || !c.free && errs.KindOf(err) != errs.Busy {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			if err := again.Close(); err != nil {
				t.Error(name, err)
			}
		}
	}
}

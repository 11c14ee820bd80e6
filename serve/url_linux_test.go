package serve

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
	objects "github.com/bivouac-ml/bivouac/store/object"
	"github.com/bivouac-ml/bivouac/store/object/simulated"
)

// bucket returns the URL of a directory in a simulated bucket, of which there is one for a test.
func bucket(t *testing.T) string {
	t.Helper()
	scheme := freshScheme()
	server := simulated.NewServer(0, simulated.Lies{})
	store.Register(scheme, func(context.Context, string) (store.Store, error) {
		return objects.New(server.Bucket(nil), "", objects.Options{}), nil
	})
	return scheme + "://bucket/dir"
}

// freshScheme returns a scheme that no other run of a test has: its first opener counts.
func freshScheme() string { return "t" + strconv.FormatInt(time.Now().UnixNano(), 10) }

// servedWith starts a server with options for one connection.
func servedWith(t testing.TB, o Options) *client {
	t.Helper()
	ours, theirs := pair(t)
	o.Version = testVersion
	done := make(chan error, 1)
	go func() { done <- Serve(context.Background(), theirs, o) }()
	t.Cleanup(func() {
		ours.Close()
		<-done
	})
	c := &client{t: t, conn: ours}
	c.greet()
	return c
}

func TestURLsInPlaceOfPaths(t *testing.T) {
	url, c := bucket(t), served(t)
	id, mem := c.arena(4096)
	mem[0] = 7
	c.quiet("save", object{"path": url + "/a", "items": state(8), "arena": id})
	if got := c.load("load", object{"path": url + "/a"}); got.mem[0] != 7 {
		t.Errorf("%+v", got)
	}
	if v := c.quiet("metadata", object{"path": url + "/a"}); v.Info.Path != url+"/a" {
		t.Errorf("%q", v.Info.Path)
	}
	if s := c.call("verify", object{"path": url + "/a"}); !strings.Contains(string(s.Value), "sound") {
		t.Errorf("%s", s.Value)
	}
	run := c.quiet("training.open", object{"dir": url + "/run?x=y"}).Checkpointer
	c.quiet("training.save", object{"checkpointer": run, "step": 5, "items": state(8), "arena": id})
	v := c.quiet("training.metadata", object{"checkpointer": run, "step": -1})
	if v.Info.Path != url+"/run/5?x=y" {
		t.Errorf("%q", v.Info.Path)
	}
	v = c.quiet("training.metadata", object{"checkpointer": run, "step": 5, "allow_no_manifest": true})
	if v.Info.Path != url+"/run/5?x=y" {
		t.Errorf("%q", v.Info.Path)
	}
	c.quiet("training.close", object{"checkpointer": run})
}

func TestURLsThatTheProgramDoesNotOpen(t *testing.T) {
	url := bucket(t)
	c := servedWith(t, Options{CheckURL: func(u string) error {
		if strings.HasPrefix(u, "closed://") {
			return &errs.Error{Kind: errs.Unsupported, Subject: u, Remedy: "open it"}
		}
		return nil
	}})
	bad, disk := "closed://me:hidden@b/x", filepath.Join(t.TempDir(), "run")
	id, _ := c.arena(4096)
	for op, args := range map[string]object{
		"save":           {"path": bad, "items": state(8), "arena": id},
		"load":           {"path": bad},
		"load_transform": {"paths": []string{url + "/a", bad}, "rules": "[]"},
		"is_checkpoint":  {"path": bad},
		"training.open":  {"dir": bad},
		"partial.abort":  {"path": bad},
	} {
		f := c.refused(errs.Unsupported, op, args)
		if f.Remedy != "open it" || f.Subject != "closed://…@b/x" || strings.Contains(f.Text, "hidden") {
			t.Errorf("%s: %+v", op, f)
		}
	}
	c.refused(errs.Unsupported, "save", object{"path": url + "/b", "base": bad, "items": state(8), "arena": id})
	c.refused(errs.Unsupported, "training.open", object{"dir": disk, "tiers": []object{{"directory": bad}}})
	if _, err := os.Stat(disk); err == nil {
		t.Error("the run was made")
	}
}

func TestEnvironment(t *testing.T) {
	t.Setenv("AWS_TEST_A", "before")
	t.Setenv("AWS_TEST_B", "before")
	c := servedWith(t, Options{own: true})
	scheme := freshScheme()
	var opened atomic.Int32
	url := scheme + "://b"
	server := simulated.NewServer(0, simulated.Lies{})
	store.Register(scheme, func(context.Context, string) (store.Store, error) {
		opened.Add(1)
		return objects.New(server.Bucket(nil), "", objects.Options{}), nil
	})
	for range 2 {
		c.call("is_checkpoint", object{"path": url + "/x"})
	}
	if opened.Load() != 1 {
		t.Fatalf("opened %d times", opened.Load())
	}
	c.call("environment", object{"variables": object{"AWS_TEST_A": "after é\n", "AWS_TEST_B": nil}})
	_, has := os.LookupEnv("AWS_TEST_B")
	if got := os.Getenv("AWS_TEST_A"); got != "after é\n" || has {
		t.Errorf("%q, %v", got, has)
	}
	c.call("is_checkpoint", object{"path": url + "/x"})
	if opened.Load() != 2 {
		t.Errorf("opened %d times", opened.Load())
	}
	for _, bad := range []any{
		object{"PATH": "hidden"}, object{"AWS_TEST_A": "hidden", "LD_PRELOAD": "hidden"}, object{"AWS_A=B": "hidden"},
		object{"AWS_TEST_A": 5}, object{"AWS_TEST_A": object{"hidden": 1}}, "hidden", 5, object{"AWS_TEST_A": "hid\x00den"},
	} {
		f := c.refused(errs.Invalid, "environment", object{"variables": bad})
		if strings.Contains(f.Text, "hidden") || strings.Contains(f.Text, "hid\x00") {
			t.Errorf("%v: %s", bad, f.Text)
		}
	}
	if got := os.Getenv("AWS_TEST_A"); got != "after é\n" {
		t.Errorf("%q", got)
	}
	shared := served(t)
	f := shared.refused(errs.Unsupported, "environment", object{"variables": object{"AWS_TEST_A": "x"}})
	if !strings.Contains(f.Remedy, "--listen") {
		t.Errorf("%+v", f)
	}
}

func TestDirectory(t *testing.T) {
	before, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chdir(before) }) //nolint:errcheck // it was there before
	dir := t.TempDir()
	c := servedWith(t, Options{own: true})
	c.call("directory", object{"path": dir})
	if got, err := os.Getwd(); got != dir {
		t.Errorf("%q, %v", got, err)
	}
	for _, bad := range []any{"", "relative", 5, nil} {
		c.refused(errs.Invalid, "directory", object{"path": bad})
	}
	c.refused(errs.NotFound, "directory", object{"path": dir + "/none"})
	f := served(t).refused(errs.Unsupported, "directory", object{"path": before})
	if !strings.Contains(f.Remedy, "absolute") {
		t.Errorf("%+v", f)
	}
	if got, err := os.Getwd(); got != dir {
		t.Errorf("%q, %v", got, err)
	}
}

// tierValue is what training.tiers returns.
type tierValue struct {
	Tiers []struct {
		Tier    string
		Known   bool
		Steps   []int64
		Waiting []int64
		Error   *fault
	}
}

func TestTiers(t *testing.T) {
	url, dir := bucket(t), filepath.Join(t.TempDir(), "run")
	c := served(t)
	id, _ := c.arena(4096)
	open := func(more object) int64 {
		args := object{"dir": dir, "save_policy": object{"policy": "FixedIntervalPolicy", "args": object{"interval": 1}}}
		for name, v := range more {
			args[name] = v
		}
		return c.quiet("training.open", args).Checkpointer
	}
	tier := object{"directory": url, "name": "far", "hold": 1, "no_read_back": true,
		"save_policy":         object{"policy": "FixedIntervalPolicy", "args": object{"interval": 2}},
		"preservation_policy": object{"policy": "LatestN", "args": object{"n": 2}}}
	run := open(object{"tiers": []object{tier}, "uploads": object{"rate": 1 << 30, "memory": 1 << 20, "patience": 60},
		"preservation_policy": object{"policy": "LatestN", "args": object{"n": 1}}})
	for step := range 5 {
		c.quiet("training.save", object{"checkpointer": run, "step": step, "items": state(8), "arena": id})
	}
	c.quiet("training.drain", object{"checkpointer": run, "seconds": 60, "newest": true})
	var got tierValue
	status := c.start("training.tiers", object{"checkpointer": run})
	c.await(func(s said) bool { return s.ID == status }).into(t, &got)
	if len(got.Tiers) != 2 || got.Tiers[0].Tier != dir || !slices.Contains(got.Tiers[0].Steps, 4) ||
		got.Tiers[1].Tier != "far" || !got.Tiers[1].Known || !slices.Contains(got.Tiers[1].Steps, 4) {
		t.Errorf("%+v", got)
	}
	for _, s := range c.quiet("training.checkpoints", object{"checkpointer": run}).Checkpoints {
		near := s.Step >= 3 // step 3 is about to be removed there
		if want := map[bool]string{true: "", false: url + "/" + s.Directory}[near]; s.Path != want {
			t.Errorf("step %d: %q, want %q", s.Step, s.Path, want)
		}
	}
	c.quiet("training.close", object{"checkpointer": run})

	// A disk that lost its steps reads them from the tier.
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	run = open(object{"tiers": []object{{"directory": url}}})
	if v := c.quiet("training.metadata", object{"checkpointer": run, "step": -1}); v.Info.Path != url+"/4" {
		t.Errorf("%q", v.Info.Path)
	}
	c.quiet("training.close", object{"checkpointer": run})

	// Time that is too short leaves steps behind, and says which.
	slow := object{"rate": 1, "patience": 0}
	run = open(object{"tiers": []object{{"directory": url, "name": "far"}}, "uploads": slow})
	c.quiet("training.save", object{"checkpointer": run, "step": 9, "items": state(8), "arena": id})
	closing := c.start("training.close", object{"checkpointer": run})
	s := c.await(func(s said) bool { return s.ID == closing })
	if s.Error == nil || !strings.Contains(s.Error.Text, "step 9 for far") {
		t.Errorf("%s", s.Body)
	}
	// A cancel ends the copies, and the run is closed all the same.
	slow = object{"rate": 1}
	run = open(object{"tiers": []object{{"directory": url, "name": "far"}}, "uploads": slow})
	c.quiet("training.save", object{"checkpointer": run, "step": 10, "items": state(8), "arena": id})
	closing = c.start("training.close", object{"checkpointer": run})
	c.send(kindCancel, object{"id": closing})
	if s := c.await(func(s said) bool { return s.ID == closing }); s.Error == nil {
		t.Errorf("%s", s.Body)
	}
	run = open(object{})
	c.quiet("training.save", object{"checkpointer": run, "step": 11, "items": state(8), "arena": id})
	c.quiet("training.close", object{"checkpointer": run})
}

func TestBadTiers(t *testing.T) {
	url, dir := bucket(t), t.TempDir()
	c := served(t)
	for text, args := range map[string]object{
		"directory":           {"tiers": []object{{"name": "x"}}},
		"save_policy":         {"tiers": []object{{"directory": url, "save_policy": object{"policy": "Other"}}}},
		"preservation_policy": {"tiers": []object{{"directory": url, "preservation_policy": object{"policy": "Other"}}}},
		"tiers":               {"tiers": []object{{"directory": url, "ask": true}}},
		"uploads":             {"tiers": []object{{"directory": url}}, "uploads": object{"speed": 1}},
		"Options.Uploads":     {"tiers": []object{{"directory": url}}, "uploads": object{"rate": -1}},
		"Tiers[0].Hold":       {"tiers": []object{{"directory": url, "hold": -1}}},
	} {
		args["dir"] = dir
		if f := c.refused(errs.Invalid, "training.open", args); !strings.Contains(f.Text, text) {
			t.Errorf("%s: %s", text, f.Text)
		}
	}
}

// TestTheEndOfAClientEndsItsCopies: the side-car of a trainer that was killed copies nothing more
// to a slow tier, and the run is free.
func TestTheEndOfAClientEndsItsCopies(t *testing.T) {
	url, dir := bucket(t), filepath.Join(t.TempDir(), "run")
	ours, theirs := pair(t)
	done := make(chan error, 1)
	go func() { done <- Serve(context.Background(), theirs, Options{Version: testVersion}) }()
	c := &client{t: t, conn: ours}
	c.greet()
	id, _ := c.arena(4096)
	run := c.quiet("training.open", object{"dir": dir, "tiers": []object{{"directory": url}},
		"uploads": object{"rate": 1}}).Checkpointer
	c.quiet("training.save", object{"checkpointer": run, "step": 1, "items": state(8), "arena": id})
	ours.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
	again := served(t)
	id, _ = again.arena(4096)
	run = again.quiet("training.open", object{"dir": dir}).Checkpointer
	again.quiet("training.save", object{"checkpointer": run, "step": 2, "items": state(8), "arena": id})
	again.quiet("training.close", object{"checkpointer": run})
}

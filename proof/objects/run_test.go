package objects

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/integrity"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/object"
	"github.com/bivouac-ml/bivouac/store/object/gcs/gcstest"
	"github.com/bivouac-ml/bivouac/store/object/s3/s3test"
	"github.com/bivouac-ml/bivouac/store/object/simulated"
	"github.com/bivouac-ml/bivouac/store/storetest"

	_ "github.com/bivouac-ml/bivouac/store/object/gcs" // the scheme gs
	_ "github.com/bivouac-ml/bivouac/store/object/s3"  // the scheme s3
)

type state struct {
	W [][]float32
	B []float32
	N int64
}

// made returns the state of a step. The first array is the same in all steps.
func made(step int) *state {
	s := &state{B: []float32{1, 2, 3}, N: int64(step)}
	for i := range 3 {
		v := make([]float32, 5000)
		for j := range v {
			v[j] = float32(step*i + j)
		}
		s.W = append(s.W, v)
	}
	return s
}

// TestRunInMemory is a run in the simulated object store.
func TestRunInMemory(t *testing.T) {
	server := simulated.NewServer(0, simulated.Lies{})
	store.Register("memory", func(context.Context, string) (store.Store, error) {
		return object.New(server.Bucket(nil), "team/", object.Options{}), nil
	})
	run(t, func(name string) string { return "memory://b/" + name })
}

// TestRunInS3 is the same run in a real server.
func TestRunInS3(t *testing.T) {
	server := serverFor(t)
	url := server.Bucket(t, "runs")
	run(t, func(name string) string { return store.JoinURL(url, "team/"+name) })
}

// TestRunInGCS is the same run in a server that answers like Google Cloud Storage.
func TestRunInGCS(t *testing.T) {
	url := bucketOfGCS(t, "runs")
	run(t, func(name string) string { return store.JoinURL(url, "team/"+name) })
}

// TestStoreInGCS runs the conformance suite of stores in a server that answers like Google Cloud
// Storage.
func TestStoreInGCS(t *testing.T) {
	n := 0
	storetest.Run(t, func(t *testing.T) store.Store {
		n++
		st, _, err := store.FromURL(t.Context(), bucketOfGCS(t, fmt.Sprint("suite-", n)))
		if err != nil {
			t.Fatal(err)
		}
		return st
	})
}

// bucketOfGCS makes a bucket in a server of its own. With STORAGE_EMULATOR_HOST it makes the bucket
// in that server.
func bucketOfGCS(t *testing.T, name string) string {
	t.Helper()
	host := os.Getenv("STORAGE_EMULATOR_HOST")
	if host == "" {
		return gcstest.Start(t).Bucket(t, name)
	}
	name = fmt.Sprintf("%s-%d", name, time.Now().UnixNano())
	said := strings.NewReader(`{"name": "` + name + `"}`)
	answer, err := http.Post(host+"/storage/v1/b?project=test", "application/json", said)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("%s makes no bucket: %s", host, answer.Status)
	}
	return "gs://" + name
}

// TestStoreInS3 runs the conformance suite of stores in a real server.
func TestStoreInS3(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	server, n := serverFor(t), 0
	storetest.Run(t, func(t *testing.T) store.Store {
		n++
		st, _, err := store.FromURL(t.Context(), server.Bucket(t, fmt.Sprint("suite-", n)))
		if err != nil {
			t.Fatal(err)
		}
		return st
	})
}

// serverFor starts a server, and puts its keys into the environment.
func serverFor(t *testing.T) *s3test.Server {
	t.Helper()
	server := s3test.Start(t)
	t.Setenv("AWS_ACCESS_KEY_ID", server.Access)
	t.Setenv("AWS_SECRET_ACCESS_KEY", server.Secret)
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_REGION", "us-east-1")
	return server
}

// run trains in an object store: steps with retention and shared bytes, a start after the end, a
// step that is set aside, and a checkpoint that is replaced. url returns the URL of a name.
func run(t *testing.T, url func(name string) string) {
	o := &training.Options{Preserve: training.LatestN{N: 3}, Clean: true, Foreground: true,
		Dedup: training.Dedup{On: true}}
	// Each array has its own file, so that those that do not change can be shared.
	ctx := options.With(t.Context(), options.Options{Bivouac: options.Bivouac{Layout: options.PlainZarr3}})
	c, err := training.Open(ctx, url("run"), o)
	if err != nil {
		t.Fatal(err)
	}
	for step := range 6 {
		if ok, err := c.Save(ctx, int64(step), made(step), nil); err != nil || !ok {
			t.Fatal(step, ok, err)
		}
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	shared(t, url)
	if c, err = training.Open(ctx, url("run"), o); err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if s := fmt.Sprint(c.Steps()); s != "[3 4 5]" {
		t.Fatal(s)
	}
	got := &state{}
	if err := c.LoadInto(ctx, 5, got, nil); err != nil || fmt.Sprint(got) != fmt.Sprint(made(5)) {
		t.Fatal(err)
	}
	r, err := integrity.Verify(ctx, url("run/5"), nil)
	if err != nil || !r.OK() {
		t.Fatal(err, r)
	}
	out(t, url("run/5"))
	if err := c.Quarantine(ctx, 4, errors.New("why")); err != nil {
		t.Fatal(err)
	}
	if s := fmt.Sprint(c.Steps()); s != "[3 5]" {
		t.Fatal(s)
	}
	replaced(t, url("one"))
}

// shared checks that the steps share the bytes that did not change, and that the keys of the store
// stay out of sight.
func shared(t *testing.T, url func(string) string) {
	t.Helper()
	st, name, err := store.FromURL(t.Context(), url("run"))
	if err != nil {
		t.Fatal(err)
	}
	for info, err := range st.List(t.Context(), name) {
		if err != nil || strings.HasPrefix(info.Name, ".") {
			t.Fatalf("the keys of the store are visible: %v, %v", info, err)
		}
	}
	if r, err := st.Open(t.Context(), name+"/.bivouac.objects/lock"); errs.KindOf(err) != errs.Invalid {
		t.Fatal(r, err)
	}
	last := readAll(t, url("run/5"))
	for file, old := range readAll(t, url("run/4")) {
		if bytes.Equal(old, last[file]) && len(old) > 10_000 {
			return
		}
	}
	t.Fatal("no file of step 5 has the bytes of step 4")
}

// out converts a step to a local directory, and compares what is read there.
func out(t *testing.T, url string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "5")
	if err := checkpoint.Convert(t.Context(), url, dir, nil); err != nil {
		t.Fatal(err)
	}
	there, here := &state{}, &state{}
	if err := errors.Join(checkpoint.LoadInto(t.Context(), url, there, nil),
		checkpoint.LoadInto(t.Context(), dir, here, nil)); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(here) != fmt.Sprint(made(5)) || fmt.Sprint(here) != fmt.Sprint(there) {
		t.Fatal("the converted step has other values")
	}
	// The bytes of the objects are a checkpoint by themselves, wherever they are copied.
	plain := filepath.Join(t.TempDir(), "5")
	for name, b := range readAll(t, url) {
		file := filepath.Join(plain, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o777), os.WriteFile(file, b, 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	copied := &state{}
	if err := checkpoint.LoadInto(t.Context(), plain, copied, nil); err != nil ||
		fmt.Sprint(copied) != fmt.Sprint(made(5)) {
		t.Fatal(err)
	}
	if r, err := integrity.Verify(t.Context(), plain, nil); err != nil || !r.OK() {
		t.Fatal(err, r)
	}
}

// readAll reads the objects below a URL.
func readAll(t *testing.T, url string) map[string][]byte {
	t.Helper()
	st, root, err := store.FromURL(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]byte{}
	dirs := []string{root}
	for len(dirs) > 0 {
		dir := dirs[0]
		dirs = dirs[1:]
		for info, err := range st.List(t.Context(), dir) {
			if err != nil {
				t.Fatal(err)
			}
			name := dir + "/" + info.Name
			if info.Dir {
				dirs = append(dirs, name)
				continue
			}
			b, err := store.ReadAll(t.Context(), st, name)
			if err != nil {
				t.Fatal(err)
			}
			all[strings.TrimPrefix(name, root+"/")] = b
		}
	}
	if len(all) == 0 {
		t.Fatalf("%s is empty", url)
	}
	return all
}

// replaced saves a checkpoint, which only Overwrite replaces.
func replaced(t *testing.T, url string) {
	t.Helper()
	ctx := t.Context()
	if err := checkpoint.Save(ctx, url, made(1), nil); err != nil {
		t.Fatal(err)
	}
	if err := checkpoint.Save(ctx, url, made(2), nil); errs.KindOf(err) != errs.Exists {
		t.Fatalf("saved twice: %v", err)
	}
	got := &state{}
	if err := checkpoint.LoadInto(ctx, url, got, nil); err != nil || got.N != 1 {
		t.Fatal(err, got.N)
	}
	if err := checkpoint.Save(ctx, url, made(2), &checkpoint.SaveOptions{Overwrite: true}); err != nil {
		t.Fatal(err)
	}
	if err := checkpoint.LoadInto(ctx, url, got, nil); err != nil || got.N != 2 {
		t.Fatal(err, got.N)
	}
	files := readAll(t, url)
	if _, ok := files["commit_success.txt"]; !ok {
		t.Fatal(slices.Collect(maps.Keys(files)))
	}
}

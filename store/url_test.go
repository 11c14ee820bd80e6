package store_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

func TestSplitURL(t *testing.T) {
	for url, want := range map[string][2]string{
		"s3://b":                    {"s3://b", ""},
		"s3://b/":                   {"s3://b", ""},
		"S3://b/run/5":              {"s3://b", "run/5"},
		"s3://b/run/5/?x=1&y=a/b":   {"s3://b?x=1&y=a/b", "run/5"},
		"s3://b?endpoint=http://h":  {"s3://b?endpoint=http://h", ""},
		"s3://b/a%2Fb":              {"s3://b", "a%2Fb"},
		"s3://b/run?":               {"s3://b", "run"},
		"s3://b/a#1":                {"s3://b", "a#1"},
		"s3://b/with space/100%/é?": {"s3://b", "with space/100%/é"},
		"az://account/c/run/5?x=1":  {"az://account/c?x=1", "run/5"},
		"AZ://account/c/":           {"az://account/c", ""},
		"az://account/c":            {"az://account/c", ""},
		"az://account/":             {"az://account", ""},
		"az://account?x=1":          {"az://account?x=1", ""},
	} {
		root, name := store.SplitURL(url)
		if root != want[0] || name != want[1] {
			t.Errorf("%s: %q, %q", url, root, name)
		}
		if r, n := store.SplitURL(store.JoinURL(root, name)); r != root || n != name {
			t.Errorf("%s and back: %q, %q", url, r, n)
		}
	}
}

type fake struct{ store.Store }

// All callers share one store. One that could not be opened is opened again.
func TestFromURL(t *testing.T) {
	var calls atomic.Int64
	var fails atomic.Bool
	store.Register("fake", func(_ context.Context, root string) (store.Store, error) {
		calls.Add(1)
		if fails.Load() {
			return nil, errors.New(root)
		}
		return &fake{}, nil
	})
	store.Register("fake", func(context.Context, string) (store.Store, error) { panic("the second one") })
	fails.Store(true)
	if _, _, err := store.FromURL(t.Context(), "fake://b/x"); err == nil || err.Error() != "fake://b" {
		t.Fatal(err)
	}
	fails.Store(false)
	calls.Store(0)
	var all [8]store.Store
	var wait sync.WaitGroup
	for i := range all {
		wait.Go(func() {
			st, name, err := store.FromURL(t.Context(), "FAKE://b/"+string(rune('a'+i)))
			if err != nil || name != string(rune('a'+i)) {
				t.Error(name, err)
			}
			all[i] = st
		})
	}
	wait.Wait()
	for _, st := range all {
		if st != all[0] || st == nil {
			t.Fatal("two stores for one bucket")
		}
	}
	if n := calls.Load(); n != 1 {
		t.Fatalf("opened %d times", n)
	}
	if st, _, err := store.FromURL(t.Context(), "fake://b/a?other=1"); err != nil || st == all[0] {
		t.Fatal("parameters have no effect", err)
	}
}

func TestFromURLRefuses(t *testing.T) {
	store.Register("known", func(context.Context, string) (store.Store, error) { return &fake{}, nil })
	for url, want := range map[string]struct {
		kind errs.Kind
		text string
	}{
		"none://b/x":               {errs.Unsupported, "known"},
		"known://key:SECRET@b/x":   {errs.Invalid, "credentials in the URL"},
		"known://b/x//y":           {errs.Invalid, "x//y"},
		"known://b/../c":           {errs.Invalid, "../c"},
		"none://key:SECRET@b/x?y=": {errs.Invalid, "credentials in the URL"},
	} {
		_, _, err := store.FromURL(t.Context(), url)
		if errs.KindOf(err) != want.kind || !strings.Contains(err.Error(), want.text) ||
			strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%s: %v", url, err)
		}
	}
	// A caller whose context has ended does not wait for another one that opens the store.
	hold, opening := make(chan struct{}), make(chan struct{})
	store.Register("slow", func(context.Context, string) (store.Store, error) {
		close(opening)
		<-hold
		return &fake{}, nil
	})
	done := make(chan error)
	go func() {
		_, _, err := store.FromURL(context.Background(), "slow://b")
		done <- err
	}()
	<-opening
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := store.FromURL(ctx, "slow://b"); errs.KindOf(err) != errs.Canceled {
		t.Fatal(err)
	}
	close(hold)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// URLs of Azure in the forms of other programs are refused with the form of this one. A secret in
// front of the host is not repeated.
func TestOtherFormsOfAzure(t *testing.T) {
	for _, scheme := range []string{"abfs", "abfss", "wasb", "wasbs", "ABFSS"} {
		_, _, err := store.FromURL(t.Context(), scheme+"://topsecret@account.dfs.core.windows.net/run")
		if !errors.Is(err, errs.Unsupported) || !strings.Contains(err.Error(), "az://account/container") ||
			strings.Contains(err.Error(), "topsecret") {
			t.Errorf("%s: %v", scheme, err)
		}
	}
}

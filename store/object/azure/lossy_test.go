package azure_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/object"
	"github.com/bivouac-ml/bivouac/store/object/azure"
	"github.com/bivouac-ml/bivouac/store/object/azure/azuretest"
)

// lossy loses one request of 15 before it arrives, and the reply of one of 10.
type lossy struct {
	mu     sync.Mutex
	random *rand.Rand
	lost   int
}

func (l *lossy) RoundTrip(r *http.Request) (*http.Response, error) {
	l.mu.Lock()
	there, back := l.random.IntN(15) == 0, l.random.IntN(10) == 0
	if there || back {
		l.lost++
	}
	l.mu.Unlock()
	if there {
		return nil, errors.New("lost on the way there")
	}
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err == nil && back {
		_ = answer.Body.Close()
		return nil, errors.New("lost on the way back")
	}
	return answer, err
}

// A store commits, replaces, aborts and removes in Azurite over a network that loses requests and
// replies. Nothing is lost, nothing appears in part, and no upload is left.
func TestStoreOverALossyNetwork(t *testing.T) {
	lonely(t)
	server := azuretest.Start(t)
	url := server.Container(t, "lossy")
	ctx := t.Context()
	sound, _, err := azure.Open(ctx, url, azure.Options{Key: server.Key})
	if err != nil {
		t.Fatal(err)
	}
	network := &lossy{random: rand.New(rand.NewChaCha8([32]byte{2}))}
	var b object.Bucket
	for range 10 { // Open does not try again
		o := azure.Options{Key: server.Key, HTTPClient: &http.Client{Transport: network}}
		if b, _, err = azure.Open(ctx, url, o); err == nil {
			break
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	st := object.New(b, "", object.Options{Part: 64 << 10, Deadline: 30 * time.Second})
	random := rand.New(rand.NewChaCha8([32]byte{1}))
	write := func(name string, overwrite bool) (store.Txn, []byte) {
		t.Helper()
		p := make([]byte, 300_000)
		for i := range p {
			p[i] = byte(random.Uint32())
		}
		txn, err := st.Begin(ctx, name, store.TxnOptions{Overwrite: overwrite})
		if err != nil {
			t.Fatal(err)
		}
		w, err := txn.Create(ctx, "array", int64(len(p)))
		if err != nil {
			t.Fatal(err)
		}
		if err := w.WriteAt(ctx, p, 0); err != nil {
			t.Fatal(err)
		}
		if err := w.Seal(ctx); err != nil {
			t.Fatal(err)
		}
		return txn, p
	}
	want := map[string][]byte{}
	for i := range 12 {
		name := fmt.Sprint("run/", i%8)
		txn, p := write(name, i >= 8)
		if i%4 == 3 {
			if err := txn.Abort(); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := txn.Commit(ctx, store.Blob{Name: "manifest", Data: []byte(name)}); err != nil {
			t.Fatal(err)
		}
		want[name] = p
	}
	if err := st.RemoveTree(ctx, "run/1"); err != nil {
		t.Fatal(err)
	}
	if network.lost < 20 {
		t.Errorf("only %d requests were lost", network.lost)
	}
	delete(want, "run/1")
	after := object.New(sound, "", object.Options{})
	for i := range 8 {
		name := fmt.Sprint("run/", i)
		got, err := store.ReadAll(ctx, after, name+"/array")
		if p, ok := want[name]; !ok {
			if !errors.Is(err, errs.NotFound) {
				t.Errorf("%s: want nothing, got %d bytes, %v", name, len(got), err)
			}
		} else if err != nil || !bytes.Equal(got, p) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
	for u, err := range sound.Uploads(ctx, "") {
		t.Errorf("an upload of %s is left: %v", u.Key, err)
	}
}

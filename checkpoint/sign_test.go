package checkpoint_test

import (
	"bytes"
	"crypto/ed25519"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store/local"
)

// signingKey makes the key of a seed that is n everywhere.
func signingKey(n byte) (ed25519.PublicKey, ed25519.PrivateKey) {
	private := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{n}, ed25519.SeedSize))
	return private.Public().(ed25519.PublicKey), private
}

// A load with a key takes what that key signed, and nothing else; one without
// takes both.
func TestSigning(t *testing.T) {
	ctx := t.Context()
	st, err := local.Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	public, private := signingKey(1)
	stranger, _ := signingKey(2)
	for name, key := range map[string]ed25519.PrivateKey{"signed": private, "plain": nil} {
		if err := checkpoint.Save(ctx, name, goldenState(1), &checkpoint.SaveOptions{Store: st, Signing: key}); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name string
		key  ed25519.PublicKey
		want errs.Kind
	}{
		{"signed", public, errs.Other}, {"signed", nil, errs.Other}, {"signed", stranger, errs.Corrupt}, {"signed", public[:4], errs.Invalid},
		{"plain", nil, errs.Other}, {"plain", public, errs.Corrupt},
	} {
		o := &checkpoint.LoadOptions{Store: st, Key: c.key}
		if _, err := checkpoint.Load(ctx, c.name, o); errs.KindOf(err) != c.want || c.want == errs.Other && err != nil {
			t.Errorf("load of %s with %x: %v, want %v", c.name, c.key, err, c.want)
		}
		if _, err := checkpoint.LoadCheckpointables(ctx, c.name, o); (err != nil) != (c.want != errs.Other) {
			t.Errorf("load of the items of %s with %x: %v", c.name, c.key, err)
		}
		if r, err := checkpoint.OpenReader(ctx, c.name, o); (err != nil) != (c.want != errs.Other) {
			t.Errorf("reader of %s with %x: %v", c.name, c.key, err)
		} else if err == nil {
			r.Close()
		}
		r, err := checkpoint.Verify(ctx, c.name, &checkpoint.VerifyOptions{Store: st, Key: c.key})
		if sound := err == nil && r.OK(); sound != (c.want == errs.Other) {
			t.Errorf("verify of %s with %x: %v %+v", c.name, c.key, err, r)
		}
	}
	if err := checkpoint.Save(ctx, "bad", goldenState(1), &checkpoint.SaveOptions{Store: st, Signing: private[:9]}); errs.KindOf(err) != errs.Invalid {
		t.Errorf("a private key of 9 bytes: %v, want Invalid", err)
	}
}

// Steps of a Checkpointer are signed as well.
func TestSigningSteps(t *testing.T) {
	ctx := t.Context()
	public, private := signingKey(1)
	stranger, _ := signingKey(2)
	c, err := training.Open(ctx, t.TempDir(), &training.Options{Signing: private})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := saveStep(ctx, c, "3"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Load(ctx, 3, &checkpoint.LoadOptions{Key: public}); err != nil {
		t.Error(err)
	}
	if _, err := c.Load(ctx, 3, &checkpoint.LoadOptions{Key: stranger}); errs.KindOf(err) != errs.Corrupt {
		t.Errorf("another key: %v, want Corrupt", err)
	}
}

// A checkpoint of ours without its manifest is refused, unless that is allowed;
// with a key it is refused in any case.
func TestAllowNoManifest(t *testing.T) {
	files := content{}
	st := saved(t, goldenState(1))
	contentOf(t, st, "c", files)
	delete(files, manifest.Name)
	public, _ := signingKey(1)
	for _, c := range []struct {
		o    checkpoint.LoadOptions
		want errs.Kind
	}{
		{checkpoint.LoadOptions{}, errs.Corrupt},
		{checkpoint.LoadOptions{AllowNoManifest: true}, errs.Other},
		{checkpoint.LoadOptions{AllowNoManifest: true, Key: public}, errs.Corrupt},
	} {
		c.o.Store = contentStore{files: files}
		if _, err := checkpoint.Load(t.Context(), "c", &c.o); errs.KindOf(err) != c.want || c.want == errs.Other && err != nil {
			t.Errorf("%+v: %v, want %v", c.o, err, c.want)
		}
	}
}

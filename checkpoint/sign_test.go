package checkpoint_test

import (
	"bytes"
	"crypto/ed25519"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/diff"
	"github.com/bivouac-ml/bivouac/checkpoint/integrity"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
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
		if err := checkpoint.Save(ctx, name, goldenState(1),
			&checkpoint.SaveOptions{Options: options.Options{Bivouac: options.Bivouac{Signing: key}}, Store: st}); err != nil {
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
		o := &checkpoint.LoadOptions{Options: options.Options{Bivouac: options.Bivouac{Verification: c.key}}, Store: st}
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
		r, err := integrity.Verify(ctx, c.name, &integrity.VerifyOptions{Store: st, Key: c.key})
		if sound := err == nil && r.OK(); sound != (c.want == errs.Other) {
			t.Errorf("verify of %s with %x: %v %+v", c.name, c.key, err, r)
		}
	}
	if err := checkpoint.Save(ctx, "bad", goldenState(1),
		&checkpoint.SaveOptions{Options: options.Options{Bivouac: options.Bivouac{Signing: private[:9]}},
			Store: st}); errs.KindOf(err) != errs.Invalid {
		t.Errorf("a private key of 9 bytes: %v, want Invalid", err)
	}
}

// Steps of a Checkpointer are signed as well.
func TestSigningSteps(t *testing.T) {
	ctx := t.Context()
	public, private := signingKey(1)
	stranger, _ := signingKey(2)
	c, err := training.Open(ctx, t.TempDir(),
		&training.Options{Options: options.Options{Bivouac: options.Bivouac{Signing: private}}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := saveStep(ctx, c, "3"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Load(ctx, 3,
		&checkpoint.LoadOptions{Options: options.Options{Bivouac: options.Bivouac{Verification: public}}}); err != nil {
		t.Error(err)
	}
	if _, err := c.Load(ctx, 3,
		&checkpoint.LoadOptions{Options: options.Options{Bivouac: options.Bivouac{Verification: stranger}}}); errs.KindOf(err) != errs.Corrupt {
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
		{checkpoint.LoadOptions{Options: options.Options{Bivouac: options.Bivouac{Verification: public}}, AllowNoManifest: true}, errs.Corrupt},
	} {
		c.o.Store = contentStore{files: files}
		if _, err := checkpoint.Load(t.Context(), "c", &c.o); errs.KindOf(err) != c.want || c.want == errs.Other &&
			err != nil {
			t.Errorf("%+v: %v, want %v", c.o, err, c.want)
		}
	}
}

// A label keeps one checkpoint of a signer from passing for another.
func TestLabel(t *testing.T) {
	ctx := t.Context()
	public, private := signingKey(1)
	path := t.TempDir() + "/c"
	if err := checkpoint.Save(ctx, path, goldenState(1),
		&checkpoint.SaveOptions{Options: options.Options{Bivouac: options.Bivouac{Label: "run a",
			Signing: private}}}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		o    checkpoint.LoadOptions
		want errs.Kind
	}{
		{checkpoint.LoadOptions{Options: options.Options{Bivouac: options.Bivouac{Verification: public}}}, errs.Other},
		{checkpoint.LoadOptions{Options: options.Options{Bivouac: options.Bivouac{Label: "run a", Verification: public}}}, errs.Other},
		{checkpoint.LoadOptions{Options: options.Options{Bivouac: options.Bivouac{Label: "run b", Verification: public}}}, errs.Corrupt},
		{checkpoint.LoadOptions{Options: options.Options{Bivouac: options.Bivouac{Label: "run a"}}}, errs.Invalid},
	} {
		if _, err := checkpoint.Load(ctx, path, &c.o); errs.KindOf(err) != c.want || c.want == errs.Other && err != nil {
			t.Errorf("%q with a key of %d bytes: %v, want %v", c.o.Label, len(c.o.Verification), err, c.want)
		}
	}
}

// With Options.Key a Checkpointer lists what the key signed as the step that it
// is, loads that, and leaves the rest alone.
func TestSignedRun(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	public, private := signingKey(1)
	save := func(signing ed25519.PrivateKey, steps ...string) {
		c, err := training.Open(ctx, dir,
			&training.Options{Options: options.Options{Bivouac: options.Bivouac{Signing: signing}}})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range steps {
			if err := saveStep(ctx, c, s); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	save(private, "1", "2", "3")
	save(nil, "4")
	if err := os.Rename(filepath.Join(dir, "3"), filepath.Join(dir, "5")); err != nil {
		t.Fatal(err)
	}
	if _, err := training.Open(ctx, dir,
		&training.Options{Options: options.Options{Bivouac: options.Bivouac{Verification: public}}}); errs.KindOf(err) != errs.Corrupt {
		t.Errorf("without step 3: %v, want Corrupt", err)
	}
	var skipped []string
	c, err := training.Open(ctx, dir,
		&training.Options{Options: options.Options{Bivouac: options.Bivouac{Verification: public}}, Clean: true,
			AcceptMissing: true, OnEvent: func(e training.Event) {
				if e.Kind == training.Skipped {
					skipped = append(skipped, e.Name)
				}
			}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if last, ok := c.Latest(); !ok || last.Step != 2 || !slices.Equal(skipped, []string{"4", "5"}) {
		t.Errorf("latest %+v, skipped %v", last, skipped)
	}
	if _, err := c.Load(ctx, training.Latest, nil); err != nil {
		t.Error(err)
	}
	unaware, err := training.Open(ctx, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer unaware.Close()
	for _, step := range []int64{4, 5} {
		if _, err := unaware.Load(ctx, step, nil); err != nil {
			t.Error(err)
		}
		if _, err := unaware.Load(ctx, step,
			&checkpoint.LoadOptions{Options: options.Options{Bivouac: options.Bivouac{Verification: public}}}); errs.KindOf(err) != errs.Corrupt {
			t.Errorf("step %d with the key: %v, want Corrupt", step, err)
		}
	}
}

// What is converted is read with the key and signed with another.
func TestConvertSigned(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	public, private := signingKey(1)
	stranger, second := signingKey(2)
	src := dir + "/src"
	if err := checkpoint.Save(ctx, src, goldenState(1),
		&checkpoint.SaveOptions{Options: options.Options{Bivouac: options.Bivouac{Label: "run a",
			Signing: private}}}); err != nil {
		t.Fatal(err)
	}
	if err := checkpoint.Convert(ctx, src, dir+"/a",
		&checkpoint.ConvertOptions{Options: options.Options{Bivouac: options.Bivouac{Verification: stranger}}}); errs.KindOf(err) != errs.Corrupt {
		t.Errorf("a source of another: %v, want Corrupt", err)
	}
	err := checkpoint.Convert(ctx, src, dir+"/b",
		&checkpoint.ConvertOptions{Options: options.Options{Bivouac: options.Bivouac{Label: "run a",
			Layout: options.PlainZarr2, Signing: second, Verification: public}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := checkpoint.Load(ctx, dir+"/b",
		&checkpoint.LoadOptions{Options: options.Options{Bivouac: options.Bivouac{Label: "run a",
			Verification: stranger}}}); err != nil {
		t.Error(err)
	}
	for l, err := range diff.Leaves(ctx, src, dir+"/b", &diff.Options{Keys: [2]ed25519.PublicKey{public, stranger}}) {
		if err != nil || l.Status != diff.Same {
			t.Errorf("%v: %v %v", l.Path, l.Status, err)
		}
	}
	for _, err := range diff.Leaves(ctx, src, dir+"/b", &diff.Options{Keys: [2]ed25519.PublicKey{public, public}}) {
		if errs.KindOf(err) != errs.Corrupt {
			t.Errorf("the second with the key of the first: %v, want Corrupt", err)
		}
	}
}
